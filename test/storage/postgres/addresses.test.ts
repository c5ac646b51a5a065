import assert from 'node:assert/strict'
import { connect, createPool } from '../../../src/storage/postgres/driver.ts'
import { createStore } from '../../support/service/databases.ts'
import { testOn } from '../../support/service/engines.ts'
import { startPooler } from '../../support/service/pooler.ts'
import { freePort } from '../../support/service/postgres-server.ts'
import { patientLimits, startService } from '../../support/service/service.ts'

const options = (url: string) => ({
  ...{ url, statementTimeout: 43_210, queryTimeout: 0, connectTimeout: patientLimits.connect },
  setup: '',
})

/** Runs a query through a connection of its own, and through a pool. */
async function askBoth<T>(url: string, sql: string): Promise<readonly T[]> {
  const pool = createPool({ ...options(url), size: 2, queue: 10 })
  const connection = await connect(options(url))
  try {
    const [one] = await connection.rows<{ value: T }>(sql)
    const [other] = await pool.rows<{ value: T }>(sql)
    return [one, other].map(row => row?.value as T)
  } finally {
    await connection.close()
    await pool.close()
  }
}

const limit = "SELECT current_setting('statement_timeout') AS value"

testOn(
  'postgres',
  'D3 an address names several hosts, of which each connection takes the first that answers',
  async t => {
    const url = new URL(await createStore(t))
    const user = `${url.username}:${url.password}`
    const gone = await freePort()
    for (const address of [
      `postgres://${user}@127.0.0.1:${gone},127.0.0.1:${url.port}${url.pathname}`,
      `postgres://${user}@${url.pathname}?host=127.0.0.1,127.0.0.1&port=${gone},${url.port}`.replace(
        '@/',
        '@127.0.0.1/',
      ),
    ])
      assert.deepEqual(await askBoth(address, limit), ['43210ms', '43210ms'])
    const nobody = `postgres://${user}@127.0.0.1:${gone},127.0.0.1:${await freePort()}${url.pathname}`
    await assert.rejects(askBoth(nobody, limit), /ECONNREFUSED/)
  },
)

testOn(
  'postgres',
  'D3 target_session_attrs passes over servers that do not fit, also a single one',
  async t => {
    const url = await createStore(t)
    const readOnly = await startPooler(t, url, { options: '-c default_transaction_read_only=on' })
    const both = url.replace('@', `@127.0.0.1:${new URL(readOnly).port},`)
    const isReadOnly = "SELECT current_setting('transaction_read_only') AS value"
    for (const [address, session, found] of [
      [both, 'read-write', 'off'],
      [both, 'read-only', 'on'],
      [both, 'primary', 'on'],
      [both, 'any', 'on'],
      [url, 'read-write', 'off'],
    ] as const)
      assert.deepEqual(await askBoth(`${address}?target_session_attrs=${session}`, isReadOnly), [
        found,
        found,
      ])
    for (const [address, session] of [
      [readOnly, 'read-write'],
      [both, 'standby'],
    ])
      await assert.rejects(askBoth(`${address}?target_session_attrs=${session}`, isReadOnly), {
        message: `PostgreSQL: a server doesn't fit, because target_session_attrs is ${session}`,
      })
  },
)

testOn('postgres', 'D3 through a pooler in session mode, the time limits of statements hold', async t => {
  const url = await startPooler(t, await createStore(t))
  assert.deepEqual(await askBoth(url, limit), ['43210ms', '43210ms'])
  // The pooler has made a number up, with which a statement of someone else might be cancelled.
  const connection = await connect(options(url))
  const [row] = await connection.rows<{ id: number }>('SELECT pg_backend_pid() AS id')
  assert.equal(connection.processId, row?.id)
  await connection.close()

  const service = await startService(t, { env: { CARREL_DATABASE_URL: url } })
  await service.addEperson('ruth@example.org')
  const client = service.client()
  await client.login('ruth@example.org')
  assert.equal(await client.isLoggedIn(), true)
})

testOn(
  'postgres',
  'D3 a start through a pooler in transaction mode says that it needs session mode',
  async t => {
    const url = await startPooler(t, await createStore(t), { mode: 'transaction' })
    await assert.rejects(startService(t, { env: { CARREL_DATABASE_URL: url } }), /pool_mode = session/)
  },
)
