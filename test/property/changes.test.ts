import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Entity } from '../../src/model/entities.ts'
import { bodyOf, listPath } from '../support/clients/listings.ts'
import { anyText, rawEntity } from '../support/data/arbitrary-records.ts'
import { changeText, importText, leftoversIn } from '../support/data/imports.ts'
import { type RawRecord, recordText } from '../support/data/oracle.ts'
import { runs } from '../support/scale.ts'
import { engines } from '../support/service/engines.ts'
import { type Service, startService } from '../support/service/service.ts'

async function entityOf({ storage }: Service, name: string): Promise<Entity> {
  const entity = (await storage.entities.all()).get(name)
  assert.ok(entity)
  return entity
}

for (const engine of engines)
  describe(`changes of records on ${engine}`, () => {
    test('D12 Q6 any sequence of updates and deletions lists as an import of the same records does', async t => {
      const service = await startService(t, { engine })
      await fc.assert(
        fc.asyncProperty(
          rawEntity(anyText, { least: 3, most: 40 }),
          fc.array(
            fc.record({
              isDeletion: fc.boolean(),
              places: fc.uniqueArray(fc.nat({ max: 39 }), { minLength: 1, maxLength: 12 }),
              donors: fc.array(fc.nat({ max: 39 }), { minLength: 1, maxLength: 5 }),
            }),
            { minLength: 1, maxLength: 5 },
          ),
          async ({ key, records }, steps) => {
            // The first import has all kinds of values, because it sets the types; then some records are
            // removed.
            const text = (some: readonly RawRecord[]) =>
              some.map(record => `${recordText(record)}\n`).join('')
            await importText(service, text(records), { entity: 'changed', key })
            const now = new Map(records.map(record => [record.get(key) ?? '', record]))
            for (const { isDeletion, places, donors } of steps) {
              const some = places.flatMap((place, n) => {
                const record = records[place % records.length]
                const donor = records[(donors[n % donors.length] ?? 0) % records.length]
                const keyText = record?.get(key)
                return donor && keyText !== undefined ? [new Map(donor).set(key, keyText)] : []
              })
              const changes = [...new Map(some.map(record => [record.get(key) ?? '', record])).values()]
              await changeText(service, text(changes), {
                entity: 'changed',
                kind: isDeletion ? 'delete' : 'update',
              })
              for (const record of changes)
                if (isDeletion) now.delete(record.get(key) ?? '')
                else now.set(record.get(key) ?? '', record)
              await compare(service, key, [...now.values()])
              // A text field without values takes the type of its next value, to which the donors' values may
              // not fit.
              const { fields } = await entityOf(service, 'changed')
              const left = namesIn([...now.values()])
              const emptied = namesIn(records).filter(name => !left.includes(name))
              if (fields.some(({ name, type }) => type === 'text' && emptied.includes(name))) break
            }
            assert.deepEqual(await leftoversIn(service.dataFolder), [])
          },
        ),
        { ...runs(5, 80), interruptAfterTimeLimit: 40_000 },
      )
    })
  })

/** Returns the fields that have a value in some record. */
const namesIn = (records: readonly RawRecord[]): string[] => [
  ...new Set(
    records.flatMap(record => [...record].filter(([, json]) => json !== 'null').map(([name]) => name)),
  ),
]

/** Compares the entity with a new import of these records, with the same types declared. */
async function compare(service: Service, key: string, records: readonly RawRecord[]): Promise<void> {
  const { fields, ...changed } = await entityOf(service, 'changed')
  assert.equal(changed.source.kind === 'records' && changed.source.count, records.length)
  if (records.length === 0) return
  const types = new Map(
    fields
      .filter(({ name }) => records.some(record => record.has(name)))
      .map(({ name, type }) => [name, type] as const),
  )
  await importText(service, records.map(record => `${recordText(record)}\n`).join(''), {
    entity: 'fresh',
    key,
    types,
  })
  const fresh = await entityOf(service, 'fresh')
  for (const field of fresh.fields)
    assert.deepEqual(
      fields.find(one => one.name === field.name),
      field,
    )
  for (const order_by of [
    [],
    ...fresh.fields.flatMap(({ name }) => [[{ field: name }], [{ field: name, order: 'desc' }]]),
  ]) {
    const page = { ...(order_by.length > 0 && { order_by }), limit: 1_000 }
    const body = await bodyOf(service, listPath('changed', page))
    assert.equal(body, await bodyOf(service, listPath('fresh', page)))
    // The second answer comes from memory.
    assert.equal(await bodyOf(service, listPath('changed', page)), body)
    assert.equal(
      await bodyOf(service, listPath('changed', page), 'text/csv').then(csv => csv.split('\r\n').length > 0),
      true,
    )
  }
}
