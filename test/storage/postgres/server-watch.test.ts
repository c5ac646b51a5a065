import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { StoreUnavailable } from '../../../src/lib/errors.ts'
import { connect, createPool } from '../../../src/storage/postgres/driver.ts'
import { createServerWatch } from '../../../src/storage/postgres/server-watch.ts'
import { runSql, serverUrl } from '../../support/service/databases.ts'
import { newDatabase } from '../../support/service/nodes.ts'
import { startService } from '../../support/service/service.ts'

const shared = () => new BigInt64Array(new SharedArrayBuffer(8))

/** A database with a store, that no service uses any more. */
async function storeIn(t: TestContext) {
  const { dataFolder, url } = await newDatabase(t, {})
  await (await startService(t, { dataFolder })).app.close()
  return { url, ...{ statementTimeout: 0, queryTimeout: 0, setup: '' } }
}

const numbersOf = async (url: string) =>
  (
    await runSql(
      url,
      'SELECT audiences, server, (SELECT last_value FROM carrel.record_number) AS records FROM carrel.state',
    )
  )[0] as {
    records: string
    audiences: string
    server: string
  }

test('D20 connections to one server have one generation, and numbers stay as they are', async t => {
  const options = await storeIn(t)
  const before = await numbersOf(options.url)
  const watch = createServerWatch(shared())
  const all = await Promise.all([1, 2, 3].map(() => connect({ ...options, watch })))
  assert.deepEqual(
    all.map(({ generation }) => generation),
    [1, 1, 1],
  )
  assert.deepEqual(await numbersOf(options.url), before)
  for (const one of all) await one.close()
})

test('D20 the first connection after a change moves numbers on, once for all nodes', async t => {
  const options = await storeIn(t)
  const { server, ...before } = await numbersOf(options.url)
  await runSql(options.url, "UPDATE carrel.state SET server = 'another'")
  const nodes = [1, 2, 3].map(() => createServerWatch(shared()))
  for (const one of await Promise.all(nodes.map(watch => connect({ ...options, watch })))) await one.close()
  const after = await numbersOf(options.url)
  assert.equal(after.server, server)
  assert.equal(Number(after.audiences), Number(before.audiences) + 1_000_000)
  assert.ok(Number(after.records) >= Number(before.records) + 1_000_000_000)
})

test('D20 connections of an earlier generation are replaced before they are used', async t => {
  const options = await storeIn(t)
  const watch = createServerWatch(shared())
  const pool = createPool({ ...options, watch, size: 2, queue: 10 })
  t.after(() => pool.close())
  const process = async () => (await pool.rows<{ id: number }>('SELECT pg_backend_pid() AS id'))[0]?.id
  const first = await process()
  assert.equal(await process(), first)
  // As a dump does that is loaded into the same database.
  await runSql(
    options.url,
    `CREATE TABLE carrel.other (LIKE carrel.store_schema INCLUDING ALL); INSERT INTO carrel.other SELECT * FROM carrel.store_schema;
     DROP TABLE carrel.store_schema; ALTER TABLE carrel.other RENAME TO store_schema`,
  )
  await (await connect({ ...options, watch })).close()
  assert.notEqual(await process(), first)
})

test('D20 a primary from before a failover that another event loop has seen is refused', async t => {
  const options = await storeIn(t)
  const newest = shared()
  const watch = createServerWatch(newest)
  const db = await connect({ ...options, watch })
  t.after(() => db.close())
  assert.equal(db.generation, watch.generation)
  // Another loop has met the same system on a later timeline.
  Atomics.add(newest, 0, 1n)
  assert.notEqual(db.generation, watch.generation)
  await assert.rejects(connect({ ...options, watch }), (error: Error) => {
    assert.ok(error instanceof StoreUnavailable)
    assert.match(error.message, /on timeline 1, and this node has seen it on timeline 2/)
    return true
  })
})

test('D20 a server that keeps its timeline from ordinary roles is used without it', async t => {
  const options = await storeIn(t)
  await runSql(options.url, 'REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC')
  const role = `plain_${process.pid}`
  await runSql(
    options.url,
    `CREATE ROLE ${role} LOGIN PASSWORD 'plain'; GRANT ALL ON SCHEMA carrel TO ${role};
    GRANT ALL ON ALL TABLES IN SCHEMA carrel TO ${role}; GRANT ALL ON ALL SEQUENCES IN SCHEMA carrel TO ${role}`,
  )
  // The database is dropped before, with all that was granted there.
  t.after(async () => runSql(await serverUrl(), `DROP ROLE ${role}`))
  const url = new URL(options.url)
  url.username = role
  url.password = 'plain'
  const watch = createServerWatch(shared())
  const db = await connect({ ...options, url: url.href, watch })
  assert.equal(db.generation, 1)
  await db.close()
})
