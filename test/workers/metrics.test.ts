import assert from 'node:assert/strict'
import { metricsOf, readMetrics, scraper } from '../support/clients/metrics.ts'
import { test, testOn } from '../support/service/engines.ts'
import { anyOf, pairIn } from '../support/service/nodes.ts'
import { serve } from '../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'
import { type Connection, connectionsTo, endings } from '../support/service/workers.ts'

/**
 * Settings with three workers. Metrics are those of the service, whichever worker counts and whichever
 * answers.
 */
const three = { CARREL_WORKERS: '3', CARREL_LOG_LEVEL: 'error', ...scraper.env }
const ruth = 'ruth@example.org'
const failed = { method: 'password', outcome: 'failure' }

const scrape = async (connection: Connection) =>
  readMetrics((await connection.ask('/metrics', { headers: scraper.headers })).text)

async function logIn(connection: Connection, password: string): Promise<number> {
  const headers = {
    ...pairIn(await connection.ask('/api/security/csrf')),
    'content-type': 'application/x-www-form-urlencoded',
  }
  const body = new URLSearchParams({ user: ruth, password }).toString()
  return (await connection.ask('/api/authn/login', { method: 'POST', headers, body })).status
}

test('D5 D10 a login that fails counts once, whichever worker answered, and every worker says so', async t => {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder })
  await own.addEperson(ruth)
  const served = await serve(t, dataFolder, { env: three })
  const connections = connectionsTo(t, served.address, 12)
  // Fewer wrong passwords than make the next one wait.
  const wrong = connections.slice(0, 9)
  const answers = await Promise.all(wrong.map(one => logIn(one, 'wrong')))
  for (const status of answers) assert.equal(status, 401)
  assert.equal(await logIn(anyOf(connections), passwordOf(ruth)), 200)
  for (const connection of connections) {
    const found = await scrape(connection)
    assert.equal(found.of('carrel_logins_total', failed), wrong.length)
    assert.equal(found.of('carrel_logins_total', { outcome: 'success' }), 1)
    assert.equal(found.of('carrel_workers_running'), 3)
  }
  // Figures of single workers are there for each.
  const found = await scrape(anyOf(connections))
  for (const worker of ['0', '1', '2']) {
    assert.ok(found.of('carrel_worker_heap_bytes', { worker }) > 0)
    assert.ok(found.of('carrel_event_loop_delay_seconds_count', { worker }) > 0)
  }
})

/** Labels of refused tokens, which cost nothing and are counted before the answer. */
const refused = { kind: 'login', reason: 'malformed' }
const refuse = (connections: readonly Connection[]) =>
  Promise.all(
    connections.map(one => one.ask('/api/authn/status', { headers: { authorization: 'Bearer wrong' } })),
  )
const route = '/api/authn/status'

testOn(
  'sqlite',
  'D5 D10 no counter goes backwards when a worker ends, and nothing of it stays open',
  async t => {
    const ends = endings(t)
    const served = await serve(t, temporaryFolder(t), { env: { ...three, ...ends.env } })
    const before = connectionsTo(t, served.address)
    await refuse(before)
    // A request is counted when its connection has taken the answer.
    await until(
      `${before.length} requests in the metrics`,
      async () => (await scrape(anyOf(before))).of('carrel_http_requests_total', { route }),
      count => count === before.length,
    )
    // The worker that ends is processing some logins, which will never be answered.
    const broken = Promise.allSettled(before.slice(0, 9).map(connection => logIn(connection, 'wrong')))
    await ends.begin('throw')
    await served.said(/a worker has ended and is replaced/)
    await broken
    await until(
      'three workers',
      async () => (await metricsOf(served.address)).of('carrel_workers_running'),
      count => count === 3,
    )
    const after = connectionsTo(t, served.address)
    const found = await scrape(anyOf(after))
    assert.equal(found.of('carrel_workers_replaced_total'), 1)
    assert.equal(found.of('carrel_tokens_refused_total', refused), before.length)
    assert.equal(found.of('carrel_http_requests_total', { route }), before.length)
    await refuse(after)
    const later = await scrape(anyOf(after))
    assert.equal(later.of('carrel_tokens_refused_total', refused), before.length + after.length)
    await until(
      'the end of all requests but those for metrics',
      async () => {
        const now = await scrape(anyOf(after))
        return (
          now.of('carrel_http_requests_open') - now.of('carrel_http_requests_open', { route: '/metrics' })
        )
      },
      count => count === 0,
    )
    assert.equal((await scrape(anyOf(after))).of('carrel_queue_waiting'), 0)
  },
)

testOn(
  'sqlite',
  'D5 D10 a scrape waits for no worker that is busy, and has what that one had counted',
  async t => {
    const ends = endings(t)
    const served = await serve(t, temporaryFolder(t), { env: { ...three, ...ends.env } })
    const connections = connectionsTo(t, served.address)
    await refuse(connections)
    const release = await ends.stall()
    const scraping = connections.map(scrape)
    // Requests on the other workers are answered while it is stalled.
    const first = await Promise.any(scraping)
    assert.equal(first.of('carrel_tokens_refused_total', refused), connections.length)
    release()
    await Promise.all(scraping)
  },
)
