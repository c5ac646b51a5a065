import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { rankJson } from '../../../src/storage/copy/from-before.ts'
import type { Revision } from '../../../src/storage/entities.ts'
import {
  openRecords,
  ranksIn,
  writeRecordFile,
  writeRevisionFile,
} from '../../../src/storage/sqlite/record-versions.ts'
import { temporaryFolder } from '../../support/service/service.ts'

test('D8 Q6 records of a backup of before the first release get the order that values of several kinds have now', async t => {
  const folder = temporaryFolder(t, 'sqlite')
  mkdirSync(join(folder, 'entities'))
  const fileOf = (version: string) => join(folder, 'entities', `${version}.db`)
  const fields = [
    { name: 'id', type: 'integer', nullable: false },
    { name: 'any', type: 'json', nullable: true },
  ] as const
  const values = [
    '2',
    '"text"',
    'true',
    '[10,1]',
    '[9]',
    'null',
    '{"b":1,"a":1}',
    '{"a":1,"b":1}',
    '12',
    '[9.0]',
  ]
  const json = (id: number) => `{"id":${id},"any":${values[id]}}`
  const all = Uint32Array.from(values.keys())
  // The earlier order: numbers, texts, booleans, then nested values by their text.
  const before = Uint32Array.of(0, 2, 3, 4, 5, 8, 7, 6, 1, 5)
  const now = [1, 0, 3, 5, 4, 7, 6, 6, 2, 4]
  const ranks = async (field: number) => (field === 0 ? all : before)
  const ranksOf = (version: string, field: number) => {
    const db = openRecords(fileOf, version, {})
    try {
      return [...ranksIn(db, field)]
    } finally {
      db.close()
    }
  }
  await writeRecordFile(
    fileOf('things.1'),
    { fields, ranks },
    values.map((_, id) => json(id)),
  )
  // A revision with the same records, two of which it has added.
  const entity = { name: 'things', key: 'id', read: 'anonymous', fields } as const
  const source = { kind: 'records', version: 'things.1', count: 10, bytes: 300, largest: 30 } as const
  const revision: Revision = {
    ...{ name: 'things', key: 'id', read: null, fields, ranks },
    of: { ...entity, source },
    slots: Uint32Array.of(0, 10, 2, 3, 4, 5, 6, 7, 8, 11),
    added: [json(1), json(9)],
  }
  await writeRevisionFile(fileOf, 'things.1.2', revision)
  for (const version of ['things.1.2', 'things.1']) {
    rankJson(folder, { version, fields: JSON.stringify(fields) })
    assert.deepEqual(ranksOf(version, 1), now, version)
    assert.deepEqual(ranksOf(version, 0), [...all], version)
  }
})
