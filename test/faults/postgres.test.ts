import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { bearerOf, Client, type Status } from '../support/clients/client.ts'
import { list } from '../support/clients/listings.ts'
import type { Event } from '../support/data/events.ts'
import { isLong } from '../support/scale.ts'
import { runSql } from '../support/service/databases.ts'
import {
  eventCounts,
  type FragilePostgres,
  fill,
  fragilePostgres,
  letters,
  withClient,
} from '../support/service/faults.ts'
import { serve } from '../support/service/process.ts'
import { passwordOf, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

/**
 * Limit in ms. The service promises 5 s; this is several times more, for a busy machine, and less than an
 * answer would take without the service's limits.
 */
const limit = 25_000
/** Time in ms that a page or listing may take, by the setting. */
const statementTime = 2_000
const ruth = 'ruth@example.org'
const leaver = 'leaver@example.org'
const admin = 'admin@example.org'
const records = letters(300)

/** A kind of request that some clients repeat. */
interface Kind {
  readonly name: string
  readonly needsStore: boolean
  readonly clients: number
  readonly ask: (client: Client) => Promise<Response>
  readonly token?: string | undefined
  /** True for a chunked body, which may break off but must not end early. */
  readonly mayBreakOff?: true
  readonly assertRight?: (body: string, response: Response) => void
}

interface Answer {
  readonly kind: Kind
  /** Time in ms as in performance.now(). */
  readonly sent: number
  readonly answered: number
  readonly status: number
  readonly body: string
}

const ofCarrel = "SELECT pid FROM pg_stat_activity WHERE application_name = 'carrel'"
const isGood = ({ status }: Answer) => status === 200 || status === 204
const get = (path: string) => (client: Client) => client.get(path)

function startLoad(address: string, kinds: readonly Kind[]) {
  const answers: Answer[] = []
  let isOver = false

  async function once(kind: Kind, client: Client): Promise<Answer> {
    const sent = performance.now()
    client.token = kind.token
    const response = await kind.ask(client).catch(error => {
      throw new Error(`${kind.name} got no answer`, { cause: error })
    })
    const { status } = response
    let body: string
    try {
      body = await response.text()
    } catch (error) {
      if (!kind.mayBreakOff) throw error
      return { kind, sent, answered: performance.now(), status: 0, body: '' }
    }
    const answered = performance.now()
    const told = `${kind.name}: ${status} ${body}`
    if (status === 503) {
      assert.ok(kind.needsStore, told)
      assert.match(response.headers.get('retry-after') ?? '', /^\d+$/, told)
      assert.equal(response.headers.get('content-type'), 'application/problem+json')
    } else {
      assert.ok(status === 200 || status === 204, told)
      kind.assertRight?.(body, response)
    }
    return { kind, sent, answered, status, body }
  }

  const clients = kinds.flatMap(kind =>
    Array.from({ length: kind.clients }, async () => {
      const client = new Client(address)
      // Getting a CSRF pair needs no store.
      await client.csrfPair()
      while (!isOver) {
        answers.push(await once(kind, client))
        await sleep(40)
      }
    }),
  )
  const whole = Promise.all(clients)
  return {
    answers,
    /** The whole load, which ends when it is stopped, or with the first wrong answer. */
    whole,
    /** Waits until each kind has `count` matching answers; a wrong answer ends the wait. */
    untilEach: (what: string, count: number, isSo: (answer: Answer) => boolean) => {
      const missing = () =>
        kinds
          .filter(kind => answers.filter(one => one.kind === kind && isSo(one)).length < count)
          .map(kind => [kind.name, answers.findLast(one => one.kind === kind)])
      return Promise.race([until(`${count} ${what} of each kind`, missing, left => left.length === 0), whole])
    },
    /** Waits until the last `count` answers of each kind all match. */
    untilLast: (count: number, isSo: (answer: Answer) => boolean) => {
      const others = () =>
        kinds
          .map(kind => answers.filter(one => one.kind === kind).slice(-count))
          .filter(last => last.length < count || !last.every(isSo))
          .map(last => last.map(({ kind, status, body }) => [kind.name, status, body.slice(0, 100)]))
      return Promise.race([
        until(`${count} good answers of each kind in a row`, others, left => left.length === 0),
        whole,
      ])
    },
    stop: async () => {
      isOver = true
      await whole
    },
  }
}

interface Fault {
  readonly begin: (postgres: FragilePostgres) => Promise<void>
  readonly end: (postgres: FragilePostgres) => Promise<void>
}

async function surviveUnderLoad(t: TestContext, fault: Fault): Promise<void> {
  const postgres = await fragilePostgres(t)
  const env = {
    CARREL_DATABASE_URL: postgres.url,
    // Fewer connections than clients, so that some clients wait for one.
    CARREL_DATABASE_POOL_SIZE: '3',
    // Pages are given up after this time, even those requested just before the fault.
    CARREL_STATEMENT_TIMEOUT: String(statementTime / 1000),
  }
  const uuids = await fill(t, env, {
    epersons: [ruth, leaver],
    administrator: admin,
    letters: records,
  })
  const served = await serve(t, temporaryFolder(t), { env, hasRealLimits: true })
  const client = new Client(served.address)
  const adminToken = await client.login(admin)
  const token = await client.login(ruth)
  const left = await client.login(leaver)
  assert.equal((await client.post('/api/authn/logout')).status, 204)
  const issued = [token]

  const isRuth = (body: string) => {
    const { authenticated, _embedded } = JSON.parse(body) as Status
    assert.equal(authenticated, true, 'a valid token is valid')
    assert.equal(_embedded.eperson?.email, ruth)
  }
  const isSeven = (body: string) => assert.deepEqual(JSON.parse(body), records.slice(7, 14))
  const kinds: Kind[] = [
    {
      name: 'status',
      needsStore: true,
      clients: 8,
      token,
      ask: get('/api/authn/status'),
      assertRight: isRuth,
    },
    {
      name: 'page',
      needsStore: true,
      clients: 3,
      ask: get('/api/query/v4/letters?offset=7&limit=7'),
      assertRight: isSeven,
    },
    {
      name: 'page for an eperson',
      needsStore: true,
      clients: 2,
      token,
      ask: get('/api/query/v4/letters?offset=7&limit=7'),
      assertRight: isSeven,
    },
    {
      name: 'all records',
      needsStore: true,
      clients: 2,
      ask: get('/api/query/v4/letters'),
      assertRight: body => assert.deepEqual(JSON.parse(body), records),
    },
    {
      name: 'page of events',
      needsStore: true,
      clients: 2,
      token: adminToken,
      ask: get('/api/query/v4/audit-events?limit=3'),
      assertRight: body => assert.deepEqual(ids(body), [1, 2, 3]),
    },
    {
      name: 'all events',
      needsStore: true,
      clients: 2,
      token: adminToken,
      mayBreakOff: true,
      ask: get('/api/query/v4/audit-events'),
      assertRight: body => assert.ok(ids(body).length > 5),
    },
    {
      name: 'entities',
      needsStore: true,
      clients: 1,
      ask: get('/api/query/v4'),
      assertRight: body => assert.equal((JSON.parse(body) as unknown[]).length, 3),
    },
    {
      name: 'login',
      needsStore: true,
      clients: 4,
      ask: one => one.tryLogin(ruth, passwordOf(ruth)),
      assertRight: (_, response) => issued.push(bearerOf(response)),
    },
    {
      name: 'short-lived token',
      needsStore: true,
      clients: 2,
      token,
      ask: one => one.post('/api/authn/shortlivedtokens'),
    },
    {
      name: 'logout',
      needsStore: true,
      clients: 1,
      token: left,
      ask: one => one.post('/api/authn/logout'),
    },
    { name: 'ready', needsStore: true, clients: 1, ask: get('/health/ready') },
    { name: 'live', needsStore: false, clients: 1, ask: get('/health/live') },
    { name: 'root', needsStore: false, clients: 1, ask: get('/api') },
    {
      name: 'status of nobody',
      needsStore: false,
      clients: 1,
      ask: get('/api/authn/status'),
      assertRight: body => assert.equal((JSON.parse(body) as Status).authenticated, false),
    },
  ]

  const load = startLoad(served.address, kinds)
  await load.untilEach('good answers', 2, isGood)
  await withClient(postgres.url, async holder => {
    // Some requests are in the middle of a change, and some of a page.
    await holder.query('BEGIN; LOCK TABLE carrel.event')
    const waiting = `${ofCarrel} AND wait_event_type = 'Lock' AND query LIKE`
    const both = `${waiting} '%INSERT INTO event%' AND EXISTS (${waiting} '%string_agg%')`
    // Asked on another connection, because within a transaction the holder's view stays the same.
    await Promise.race([
      until(
        'a change and a page that wait',
        () => runSql(postgres.url, both),
        rows => rows.length > 0,
      ),
      load.whole,
    ])
    await fault.begin(postgres)
  })
  const gone = performance.now()
  await load.untilEach('answers without PostgreSQL', 2, answer => answer.sent > gone)
  const returning = performance.now()
  await fault.end(postgres)
  const back = performance.now()
  await load.untilLast(5, answer => answer.sent > back && isGood(answer))
  await load.stop()

  const slow = new Map<string, number>()
  for (const { kind, sent, answered, status } of load.answers) {
    // A login that was under way may still have had to compare the password.
    const took = answered - (kind.name === 'login' ? sent : Math.max(sent, gone))
    // A request that was under way has the time of its statement, and a listing may have had to open a
    // connection before.
    const longest = sent > gone ? limit : statementTime + limit
    if (sent < returning && (sent > gone || kind.name !== 'login') && took > longest)
      slow.set(kind.name, Math.max(took, slow.get(kind.name) ?? 0))
    if (sent > gone && answered < returning) assert.equal(status === 503, kind.needsStore, kind.name)
  }
  assert.deepEqual([...slow], [], 'every answer comes in time (these took longer, in ms)')

  for (const one of issued) assert.equal(await client.isLoggedIn(one), true, 'the tokens are still valid')
  assert.equal(await client.isLoggedIn(left), false, 'who had logged out still is')
  client.token = adminToken
  const events = await list<Event>(client, 'audit-events')
  const kept = eventCounts(events, uuids.get(ruth), 'login')
  assert.ok(kept >= issued.length, `${kept} of ${issued.length} logins were kept`)
  assert.equal(await served.stop(), 0)
}

const ids = (body: string) => (JSON.parse(body) as Event[]).map(event => event.id)

// The next test checks a server that is away, and test/faults/stream.test.ts connections that the server
// ends.
if (isLong)
  test('E2 D5 a PostgreSQL that is stopped is a 503 with Retry-After, and when it is back everything goes on', t =>
    surviveUnderLoad(t, { begin: one => one.stop(), end: one => one.start() }))

test('E2 D5 a PostgreSQL that is killed is a 503 with Retry-After, and when it is back everything goes on', t =>
  surviveUnderLoad(t, { begin: one => one.kill(), end: one => one.start() }))

test('E2 D5 a PostgreSQL that hangs is a 503 with Retry-After, and when it goes on so does everything', t =>
  surviveUnderLoad(t, { begin: one => one.hang(), end: async one => one.goOn() }))

// The next test checks this, too.
if (isLong)
  test('E2 D4 a PostgreSQL that hangs at that moment keeps no node from ending at SIGTERM', async t => {
    const postgres = await fragilePostgres(t)
    const env = { CARREL_DATABASE_URL: postgres.url }
    const served = await serve(t, temporaryFolder(t), { env, hasRealLimits: true })
    await new Client(served.address).get('/api/authn/status')
    await postgres.hang()
    assert.equal(await served.stop(), 0)
  })

test('E2 D4 while PostgreSQL hangs, a change that got a 503 is in doubt and says so, and SIGTERM ends the node', async t => {
  const postgres = await fragilePostgres(t)
  const env = { CARREL_DATABASE_URL: postgres.url, CARREL_PASSWORD_CONCURRENCY: '1' }
  const uuids = await fill(t, env, { epersons: [ruth] })
  const served = await serve(t, temporaryFolder(t), { env, hasRealLimits: true })
  const told = { acknowledged: 0, unchanged: 0, open: 0 }
  let token: string | undefined
  const someoneIsIn = Promise.withResolvers<void>()
  const logIn = async (): Promise<void> => {
    const response = await new Client(served.address).tryLogin(ruth, passwordOf(ruth))
    const body = await response.text()
    assert.ok(response.status === 200 || response.status === 503, body)
    token ??= response.headers.get('authorization')?.slice('Bearer '.length)
    if (response.status === 200) told.acknowledged++
    else if (/nothing (was|has been) (changed|done)/i.test(body)) told.unchanged++
    else told.open++
    if (token !== undefined) someoneIsIn.resolve()
    // Repeated until PostgreSQL hangs.
    if (response.status === 200 || token === undefined) await logIn()
  }
  // Passwords are compared one after another, so some logins wait while one is under way.
  const logins = Promise.all(Array.from({ length: 6 }, logIn))
  await Promise.race([someoneIsIn.promise, logins])
  await postgres.hang()
  await logins
  assert.ok(told.unchanged + told.open > 0, 'PostgreSQL hung while they logged in')

  const client = new Client(served.address)
  client.token = token
  const status = client.get('/api/authn/status')
  await until(
    'a node that lives',
    async () => (await client.get('/health/live')).status,
    code => code === 200,
  )
  assert.equal(await served.stop(), 0)
  assert.equal((await status).status, 503)

  // The node is gone, but its statements are not: they are carried out now, or not at all.
  postgres.goOn()
  await until(
    'the end of its connections',
    () => runSql(postgres.url, ofCarrel),
    rows => rows.length === 0,
  )
  const sql = "SELECT count(*)::int AS count FROM carrel.event WHERE event = 'login' AND eperson = $1"
  const kept = (await runSql<{ count: number }>(postgres.url, sql, [uuids.get(ruth)]))[0]?.count ?? 0
  const said = `${kept} logins happened: ${JSON.stringify(told)}`
  assert.ok(kept >= told.acknowledged && kept <= told.acknowledged + told.open, said)
})
