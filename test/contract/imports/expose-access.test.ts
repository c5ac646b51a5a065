import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import { bodyOf, list, listPath, problemOf } from '../../support/clients/listings.ts'
import { assertDone, assertRefused, each } from '../../support/service/commands.ts'
import { runSql } from '../../support/service/databases.ts'
import {
  anonymous,
  asReader,
  assertCannot,
  assertNotForReader,
  drop,
  exposeIn,
  withTables,
} from '../../support/service/exposed-tables.ts'
import { connectTo, untilWaiting } from '../../support/service/nodes.ts'
import { type PostgresServer, startPostgres } from '../../support/service/postgres-server.ts'
import { carrel } from '../../support/service/process.ts'
import { startService } from '../../support/service/service.ts'

// Rights to read
// ----------------------------------------------------------------------------------------------

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
  // Names that the client sends are repeated, but the answer doesn't tell if they exist.
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
  // With two entities of one table, dropping one keeps the columns of the other readable.
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

/** Creates a function that writes with the rights of its owner, whatever the caller may do. */
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
  // Nothing is written, even if exposing is refused.
  await expose('touching', { key: ['id'] }).catch(() => {})
  assert.deepEqual(await runSql(url, 'SELECT id FROM written'), [])
})

test('Q11 the rule of --read holds, and the table is not looked at for those whom it shuts out', async t => {
  const { service, command, url } = await withTables(t, people)
  await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  await service.addEperson('carl@example.org')
  await service.addEperson('root@example.org', { admin: true })
  const rules = { readers: 'group:Readers', closed: 'admin' }
  await each(Object.entries(rules), async ([name, read]) => {
    // admin is the default.
    const option = read === 'admin' ? [] : ['--read', read]
    assertDone(await command('people', '--entity', name, ...option))
  })
  const mayRead = { '': '', carl: '', ruth: 'readers', root: 'readers closed' }
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

/** A server for these tests, because roles belong to a whole server. */
let ownServer: Promise<PostgresServer> | undefined
after(async () => (await ownServer)?.remove())

/** Creates a database owned by this user, and starts a service that connects as this user. */
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

test('D2 a user who may not create roles is told what someone else has to run, and that is enough', async t => {
  const { client, url, superuser, command } = await ownedBy(t, 'aide')
  await runSql(url, letters)
  const stderr = assertRefused(await command('letters', '--entity', 'letters'), 1, /CREATE ROLE/)
  await problemOf(await client.get(listPath('letters')), 404)
  const statements = /run: (CREATE ROLE.+?)(?:; then run [^;]+)?\n$/.exec(stderr)?.[1] ?? ''
  await runSql(superuser, statements)
  assertDone(await command('letters', '--entity', 'letters'))
  assert.deepEqual(await list(client, 'letters'), [{ id: 1, title: 'a' }])
})

test('D2 a role that someone made before is enough, too', async t => {
  const { client, url, superuser, service } = await ownedBy(t, 'helper', 'CREATEROLE')
  await runSql(url, letters)
  // The creator of a role may grant it to others, but isn't a member of it (PostgreSQL 16).
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
    // Porter may read this table, but may not grant that right.
    ['archive', /archive/],
    // Porter may not even read this table.
    ['vault', /vault/],
    ['letters', /closed/, 'closed'],
    // Porter's own views. Reading them needs a right on the table below, for the role or for Porter itself.
    ['invoking', /letters|invoking/],
    ['barred', /vault|barred/],
  ] as const) {
    const name = `${schema}-${table}`
    await assertCannot(exposeIn(service, table, { name, schema, key: ['id'] }), says)
    await problemOf(await client.get(listPath(name)), 404)
  }
  // A right granted by the owner is enough.
  await runSql(superuser, 'GRANT SELECT (id) ON archive TO carrel_reader_of_porter')
  await exposeIn(service, 'archive')
  assert.deepEqual(await list(client, 'archive'), [{ id: 1 }])
})

test('D2 the role coming into being in the same moment by someone else is no failure', async t => {
  const { client, url, superuser, service } = await ownedBy(t, 'gardener', 'CREATEROLE')
  await runSql(url, letters)
  const other = await connectTo(t, superuser)
  await other.query('BEGIN; CREATE ROLE carrel_reader_of_gardener NOLOGIN ROLE gardener')
  const exposing = exposeIn(service, 'letters')
  await untilWaiting(superuser, 1)
  await other.query('COMMIT')
  await exposing
  assert.deepEqual(await list(client, 'letters'), [{ id: 1, title: 'a' }])
})
