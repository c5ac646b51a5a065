import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { commandEvent } from '../../src/cli/store.ts'
import type { Entity } from '../../src/model/entities.ts'
import { StoreUnavailable } from '../../src/model/errors.ts'
import { ExposeError, type ExposeRequest } from '../../src/storage/entities.ts'
import { assertProblem } from '../support/clients/answers.ts'
import type { Client } from '../support/clients/client.ts'
import { bodyOf, linksOf, list, listPath, problemOf, readCsv } from '../support/clients/listings.ts'
import { pageOf, pagePlan, text as texts } from '../support/data/arbitrary-records.ts'
import { eventsOf } from '../support/data/events.ts'
import { until } from '../support/data/imports.ts'
import { compareCodePoints, type RawField, type RawRecord, sorted } from '../support/data/oracle.ts'
import { atEnd } from '../support/service/at-end.ts'
import { runSql, serverUrl } from '../support/service/databases.ts'
import { storeSettings } from '../support/service/engines.ts'
import { connectTo } from '../support/service/nodes.ts'
import { type PostgresServer, startPostgres } from '../support/service/postgres-server.ts'
import { carrel, type Finished } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'

/** Tables and views of the operator's own as entities; only PostgreSQL has such. */

interface Tables {
  readonly service: Service
  readonly client: Client
  /** Of the database. */
  readonly url: string
  /** `carrel expose …`, as a process. */
  command(...args: readonly string[]): Promise<Finished>
  /** What the command does, without the half second that a process takes to start. */
  expose(table: string, more?: Partial<ExposeRequest>): Promise<Entity>
}

/** A service on a new database with these tables. */
async function withTables(t: TestContext, sql: string): Promise<Tables> {
  // Roles belong to the server and stay when the database has gone.
  let database = ''
  atEnd(t, () => dropReader(database))
  const dataFolder = temporaryFolder(t, 'postgres')
  const { CARREL_DATABASE_URL: url = '' } = await storeSettings(dataFolder)
  database = new URL(url).pathname.slice(1)
  const service = await startService(t, { dataFolder })
  await runSql(url, sql)
  return {
    service,
    client: service.client(),
    url,
    command: (...args) => carrel(dataFolder, ['expose', ...args]),
    expose: (table, more = {}) => exposeIn(service, table, more),
  }
}

const dropReader = async (database: string) =>
  runSql(await serverUrl(), `DROP ROLE IF EXISTS carrel_reader_${database}`)

/** A table of the schema public, all of it, for everyone, unless told otherwise. */
function exposeIn({ storage }: Service, table: string, more: Partial<ExposeRequest> = {}): Promise<Entity> {
  assert.ok(storage.entities.expose)
  const request = {
    name: table,
    schema: 'public',
    table,
    key: null,
    read: 'anonymous',
    fields: null,
    ...more,
  } as const
  return storage.entities.expose(request, commandEvent('entity.expose'))
}

const drop = ({ storage }: Service, name: string): Promise<boolean> =>
  storage.entities.drop(name, commandEvent('entity.drop'))

function assertDone({ code, stdout, stderr }: Finished): string {
  assert.equal(code, 0, stdout + stderr)
  assert.equal(stderr, '')
  return stdout
}

/** One line on standard error, nothing on standard output (D1). */
function assertRefused({ code, stdout, stderr }: Finished, expected: 1 | 2, says: RegExp): string {
  assert.equal(code, expected, stdout + stderr)
  assert.equal(stdout, '')
  assert.match(stderr, /^carrel: [^\n]+\n$/, 'one line')
  assert.match(stderr, says)
  assert.doesNotMatch(stderr, /\.ts:\d|node:internal/, 'no stack')
  return stderr
}

/** Two at a time: a command takes half a second. */
async function each<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const rest = all.values()
  const worker = async () => {
    for (const one of rest) await work(one)
  }
  await Promise.all([worker(), worker()])
}

/** What the reader role of this database does; the rest is taken back. */
async function asReader(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const [role] = await runSql<{ name: string }>(
    url,
    "SELECT rolname AS name FROM pg_roles WHERE rolname = left('carrel_reader_' || current_database(), 63)",
  )
  assert.ok(role, 'there is a role to read with')
  return runSql(url, `BEGIN; SET LOCAL ROLE "${role.name}"; ${sql}`)
}

/** A table can't be exposed so; the command prints such errors in one line (D1). */
const assertCannot = (exposing: Promise<unknown>, says: RegExp): Promise<void> =>
  assert.rejects(exposing, (error: unknown) => {
    const isKnown = error instanceof ExposeError || error instanceof StoreUnavailable
    assert.ok(isKnown, String(error instanceof Error ? error.stack : error))
    assert.match(error.message, /^[^\n]+$/, 'one line')
    assert.match(error.message, says)
    return true
  })

const assertNotForReader = (url: string, sql: string): Promise<void> =>
  assert.rejects(asReader(url, sql), /permission denied/, sql)

interface Described {
  readonly name: string
  readonly key: string | readonly string[]
  readonly fields: readonly { name: string; type: string; nullable: boolean; sortable?: boolean }[]
}

/** How `GET {query_base}` shows the entity (Q12). */
async function described(client: { get(path: string): Promise<Response> }, name: string): Promise<Described> {
  const all = await list<Described & Record<string, unknown>>(client, '')
  const found = all.find(entity => entity.name === name)
  assert.ok(found, `${name} is listed`)
  return found
}

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`
const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
const anonymous = ['--read', 'anonymous'] as const

// The command -------------------------------------------------------------------------------------------------

test('D2 the embedded store has no tables to expose', async t => {
  const folder = temporaryFolder(t)
  await carrel(folder, ['group', 'add', 'Readers'])
  const done = await carrel(folder, ['expose', 'public.things', '--entity', 'things'])
  assertRefused(done, 1, /embedded store.*CARREL_DATABASE_URL/)
})

test('D2 what is asked for the wrong way, or is not there, is refused and makes no entity', async t => {
  const { client, command, expose, url } = await withTables(
    t,
    'CREATE TABLE things (id integer PRIMARY KEY, name text, seal point); CREATE SEQUENCE numbers',
  )
  await each(
    [
      [['public.things'], 2, /--entity/],
      [['public.things', '--entity', 'things', '--read', 'all'], 2, /--read/],
      [['a.b.c', '--entity', 'things'], 2, /a\.b\.c.*schema\.table/],
      [['"public.things', '--entity', 'things'], 2, /schema\.table/],
      [['public.thing', '--entity', 'things'], 1, /public\.thing\b/],
      [['public.things', '--entity', 'things', '--read', 'group:Nobody'], 1, /carrel group add Nobody/],
      [['public.things', '--entity', 'things', '--fields', '', '--key', ','], 1, /fields|key/],
    ] as const,
    async ([args, code, says]) => {
      assertRefused(await command(...args), code, says)
    },
  )
  const things = (more: Partial<ExposeRequest>) => expose('things', more)
  await assertCannot(things({ schema: 'nowhere' }), /nowhere\.things/)
  await assertCannot(things({ table: 'Things' }), /public\.Things/)
  await assertCannot(things({ table: 'numbers' }), /public\.numbers/)
  await assertCannot(things({ table: 'things_pkey' }), /public\.things_pkey/)
  await assertCannot(things({ fields: ['id', 'title'] }), /title.*id, name, seal/)
  await assertCannot(things({ fields: ['name'] }), /key column id.*fields.*name/)
  await assertCannot(things({ fields: [] }), /fields/)
  await assertCannot(things({ key: ['title'] }), /title.*id, name, seal/)
  await assertCannot(things({ key: ['seal'] }), /seal.*order/)
  await assertCannot(things({ key: [] }), /key/)
  for (const schema of ['carrel', 'pg_catalog', 'information_schema', 'pg_toast'])
    await assertCannot(things({ schema, table: 'eperson' }), /the schema \w+ can't be exposed/)
  assert.deepEqual(await runSql(url, 'SELECT name FROM carrel.entity'), [])
  await assertProblem(await client.get(listPath('things')), 404, 'unknown-entity')
})

test('D2 names of entities follow the rule, and those that are taken stay as they are', async t => {
  const { service, client, command, expose, url } = await withTables(
    t,
    'CREATE TABLE things (id integer PRIMARY KEY); INSERT INTO things VALUES (7)',
  )
  await service.addRecords('letters', 'id', [{ id: 1 }])
  await each(['Things', 'two words', 'epersons', 'bitstreams'], async name => {
    assertRefused(await command('public.things', '--entity', name), 1, /name|built in/)
  })
  await assertCannot(expose('things', { name: 'letters' }), /letters.*imported/)
  assert.deepEqual(await list(client, 'letters'), [{ id: 1 }])
  await assertNoRight(url, 'things')
})

test('Q11 an import over an exposed table is refused, or takes the right to read the table away', async t => {
  const { service, client, expose, url } = await withTables(
    t,
    'CREATE TABLE things (id integer PRIMARY KEY); INSERT INTO things VALUES (7)',
  )
  await expose('things')
  const imported = await service.addRecords('things', 'id', [{ id: 1 }]).then(
    () => true,
    () => false,
  )
  assert.deepEqual(await list(client, 'things'), [{ id: imported ? 1 : 7 }])
  if (imported) await assertNoRight(url, 'things')
})

/** Whether or not there is a role to read with: it has no right on the table. */
async function assertNoRight(url: string, table: string): Promise<void> {
  const sql = `SELECT 1 FROM pg_roles WHERE rolname LIKE 'carrel_reader_%'
    AND rolname = left('carrel_reader_' || current_database(), 63) AND has_any_column_privilege(oid, $1, 'SELECT')`
  assert.deepEqual(await runSql(url, sql, [table]), [])
}

test('D2 exposing says what it made, in a table and as JSON, and the audit trail has it', async t => {
  const { service, client, command } = await withTables(
    t,
    'CREATE TABLE things (id integer PRIMARY KEY, name text, seal json)',
  )
  const shown = assertDone(await command('public.things', '--entity', 'things', ...anonymous))
  assert.match(shown, /^id +integer +no +yes$/m)
  assert.match(shown, /^name +text +yes +yes$/m)
  assert.match(shown, /^seal +json +yes +no$/m)
  const json = JSON.parse(
    assertDone(await command('things', '--entity', 'again', '--fields', ' id,name', ...anonymous, '--json')),
  )
  assert.deepEqual(json, {
    name: 'again',
    key: 'id',
    read: 'anonymous',
    fields: [
      { name: 'id', type: 'integer', nullable: false },
      { name: 'name', type: 'text', nullable: true },
    ],
  })
  const { name, key, fields } = await described(client, 'again')
  assert.deepEqual({ name, key, read: 'anonymous', fields }, json)
  const listed = JSON.parse(assertDone(await carrel(service.dataFolder, ['entity', 'list', '--json']))) as {
    name: string
    table: string | null
  }[]
  assert.equal(listed.find(one => one.name === 'things')?.table, 'public.things')

  await service.addEperson('root@example.org', { admin: true })
  const admin = service.client()
  await admin.login('root@example.org')
  const event = {
    outcome: 'success',
    eperson: null,
    actor: null,
    client_ip: null,
    method: null,
    reason: null,
  }
  assert.deepEqual(await eventsOf(admin, 'entity.expose'), [
    { ...event, object: 'things' },
    { ...event, object: 'again' },
  ])
})

test('D2 a key must be there, never null and never twice, whether an index says so or not', async t => {
  const { client, expose } = await withTables(
    t,
    `CREATE TABLE bare (id integer, name text); INSERT INTO bare VALUES (1, 'a'), (2, 'b');
     CREATE TABLE nulls (id integer, name text NOT NULL); INSERT INTO nulls VALUES (1, 'a'), (NULL, 'b');
     CREATE TABLE twice (id integer NOT NULL, part integer NOT NULL, name text, PRIMARY KEY (part, id));
     INSERT INTO twice VALUES (1, 2, 'c'), (1, 1, 'a'), (2, 1, 'b');
     CREATE TABLE partly (id integer NOT NULL, live boolean NOT NULL);
     CREATE UNIQUE INDEX ON partly (id) WHERE live; INSERT INTO partly VALUES (1, false), (1, true);
     CREATE TABLE pairs (a integer NOT NULL, b integer NOT NULL, UNIQUE (a, b)); INSERT INTO pairs VALUES (1, 1), (1, 2);
     CREATE TABLE optional (code text UNIQUE, n integer); INSERT INTO optional VALUES ('x', 2), ('w', 1);
     CREATE TABLE folded (code text NOT NULL, n integer); CREATE UNIQUE INDEX ON folded (lower(code));
     INSERT INTO folded VALUES ('B', 1), ('a', 2);
     CREATE TABLE twofold (id integer NOT NULL, n integer); INSERT INTO twofold VALUES (1, 1), (1, 2);
     CREATE UNIQUE INDEX ON twofold (id) INCLUDE (n) WHERE n = 1`,
  )
  await assertCannot(expose('bare'), /primary key.*--key/)
  await assertCannot(expose('optional'), /primary key.*--key/)
  await assertCannot(expose('nulls', { key: ['id'] }), /id can't be the key.*null/)
  for (const [table, key] of [
    ['twice', 'id'],
    ['partly', 'id'],
    ['pairs', 'a'],
    ['twofold', 'id'],
  ] as const)
    await assertCannot(expose(table, { key: [key] }), /(id|a) can't be the key.*duplicate/)
  await expose('twice')
  await expose('bare', { key: ['id'] })
  await expose('pairs', { key: ['b', 'a'] })
  await expose('optional', { key: ['code'] })
  await expose('folded', { key: ['code'] })
  assert.deepEqual(
    (await list(client, 'twice')).map(({ name }) => name),
    ['a', 'b', 'c'],
    'the primary key, in its own order of columns',
  )
  assert.deepEqual((await described(client, 'twice')).key, ['part', 'id'])
  assert.deepEqual(
    (await list(client, 'pairs', { order_by: [{ field: 'a' }] })).map(({ b }) => b),
    [1, 2],
  )
  assert.deepEqual(
    (await list(client, 'optional')).map(({ code }) => code),
    ['w', 'x'],
  )
  assert.deepEqual(
    (await list(client, 'folded')).map(({ code }) => code),
    ['B', 'a'],
  )
})

test('D2 a field or a column of the key that is named twice is there once', async t => {
  const { client, expose } = await withTables(
    t,
    "CREATE TABLE things (id integer PRIMARY KEY, name text); INSERT INTO things VALUES (1, 'a')",
  )
  await expose('things', { fields: ['name', 'id', 'name'], key: ['id', 'id'] })
  assert.equal(await (await client.get(listPath('things'))).text(), '[{"name":"a","id":1}]')
})

test('D2 looking whether a key is one takes as long as it takes', async t => {
  const { client, expose } = await withTables(
    t,
    `CREATE TABLE things (id integer PRIMARY KEY); INSERT INTO things VALUES (1), (2), (3);
     CREATE VIEW slow AS SELECT id FROM things WHERE pg_sleep(1.5) IS NOT NULL`,
  )
  await expose('slow', { key: ['id'] })
  assert.equal((await described(client, 'slow')).key, 'id')
})

test('D2 views, materialized views and partitioned tables are exposed like tables', async t => {
  const { client, expose, url } = await withTables(
    t,
    `CREATE TABLE base (id integer PRIMARY KEY, name text, hidden text);
     INSERT INTO base VALUES (2, 'b', 'x'), (1, 'a', 'x');
     CREATE VIEW seen AS SELECT id, upper(name) AS name FROM base WHERE id > 0;
     CREATE MATERIALIZED VIEW kept AS SELECT id, name FROM base;
     CREATE TABLE parts (id integer PRIMARY KEY, name text) PARTITION BY RANGE (id);
     CREATE TABLE low PARTITION OF parts FOR VALUES FROM (0) TO (10);
     CREATE TABLE high PARTITION OF parts FOR VALUES FROM (10) TO (20);
     INSERT INTO parts VALUES (15, 'z'), (5, 'y');
     CREATE TABLE heir (more text) INHERITS (base); INSERT INTO heir VALUES (3, 'c', 'x', 'm')`,
  )
  for (const view of ['seen', 'kept']) {
    await assertCannot(expose(view), /primary key.*--key/)
    await expose(view, { key: ['id'] })
  }
  for (const table of ['parts', 'base']) await expose(table, { fields: ['id', 'name'] })
  const names = async (entity: string) => (await list(client, entity)).map(({ name }) => name)
  assert.deepEqual(await names('seen'), ['A', 'B', 'C'])
  assert.deepEqual(await names('kept'), ['a', 'b'])
  assert.deepEqual(await names('parts'), ['y', 'z'])
  assert.deepEqual(await names('base'), ['a', 'b', 'c'])
  await runSql(url, "REFRESH MATERIALIZED VIEW kept; INSERT INTO parts VALUES (10, 'new')")
  assert.deepEqual(await names('kept'), ['a', 'b', 'c'])
  assert.deepEqual(await names('parts'), ['y', 'new', 'z'])
  await assertNotForReader(url, 'SELECT hidden FROM base')
  await assertNotForReader(url, 'SELECT id FROM low')
})

// Types and values --------------------------------------------------------------------------------------------

interface Column {
  readonly name: string
  /** In SQL. */
  readonly type: string
  readonly value: string
  /** The JSON text of the value, but for spaces. */
  readonly json: string
  readonly field: string
  readonly sortable: boolean
}

const wide = '1234567890123456789012345678901234567890'
const fine = '0.1000000000000000055511151231257827021181'

/** Name, type and value in SQL, value in JSON, type of the field, and whether it has no order. */
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

test('Q12 the types of fields come from the catalogue, and what has no order says so', async t => {
  const { client, expose } = await withEverything(t)
  await expose('everything')
  assert.deepEqual((await described(client, 'everything')).fields, [
    { name: 'id', type: 'integer', nullable: false },
    ...everything.map(({ name, field: type, sortable }) => ({
      name,
      type,
      nullable: true,
      ...(sortable ? {} : { sortable }),
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

const words = [
  ...['', ' ', 'a', 'A', 'b', 'B', 'ä', 'Ä', 'aa', 'a b', 'a-b', 'ab', 'Z', 'z', 'é', 'e\u0301', 'ß', 'ss'],
  ...['0', '10', '9', '_', '~', '\t', '\ue000', '\uffff', '\u{10000}', '\u{1f600}', 'a', 'Z', null, null],
]

/** Expected of texts by number: nulls last ascending and first descending, ties by number. */
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
  // What a label of an enum can't be: empty, or longer than 63 bytes.
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
  // The entities that are always there, too.
  for (const word of list10) await service.storage.accounts.addGroup(word, commandEvent('group.add'))
  await service.addEperson('root@example.org', { admin: true })
  const admin = service.client()
  await admin.login('root@example.org')
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
/** Values as JSON texts, as the service prints them. PostgreSQL's text has no NUL. */
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
    { numRuns: 25 },
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
    ? [...record.values()].map(value => (value === 'null' ? null : String(JSON.parse(value))))
    : (JSON.parse(textOf(record)) as unknown)

test('Q9 Q10 a listing of 20,000 rows whole equals its pages put together', async t => {
  const { service, client, expose } = await withTables(
    t,
    `CREATE TABLE many (id integer PRIMARY KEY, word text COLLATE "en-x-icu", n integer);
     INSERT INTO many SELECT id, 'Wörd ' || (id * 7919 % 977), nullif(id % 10, 0) FROM generate_series(1, 20000) id`,
  )
  await expose('many')
  const order_by = [{ field: 'n', order: 'desc' }, { field: 'word' }]
  for (const [parameters, size] of [
    [{}, 100],
    [{}, 2_500],
    [{ order_by }, 4_000],
  ] as const) {
    const whole = await bodyOf(service, listPath('many', parameters), 'application/x-ndjson')
    assert.equal(whole.split('\n').length, 20_001)
    const pages: string[] = []
    let next: string | undefined = listPath('many', { ...parameters, limit: size })
    while (next !== undefined) {
      const response: Response = await client.get(next, { accept: 'application/x-ndjson' })
      pages.push(await response.text())
      next = linksOf(response).next
    }
    assert.equal(pages.length, 20_000 / size)
    assert.ok(pages.join('') === whole, 'the same bytes')
  }
})

// Names -------------------------------------------------------------------------------------------------------

const longName = `${'ä'.repeat(31)}x`
const oddNames = [
  ...['record', 'record_', 't', 'json', 'body', 'count', 'counted', 'page', 'select', 'from', 'order'],
  ...['Capital', 'capital', 'two words', ' padded ', 'do.t', 'q"uote', "apo'strophe", 'back\\slash'],
  ...['com,ma', 'new\nline', '$1', '?', ':a', '%', '--', '/*', '*', '1', '🦉', '__proto__', 'constructor'],
  longName,
]

test('D2 Q6 any name that PostgreSQL allows for a schema, a table and a column works', async t => {
  const schema = 'We"ird. Schema $1'
  const table = 'Tab"le.with "all" SELECT $2 100%'
  const full = `${quoted(schema)}.${quoted(table)}`
  const long = [longName, longName.replace('x', 'y')].map(quoted).join('.')
  const { service, client, command, expose, url } = await withTables(
    t,
    `CREATE SCHEMA ${quoted(schema)}; CREATE SCHEMA ${quoted(longName)};
     CREATE TABLE ${full} (${oddNames.map(name => `${quoted(name)} integer`).join(', ')}, PRIMARY KEY ("q""uote"));
     INSERT INTO ${full} VALUES ${[1, 2].map(row => `(${oddNames.map((_, at) => row * 1_000 + at).join(', ')})`).join(', ')};
     CREATE TABLE ${long} (${quoted(longName)} integer PRIMARY KEY); INSERT INTO ${long} VALUES (1)`,
  )
  await expose(table, { name: 'odd', schema })
  const row = (n: number) => Object.fromEntries(oddNames.map((name, at) => [name, n * 1_000 + at] as const))
  const expected = [row(1), row(2)]
  for (const limit of [2, 500]) {
    assert.deepEqual(await list(client, 'odd', { limit }), expected)
    for (const field of oddNames)
      assert.deepEqual(
        await list(client, 'odd', { limit, order_by: [{ field, order: 'desc' }] }),
        expected.toReversed(),
        field,
      )
  }
  const csv = readCsv(await bodyOf(service, listPath('odd'), 'text/csv')).map(line =>
    line.map(cell => cell.text),
  )
  assert.deepEqual(csv, [oddNames, ...expected.map(record => oddNames.map(name => String(record[name])))])
  const some = ['record', 'q"uote', 'do.t', 'select', longName]
  const more = ['--fields', some.join(','), '--key', 'do.t,select', ...anonymous]
  assertDone(await command(full, '--entity', 'some', ...more))
  assert.deepEqual(
    await list(client, 'some'),
    expected.map(record => Object.fromEntries(some.map(name => [name, record[name]]))),
  )
  await expose(longName.replace('x', 'y'), { name: 'long', schema: longName })
  assert.deepEqual(await list(client, 'long', { order_by: [{ field: longName }] }), [{ [longName]: 1 }])
  for (const name of ['odd', 'some', 'long']) assert.equal(await drop(service, name), true)
  await assertNotForReader(url, `SELECT count(*) FROM ${full}`)
})

// Who reads what ----------------------------------------------------------------------------------------------

const people = `CREATE TABLE people (id integer PRIMARY KEY, name text, salary integer, remark text);
  INSERT INTO people VALUES (1, 'Ruth', 77001, 'whispered'), (2, 'Carl', 77000, 'whispered');
  CREATE TABLE diary (id integer PRIMARY KEY, entry text)`

test('Q7 Q11 Q12 fields that are not shown can not be read, sorted by or guessed', async t => {
  const { service, client, expose } = await withTables(t, people)
  await expose('people', { fields: ['id', 'name'] })
  const hidden = /salary|remark|whispered|7700/
  const bodies = [
    await bodyOf(service, listPath('people')),
    await bodyOf(service, listPath('people', { limit: 1, include_total: true })),
    await bodyOf(service, listPath('people'), 'application/x-ndjson'),
    await bodyOf(service, listPath('people'), 'text/csv'),
    await bodyOf(service, '/api/query/v4'),
  ]
  for (const field of ['salry', 'remar', 'nam', 'sal', 'x'])
    for (const limit of [1, 500]) {
      const response = await client.get(listPath('people', { order_by: [{ field }], limit }))
      const problem = await problemOf(response, 400)
      assert.deepEqual(problem.legal, ['id', 'name'])
      bodies.push(JSON.stringify(problem))
    }
  for (const body of bodies) assert.doesNotMatch(body, hidden)
  // What a client spells itself comes back, but nothing tells that it is there.
  for (const field of ['salary', 'remark', 'nothing', 'ctid', 'xmin', 'tableoid', 'people', 't', 'record']) {
    const problem = await problemOf(await client.get(listPath('people', { order_by: [{ field }] })), 400)
    assert.equal(
      problem.detail.replaceAll(`"${field}"`, '"…"').replace(/ Did you mean "(id|name)"\?/, ''),
      'The parameter order_by is wrong at character 10: people has no field "…". The fields of people are id, name.',
    )
  }
})

test('Q11 the role that reads has the columns that are shown, and nothing else', async t => {
  const { expose, url } = await withTables(t, people)
  await expose('people', { fields: ['id', 'name'] })
  assert.deepEqual(await asReader(url, 'SELECT id, name FROM people ORDER BY id LIMIT 1'), [
    { id: 1, name: 'Ruth' },
  ])
  const own = 'eperson epersons event events secret entity rank state membership'.split(' ')
  for (const sql of [
    ...['SELECT salary FROM people', 'SELECT * FROM people', 'SELECT p FROM people p', 'TABLE diary'],
    ...['SELECT id FROM people WHERE remark IS NULL', 'SELECT id FROM people ORDER BY salary'],
    ...own.map(table => `SELECT count(*) FROM carrel.${table}`),
    ...['INSERT INTO people (id) VALUES (3)', "UPDATE people SET name = 'x'", 'DELETE FROM people'],
    ...['TRUNCATE people', 'CREATE TABLE public.mine (id integer)', 'CREATE SCHEMA mine'],
    ...['TABLE pg_authid', "SELECT pg_read_file('PG_VERSION')", "SELECT nextval('carrel.stamp')"],
  ])
    await assertNotForReader(url, sql)
})

test('Q11 exposing again with fewer fields, or dropping, takes the right to read them away', async t => {
  const { service, client, expose, url } = await withTables(t, people)
  const readable = async () => {
    const columns = ['id', 'name', 'salary', 'remark']
    const rights = await runSql<{ name: string; may: boolean }>(
      url,
      `SELECT name, has_column_privilege(left('carrel_reader_' || current_database(), 63), 'people', name, 'SELECT') AS may
       FROM unnest($1::text[]) AS name`,
      [columns],
    )
    return rights.filter(({ may }) => may).map(({ name }) => name)
  }
  await expose('people')
  assert.deepEqual(await readable(), ['id', 'name', 'salary', 'remark'])
  await expose('people', { fields: ['name', 'id'] })
  assert.deepEqual(await list(client, 'people', { limit: 1 }), [{ name: 'Ruth', id: 1 }])
  assert.deepEqual(await readable(), ['id', 'name'])
  // Two entities of one table: what the other shows stays.
  await expose('people', { name: 'pay', fields: ['id', 'salary'] })
  assert.deepEqual(await readable(), ['id', 'name', 'salary'])
  assert.equal(await drop(service, 'people'), true)
  await assertProblem(await client.get(listPath('people')), 404, 'unknown-entity')
  assert.deepEqual(await readable(), ['id', 'salary'])
  assert.equal(await drop(service, 'pay'), true)
  assert.deepEqual(await readable(), [])
  assert.deepEqual(await runSql(url, 'SELECT count(*)::integer AS count FROM people'), [{ count: 2 }])
  assert.equal(await drop(service, 'pay'), false)
})

test('Q11 an entity that moves on to another table takes the right to read the first one away', async t => {
  const { client, expose, url } = await withTables(t, people)
  await expose('people', { name: 'thing' })
  await expose('diary', { name: 'thing' })
  assert.deepEqual(await list(client, 'thing'), [])
  await assertNotForReader(url, 'SELECT id FROM people')
})

test('Q11 row-level security decides which rows there are, and what is counted', async t => {
  const { client, expose, url } = await withTables(
    t,
    `CREATE TABLE papers (id integer PRIMARY KEY, public boolean NOT NULL);
     INSERT INTO papers SELECT id, id % 3 = 0 FROM generate_series(1, 30) id;
     ALTER TABLE papers ENABLE ROW LEVEL SECURITY`,
  )
  await expose('papers')
  assert.deepEqual(await list(client, 'papers'), [])
  await runSql(url, 'CREATE POLICY shown ON papers FOR SELECT USING (public)')
  const response = await client.get(listPath('papers', { include_total: true, limit: 3 }))
  assert.equal(response.headers.get('x-records'), '10')
  assert.deepEqual(
    ((await response.json()) as { id: number }[]).map(({ id }) => id),
    [3, 6, 9],
  )
})

/** A function that writes with the rights of its owner, whoever calls it. */
const writeIt = `CREATE OR REPLACE FUNCTION touch() RETURNS integer LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS
  $$ BEGIN INSERT INTO written VALUES (DEFAULT); RETURN 1; END $$`

test('Q11 a view that writes fails when it is read, and nothing is written', async t => {
  const { client, expose, url } = await withTables(
    t,
    `CREATE TABLE written (id serial PRIMARY KEY); CREATE TABLE base (id integer PRIMARY KEY);
     INSERT INTO base VALUES (1), (2);
     CREATE FUNCTION touch() RETURNS integer LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN 1; END';
     CREATE VIEW touching AS SELECT id, touch() AS touched FROM base`,
  )
  await expose('touching', { key: ['id'] })
  assert.deepEqual(await list(client, 'touching'), [
    { id: 1, touched: 1 },
    { id: 2, touched: 1 },
  ])
  for (const first of [
    '',
    "PERFORM set_config('transaction_read_only', 'off', true);",
    "PERFORM set_config('default_transaction_read_only', 'off', false);",
  ]) {
    await runSql(url, writeIt.replace('BEGIN', `BEGIN ${first}`))
    for (const parameters of [{}, { limit: 1 }, { order_by: [{ field: 'touched' }] }]) {
      const response = await client.get(listPath('touching', parameters))
      const body = await response.text()
      assert.ok(response.status >= 500, `${response.status} ${body}`)
      assert.equal(response.headers.get('content-type'), 'application/problem+json')
      assert.doesNotMatch(body, /INSERT|written|touch\(/)
    }
  }
  assert.deepEqual(await runSql(url, 'SELECT id FROM written'), [])
})

test('Q11 what a view does to the settings of its connection changes nothing for who comes next', async t => {
  const { client, expose, url } = await withTables(
    t,
    `CREATE TABLE written (id serial PRIMARY KEY); CREATE TABLE base (id integer PRIMARY KEY);
     INSERT INTO base VALUES (1);
     CREATE FUNCTION cunning() RETURNS integer LANGUAGE plpgsql VOLATILE AS $$ BEGIN
       PERFORM set_config('default_transaction_read_only', 'off', false), set_config('role', 'none', false);
       RETURN 1; END $$;
     CREATE FUNCTION touch() RETURNS integer LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN 1; END';
     CREATE VIEW tricking AS SELECT id, cunning() AS n FROM base;
     CREATE VIEW touching AS SELECT id, touch() AS n FROM base;
     CREATE TABLE papers (id integer PRIMARY KEY); INSERT INTO papers VALUES (1);
     ALTER TABLE papers ENABLE ROW LEVEL SECURITY`,
  )
  for (const view of ['tricking', 'touching']) await expose(view, { key: ['id'] })
  await expose('papers')
  await runSql(url, writeIt)
  const requests = [{ limit: 1 }, { limit: 1, order_by: [{ field: 'id' }] }, {}]
  for (const parameters of requests) {
    await (await client.get(listPath('tricking', parameters))).arrayBuffer()
    for (const next of requests) {
      assert.deepEqual(await list(client, 'papers', next), [])
      const response = await client.get(listPath('touching', next))
      assert.ok(response.status >= 500, await response.text())
    }
  }
  assert.deepEqual(await runSql(url, 'SELECT id FROM written'), [])
})

test('D2 exposing a view that writes writes nothing either', async t => {
  const { expose, url } = await withTables(
    t,
    `CREATE TABLE written (id serial PRIMARY KEY); CREATE TABLE base (id integer PRIMARY KEY);
     INSERT INTO base VALUES (1), (2); ${writeIt};
     CREATE VIEW touching AS SELECT id, touch() AS touched FROM base`,
  )
  // Whether or not it is refused.
  await expose('touching', { key: ['id'] }).catch(() => {})
  assert.deepEqual(await runSql(url, 'SELECT id FROM written'), [])
})

test('Q11 the rule of --read holds, and the table is not looked at for those whom it shuts out', async t => {
  const { service, command, url } = await withTables(t, people)
  await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  await service.addEperson('carl@example.org')
  await service.addEperson('root@example.org', { admin: true })
  const rules = { open: 'anonymous', shared: 'eperson', readers: 'group:Readers', closed: 'admin' }
  await each(Object.entries(rules), async ([name, read]) => {
    // admin is what there is when nobody says anything.
    const option = read === 'admin' ? [] : ['--read', read]
    assertDone(await command('people', '--entity', name, ...option))
  })
  const mayRead = {
    '': 'open',
    carl: 'open shared',
    ruth: 'open shared readers',
    root: 'open shared readers closed',
  }
  for (const [who, names] of Object.entries(mayRead)) {
    const client = service.client()
    if (who !== '') await client.login(`${who}@example.org`)
    const shown = (await list<{ name: string }>(client, '')).map(({ name }) => name)
    for (const name of Object.keys(rules)) {
      const may = names.split(' ').includes(name)
      assert.equal(shown.includes(name), may, `${who || 'anyone'} sees ${name} in the list`)
      for (const method of ['GET', 'HEAD']) {
        const response = await client.request(listPath(name, { include_total: true }), { method })
        await response.arrayBuffer()
        assert.equal(response.status, may ? 200 : who === '' ? 401 : 403, `${who} ${method} ${name}`)
        assert.equal(response.headers.get('x-records'), may ? '2' : null)
      }
    }
  }
  await runSql(url, 'DROP TABLE people')
  await assertProblem(await service.client().get(listPath('closed')), 401, 'authentication-required')
})

// While it is in use ------------------------------------------------------------------------------------------

test('D2 every node that runs has a table at once, with every row at once, until it is dropped', async t => {
  const { service, client, command, url } = await withTables(t, people)
  const second = (await startService(t, { dataFolder: service.dataFolder })).client()
  for (const one of [client, second]) await problemOf(await one.get(listPath('people')), 404)
  assertDone(await command('people', '--entity', 'people', ...anonymous))
  for (const one of [client, second]) assert.equal((await list(one, 'people')).length, 2)
  await runSql(url, "INSERT INTO people VALUES (3, 'new'); DELETE FROM people WHERE id = 1")
  for (const one of [client, second])
    for (const limit of [10, 500])
      assert.deepEqual(
        (await list(one, 'people', { limit })).map(({ name }) => name),
        ['Carl', 'new'],
      )
  assertDone(await carrel(service.dataFolder, ['entity', 'drop', 'people']))
  for (const one of [client, second]) await problemOf(await one.get(listPath('people')), 404)
})

test('E1 Q10 what changes behind the back of the service is a problem without SQL, and the service goes on', async t => {
  const { service, client, expose, url } = await withTables(
    t,
    `${people}; INSERT INTO diary VALUES (1, 'dear')`,
  )
  for (const name of ['people', 'diary']) await expose(name)
  const requests = [{}, { limit: 5 }, { limit: 500, include_total: true }, { order_by: [{ field: 'name' }] }]
  const accepts = ['application/json', 'application/x-ndjson', 'text/csv']
  const assertFails = async (what: string) => {
    for (const parameters of requests)
      for (const accept of accepts) {
        const response = await client.get(listPath('people', parameters), { accept })
        const body = await response.text()
        assert.ok(response.status >= 500, `${what}: ${response.status} ${body}`)
        assert.equal(response.headers.get('content-type'), 'application/problem+json')
        assert.doesNotMatch(body, /SELECT|FROM|relation|column|permission|salary|public|carrel_reader/)
      }
    assert.deepEqual(await list(client, 'diary'), [{ id: 1, entry: 'dear' }])
    assert.equal((await client.get('/health/ready')).status, 200)
  }
  const assertAnswers = async () => {
    for (const parameters of requests)
      for (const accept of accepts) {
        const response = await client.get(listPath('people', parameters), { accept })
        assert.equal(response.status, 200, await response.text())
      }
  }
  await assertAnswers()
  await runSql(
    url,
    'ALTER TABLE people ALTER salary TYPE text USING salary::text, ADD new_one text DEFAULT 1',
  )
  await assertAnswers()
  const [first] = await list(client, 'people', { limit: 1 })
  assert.deepEqual(first, { id: 1, name: 'Ruth', salary: '77001', remark: 'whispered' })
  await runSql(url, 'ALTER TABLE people RENAME COLUMN salary TO pay')
  await assertFails('a column has gone')
  await runSql(url, 'ALTER TABLE people RENAME COLUMN pay TO salary')
  await assertAnswers()
  await runSql(
    url,
    `DO $$ BEGIN EXECUTE format('REVOKE SELECT ON people FROM %I', left('carrel_reader_' || current_database(), 63)); END $$`,
  )
  await assertFails('the right has gone')
  await runSql(url, 'DROP TABLE people')
  await assertFails('the table has gone')
  await runSql(url, people.split(';\n')[0] ?? '')
  await assertFails('another table of that name has come')
  await expose('people')
  await assertProblem(
    await client.get(listPath('people', { order_by: [{ field: 'new_one' }] })),
    400,
    'bad-parameter',
  )
  await assertAnswers()
  await runSql(url, 'DROP TABLE people')
  assert.equal(await drop(service, 'people'), true)
  await problemOf(await client.get(listPath('people')), 404)
})

// Users of the database with fewer rights ---------------------------------------------------------------------

/** Roles belong to a whole server: this one has only those that the tests made. */
let ownServer: Promise<PostgresServer> | undefined
after(async () => (await ownServer)?.remove())

/** A database of its own that this user owns, with a service on it as that user. */
async function ownedBy(t: TestContext, user: string, options = '') {
  ownServer ??= startPostgres()
  const { url: server } = await ownServer
  const name = `of_${user}`
  await runSql(server, `CREATE ROLE ${user} LOGIN PASSWORD 'pass' ${options}`)
  await runSql(server, `CREATE DATABASE ${name} OWNER ${user}`)
  const superuser = Object.assign(new URL(server), { pathname: `/${name}` }).href
  const CARREL_DATABASE_URL = Object.assign(new URL(superuser), { username: user, password: 'pass' }).href
  const service = await startService(t, { env: { CARREL_DATABASE_URL } })
  return {
    client: service.client(),
    url: CARREL_DATABASE_URL,
    superuser,
    service,
    command: (...args: readonly string[]) =>
      carrel(service.dataFolder, ['expose', ...args, ...anonymous], { env: { CARREL_DATABASE_URL } }),
  }
}

const letters =
  "CREATE TABLE letters (id integer PRIMARY KEY, title text); INSERT INTO letters VALUES (1, 'a')"

test('D2 a user who may create roles exposes tables of its own without anybody else', async t => {
  const { client, url, service } = await ownedBy(t, 'clerk', 'CREATEROLE')
  await runSql(url, letters)
  await exposeIn(service, 'letters')
  assert.deepEqual(await list(client, 'letters'), [{ id: 1, title: 'a' }])
  await exposeIn(service, 'letters', { fields: ['id'] })
  assert.deepEqual(await list(client, 'letters'), [{ id: 1 }])
  await assertNotForReader(url, 'SELECT title FROM letters')
  assert.equal(await drop(service, 'letters'), true)
  await assertNotForReader(url, 'SELECT id FROM letters')
})

test('D2 a user who may not create roles is told what somebody else has to run, and that is enough', async t => {
  const { client, url, superuser, command } = await ownedBy(t, 'aide')
  await runSql(url, letters)
  const stderr = assertRefused(await command('letters', '--entity', 'letters'), 1, /CREATE ROLE/)
  await problemOf(await client.get(listPath('letters')), 404)
  const statements = /run: (CREATE ROLE.+?)(?:; then run [^;]+)?\n$/.exec(stderr)?.[1] ?? ''
  await runSql(superuser, statements)
  assertDone(await command('letters', '--entity', 'letters'))
  assert.deepEqual(await list(client, 'letters'), [{ id: 1, title: 'a' }])
})

test('D2 a role that somebody made before is enough, too', async t => {
  const { client, url, superuser, service } = await ownedBy(t, 'helper', 'CREATEROLE')
  await runSql(url, letters)
  // Whoever creates a role may give it to others, but is not let into it by that (PostgreSQL 16).
  await runSql(url, 'CREATE ROLE carrel_reader_of_helper NOLOGIN')
  await exposeIn(service, 'letters')
  assert.deepEqual(await list(client, 'letters'), [{ id: 1, title: 'a' }])
  assert.deepEqual(
    await runSql(superuser, "SELECT pg_has_role('helper', 'carrel_reader_of_helper', 'SET') AS may"),
    [{ may: true }],
  )
})

test('D2 what the role could not read in the end is refused, and makes no entity', async t => {
  const { client, url, superuser, service } = await ownedBy(t, 'porter', 'CREATEROLE')
  await runSql(url, letters)
  await runSql(
    superuser,
    `CREATE TABLE archive (id integer PRIMARY KEY); INSERT INTO archive VALUES (1); GRANT SELECT ON archive TO porter;
     CREATE TABLE vault (id integer PRIMARY KEY);
     CREATE SCHEMA closed AUTHORIZATION postgres; CREATE TABLE closed.letters (id integer PRIMARY KEY)`,
  )
  await runSql(
    url,
    `CREATE TABLE own (id integer PRIMARY KEY);
     CREATE VIEW invoking WITH (security_invoker) AS SELECT id FROM letters; CREATE VIEW barred AS SELECT id FROM vault`,
  )
  await exposeIn(service, 'own')
  for (const [table, says, schema = 'public'] of [
    // Porter may read it, but not let others read it.
    ['archive', /archive/],
    // Porter may not even read it.
    ['vault', /vault/],
    ['letters', /closed/, 'closed'],
    // Its own views, through which the role, or Porter itself, would need a right on the table below.
    ['invoking', /letters|invoking/],
    ['barred', /vault|barred/],
  ] as const) {
    const name = `${schema}-${table}`
    await assertCannot(exposeIn(service, table, { name, schema, key: ['id'] }), says)
    await problemOf(await client.get(listPath(name)), 404)
  }
  // What somebody else has granted is all that it takes.
  await runSql(superuser, 'GRANT SELECT (id) ON archive TO carrel_reader_of_porter')
  await exposeIn(service, 'archive')
  assert.deepEqual(await list(client, 'archive'), [{ id: 1 }])
})

test('D2 the role coming into being in the same moment by somebody else is no failure', async t => {
  const { client, url, superuser, service } = await ownedBy(t, 'gardener', 'CREATEROLE')
  await runSql(url, letters)
  const other = await connectTo(t, superuser)
  await other.query('BEGIN; CREATE ROLE carrel_reader_of_gardener NOLOGIN ROLE gardener')
  const exposing = exposeIn(service, 'letters')
  await until(async () => {
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    return (await runSql(superuser, waiting)).length > 0
  })
  await other.query('COMMIT')
  await exposing
  assert.deepEqual(await list(client, 'letters'), [{ id: 1, title: 'a' }])
})
