import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { listPath, type Parameters } from '../support/clients/listings.ts'
import { atEnd } from '../support/service/at-end.ts'
import { runSql } from '../support/service/databases.ts'
import {
  addEvents,
  adminOf,
  answerOf,
  ask,
  bearer,
  isAccepted,
  open,
  quickEvents,
  reading,
  slowEvents,
  startNode,
  times,
  untilReading,
} from '../support/service/nodes.ts'
import { until } from '../support/service/waiting.ts'

/** Time of a query for each event, in s. A client that disconnects must end its query in the database. */
const tenMinutes = 600
/** Starts a node on which each event takes this number of seconds to be read, for the whole test. */
async function startSlow(t: TestContext, secondsEach: number, env: Readonly<Record<string, string>> = {}) {
  const { node, url } = await startNode(t, { CARREL_STATEMENT_TIMEOUT: '86400', ...env })
  const token = await adminOf(node)
  assert.equal(await isAccepted(node, token), true)
  await slowEvents(url, secondsEach)
  atEnd(t, () =>
    runSql(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'carrel' AND query ~ 'events|FETCH|DECLARE'`,
    ),
  )
  return { node, url, token }
}

test('Q10 a client that goes away in the middle of a listing leaves no query and no transaction behind', async t => {
  const { node, url } = await startNode(t)
  const token = await adminOf(node)
  await addEvents(url, 1_500, 16_000)
  const requests = await times(4, async at => {
    const order_by = [{ field: at % 2 === 0 ? 'id' : 'reason', order: 'desc' }]
    const request = open(node, listPath('audit-events', { order_by }), token)
    assert.equal((await answerOf(request)).statusCode, 200)
    return request
  })
  assert.equal(await reading(url), 4, 'each has its cursor')
  for (const request of requests) request.destroy()
  await untilReading(url, 0)
  // Not even idle transactions remain, because a connection with a cursor is not reused.
  await until(
    'the end of all transactions with a cursor',
    () =>
      runSql(
        url,
        `SELECT state, query FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'carrel' AND query ~ 'FETCH'`,
      ),
    left => left.length === 0,
  )
  assert.equal(await isAccepted(node, token), true)
})

const slow: Readonly<Record<string, Parameters>> = {
  'a short page': { limit: 5 },
  'a short page with its total': { limit: 5, include_total: true },
  'a long page': { limit: 500 },
  'the total of a long page': { limit: 500, include_total: true },
  'a whole listing': {},
}

for (const [what, parameters] of Object.entries(slow))
  test(`Q10 a client that goes away while ${what} is being worked out ends the statement`, async t => {
    const { node, url, token } = await startSlow(t, tenMinutes)
    const request = open(node, listPath('audit-events', parameters), token)
    await untilReading(url, 1)
    request.destroy()
    await untilReading(url, 0)
    await quickEvents(url)
    const again = await ask(node, listPath('audit-events', parameters), { headers: bearer(token) })
    assert.equal(again.status, 200)
  })

test('Q10 clients that go away end their statements also when these have all connections for pages of their network', async t => {
  const { node, url, token } = await startSlow(t, tenMinutes, { CARREL_DATABASE_POOL_SIZE: '3' })
  const requests = [1, 2].map(limit => open(node, listPath('audit-events', { limit }), token))
  await untilReading(url, 2)
  for (const request of requests) request.destroy()
  await untilReading(url, 0)
  await quickEvents(url)
  const again = await ask(node, listPath('audit-events', { limit: 5 }), { headers: bearer(token) })
  assert.equal(again.status, 200)
})

test('Q10 a page whose client went away while it waited for a connection is not begun', async t => {
  const { node, url, token } = await startSlow(t, 0.3, { CARREL_DATABASE_POOL_SIZE: '1' })
  const first = ask(node, listPath('audit-events', { limit: 1 }), { headers: bearer(token) })
  await untilReading(url, 1)
  let closed = 0
  node.app.server.on('connection', socket => socket.once('close', () => closed++))
  const waiting = await times(3, async () => open(node, listPath('audit-events', { limit: 2 }), token))
  // The status was requested later, so once it is answered, the pages wait.
  await Promise.all(waiting.map(request => new Promise(resolve => request.once('finish', resolve))))
  assert.equal(await isAccepted(node, token), true)
  for (const request of waiting) request.destroy()
  await until(
    'the end of three connections',
    () => closed,
    count => count >= 3,
  )
  await slowEvents(url, tenMinutes)
  assert.equal((await first).status, 200)
  await untilReading(url, 0)
})

test('Q10 a listing whose client went away before it began is not begun', async t => {
  const { node, url, token } = await startSlow(t, tenMinutes)
  for (const parameters of [{}, { limit: 5 }])
    for (let after = 0; after < 10; after++) {
      const request = open(node, listPath('audit-events', parameters), token)
      await new Promise(resolve => request.once('finish', resolve))
      await sleep(after)
      request.destroy()
    }
  await untilReading(url, 0)
  assert.equal(await isAccepted(node, token), true)
})
