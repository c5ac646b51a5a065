import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { connect } from '../../src/storage/postgres/driver.ts'
import { listPath } from '../support/clients/listings.ts'
import { atEnd } from '../support/service/at-end.ts'
import { createStore } from '../support/service/databases.ts'
import { testOn } from '../support/service/engines.ts'
import { freePort } from '../support/service/postgres-server.ts'
import { patientLimits, startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'
import { needPackages } from './packages.ts'

/** Starts PgBouncer, from Debian's package, in front of a database. @returns the address of the database behind it */
async function startPgBouncer(t: TestContext, url: string, mode: 'session' | 'transaction'): Promise<string> {
  await needPackages('pgbouncer')
  const { hostname, port: server, username, password } = new URL(url)
  const port = await freePort()
  const folder = temporaryFolder(t)
  const [settings, users] = [join(folder, 'pgbouncer.ini'), join(folder, 'users')]
  writeFileSync(users, `"${username}" "${password}"\n`)
  writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = 40
`,
  )
  chmodSync(folder, 0o755)
  // It refuses to run as root.
  const child = spawn('pgbouncer', ['-u', 'nobody', settings], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.on('data', text => {
    log += text
  })
  atEnd(t, async () => {
    const ended = once(child, 'exit')
    child.kill('SIGINT')
    await ended
  })
  await until(
    'PgBouncer',
    () => log,
    text => text.includes('process up'),
  )
  const behind = new URL(url)
  behind.port = String(port)
  return behind.href
}

testOn('postgres', 'D3 a node works through PgBouncer in session mode, time limits included', async t => {
  const url = await startPgBouncer(t, await createStore(t), 'session')
  const limits = { statementTimeout: 200, queryTimeout: 0, connectTimeout: patientLimits.connect }
  const connection = await connect({ ...limits, url, setup: '' })
  const [row] = await connection.rows<{ id: number }>('SELECT pg_backend_pid() AS id')
  assert.equal(connection.processId, row?.id)
  await assert.rejects(connection.rows('SELECT pg_sleep(5)'), /time/)
  await connection.close()

  const service = await startService(t, { env: { CARREL_DATABASE_URL: url } })
  await service.addEperson('ruth@example.org')
  await service.addRecords('letters', 'id', [{ id: 1 }, { id: 2 }])
  const client = service.client()
  await client.login('ruth@example.org')
  const page = await client.get(listPath('letters', { limit: 1, include_total: true }))
  assert.deepEqual([await page.json(), page.headers.get('x-records')], [[{ id: 1 }], '2'])
  await client.post('/api/authn/logout')
  assert.equal(await client.isLoggedIn(), false)
})

testOn(
  'postgres',
  'D3 a node refuses PgBouncer in transaction mode, and says which one it needs',
  async t => {
    const url = await startPgBouncer(t, await createStore(t), 'transaction')
    await assert.rejects(startService(t, { env: { CARREL_DATABASE_URL: url } }), /pool_mode = session/)
  },
)
