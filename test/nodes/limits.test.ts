import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listPath } from '../support/clients/listings.ts'
import { metricsOf, scraper } from '../support/clients/metrics.ts'
import {
  type Answered,
  addEvents,
  adminOf,
  answerOf,
  ask,
  askPatiently,
  assertUnavailable,
  bearer,
  bearerIn,
  csrfPairOf,
  isAccepted,
  lockTable,
  open,
  quickEvents,
  quickLogin,
  reading,
  slowEvents,
  startNode,
  times,
  untilReading,
  untilWaiting,
} from '../support/service/nodes.ts'
import { type Service, startService } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

/** Settings with low limits. Requests above a limit are told when to try again, and nothing else suffers. */
const small = {
  CARREL_DATABASE_POOL_SIZE: '1',
  CARREL_DATABASE_QUEUE: '2',
  CARREL_STATEMENT_TIMEOUT: '600',
}
/**
 * Limit in ms for the wait for a connection, after which the request gets a 503. It is shorter than the
 * service's own.
 */
const short = { connect: 300 }
const page = listPath('audit-events', { limit: 5 })
const hasThree = (answered: readonly Answered[]) => answered.length === 3

test('E2 D5 pages beyond the connections and the queue are 503 at once and counted, authentication goes on, and all recovers', async t => {
  const { node, url } = await startNode(t, { ...small, ...scraper.env })
  const countOf = async (what: string) =>
    (await metricsOf(node.address)).of(`carrel_queue_${what}`, { queue: 'pages' })
  const token = await adminOf(node)
  const headers = bearer(token)
  assert.equal((await ask(node, page, { headers })).status, 200)

  const unlock = await lockTable(t, url, 'event')
  const answered: Answered[] = []
  const pages = times(6, async () => {
    const answer = await ask(node, page, { headers })
    answered.push(answer)
    return answer
  })
  await until('three refusals', () => answered, hasThree)
  for (const answer of answered) assertUnavailable(answer)
  await untilWaiting(url, 1)
  assert.equal(await isAccepted(node, token), true)
  assertUnavailable(await ask(node, page, { headers }))
  assert.deepEqual(
    [await countOf('running'), await countOf('waiting'), await countOf('refused_total')],
    [1, 2, 4],
  )
  await unlock()

  const statuses = (await pages).map(({ status }) => status)
  assert.deepEqual(statuses.sort(), [200, 200, 200, 503, 503, 503])
  assert.deepEqual([await countOf('running'), await countOf('waiting')], [0, 0])
  assert.equal((await ask(node, page, { headers })).status, 200)
})

test('E2 who has waited for a connection too long gets 503, not silence', async t => {
  const { node: first, url } = await startNode(t)
  const headers = bearer(await adminOf(first))
  const node = await startService(t, { dataFolder: first.dataFolder, env: small, limits: short })
  const unlock = await lockTable(t, url, 'event')
  const busy = askPatiently(node, page, { headers })
  await untilWaiting(url, 1)
  assertUnavailable(await ask(node, page, { headers }))
  await unlock()
  assert.equal((await busy).status, 200)
  assert.equal((await askPatiently(node, page, { headers })).status, 200)
})

test('E2 changes of accounts beyond the connections and the queue are 503, the status still answers, and all recovers', async t => {
  const { node, url } = await startNode(t, small)
  const pair = await csrfPairOf(node)
  // The first refresh of each is recorded at once (D9).
  const tokens: string[] = []
  for (let at = 0; at < 6; at++) {
    await node.addEperson(`person${at}@example.org`, { password: null })
    const token = await quickLogin(node, `person${at}@example.org`)
    assert.equal(await isAccepted(node, token), true)
    tokens.push(token)
  }
  const [token = ''] = tokens
  const headersOf = (one: string) => ({ ...bearer(one), ...pair })

  const unlock = await lockTable(t, url, 'event')
  const answered: Answered[] = []
  const refreshes = times(6, async at => {
    const headers = headersOf(tokens[at] ?? '')
    const answer = await ask(node, '/api/authn/login', { method: 'POST', headers })
    answered.push(answer)
    return answer
  })
  await until('three refusals', () => answered, hasThree)
  for (const answer of answered) assertUnavailable(answer)
  assert.equal(await isAccepted(node, token), true)
  await unlock()

  const refreshed = (await refreshes).filter(({ status }) => status !== 503)
  assert.equal(refreshed.length, 3)
  for (const answer of refreshed) assert.equal(await isAccepted(node, bearerIn(answer)), true)
  const headers = headersOf(token)
  assert.equal((await ask(node, '/api/authn/login', { method: 'POST', headers })).status, 200)
})

test('E2 a statement that takes too long is ended by the server and is 503, with and without a limit', async t => {
  const { node, url } = await startNode(t, { CARREL_STATEMENT_TIMEOUT: '0.3' })
  const token = await adminOf(node)
  const headers = bearer(token)
  await slowEvents(url, 60)
  for (const parameters of [
    { limit: 5 },
    {},
    { include_total: true, limit: 500 },
    { limit: 5, include_total: true },
  ]) {
    const path = listPath('audit-events', parameters)
    const [answer, accepted] = await Promise.all([ask(node, path, { headers }), isAccepted(node, token)])
    assertUnavailable(answer)
    assert.equal(accepted, true)
    await untilReading(url, 0)
  }
  await quickEvents(url)
  assert.equal((await askPatiently(node, page, { headers })).status, 200)
})

/** Begins a listing without reading it. */
const openListing = (node: Service, token: string) =>
  until(
    'a listing that has a place',
    async () => {
      const sent = open(node, listPath('audit-events'), token)
      const response = await answerOf(sent)
      if (response.statusCode !== 200) sent.destroy()
      return { sent, response }
    },
    ({ response }) => response.statusCode === 200,
  )

test('E2 Q10 listings of one network beyond half of the connections are 503, pages are not, and the next comes when one has gone', async t => {
  const { node: first, url } = await startNode(t)
  const token = await adminOf(first)
  const env = { CARREL_DATABASE_POOL_SIZE: '4' }
  const node = await startService(t, { dataFolder: first.dataFolder, env, limits: short })
  const headers = bearer(token)
  // Much more than the sockets' buffers.
  await addEvents(url, 1_500, 16_000)
  for (const away of ['gone', 'read'] as const) {
    const [one, other] = [await openListing(node, token), await openListing(node, token)]
    assert.equal(await reading(url), 2)
    for (const parameters of [{}, { limit: 500 }])
      assertUnavailable(await ask(node, listPath('audit-events', parameters), { headers }))
    assert.equal(
      (await askPatiently(node, page, { headers })).status,
      200,
      'a page has a connection of its own',
    )
    assert.equal(await isAccepted(node, token, askPatiently), true)

    if (away === 'gone') one.sent.destroy()
    else one.response.resume()
    await untilReading(url, 1)
    const third = await askPatiently(node, listPath('audit-events'), { headers })
    assert.equal(third.status, 200)
    assert.ok((JSON.parse(third.text) as unknown[]).length > 1_500, 'and it is whole')
    other.sent.destroy()
    await untilReading(url, 0)
  }
})

test('E2 Q10 a listing that is refused takes no place: after many refusals all places are free', async t => {
  const { node: own, url } = await startNode(t)
  const token = await adminOf(own)
  const env = { CARREL_DATABASE_POOL_SIZE: '1' }
  const node = await startService(t, { dataFolder: own.dataFolder, env, limits: short })
  const headers = bearer(token)
  await addEvents(url, 1_500, 16_000)
  const first = await openListing(node, token)
  for (const answer of await times(20, () => ask(node, listPath('audit-events'), { headers })))
    assertUnavailable(answer)
  first.sent.destroy()
  await untilReading(url, 0)
  const next = await openListing(node, token)
  next.sent.destroy()
  await untilReading(url, 0)
})
