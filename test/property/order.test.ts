import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { commandEvent } from '../../src/cli/store.ts'
import { bodyOf, list, listPath, queryPath, readCsv } from '../support/clients/listings.ts'
import {
  anyText,
  pageOf,
  pagePlan,
  type RawEntity,
  type RawPage,
  rawEntity,
  text,
} from '../support/data/arbitrary-records.ts'
import { importText } from '../support/data/imports.ts'
import {
  cellOf,
  fieldsOf,
  type RawField,
  type RawRecord,
  recordText,
  sorted,
} from '../support/data/oracle.ts'
import { asNewItem } from '../support/data/policies.ts'
import { runs } from '../support/scale.ts'
import { engines } from '../support/service/engines.ts'
import { type Service, startService } from '../support/service/service.ts'

/**
 * Whatever the records and the order, the answer must be that of a plain sort in memory (support/oracle.ts).
 */
for (const engine of engines)
  describe(`orders on ${engine}`, () => {
    test('Q6 any order, limit and offset over any records answers what a plain sort answers', async t => {
      const service = await startService(t, { engine })
      await everyEntity(service, text, runs(6, 60))
    })

    test('Q6 surrogates without their other half sort by code point too', async t => {
      const service = await startService(t, { engine })
      await everyEntity(service, anyText, runs(4, 20))
    })

    for (const [room, env] of [
      ['that fit into memory', {}],
      ['that are larger than the memory for them', { CARREL_CACHE_SIZE: '1' }],
    ] as const)
      test(`Q6 entities ${room} answer every order as a plain sort does`, async t => {
        const service = await startService(t, { engine, env })
        const entity = largeEntity()
        const fields = fieldsOf(entity.records)
        await importText(service, entity.ndjson, { entity: 'large', key: entity.key })
        await fc.assert(
          fc.asyncProperty(pagePlan(entity.records.length + 50), shape, async (plan, accept) => {
            await checkPage(service, 'large', entity, fields, pageOf(plan, fields), accept)
          }),
          runs(5, 20),
        )
      })

    test('Q6 Q13 epersons, groups, events, items and bitstreams answer any order as a plain sort does', async t => {
      const service = await startService(t, { engine })
      await fillAccounts(service)
      const client = service.client()
      await client.login('root@example.org')
      const entities = await list<{ name: string; key: string; fields: RawField[] }>(client, '')
      for (const { name, key, fields: described } of entities) {
        const fields = described.map(field => ({ ...field, byText: field.type === 'json' }))
        const records = (await list(client, name)).map(
          record => new Map(Object.entries(record).map(([field, value]) => [field, JSON.stringify(value)])),
        )
        assert.ok(records.length > 20, `there are ${name} to sort`)
        await fc.assert(
          fc.asyncProperty(pagePlan(records.length + 5), async plan => {
            const page = pageOf(plan, fields)
            const expected = cut(sorted(records, fields, page.order, key), page)
            assert.deepEqual(
              await list(client, name, parametersOf(page)),
              expected.map(record => JSON.parse(recordText(record))),
            )
          }),
          runs(6, 40),
        )
      }
    })
  })

const shape = fc.constantFrom('application/json', 'application/x-ndjson', 'text/csv')

async function everyEntity(
  service: Service,
  words: fc.Arbitrary<string>,
  some: ReturnType<typeof runs>,
): Promise<void> {
  let round = 0
  await fc.assert(
    fc.asyncProperty(
      rawEntity(words),
      fc.array(fc.tuple(pagePlan(30), shape), { minLength: 1, maxLength: 4 }),
      async (entity, pages) => {
        const name = `round-${round++ % 3}`
        await importText(service, entity.ndjson, { entity: name, key: entity.key })
        const fields = fieldsOf(entity.records)
        const listed = JSON.parse(await bodyOf(service, queryPath, 'application/json')) as {
          name: string
          key: string
          fields: RawField[]
        }[]
        const described = listed.find(one => one.name === name)
        assert.equal(described?.key, entity.key)
        assert.deepEqual(described?.fields, fields)
        // Each page twice: from the file, and then from memory.
        for (const [plan, accept] of [...pages, ...pages])
          await checkPage(service, name, entity, fields, pageOf(plan, fields), accept)
      },
    ),
    // The time for making a failure smaller is limited.
    { ...some, interruptAfterTimeLimit: 20_000 },
  )
}

async function checkPage(
  service: Service,
  name: string,
  { key, records }: RawEntity,
  fields: readonly RawField[],
  page: RawPage,
  accept: string,
): Promise<void> {
  const expected = cut(sorted(records, fields, page.order, key), page)
  const body = await bodyOf(service, listPath(name, parametersOf(page)), accept)
  if (accept === 'text/csv') checkCsv(body, fields, expected)
  else if (accept === 'application/x-ndjson')
    assert.equal(body, expected.map(record => `${recordText(record)}\n`).join(''))
  else assert.equal(body, `[${expected.map(recordText).join(',')}]`)
}

function checkCsv(csv: string, fields: readonly RawField[], records: readonly RawRecord[]): void {
  const [header, ...rows] = readCsv(csv)
  assert.deepEqual(
    header?.map(cell => cell.text),
    fields.map(field => field.name),
  )
  assert.deepEqual(
    rows.map(row => row.map(cell => ({ text: cell.text, isNull: cell.text === '' && !cell.quoted }))),
    records.map(record => fields.map(field => cellOf(record.get(field.name)))),
  )
}

const parametersOf = ({ order, ...window }: RawPage) => ({
  ...(order.length > 0 ? { order_by: order } : {}),
  ...window,
})

function cut(records: readonly RawRecord[], { limit, offset = 0 }: RawPage): readonly RawRecord[] {
  return records.slice(offset, limit === undefined ? undefined : offset + limit)
}

/**
 * Returns an entity of nearly a megabyte, which is more than one piece of a listing and more than the
 * smallest memory.
 */
function largeEntity(): RawEntity {
  const [small] = fc.sample(rawEntity(text, { least: 25, most: 25 }), runs(1, 1))
  assert.ok(small)
  const padding = JSON.stringify('padding '.repeat(90))
  const records = Array.from({ length: 1_200 }, (_, n) => {
    const record = new Map(small.records[n % small.records.length])
    record.delete(small.key)
    return record.set('padding', padding).set('number of it', String((n * 1_009) % 1_201))
  })
  return {
    key: 'number of it',
    records,
    ndjson: records.map(record => `${recordText(record)}\n`).join(''),
  }
}

async function fillAccounts({ storage, addEperson }: Service): Promise<void> {
  // PostgreSQL's text can't contain NUL.
  const names = fc.sample(fc.option(text.map(name => name.replaceAll('\0', ''))), runs(60, 60))
  const groups = ['Readers', 'readers', 'Ä', '\u{10000}', '\uffff', 'a"b', "it's", 'a,b']
  for (let n = 0; n < 30; n++)
    await storage.people.addGroup(`${groups[n % 8]} ${n}`, commandEvent('group.add'))
  for (let n = 0; n < 30; n++) {
    const email = `${n % 2 === 0 ? 'P' : 'p'}${n}@example.org`
    await storage.people.addEperson(
      {
        email,
        firstName: names[n] ?? null,
        lastName: names[n + 30] ?? null,
        passwordHash: n % 3 === 0 ? 'none' : null,
        administrator: false,
      },
      { ...commandEvent('eperson.add', names[n] ?? null), clientIp: n % 4 === 0 ? '127.0.0.1' : null },
    )
    for (let group = n % 5; group < 8; group += 3)
      await storage.people.join(`${groups[group]} ${group}`, email, commandEvent('group.join'))
    if (n % 7 === 0) await storage.people.setEnabled(email, false, commandEvent('eperson.disable'))
  }
  await storage.repository.putItems(
    names.map((name, n) =>
      asNewItem({
        identifier: `${name} ${n}`,
        title: name,
        issued: names[59 - n] ?? null,
        readers: n % 2 === 0 ? [] : [{ reader: 'eperson' }],
        bitstreams: [{ name: `${name}`, readers: null }],
      }),
    ),
    commandEvent('item.add'),
    [],
  )
  await addEperson('root@example.org', { admin: true })
}
