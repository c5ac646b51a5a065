import assert from 'node:assert/strict'
import { Client } from '../support/clients/client.ts'
import { repeats } from '../support/scale.ts'
import { runSql } from '../support/service/databases.ts'
import { storeSettings, testOn } from '../support/service/engines.ts'
import { addEvents, adminOf, answerOf, bearer, open, times } from '../support/service/nodes.ts'
import { serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'
import { type Connection, connectionsTo } from '../support/service/workers.ts'

/** Settings with three workers. A limit applies to the whole service, however many workers it has. */
const three = { CARREL_WORKERS: '3', CARREL_LOG_LEVEL: 'error' }
const ruth = 'ruth@example.org'

testOn('sqlite', 'L7 D10 the limit of passwords that wait counts all workers', async t => {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder })
  await own.addEperson(ruth, { password: null })
  const env = { ...three, CARREL_PASSWORD_CONCURRENCY: '1', CARREL_PASSWORD_QUEUE: '2' }
  const served = await serve(t, dataFolder, { env })
  const clients = Array.from({ length: 24 }, () => new Client(served.address))
  // The CSRF pairs are requested first, so that the logins come at once.
  await Promise.all(clients.map(client => client.get('/api/security/csrf')))
  const answers = await Promise.all(clients.map(client => client.tryLogin(ruth, 'wrong')))
  const busy = answers.filter(({ status }) => status === 503)
  assert.ok(busy.length >= 12, `${busy.length} of 24 are refused`)
  for (const one of busy) assert.equal(one.headers.get('retry-after'), '5')
  for (const { status } of answers) assert.ok(status === 503 || status === 401)
})

testOn('postgres', 'E2 Q18 D10 the limit of long listings is divided among all workers', async t => {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder })
  const token = await adminOf(own)
  const { CARREL_DATABASE_URL: url = '' } = await storeSettings(dataFolder)
  await addEvents(url, 1_500, 16_000)
  // One network may have a quarter of each worker's listings. With this setting, all stay below that limit,
  // even if they come to one worker.
  const env = { ...three, CARREL_DATABASE_POOL_SIZE: '4', CARREL_LISTINGS: '480' }
  const served = await serve(t, dataFolder, { env })
  // Each listing is on a connection of its own and unread, so it lasts. With this number, each worker has
  // some.
  const sent = Array.from({ length: 40 }, () =>
    open({ ...own, address: served.address }, '/api/query/v4/audit-events', token),
  )
  t.after(() => {
    for (const one of sent) one.destroy()
  })
  const statuses = (await Promise.all(sent.map(answerOf))).map(({ statusCode }) => statusCode)
  assert.deepEqual(
    statuses.toSorted(),
    [...Array(3).fill(200), ...Array(37).fill(503)],
    'half of what each of the three workers has, rounded up, because they are of one network',
  )
})

testOn(
  'postgres',
  'E2 D10 the connections to the database are a node’s, divided among its workers',
  async t => {
    const dataFolder = temporaryFolder(t)
    const own = await startService(t, { dataFolder })
    const token = await adminOf(own)
    await own.addRecords('shelf', 'id', [{ id: 1 }], 'eperson')
    await own.stop()
    const { CARREL_DATABASE_URL: url = '' } = await storeSettings(dataFolder)
    const served = await serve(t, dataFolder, { env: { ...three, CARREL_DATABASE_POOL_SIZE: '3' } })
    const connections = connectionsTo(t, served.address)
    // On a slow machine, some wait too long for their turn, and are sent again (E2).
    const ask = (one: Connection) =>
      until(
        'a page',
        () => one.ask('/api/query/v4/audit-events?limit=5', { headers: bearer(token) }),
        ({ status }) => status !== 503,
      )
    const asking = times(repeats(10, 40), () => Promise.all(connections.map(ask)))
    let most = 0
    let isDone = false
    const counting = (async () => {
      while (!isDone) {
        const [row] = await runSql<{ count: string }>(
          url,
          `SELECT count(*) FROM pg_stat_activity
         WHERE application_name = 'carrel' AND datname = current_database()`,
        )
        most = Math.max(most, Number(row?.count))
      }
    })()
    for (const { status } of (await asking).flat()) assert.equal(status, 200)
    isDone = true
    await counting
    // Accounts and pages, a look-up for each worker, and two connections for housekeeping.
    assert.ok(most <= 3 + 3 + 3 + 2, `${most} connections`)
  },
)
