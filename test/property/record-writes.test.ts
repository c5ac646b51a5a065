import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { commandEvent } from '../../src/cli/store.ts'
import { parseWritten } from '../../src/lib/json.ts'
import { keyValues, recordKey } from '../../src/model/record-changes.ts'
import type { RecordEntity } from '../../src/storage/entities.ts'
import { fold } from '../../src/storage/records/folding.ts'
import { printAst } from '../support/data/arbitrary-conditions.ts'
import { queries } from '../support/data/arbitrary-queries.ts'
import { importText } from '../support/data/imports.ts'
import { ask, assertAnswer, described, worldOf } from '../support/data/query-answers.ts'
import { answerOf } from '../support/data/query-oracle-rows.ts'
import { collations, declaredTypes, lineOf, type Sheet, sheets } from '../support/data/query-worlds.ts'
import { readJson } from '../support/data/raw-json.ts'
import { runs } from '../support/scale.ts'
import { allEngines } from '../support/service/engines.ts'
import { type Service, startService } from '../support/service/service.ts'

/**
 * Entities whose records are written one at a time. Whenever versions are made, they must read like a new
 * import of the same records.
 */

const names = ['things', 'owners', 'links'] as const
const relations = [{ entities: ['things', 'owners'], fields: [['owner', 'number']] }] as const

/** A write: the record to copy, the key to write it under, or a deletion. */
const written = fc.record({ from: fc.nat({ max: 999 }), key: fc.nat({ max: 999 }), isDeletion: fc.boolean() })
const twelveWrites = fc.array(written, { minLength: 12, maxLength: 12 })

test('R1 Q6 Q14 after any writes of single records, any query answers on both engines what it answers of a new import of them', async t => {
  const services = await Promise.all(allEngines.map(engine => startService(t, { engine })))
  const tokens = await Promise.all(
    services.map(async service => {
      await service.addEperson('admin@example.org', { admin: true })
      return service.client().login('admin@example.org')
    }),
  )
  const [others = [], ...worlds] = fc.sample(sheets(25), runs(2, 26))
  for (const [run, sheet] of worlds.entries()) {
    for (const service of services) await importAll(service, sheet)
    const models = new Map<string, Map<string, string>>()
    for (const [step, writes] of fc.sample(twelveWrites, runs(2, 4)).entries()) {
      for (const [at, { name, key, records }] of sheet.entries()) {
        const all = [...records, ...(others[at]?.records ?? [])]
        for (const { from, key: of, isDeletion } of writes) {
          const [donor, target] = [all[from % all.length], all[of % all.length]]
          if (!donor || !target) continue
          const keys = Object.fromEntries([key].flat().map(one => [one, target[one] ?? 'null']))
          const line = lineOf({ ...donor, ...keys })
          for (const [n, service] of services.entries())
            await write(service, tokens[n] ?? '', models, name, line, isDeletion && step > 0, n === 0)
        }
        for (const service of services) if ((run + step + at) % 3 === 0) await foldNow(service, name)
      }
      for (const service of services) await compare(service, sheet, models)
      const [world, other] = await Promise.all(services.map(service => worldOf(service, names, relations)))
      assert.deepEqual(other?.entities.get('things')?.records, world?.entities.get('things')?.records)
      assert.ok(world)
      await fc.assert(
        fc.asyncProperty(queries(world), async query => {
          const text = printAst(query.ast)
          const expected = answerOf(world, query.entity, readJson(text), query.page)
          for (const service of services) {
            const answer = await ask(service, query.entity, text, query.page)
            assert.equal(answer.status, 200, `${described(query)}: ${answer.body}`)
            assertAnswer(answer, expected, described(query))
          }
        }),
        { ...runs(8, 100), interruptAfterTimeLimit: 30_000 },
      )
    }
  }
})

const entityOf = async ({ storage }: Service, name: string): Promise<RecordEntity> => {
  const entity = (await storage.entities.all()).get(name)
  assert.equal(entity?.source.kind, 'records')
  return entity as RecordEntity
}

async function importAll(service: Service, all: readonly Sheet[]): Promise<void> {
  for (const sheet of all) {
    const lines = sheet.records.map(record => `${lineOf(record)}\n`)
    await importSheet(service, sheet.name, sheet, lines.join(''))
    await service.storage.entities.changeWriteRule(sheet.name, 'eperson', commandEvent('entity.writers'))
  }
  await service.storage.entities.describe(
    'things',
    { relate: { fields: ['owner'], to: { entity: 'owners', fields: ['number'] } } },
    commandEvent('entity.relate'),
  )
}

function importSheet(service: Service, entity: string, { name, key }: Sheet, text: string) {
  const sheet = name as keyof typeof declaredTypes
  // A field can be declared only if some record has it.
  const there = (all: object) =>
    new Map(Object.entries(all).filter(([field]) => text.includes(`${JSON.stringify(field)}:`)))
  return importText(service, text, {
    entity,
    key,
    types: there(declaredTypes[sheet]),
    collations: there(collations[sheet]),
  })
}

/** Returns a key as a part of an address; a composite key has commas between its values. */
const segment = (values: readonly unknown[]): string =>
  encodeURIComponent(
    values
      .map(value => (typeof value === 'string' ? value : JSON.stringify(value)))
      .map(text => (values.length === 1 ? text : text.replaceAll(/[\\,]/g, '\\$&')))
      .join(),
  )

async function write(
  service: Service,
  token: string,
  models: Map<string, Map<string, string>>,
  name: string,
  line: string,
  isDeletion: boolean,
  counts: boolean,
): Promise<void> {
  const entity = await entityOf(service, name)
  const record = parseWritten(line) as Readonly<Record<string, unknown>>
  const values = keyValues(entity, record)
  const texts = values.filter(value => typeof value === 'string')
  // Values that no address can contain, or that mean the parent folder.
  if (
    values.includes(null) ||
    texts.some(text => !text.isWellFormed() || /^\.{0,2}$/.test(text) || text.includes('\0'))
  )
    return
  // Fields that no record had are not added.
  const known = new Set(entity.fields.map(field => field.name))
  const kept = Object.fromEntries(Object.entries(record).filter(([field]) => known.has(field)))
  const response = await fetch(`${service.address}/api/query/v4/${name}/${segment(values)}`, {
    method: isDeletion ? 'DELETE' : 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(isDeletion ? {} : { body: JSON.stringify(kept) }),
  })
  const body = await response.text()
  const model = models.get(name) ?? new Map<string, string>()
  models.set(name, model)
  const id = recordKey(entity, values)
  assert.ok([200, 201, 204, ...(isDeletion ? [404] : [])].includes(response.status), `${line} ${body}`)
  if (counts) model.set(id, isDeletion ? '' : JSON.stringify(kept))
}

async function foldNow(service: Service, name: string): Promise<void> {
  await fold(await entityOf(service, name), service.storage.entities)
}

/** Compares the entities with an import of the expected records. */
async function compare(
  service: Service,
  all: readonly Sheet[],
  models: ReadonlyMap<string, ReadonlyMap<string, string>>,
) {
  for (const sheet of all) {
    const entity = await entityOf(service, sheet.name)
    const records = new Map(
      sheet.records.map(lineOf).map(line => {
        const record = parseWritten(line) as Readonly<Record<string, unknown>>
        return [recordKey(entity, keyValues(entity, record)), JSON.stringify(record)] as const
      }),
    )
    for (const [id, json] of models.get(sheet.name) ?? []) records.set(id, json)
    const lines = [...records.values()].filter(json => json !== '')
    assert.equal(entity.source.count, lines.length)
    if (lines.length === 0) continue
    await importSheet(service, `fresh${sheet.name}`, sheet, lines.map(line => `${line}\n`).join(''))
    const fresh = await entityOf(service, `fresh${sheet.name}`)
    for (const order of [
      undefined,
      ...fresh.fields.flatMap(({ name: field }) => ['asc', 'desc'].map(way => [{ field, order: way }])),
    ])
      assert.equal(
        (await ask(service, sheet.name, null, order ? { order } : {})).body,
        (await ask(service, fresh.name, null, order ? { order } : {})).body,
      )
  }
}
