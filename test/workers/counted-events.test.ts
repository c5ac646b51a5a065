import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { begunOf } from '../support/data/sessions.ts'
import { storedEvents, verify, withStorage } from '../support/data/trail.ts'
import { test, testOnOne } from '../support/service/engines.ts'
import { bearer, bearerIn, type CsrfPair, pairIn, times } from '../support/service/nodes.ts'
import { serve } from '../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../support/service/service.ts'
import { type Connection, connectionsTo } from '../support/service/workers.ts'

const ruth = 'ruth@example.org'

/** A service with an eperson who has logged in, in a process of its own. */
async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const dataFolder = temporaryFolder(t)
  await t.test('prepare', async prepare => {
    const service = await startService(prepare, { dataFolder })
    await service.addEperson(ruth)
  })
  const served = await serve(t, dataFolder, { env })
  const connections = connectionsTo(t, served.address)
  const [first] = connections
  assert.ok(first)
  const pair = pairIn(await first.ask('/api/security/csrf'))
  const body = new URLSearchParams({ user: ruth, password: passwordOf(ruth) }).toString()
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const login = async () =>
    bearerIn(await first.ask('/api/authn/login', { method: 'POST', headers: { ...pair, ...form }, body }))
  return { dataFolder, served, connections, pair, login, token: await login() }
}

async function refresh(connection: Connection, pair: CsrfPair, token: string): Promise<void> {
  bearerIn(
    await connection.ask('/api/authn/login', { method: 'POST', headers: { ...pair, ...bearer(token) } }),
  )
}

/** The events of the store when no service uses it, in a trail that verifies. */
const eventsIn = (dataFolder: string) =>
  withStorage(dataFolder, async storage => {
    assert.deepEqual((await verify(storage)).faults, [])
    return storedEvents(storage)
  })

test('D9 D10 two workers at full speed add few events, and together count every refresh', async t => {
  const { dataFolder, served, connections, pair, token } = await started(t, { CARREL_WORKERS: '2' })
  const each = 50
  await Promise.all(
    connections.map(async connection => {
      for (let at = 0; at < each; at++) await refresh(connection, pair, token)
    }),
  )
  assert.equal(await served.stop(), 0)
  const refreshes = (await eventsIn(dataFolder)).filter(({ event }) => event === 'refresh')
  assert.equal(
    refreshes.reduce((sum, { count }) => sum + count, 0),
    connections.length * each,
  )
  // On each worker the first, and those that follow; more only if this takes longer than a minute.
  const firsts = refreshes.filter(({ repeats }) => repeats === null)
  assert.ok(firsts.length >= 1 && firsts.length <= 2, `${firsts.length} first events`)
  assert.ok(refreshes.length < (connections.length * each) / 10, `${refreshes.length} events`)
})

testOnOne(
  'D9 D4 SIGKILL loses counts and nothing else: the trail verifies, and sessions are listed and alive',
  async t => {
    const { dataFolder, served, connections, pair, login, token } = await started(t)
    const others = await times(3, login)
    for (const one of [token, ...others])
      for (const connection of connections) await refresh(connection, pair, one)
    served.signal('SIGKILL')
    await served.ended
    const events = await eventsIn(dataFolder)
    const counted = (name: string) =>
      events.filter(({ event }) => event === name).reduce((sum, { count }) => sum + count, 0)
    assert.equal(counted('login'), 4)
    assert.ok(counted('refresh') >= 4, 'the first refresh of each session')
    assert.ok(counted('refresh') <= 4 * connections.length)

    const again = await serve(t, dataFolder)
    const [connection] = connectionsTo(t, again.address, 1)
    assert.ok(connection)
    const listed = await connection.ask('/api/authn/sessions', { headers: bearer(token) })
    const { _embedded } = JSON.parse(listed.text) as { _embedded: { sessions: { id: string }[] } }
    assert.deepEqual(
      _embedded.sessions.map(({ id }) => id).toSorted(),
      [token, ...others].map(begunOf).toSorted(),
    )
    await refresh(connection, pairIn(await connection.ask('/api/security/csrf')), token)
    assert.equal(await again.stop(), 0)
    await eventsIn(dataFolder)
  },
)

testOnOne(
  'D9 a service whose events that repeat have reached their size says so, and removes the oldest',
  async t => {
    const { dataFolder, served } = await started(t)
    assert.equal(await served.stop(), 0)
    const path = 'x'.repeat(1_000)
    const fill = (from: number, count: number) =>
      withStorage(dataFolder, async ({ trail }) => {
        for (let at = from; at < from + count; at++)
          await trail.record({
            event: 'download',
            outcome: 'success',
            eperson: null,
            actor: null,
            clientIp: null,
            method: null,
            object: `${path} ${at}`,
            reason: null,
            session: at,
          })
      })
    await fill(0, 750)
    const nearly = await serve(t, dataFolder, { env: { CARREL_EVENTS_SIZE: '1' } })
    await nearly.said(/take 1 MB of 1 MB|take 0\.9 MB of 1 MB/)
    assert.equal(await nearly.stop(), 0)
    await fill(750, 250)
    const full = await serve(t, dataFolder, { env: { CARREL_EVENTS_SIZE: '1' } })
    await full.said(/have reached CARREL_EVENTS_SIZE \(1 MB\): the oldest of them are removed/)
    assert.equal(await full.stop(), 0)
    const events = await eventsIn(dataFolder)
    const downloads = events.filter(({ event }) => event === 'download')
    assert.ok(downloads.length < 1_000 && downloads.length > 500, `${downloads.length} downloads`)
    assert.equal(downloads.at(-1)?.object, `${path} 999`)
    assert.equal(events.filter(({ event }) => event === 'login').length, 1)
  },
)
