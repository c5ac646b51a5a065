import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { commandEvent } from '../../../src/cli/store.ts'
import type { Client } from '../../support/clients/client.ts'
import { bodyOf, linksOf, list, listPath, problemOf, readCsv } from '../../support/clients/listings.ts'
import { pageOf, pagePlan, text as texts } from '../../support/data/arbitrary-records.ts'
import { compareCodePoints, type RawField, type RawRecord, sorted } from '../../support/data/oracle.ts'
import { repeats, runs } from '../../support/scale.ts'
import { atEnd } from '../../support/service/at-end.ts'
import { runSql, serverUrl } from '../../support/service/databases.ts'
import { described, dropReader, exposeIn, withTables } from '../../support/service/exposed-tables.ts'
import { startService } from '../../support/service/service.ts'

// Types and values --------------------------------------------------------------------------------------------

interface Column {
  readonly name: string
  /** The type in SQL. */
  readonly type: string
  readonly value: string
  /** The value as JSON, without regard to spaces. */
  readonly json: string
  readonly field: string
  readonly sortable: boolean
}

const wide = '1234567890123456789012345678901234567890'
const fine = '0.1000000000000000055511151231257827021181'

/**
 * Columns with name, type in SQL, value in SQL, value in JSON, type of the field, and a mark if it has no
 * order.
 */
const everything = String.raw`
  int2 | smallint | -32768 | -32768 | integer
  int4 | integer | 2147483647 | 2147483647 | integer
  int8 | bigint | 9223372036854775807 | 9223372036854775807 | integer
  wide | numeric | ${wide} | ${wide} | number
  fine | numeric | ${fine} | ${fine} | number
  scaled | numeric(10, 2) | 1.5 | 1.50 | number
  numeric_nan | numeric | 'NaN' | "NaN" | number
  numeric_infinite | numeric | '-Infinity' | "-Infinity" | number
  float4 | real | 1.5e-30 | 1.5e-30 | number
  float8 | double precision | 0.1 | 0.1 | number
  large | double precision | 1.7976931348623157e308 | 1.7976931348623157e+308 | number
  float4_nan | real | 'NaN' | "NaN" | number
  float8_infinite | double precision | 'Infinity' | "Infinity" | number
  bool | boolean | false | false | boolean
  instant | timestamptz | '2020-06-30 14:00:00.123456+02' | "2020-06-30T12:00:00.123456+00:00" | date-time
  local | timestamp | '2020-06-30 14:00:00' | "2020-06-30T14:00:00" | text
  day | date | '2020-06-30' | "2020-06-30" | text
  hour | time | '14:00:00.5' | "14:00:00.5" | text
  hour_there | timetz | '14:00:00+02' | "14:00:00+02" | text
  span | interval | '1 day 02:00' | "1 day 02:00:00" | text
  uuid | uuid | 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11' | "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11" | text
  text | text | E'line\nbreak\r\t"quoted" \\ 🦉 \u2028' | "line\nbreak\r\t\"quoted\" \\ 🦉 \u2028" | text
  varchar | varchar(5) COLLATE "en-x-icu" | 'ä' | "ä" | text
  padded | char(4) | 'ab' | "ab  " | text
  citext | citext | 'Mixed' | "Mixed" | text
  name | name | 'pg_name' | "pg_name" | text
  shelfmark | shelfmark | 'Ms. 1' | "Ms. 1" | text
  positive | positive | 5 | 5 | integer
  few | few | 6 | 6 | integer
  mood | mood | 'sad' | "sad" | text
  calm | calm | 'ok' | "ok" | text
  numbers | integer[] | '{1,NULL,3}' | [1,null,3] | json | -
  words | text[] | '{{"a","b,\"c"},{"","d"}}' | [["a","b,\"c"],["","d"]] | json | -
  few_of_them | few[] | '{1,2}' | [1,2] | json | -
  json | json | E'{"a":\r\n [1.0,\n\t${wide}], "b": "x\\\\ny", "b": {}\n}' | {"a":[1.0,${wide}],"b":{}} | json | -
  json_text | json | E'\n"text"\n' | "text" | json | -
  jsonb | jsonb | '{"b": 1.10, "a": [null, true]}' | {"a":[null,true],"b":1.10} | json | -
  bytes | bytea | '\xdeadbeef' | "\\xdeadbeef" | text
  place | place | ROW('Bern', 3000)::place | {"city":"Bern","zip":3000} | json | -
  places | place[] | ARRAY[ROW('B"', NULL)::place] | [{"city":"B\"","zip":null}] | json | -
  address | inet | '10.0.0.1/8' | "10.0.0.1/8" | text
  mac | macaddr | '08:00:2b:01:02:03' | "08:00:2b:01:02:03" | text
  numbers_between | int4range | '[1,10]' | "[1,11)" | text | -
  days_between | daterange | '[2020-01-30,2020-02-01)' | "[2020-01-30,2020-02-01)" | text | -
  xml | xml | E'<a b="c">\n</a>' | "<a b=\"c\">\n</a>" | text | -
  point | point | '(1,2.5)' | "(1,2.5)" | text | -
  bits | bit(3) | B'101' | "101" | text
  pairs | hstore | 'a=>1' | {"a":"1"} | json | -`
  .split('\n')
  .slice(1)
  .map((line): Column => {
    const [name = '', type = '', value = '', json = '', field = '', unsortable] = line.trim().split(' | ')
    return { name, type, value, json, field, sortable: unsortable === undefined }
  })

const withEverything = (t: TestContext) =>
  withTables(
    t,
    `CREATE EXTENSION citext; CREATE EXTENSION hstore;
     CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
     CREATE TYPE place AS (city text, zip integer);
     CREATE DOMAIN shelfmark AS text COLLATE "en-x-icu" CHECK (VALUE <> '');
     CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
     CREATE DOMAIN few AS positive CHECK (VALUE < 1000);
     CREATE DOMAIN calm AS mood CHECK (VALUE <> 'happy');
     CREATE TABLE everything (id integer PRIMARY KEY, gone text, ${everything
       .map(({ name, type }) => `"${name}" ${type}`)
       .join(', ')});
     ALTER TABLE everything DROP COLUMN gone;
     INSERT INTO everything VALUES (1, ${everything.map(one => one.value).join(', ')});
     INSERT INTO everything (id) VALUES (2)`,
  )

test('Q12 the types of fields come from the catalogue, and what has no order or is a list says so', async t => {
  const { client, expose } = await withEverything(t)
  await expose('everything')
  assert.deepEqual((await described(client, 'everything')).fields, [
    { name: 'id', type: 'integer', nullable: false },
    ...everything.map(({ name, type: column, field: type, sortable }) => ({
      name,
      type,
      nullable: true,
      ...(sortable ? {} : { sortable }),
      ...(/\[\]$/.test(column) ? { list: true } : {}),
    })),
  ])
})

test('Q7 only fields that have an order can be sorted by, and the refusal names them', async t => {
  const { client, expose } = await withEverything(t)
  await expose('everything')
  const legal = ['id', ...everything.filter(one => one.sortable).map(one => one.name)]
  for (const { name, sortable } of everything) {
    const order_by = [{ field: 'bool' }, { field: name, order: 'desc' }]
    if (sortable) {
      const ids = (await list(client, 'everything', { order_by })).map(({ id }) => id)
      assert.deepEqual(ids, [1, 2], `${name}: the first entry decides`)
      const alone = (await list(client, 'everything', { order_by: order_by.slice(1), limit: 2 })).map(
        ({ id }) => id,
      )
      assert.deepEqual(alone, [2, 1], `${name}: null comes first descending`)
      continue
    }
    const problem = await problemOf(await client.get(listPath('everything', { order_by })), 400)
    assert.deepEqual(problem.legal, legal)
    assert.equal(problem.parameter, 'order_by')
    assert.equal(problem.position, JSON.stringify(order_by).indexOf(`"${name}"`))
    assert.ok(problem.detail.includes(legal.join(', ')), problem.detail)
  }
})

test('Q1 Q8 every value of every type is JSON, on one line of NDJSON, and a cell of CSV', async t => {
  const { service, client, expose } = await withEverything(t)
  await expose('everything')
  const expected = [
    JSON.parse(`{"id":1,${everything.map(one => `"${one.name}":${one.json}`).join(',')}}`),
    { id: 2, ...Object.fromEntries(everything.map(one => [one.name, null])) },
  ]
  for (const query of ['', '?limit=10', '?limit=500']) {
    const path = listPath('everything') + query
    const json = await bodyOf(service, path)
    assert.deepEqual(JSON.parse(json), expected)
    for (const digits of [wide, fine, '9223372036854775807', '1.50'])
      assert.ok(json.includes(digits), `${digits} keeps its digits`)
    const lines = (await bodyOf(service, path, 'application/x-ndjson')).split('\n')
    assert.equal(lines.pop(), '')
    assert.deepEqual(
      lines.map(line => JSON.parse(line)),
      expected,
    )
    const [header, first, second, ...more] = readCsv(await bodyOf(service, path, 'text/csv'))
    assert.deepEqual(more, [])
    assert.deepEqual(
      header?.map(cell => cell.text),
      ['id', ...everything.map(one => one.name)],
    )
    for (const [at, { name, json: text }] of everything.entries()) {
      const cell = first?.[at + 1]?.text ?? ''
      const value: unknown = JSON.parse(text)
      if (typeof value === 'string') assert.equal(cell, value, name)
      else assert.deepEqual(JSON.parse(cell), value, name)
      assert.deepEqual(second?.[at + 1], { text: '', quoted: false }, `${name}: null`)
    }
    for (const digits of [wide, fine, '9223372036854775807'])
      assert.ok(
        first?.some(cell => cell.text === digits),
        `${digits} keeps its digits`,
      )
  }
  const page = await client.get(listPath('everything', { limit: 1, offset: 1, include_total: true }))
  assert.equal(page.headers.get('x-records'), '2')
  assert.deepEqual(await page.json(), expected.slice(1))
})

test('Q6 how the database is set up to print values changes nothing', async t => {
  const { service, expose, url } = await withEverything(t)
  await expose('everything')
  const before = await bodyOf(service, listPath('everything'))
  const database = new URL(url).pathname.slice(1)
  await runSql(
    url,
    [
      ...['TimeZone TO "Asia/Tokyo"', 'DateStyle TO "German, DMY"', 'IntervalStyle TO iso_8601'],
      ...['bytea_output TO escape', 'extra_float_digits TO -10', 'search_path TO carrel, pg_catalog'],
    ]
      .map(setting => `ALTER DATABASE ${database} SET ${setting}`)
      .join(';'),
  )
  const other = await startService(t, { dataFolder: service.dataFolder })
  for (const query of ['', '?limit=10'])
    assert.equal(await bodyOf(other, listPath('everything') + query), before)
})

// Orders ------------------------------------------------------------------------------------------------------

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`

const words = [
  ...['', ' ', 'a', 'A', 'b', 'B', 'ä', 'Ä', 'aa', 'a b', 'a-b', 'ab', 'Z', 'z', 'é', 'e\u0301', 'ß', 'ss'],
  ...['0', '10', '9', '_', '~', '\t', '\ue000', '\uffff', '\u{10000}', '\u{1f600}', 'a', 'Z', null, null],
]

/**
 * Returns the expected order of texts as their numbers: nulls last ascending and first descending, ties by
 * number.
 */
function orderOf(values: readonly (string | null)[], descending: boolean): number[] {
  const compare = (a: string | null, b: string | null) =>
    a === null || b === null ? Number(a === null) - Number(b === null) : compareCodePoints(a, b)
  return values
    .map((value, n) => ({ value, n }))
    .toSorted((a, b) => (descending ? -1 : 1) * compare(a.value, b.value) || a.n - b.n)
    .map(one => one.n)
}

const directions = [
  ['asc', false],
  ['desc', true],
] as const

test('Q6 text sorts by code point, whatever the collation of its column, and enums by their labels', async t => {
  const columns = {
    icu: 'text COLLATE "en-x-icu"',
    root: 'varchar(20) COLLATE "und-x-icu"',
    numeric: 'text COLLATE by_number',
    blind: 'text COLLATE blind',
    own: 'own',
    ci: 'citext',
    label: 'word',
  }
  // Labels of an enum can't be empty or longer than 63 bytes.
  const labels = words.map(word => (word === '' ? 'x' : word))
  const values = (name: string) => (name === 'label' ? labels : words)
  const { client, expose } = await withTables(
    t,
    `CREATE EXTENSION citext;
     CREATE COLLATION by_number (provider = icu, locale = 'en-u-kn-true');
     CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
     CREATE DOMAIN own AS text COLLATE "sv-x-icu";
     CREATE TYPE word AS ENUM (${[...new Set(labels)].flatMap(word => (word === null ? [] : [literal(word)])).join(', ')});
     CREATE TABLE words (n integer PRIMARY KEY, ${Object.entries(columns)
       .map(pair => pair.join(' '))
       .join(', ')});
     INSERT INTO words VALUES ${words
       .map((_, n) => {
         const cells = Object.keys(columns).map(name => values(name)[n] ?? null)
         return `(${[n, ...cells.map(cell => (cell === null ? 'NULL' : literal(cell)))].join(', ')})`
       })
       .join(', ')}`,
  )
  await expose('words')
  for (const name of Object.keys(columns))
    for (const [order, descending] of directions)
      for (const limit of [50, 500]) {
        const records = await list<{ n: number }>(client, 'words', {
          order_by: [{ field: name, order }],
          limit,
        })
        assert.deepEqual(
          records.map(({ n }) => n),
          orderOf(values(name), descending),
          `${name} ${order}`,
        )
      }
})

test('Q6 a key of text sorts by code point too, and breaks ties so', async t => {
  const { client, expose } = await withTables(
    t,
    `CREATE TABLE words (word text COLLATE "en-x-icu" PRIMARY KEY, same integer);
     INSERT INTO words VALUES ('b'), ('B'), ('a'), ('ä'), ('Z'), ('\u{10000}'), ('\uffff')`,
  )
  await expose('words')
  const expected = ['B', 'Z', 'a', 'b', 'ä', '\uffff', '\u{10000}']
  for (const order_by of [[], [{ field: 'same' }], [{ field: 'same', order: 'desc' }]])
    assert.deepEqual(
      (await list(client, 'words', { order_by })).map(({ word }) => word),
      expected,
    )
})

test('Q6 a database whose own collation is another one sorts by code point', async t => {
  const server = await serverUrl()
  const name = `carrel_test_icu_${randomBytes(6).toString('hex')}`
  await runSql(
    server,
    `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-u-kn-true' LOCALE 'C'`,
  )
  atEnd(t, () => dropReader(name))
  atEnd(t, () => runSql(server, `DROP DATABASE ${name} WITH (FORCE)`))
  const CARREL_DATABASE_URL = Object.assign(new URL(server), { pathname: `/${name}` }).href
  const env = { CARREL_DATABASE_URL }
  const service = await startService(t, { env })
  const list10 = ['Z10', 'a', 'z9', 'Z9', 'ä', 'z10', 'A']
  await runSql(
    CARREL_DATABASE_URL,
    `CREATE TABLE words (word text PRIMARY KEY, n serial);
     INSERT INTO words VALUES ${list10.map(word => `(${literal(word)})`).join(', ')};
     CREATE VIEW shouted AS SELECT word || '!' AS word, n FROM words`,
  )
  await exposeIn(service, 'words')
  await exposeIn(service, 'shouted', { key: ['n'] })
  const expected = list10.toSorted(compareCodePoints)
  const sortedBy = async (client: Client, entity: string, field: string) =>
    (await list(client, entity, { order_by: [{ field }] })).map(record => record[field])
  const anyone = service.client()
  assert.deepEqual(await sortedBy(anyone, 'words', 'word'), expected)
  assert.deepEqual(
    await sortedBy(anyone, 'shouted', 'word'),
    expected.map(word => `${word}!`),
  )
  // The built-in entities are sorted in the same way.
  for (const word of list10) await service.storage.people.addGroup(word, commandEvent('group.add'))
  const admin = await service.addLoggedIn('root@example.org', { admin: true })
  assert.deepEqual(
    await sortedBy(admin, 'groups', 'name'),
    ['Administrator', ...list10].toSorted(compareCodePoints),
  )
})

test('Q6 values that are shown as text and have an order of their own keep it', async t => {
  const cases = {
    span: ['interval', ['-1 days', '00:00:01', '09:00:00', '10:00:00', '2 days', '1 mon']],
    address: ['inet', ['9.0.0.0', '10.0.0.0/8', '10.0.0.9', '10.0.0.10', '::1']],
    day: ['date', ['0044-03-15 BC', '0999-01-01', '2020-01-31', '10000-01-01']],
    n: ['numeric', ['-Infinity', '-1', '2', '10', '10.5', 'Infinity', 'NaN']],
  } as const
  const { client, expose } = await withTables(
    t,
    Object.entries(cases)
      .map(
        ([name, [type, values]]) => `CREATE TABLE ${name}s (id integer PRIMARY KEY, v ${type});
         INSERT INTO ${name}s VALUES ${values.map((value, n) => `(${(n * 7) % 13}, '${value}')`).join(', ')}`,
      )
      .join(';'),
  )
  for (const name of Object.keys(cases)) await expose(`${name}s`, { name })
  for (const [name, [, values]] of Object.entries(cases)) {
    const ids = values.map((_, n) => (n * 7) % 13)
    const order_by = [{ field: 'v' }]
    assert.deepEqual(
      (await list(client, name, { order_by })).map(({ id }) => id),
      ids,
      name,
    )
  }
})

const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 4 })
const pad = (value: number, width: number) => String(value).padStart(width, '0')
const sampleFields: readonly RawField[] = [
  { name: 'id', type: 'integer', nullable: false },
  { name: 'word', type: 'text', nullable: true },
  { name: 'n', type: 'integer', nullable: true },
  { name: 'price', type: 'number', nullable: true },
  { name: 'flag', type: 'boolean', nullable: true },
  { name: 'at', type: 'date-time', nullable: true },
  { name: 'size', type: 'text', nullable: true },
]
/** Values as JSON, as the service prints them. PostgreSQL's text can't contain NUL. */
const sampleRow = fc.record({
  word: nullable(texts.filter(word => !word.includes('\0')).map(word => JSON.stringify(word))),
  n: nullable(fc.integer({ min: -3, max: 3 }).map(String)),
  price: nullable(fc.integer({ min: -999, max: 999 }).map(cents => (cents / 100).toFixed(2))),
  flag: nullable(fc.constantFrom('true', 'false')),
  at: nullable(
    fc
      .tuple(fc.integer({ min: 1, max: 28 }), fc.integer({ min: 0, max: 23 }))
      .map(([day, hour]) => `"2020-02-${pad(day, 2)}T${pad(hour, 2)}:00:00+00:00"`),
  ),
  size: nullable(fc.constantFrom('"small"', '"medium"', '"large"')),
})

test('Q2 Q3 Q4 Q5 Q6 any order, limit and offset answers what a plain sort answers', async t => {
  const { service, client, expose, url } = await withTables(
    t,
    `CREATE TYPE size AS ENUM ('small', 'medium', 'large');
     CREATE TABLE sample (id integer PRIMARY KEY, word text COLLATE "en-x-icu", n smallint, price numeric(8, 2),
       flag boolean, at timestamptz, size size)`,
  )
  await expose('sample')
  await fc.assert(
    fc.asyncProperty(
      fc.array(sampleRow, { maxLength: 130 }),
      fc.array(pagePlan(140), { minLength: 6, maxLength: 6 }),
      fc.constantFrom('application/json', 'application/x-ndjson', 'text/csv'),
      async (rows, plans, accept) => {
        const records = rows.map<RawRecord>(
          (row, n) =>
            new Map([
              ['id', String((n * 101) % 131)],
              ...Object.entries(row).map(([name, value]) => [name, value ?? 'null'] as const),
            ]),
        )
        const json = `[${records.map(textOf).join(',')}]`
        const insert = 'INSERT INTO sample SELECT * FROM json_populate_recordset(NULL::sample, $1)'
        await runSql(url, 'TRUNCATE sample')
        await runSql(url, insert, [json])
        for (const plan of plans) {
          const { order, limit = records.length, offset = 0 } = pageOf(plan, sampleFields)
          const expected = sorted(records, sampleFields, order, 'id').slice(offset, offset + limit)
          const page = { order_by: order, offset, ...(plan.limit === undefined ? {} : { limit }) }
          const body = await bodyOf(service, listPath('sample', page), accept)
          assert.deepEqual(recordsIn(body, accept), expected.map(recordOf(accept)))
        }
        const counted = await client.get(listPath('sample', { include_total: true, limit: 1 }))
        assert.equal(counted.headers.get('x-records'), String(records.length))
        await counted.arrayBuffer()
      },
    ),
    runs(4, 25),
  )
})

const textOf = (record: RawRecord) =>
  `{${[...record].map(([name, value]) => `"${name}":${value}`).join(',')}}`

function recordsIn(body: string, accept: string): unknown[] {
  if (accept === 'application/json') return JSON.parse(body) as unknown[]
  if (accept === 'text/csv')
    return readCsv(body)
      .slice(1)
      .map(row => row.map(cell => (cell.quoted || cell.text !== '' ? cell.text : null)))
  return body
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as unknown)
}

const recordOf = (accept: string) => (record: RawRecord) =>
  accept === 'text/csv'
    ? [...record.values()].map(value =>
        // A number keeps the digits that the table gives it.
        value === 'null' ? null : value.startsWith('"') ? String(JSON.parse(value)) : value,
      )
    : (JSON.parse(textOf(record)) as unknown)

const manyRows = repeats(5_000, 20_000)

test(`Q9 Q10 a listing of ${manyRows.toLocaleString('en')} rows whole equals its pages put together`, async t => {
  const { service, client, expose } = await withTables(
    t,
    `CREATE TABLE many (id integer PRIMARY KEY, word text COLLATE "en-x-icu", n integer);
     INSERT INTO many SELECT id, 'Wörd ' || (id * 7919 % 977), nullif(id % 10, 0) FROM generate_series(1, ${manyRows}) id`,
  )
  await expose('many')
  const order_by = [{ field: 'n', order: 'desc' }, { field: 'word' }]
  for (const [parameters, size] of [
    [{}, 100],
    [{}, 2_500],
    [{ order_by }, manyRows / 5],
  ] as const) {
    const whole = await bodyOf(service, listPath('many', parameters), 'application/x-ndjson')
    assert.equal(whole.split('\n').length, manyRows + 1)
    const pages: string[] = []
    let next: string | undefined = listPath('many', { ...parameters, limit: size })
    while (next !== undefined) {
      const response: Response = await client.get(next, { accept: 'application/x-ndjson' })
      pages.push(await response.text())
      next = linksOf(response).next
    }
    assert.equal(pages.length, manyRows / size)
    assert.ok(pages.join('') === whole, 'the same bytes')
  }
})
