import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { commandEvent } from '../../src/cli/store.ts'
import { openDatabase } from '../../src/storage/sqlite/driver.ts'
import { keyOf, signedHere } from '../support/clients/jwt.ts'
import { listPath } from '../support/clients/listings.ts'
import { anyText, pageOf, pagePlan, rawEntity, text } from '../support/data/arbitrary-records.ts'
import { importText, realData } from '../support/data/imports.ts'
import type { RawField } from '../support/data/oracle.ts'
import { repeats, runs } from '../support/scale.ts'
import {
  type Answered,
  anyOf,
  ask,
  bearer,
  connectTo,
  startNode,
  startNodes,
} from '../support/service/nodes.ts'
import { type Service, startService } from '../support/service/service.ts'

/**
 * A service on each engine. Both must answer with the same bytes (Q6), the same total (Q5) and the same links
 * (Q9).
 */
interface Both {
  readonly embedded: Service
  readonly postgres: Service
  readonly tokens: readonly [embedded: string, postgres: string]
}

const queries = repeats(80, 500)

test(`Q6 ${queries} queries of imported and of built-in entities answer the same bytes on both engines`, async t => {
  const both = await startBoth(t)
  const entities = await describeAll(both)
  const names = [...entities.keys()]
  assert.ok(names.length >= 13, names.join())
  const asked = new Set<string>()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...names),
      pagePlan(120),
      fc.constantFrom('application/json', 'application/x-ndjson', 'text/csv'),
      fc.constantFrom(undefined, 'true', 'false'),
      async (name, plan, accept, total) => {
        const { order, ...window } = pageOf(plan, entities.get(name) ?? [])
        // Of the larger entities, a page is enough.
        const limit = window.limit ?? (large.has(name) ? 200 : undefined)
        const path = listPath(name, {
          ...(order.length > 0 ? { order_by: order } : {}),
          ...(limit === undefined ? {} : { limit: Math.min(limit, large.has(name) ? 200 : limit) }),
          ...(window.offset === undefined ? {} : { offset: window.offset }),
          ...(total === undefined ? {} : { include_total: total }),
        })
        asked.add(name)
        await compare(both, path, accept)
      },
    ),
    { ...runs(queries, queries), interruptAfterTimeLimit: 60_000 },
  )
  assert.deepEqual([...asked].sort(), names.toSorted(), 'every entity was asked')
})

test('Q12 both engines list entities in the same order, also when one is replaced', async t => {
  const services = [await startService(t, { engine: 'sqlite' }), (await startNode(t)).node]
  for (const service of services)
    for (const name of ['middle', 'last', 'first', 'first-2', 'middle'])
      await service.addRecords(name, 'id', [{ id: 1 }])
  const lists = await Promise.all(services.map(async service => (await ask(service, listPath(''))).text))
  assert.deepEqual(
    (JSON.parse(lists[0] ?? '') as { name: string }[]).map(({ name }) => name),
    (JSON.parse(lists[1] ?? '') as { name: string }[]).map(({ name }) => name),
  )
  assert.equal(lists[0], lists[1])
})

const large = new Set(['artists', 'artworks'])

async function compare(both: Both, path: string, accept: string): Promise<void> {
  const [embedded, postgres] = await Promise.all([
    ask(both.embedded, path, { headers: { accept, ...bearer(both.tokens[0]) } }),
    ask(both.postgres, path, { headers: { accept, ...bearer(both.tokens[1]) } }),
  ])
  assert.equal(embedded.status, 200, embedded.text)
  assert.deepEqual(
    { ...seen(postgres), ...aroundDifference(postgres.text, embedded.text) },
    { ...seen(embedded), ...aroundDifference(embedded.text, postgres.text) },
    `${path} as ${accept}`,
  )
}

const seen = ({ status, headers, text: body }: Answered) => ({
  status,
  type: headers['content-type'],
  total: headers['x-records'],
  // Each store seals its snapshots with its own secret.
  links: `${headers.link}`.replaceAll(/snapshot=[\w-]+/g, 'snapshot='),
  length: body.length,
})

/** Returns the surroundings of the first difference, because whole bodies would be too long for a message. */
function aroundDifference(one: string, other: string) {
  if (one === other) return {}
  let at = 0
  while (one[at] === other[at]) at++
  return { at, there: one.slice(Math.max(0, at - 200), at + 200) }
}

/** Returns the fields of every entity, which must be the same on both engines. */
async function describeAll({ embedded, postgres, tokens }: Both) {
  const [one, other] = await Promise.all([describeOn(embedded, tokens[0]), describeOn(postgres, tokens[1])])
  assert.deepEqual(other, one)
  return one
}

async function describeOn(
  service: Service,
  token: string,
): Promise<ReadonlyMap<string, readonly RawField[]>> {
  const { text: body } = await ask(service, listPath(''), { headers: bearer(token) })
  const entities = JSON.parse(body) as { name: string; fields: readonly RawField[] }[]
  return new Map(entities.map(({ name, fields }) => [name, fields]))
}

async function startBoth(t: TestContext): Promise<Both> {
  const embedded = await startService(t, { engine: 'sqlite' })
  // A locale like that of most databases, which by default would sort a before B, and both before c.
  const { nodes, url } = await startNodes(t, 1, { locale: 'en-US' })
  const postgres = anyOf(nodes)
  const add = async (entity: string, key: string, content: string, file = 'records.ndjson') => {
    for (const service of [embedded, postgres]) await importText(service, content, { entity, key, file })
  }
  await add('numbers', 'id', recordsOf(numbers))
  await add('times', 'id', recordsOf(instants.map(quoted)))
  await add('mixed', 'id', recordsOf(mixed))
  await add(
    'texts',
    'value',
    [...new Set(texts)].map((value, id) => `{"value":${value},"id":${id}}\n`).join(''),
  )
  for (const [name, words] of Object.entries({ words: text, surrogates: anyText }))
    for (const [n, entity] of fc.sample(rawEntity(words, { least: 15, most: 40 }), runs(3, 3)).entries())
      await add(`${name}-${n}`, entity.key, entity.ndjson)

  const artists = realData(t, 'tate-artists.csv')
  await add('artists', 'id', artists ? readFileSync(artists, 'utf8') : inventedCsv, 'artists.csv')
  const artworks = realData(t, 'tate-artworks.ndjson.gz')
  const lines = artworks ? gunzipSync(readFileSync(artworks)).toString().trimEnd().split('\n') : []
  const some = lines.filter((_, n) => n % 15 === 0).map(line => `${line}\n`)
  await add('artworks', 'acno', artworks ? some.join('') : recordsOf(numbers, 'acno'))

  const uuid = await fillAccounts(embedded)
  await copyAccounts(t, embedded, url)
  return { embedded, postgres, tokens: [await tokenOf(embedded, uuid), await tokenOf(postgres, uuid)] }
}

const quoted = (one: string) => JSON.stringify(one)

/** Returns records with these values as they are written, one in each, and null where there is none. */
const recordsOf = (values: readonly string[], key = 'id') =>
  [...values, 'null', 'null']
    .map(
      (value, n) =>
        `{"${key}":${n},"value":${value},"tie":${n % 4},"other":${values[(n * 7) % values.length]}}\n`,
    )
    .join('')

const numbers = [
  ...['0', '-0', '0.0', '1', '1.0', '1.50', '1.5', '15e-1', '1.5e0', '-1.5', '-1.50', '1E+2', '100', '1e2'],
  ...['1e400', '-1e400', '1e-400', '-1e-400', '1e399', '10e399', '1e308', '5e-324', '2e-324', '1e21'],
  ...['0.1', '0.1000000000000000055', '0.10000000000000000555', '0.1000000000000000056', '0.10'],
  ...['9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740993', '9007199254740992.5'],
  ...['9223372036854775807', '9223372036854775808', '-9223372036854775808', '-9223372036854775809'],
  ...['123456789012345678901234567890', '123456789012345678901234567891', '3.141592653589793238462643383279'],
]

const instants = [
  ...['2016-12-31T23:59:59Z', '2016-12-31T23:59:59.999999999999Z', '2016-12-31T23:59:60Z'],
  ...['2016-12-31T23:59:60.5Z', '2017-01-01T00:00:00Z', '2017-01-01T01:59:60.25+02:00'],
  ...['2016-12-31t23:59:60.250z', '2017-01-01T05:44:60+05:45', '2016-12-31 23:59:59.5-00:00'],
  ...['2017-01-01T00:00:00+14:00', '2017-01-01T00:00:00-12:00', '2016-12-31T19:00:00.000-05:00'],
  ...[
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+23:59',
    '9999-12-31T23:59:59.9-12:00',
    '1969-12-31T23:59:59.9Z',
  ],
]

/** Texts that include unpaired surrogates, and escaped characters that need no escape. */
const texts = [
  ...[
    '""',
    '" "',
    '"a"',
    '"A"',
    '"b"',
    '"\u00e4"',
    '"a\u0308"',
    '"z"',
    '"\\u0042"',
    '"\\/"',
    '"\\u0000"',
    '"a\\u0000b"',
  ],
  ...['"\uffff"', '"\ue000"', '"\u{10000}"', '"\u{1f600}"', '"\\ud83d\\ude00!"', '"\u{10ffff}"', '"\ufeff"'],
  ...[
    '"\\ud800"',
    '"\\udfff"',
    '"a\\ud83d"',
    '"\\udc00\\ud800"',
    '"\ud7ff"',
    '"\\n"',
    '"\\r\\n"',
    '"\\t"',
    '"\\\\"',
  ],
  ...['"\\""', '","', '"=1+1"', '"null"', '"12"', '"\u2028"', '"\\u001f"', '"\u007f"', '"<&>\'"'],
]

const mixed = [
  ...[
    '1.50',
    '1e400',
    '0.1000000000000000055',
    '9007199254740993',
    '-1',
    'true',
    'false',
    '"true"',
    '"1.50"',
  ],
  ...[
    '"2016-12-31T23:59:60Z"',
    '"\u{1f600}"',
    '"\uffff"',
    '"\\ud800"',
    '[]',
    '{}',
    '[1]',
    '[1.50]',
    '[10]',
    '[2]',
  ],
  ...[
    '{"a":null}',
    '{"a":1e400}',
    '{"b":[{"a":"\u{1f600}"}],"a":0.10}',
    '[null,true,"\\ud800"]',
    '{"":{}}',
    '[[[]]]',
  ],
]

const inventedCsv = `id,name,born\r\n${Array.from({ length: 500 }, (_, n) => `${n},"Name, ${n % 77}",${n % 5 === 0 ? '' : 1800 + (n % 99)}\r\n`).join('')}`

/** @returns the UUID of an administrator */
async function fillAccounts({ storage, addEperson }: Service): Promise<string> {
  const names = fc
    .sample(fc.option(text), runs(60, 60))
    .map(name => name?.replaceAll('\0', '').toWellFormed() ?? null)
  const groups = [
    'Readers',
    'readers',
    'Ä',
    '\u{10000}',
    '\uffff',
    'a"b',
    "it's",
    'a,b',
    'back\\slash',
    'line\nend',
  ]
  for (const group of groups) await storage.people.addGroup(group, commandEvent('group.add', group))
  for (let n = 0; n < 40; n++) {
    const email = `${n % 2 === 0 ? 'P' : 'p'}${n}\u{1f600}@example.org`
    await storage.people.addEperson(
      {
        email,
        firstName: names[n] ?? null,
        lastName: names[(n + 30) % 60] ?? null,
        passwordHash: n % 3 === 0 ? 'none' : null,
        administrator: false,
      },
      { ...commandEvent('eperson.add', names[n] ?? null), clientIp: n % 4 === 0 ? '127.0.0.1' : null },
    )
    for (let group = n % 5; group < groups.length; group += 3)
      await storage.people.join(groups[group] ?? '', email, commandEvent('group.join'))
    if (n % 7 === 0) await storage.people.setEnabled(email, false, commandEvent('eperson.disable'))
  }
  return (await addEperson('root@example.org', { admin: true, password: null })).uuid
}

/** Copies the rows to the other store, including times and ids. */
async function copyAccounts(t: TestContext, { dataFolder }: Service, url: string): Promise<void> {
  const from = openDatabase(join(dataFolder, 'carrel.db'), { mode: 'read' })
  const to = await connectTo(t, url)
  await to.query('TRUNCATE carrel.event, carrel.membership, carrel.epersongroup, carrel.eperson CASCADE')
  for (const table of ['eperson', 'epersongroup', 'membership', 'event'])
    for (const row of from.all(`SELECT * FROM ${table}`)) {
      const columns = Object.keys(row)
      const values = Object.values(row).map(value =>
        value instanceof Uint8Array ? Buffer.from(value) : value,
      )
      const places = columns.map((_, at) => `$${at + 1}`)
      await to.query(`INSERT INTO carrel.${table} (${columns}) VALUES (${places})`, values)
    }
  from.close()
}

/** Creates a token without a login, which would be an event on one engine only. */
async function tokenOf(service: Service, uuid: string): Promise<string> {
  const [secret] = service.storage.secrets.current()
  const claims = { eid: uuid, sg: [], exp: Math.floor(Date.now() / 1000) + 600 }
  return signedHere(JSON.stringify(claims), await keyOf(service, uuid, 'login', secret))
}
