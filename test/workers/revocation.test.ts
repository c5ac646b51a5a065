import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { newAccessToken } from '../../src/model/access-tokens.ts'
import { begunOf, sessionLogin } from '../support/data/sessions.ts'
import { isLong, repeats } from '../support/scale.ts'
import { test } from '../support/service/engines.ts'
import { anyOf, bearer, isAuthenticated, pairIn, quickLogin, times } from '../support/service/nodes.ts'
import { serve } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'
import { type Connection, connectionsTo, pipelineTo } from '../support/service/workers.ts'

/**
 * Number of epersons. From the moment of an acknowledgement on, no connection accepts the token, whichever
 * worker it belongs to, over workers, services on one folder, and nodes.
 */
const persons = repeats(8, 16)

interface Services {
  /** A service in this process on the same store, whose changes come to the others from another process. */
  readonly own: Service
  readonly addresses: readonly string[]
  readonly connections: readonly Connection[]
}

async function start(t: TestContext, services: number, workers: number): Promise<Services> {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder })
  // The default queue for database connections is too short for this number of requests at once.
  const busy = { CARREL_DATABASE_QUEUE: '10000' }
  const env = { CARREL_WORKERS: String(workers), CARREL_LOG_LEVEL: 'error', ...busy }
  const served = await times(services, () => serve(t, dataFolder, { env }))
  const addresses = served.map(({ address }) => address)
  return { own, addresses, connections: addresses.flatMap(address => connectionsTo(t, address)) }
}

const isAccepted = async (connection: Connection, token: string) =>
  isAuthenticated(await connection.ask('/api/authn/status', { headers: bearer(token) }))

/** Asks over some connections at once, which mostly belong to different workers. */
const answers = (connections: readonly Connection[], token: string) =>
  times(4, () => isAccepted(anyOf(connections), token))

/**
 * Ends sessions in these ways in turn, and asks with their tokens at once. @returns the number of sessions
 * ended
 */
async function endSessions({ own, connections }: Services, total: number): Promise<number> {
  const pair = pairIn(await anyOf(connections).ask('/api/security/csrf'))
  const { people } = own.storage
  let ended = 0
  await times(persons, async person => {
    const email = `person${person}@example.org`
    await own.addEperson(email, { password: null })
    for (let round = 0; round < total / persons; round++) {
      const token = await quickLogin(own, email)
      const before = await isAccepted(anyOf(connections), token)
      assert.equal(before, true, `round ${round} of ${email}: a new token is good everywhere`)
      const way = round % 10
      if (way === 8)
        assert.equal(await people.setPassword({ email }, 'none', commandEvent('eperson.password')), 'changed')
      else if (way === 9)
        assert.equal(await people.setEnabled(email, false, commandEvent('eperson.disable')), 'changed')
      else {
        const headers = { ...pair, ...bearer(token) }
        const { status } = await anyOf(connections).ask('/api/authn/logout', { method: 'POST', headers })
        assert.equal(status, 204)
      }
      ended++
      const after = await answers(connections, token)
      assert.deepEqual(after, [false, false, false, false], `round ${round} of ${email}, way ${way}`)
      if (way === 9) await people.setEnabled(email, true, commandEvent('eperson.enable'))
    }
  })
  return ended
}

// In the everyday run, two services with two workers each stand in for these.
for (const workers of isLong ? [1, 3] : []) {
  const total = workers === 1 ? 2_000 : 20_000
  test(`T4 T6 D10 of ${total.toLocaleString('en')} logouts, new passwords and disabled accounts, each ends its token with its acknowledgement on ${workers} of ${workers} workers`, async t => {
    assert.equal(await endSessions(await start(t, 1, workers), total), total)
  })
}

const ofServices = repeats(80, 4_000)
test('two services on one store, with two workers each', async t => {
  const services = await start(t, 2, 2)
  await t.test(
    `T4 T6 D10 of ${ofServices.toLocaleString('en')} logouts, new passwords and disabled accounts, each ends its token with its acknowledgement`,
    async () => {
      assert.equal(await endSessions(services, ofServices), ofServices)
    },
  )
  await t.test(
    'N2 N3 D10 of sessions that are ended one by one or all but one, each ends with its acknowledgement on every worker',
    () => endOneByOne(services),
  )
})

if (isLong)
  test('N2 N3 D10 of sessions that are ended one by one or all but one, each ends with its acknowledgement on every worker of one service', async t =>
    endOneByOne(await start(t, 1, 2)))

async function endOneByOne({ own, connections }: Services): Promise<void> {
  const pair = pairIn(await anyOf(connections).ask('/api/security/csrf'))
  await times(repeats(4, 8), async person => {
    const email = `other${person}@example.org`
    await own.addEperson(email, { password: null })
    for (let round = 0; round < repeats(2, 80); round++) {
      const [token, other] = [await sessionLogin(own, email), await sessionLogin(own, email)]
      assert.deepEqual(await answers(connections, other), [true, true, true, true])
      const path = round % 2 === 0 ? '/api/authn/sessions' : `/api/authn/sessions/${begunOf(other)}`
      const headers = { ...pair, ...bearer(token) }
      const { status } = await anyOf(connections).ask(path, { method: 'DELETE', headers })
      assert.equal(status, 204)
      assert.deepEqual(await answers(connections, other), [false, false, false, false], `round ${round}`)
      assert.deepEqual(await answers(connections, token), [true, true, true, true], `round ${round}`)
    }
  })
}

const ruth = 'ruth@example.org'
const passwords = ['the first password', 'the second password']

for (const workers of isLong ? [2, 3] : [2])
  test(`one service with ${workers} workers`, async t => {
    const services = await start(t, 1, workers)
    const { uuid } = await services.own.addEperson(ruth, { password: passwords[0] ?? '' })
    await t.test(
      'T4 T6 D10 a new password set by its owner ends the tokens of other sessions on every worker',
      () => setPasswords(services, uuid),
    )
    await t.test('K5 D10 an access token that is revoked ends with the acknowledgement on every worker', () =>
      revokeAccessTokens(services, uuid),
    )
    await t.test(
      'T4 D10 a request that is read late in a long turn of a worker does not see the state before a logout',
      during => askLate(during, services),
    )
  })

async function setPasswords({ own, connections }: Services, uuid: string): Promise<void> {
  const pair = pairIn(await anyOf(connections).ask('/api/security/csrf'))
  for (let round = 0; round < repeats(2, 40); round++) {
    const [token, other] = [await sessionLogin(own, ruth), await sessionLogin(own, ruth)]
    const [now = '', next = ''] = round % 2 === 0 ? passwords : passwords.toReversed()
    const change = [{ op: 'add', path: '/password', value: { current_password: now, new_password: next } }]
    const { status, text } = await anyOf(connections).ask(`/api/eperson/epersons/${uuid}`, {
      method: 'PATCH',
      headers: { ...pair, ...bearer(token), 'content-type': 'application/json-patch+json' },
      body: JSON.stringify(change),
    })
    assert.equal(status, 200, text)
    assert.deepEqual(await answers(connections, other), [false, false, false, false])
    assert.deepEqual(await answers(connections, token), [true, true, true, true])
  }
}

async function revokeAccessTokens({ own, connections }: Services, uuid: string): Promise<void> {
  const pair = pairIn(await anyOf(connections).ask('/api/security/csrf'))
  const headers = { ...pair, ...bearer(await sessionLogin(own, ruth)) }
  for (let round = 0; round < repeats(2, 300); round++) {
    const { id, token, hash } = newAccessToken()
    const scope = { methods: ['GET'], parts: ['query'], entities: null } as const
    const [created, expires] = [Date.now(), Date.now() + 60_000]
    const added = { id, hash, scope, created, expires, eperson: uuid, name: id, networks: [] }
    assert.equal(await own.storage.accessTokens.add(added, commandEvent('token.add', id)), 'added')
    assert.deepEqual(await answers(connections, token), [true, true, true, true], `round ${round}`)
    const path = `/api/authn/tokens/${id}`
    const { status } = await anyOf(connections).ask(path, { method: 'DELETE', headers })
    assert.equal(status, 204)
    assert.deepEqual(await answers(connections, token), [false, false, false, false], `round ${round}`)
  }
}

async function askLate(t: TestContext, { own, addresses }: Services): Promise<void> {
  const [address = ''] = addresses
  const [connection] = connectionsTo(t, address, 1)
  assert.ok(connection)
  const pair = pairIn(await connection.ask('/api/security/csrf'))
  const busyOne = 'busy@example.org'
  await own.addEperson(busyOne, { password: null })
  const statusWith = (token: string) => ({ path: '/api/authn/status', headers: bearer(token) })
  const isAuthenticatedIn = (body: string | undefined) =>
    (JSON.parse(body ?? '{}') as { authenticated: boolean }).authenticated

  // Each connection has so long a line of requests that a worker's turn takes long, and that requests sent to
  // it afterwards are read in the same turn.
  const busy = statusWith(await quickLogin(own, busyOne))
  const pipelines = Array.from({ length: 12 }, () => pipelineTo(t, address))
  let isDone = false
  const keepingBusy = pipelines.map(async pipeline => {
    while (!isDone) await pipeline.ask(Array.from({ length: 40 }, () => busy))
  })
  for (let round = 0; round < repeats(8, 400); round++) {
    const token = await quickLogin(own, ruth)
    const headers = { ...pair, ...bearer(token) }
    assert.equal((await connection.ask('/api/authn/logout', { method: 'POST', headers })).status, 204)
    const bodies = await Promise.all(pipelines.map(pipeline => pipeline.ask([statusWith(token)])))
    assert.deepEqual(
      bodies.map(([body]) => isAuthenticatedIn(body)),
      pipelines.map(() => false),
      `round ${round}`,
    )
  }
  isDone = true
  await Promise.all(keepingBusy)
}
