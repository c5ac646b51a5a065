import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { createStaging } from '../../src/import/staging.ts'
import { temporaryFolder } from '../support/service/service.ts'

test('D2 a record can add fields, null ones among them, and nulls are counted for every record', async t => {
  const staging = createStaging(
    join(temporaryFolder(t), 'import'),
    {
      types: new Map(),
      collations: new Map(),
    },
    ['id'],
  )
  t.after(() => staging.close())
  staging.add([
    { line: 1, record: { id: 1, title: null, year: 1990 } },
    { line: 2, record: { id: 2, place: null, artist: 'Ruth', title: 'Ribbon' } },
  ])
  const { count, fields, findings: found } = await staging.finish(() => {})
  const findings = await found()
  assert.equal(count, 2)
  assert.deepEqual(Object.fromEntries(fields.map(({ name }, place) => [name, findings[place]?.nulls])), {
    id: 0,
    title: 1,
    year: 1,
    place: 2,
    artist: 1,
  })
})
