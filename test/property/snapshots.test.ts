import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { commandEvent } from '../../src/cli/store.ts'
import { recollate } from '../../src/entities/revision.ts'
import type { RecordEntity } from '../../src/storage/entities.ts'
import { fold } from '../../src/storage/records/folding.ts'
import { administrator } from '../support/clients/administrator.ts'
import { listPath } from '../support/clients/listings.ts'
import { changeText, importText, ndjson } from '../support/data/imports.ts'
import { deleteRecord, putRecord } from '../support/data/record-writes.ts'
import { runs } from '../support/scale.ts'
import { engines } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

const id = fc.integer({ min: 1, max: 12 })
const title = fc.constantFrom('a', 'b', 'B', 'ä', '')
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('put' as const), id, title }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), id }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('fold' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('import' as const), count: id, title }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('update' as const), id, title }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rule' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('collate' as const),
      collation: fc.constantFrom('de', null),
      // A record that is written while the version is being made.
      during: fc.option(id, { nil: null }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('restore' as const), which: fc.nat({ max: 3 }) }) },
)

for (const engine of engines)
  describe(`snapshots on ${engine}`, () => {
    test('Q35 after any changes, each snapshot lists what was there when it was taken, and equal states have equal ones', async t => {
      const service = await startService(t, { engine })
      const { client } = await administrator(service)
      const { entities } = service.storage
      const now = async () => (await entities.all()).get('held') as RecordEntity
      const imports = (count: number, text: string) =>
        importText(
          service,
          ndjson(Array.from({ length: count }, (_, at) => ({ id: at + 1, title: `${text}${at}` }))),
          { entity: 'held', key: 'id', replace: true, read: 'anonymous' },
        )
      const listed = async (snapshot?: string) => {
        const response = await client.get(
          listPath('held', {
            ...(snapshot !== undefined && { snapshot }),
            order_by: [{ field: 'title', order: 'desc' }],
            include_total: true,
          }),
        )
        const text = await response.text()
        assert.equal(response.status, 200, text)
        const [value, total] = ['x-snapshot', 'x-records'].map(name => response.headers.get(name))
        assert.ok(value)
        return { value, state: `${total} ${text}` }
      }
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async steps => {
          await imports(8, 'first')
          await entities.changeWriteRule('held', 'admin', commandEvent('entity.writers'))
          const taken = new Map<string, string>()
          for (const one of steps) {
            const before = await listed()
            taken.set(before.value, before.state)
            if (one.kind === 'put') await putRecord(client, 'held', one.id, { id: one.id, title: one.title })
            else if (one.kind === 'import') await imports(one.count, one.title)
            else if (one.kind === 'fold') await fold(await now(), entities)
            else if (one.kind === 'update')
              await changeText(service, ndjson([{ id: one.id, title: one.title }]), {
                entity: 'held',
                kind: 'update',
              })
            else if (one.kind === 'rule')
              await changeText(service, '', { entity: 'held', kind: 'update', read: 'anonymous' })
            else if (one.kind === 'collate') {
              const { collation, during } = one
              const collations = new Map([['title', collation]])
              const event = commandEvent('entity.update')
              const made = recollate(entities, { name: 'held', collations, event }, () => {})
              if (during !== null) await putRecord(client, 'held', during, { id: during, title: 'B' })
              await made
            } else if (one.kind === 'delete') {
              if (before.state.includes(`"id":${one.id},`)) await deleteRecord(client, 'held', one.id)
            } else {
              const versions = await entities.versions('held')
              const version = versions[one.which]
              if (version) await entities.restore('held', version.id, commandEvent('entity.restore'))
            }
            if (one.kind === 'fold') assert.deepEqual(await listed(), before)
          }
          for (const [value, state] of taken) assert.deepEqual(await listed(value), { value, state })
        }),
        runs(12, 300),
      )
    })
  })
