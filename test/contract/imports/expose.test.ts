import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExposeRequest } from '../../../src/storage/exposing.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import { bodyOf, list, listPath, readCsv } from '../../support/clients/listings.ts'
import { eventsOf } from '../../support/data/events.ts'
import { assertDone, assertRefused, each } from '../../support/service/commands.ts'
import { runSql } from '../../support/service/databases.ts'
import {
  anonymous,
  assertCannot,
  assertNotForReader,
  described,
  drop,
  withTables,
} from '../../support/service/exposed-tables.ts'
import { carrel } from '../../support/service/process.ts'
import { temporaryFolder } from '../../support/service/service.ts'

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

/** Asserts that no reader role has a right on the table; there may be no such role. */
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
    related: [],
    suggested: [],
  })
  const { name, key, fields } = await described(client, 'again')
  assert.deepEqual({ name, key, read: 'anonymous', fields, related: [], suggested: [] }, json)
  const listed = JSON.parse(assertDone(await carrel(service.dataFolder, ['entity', 'list', '--json']))) as {
    name: string
    table: string | null
  }[]
  assert.equal(listed.find(one => one.name === 'things')?.table, 'public.things')

  const admin = await service.addLoggedIn('root@example.org', { admin: true })
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

// Names -------------------------------------------------------------------------------------------------------

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

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
