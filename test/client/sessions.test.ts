import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { CarrelProblem } from '../../packages/client/src/index.ts'
import { root, ruth, startClientWorld } from '../support/clients/carrel-client.ts'
import { test, testOn } from '../support/service/engines.ts'
import { passwordOf } from '../support/service/service.ts'

const login = /^\/api\/authn\/login/
/** Default lifetime of a token in ms. */
const tokenLifetime = 1_800_000

/**
 * Stops the clock of this process, which client and service share. @returns a function that advances it by
 * the given ms and one second
 */
function movingClock(t: TestContext): (ms: number) => void {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  return ms => t.mock.timers.setTime(Date.now() + ms + 1_000)
}

/** Options with which any token is due for renewal, so that the first request renews it. */
const atOnce = { refreshAhead: 1_000_000 }

test('CL1 someone logs in, is known, and logs out on every device', async t => {
  const { open, service } = await startClientWorld(t)
  const [client, other] = [open(), open()]
  const told: unknown[] = []
  client.onSession((session, why) => told.push([session?.eperson !== undefined, why]))
  await assert.rejects(client.login(ruth, 'wrong'), (error: unknown) => {
    assert.ok(error instanceof CarrelProblem && error instanceof Error)
    assert.deepEqual([error.status, error.code], [401, 'login-failed'])
    return true
  })
  await client.login(ruth, passwordOf(ruth))
  await other.login(ruth, passwordOf(ruth))
  const status = await client.status()
  assert.equal(status._embedded.eperson?.email, ruth)
  assert.equal(client.session?.eperson, status._embedded.eperson?.uuid)
  const left = Number(client.session?.expires) - Date.now()
  assert.ok(left > 1_700_000 && left <= 1_801_000, `${left} ms`)
  assert.deepEqual(await client.logout(), { provider: undefined })
  assert.equal(client.session, undefined)
  assert.deepEqual(told, [
    [true, 'login'],
    [false, 'logout'],
  ])
  assert.equal(await service.client().isLoggedIn(), false)
  assert.equal((await other.status()).authenticated, false)
})

test('CL1 without the storage of a browser, the token is in memory', async t => {
  assert.equal(globalThis.localStorage, undefined)
  const { openAs } = await startClientWorld(t)
  const client = await openAs(ruth, { storage: 'local' })
  assert.equal((await client.status())._embedded.eperson?.email, ruth)
  await client.logout()
  assert.equal(client.session, undefined)
})

test('CL1 a token is renewed before it ends, once for all who ask meanwhile', async t => {
  const { line, open, openAs } = await startClientWorld(t)
  const first = await openAs(ruth)
  let kept: string | undefined
  const storage = {
    get: () => kept,
    set: (token: string) => {
      kept = token
    },
    remove: () => {
      kept = undefined
    },
  }
  await openAs(ruth, { storage })
  const before = kept
  const client = open({ storage, ...atOnce })
  const logins = line.count('POST', login)
  const all = await Promise.all(Array.from({ length: 20 }, () => client.status()))
  assert.ok(all.every(status => status.authenticated))
  assert.equal(line.count('POST', login), logins + 1)
  assert.notEqual(kept, before)
  // The token has just been renewed, so this request doesn't renew it.
  await client.status()
  assert.equal(line.count('POST', login), logins + 1)
  assert.equal((await first.status()).authenticated, true)
})

test('CL1 a token that can not be renewed at the moment is used as long as it lives', async t => {
  const { line, open, service } = await startClientWorld(t)
  const token = await service.client().login(ruth)
  const client = open({ token, ...atOnce, retries: { times: 0 } })
  line.fault = ({ path }) => (login.test(path) ? { status: 502 } : undefined)
  assert.equal((await client.status()).authenticated, true)
})

test('CL2 nothing is asked with a token that has ended, also after the machine has slept', async t => {
  const { line, openAs } = await startClientWorld(t)
  const letPass = movingClock(t)
  const told: string[] = []
  const client = await openAs(ruth)
  client.onSession((_, why) => told.push(why))
  letPass(tokenLifetime)
  const asked = line.requests.length
  const answers = await Promise.allSettled([client.status(), client.entity('letters').query().all()])
  for (const answer of answers) {
    assert.ok(answer.status === 'rejected' && answer.reason instanceof CarrelProblem)
    assert.deepEqual([answer.reason.status, answer.reason.code], [401, 'session-over'])
  }
  assert.equal(line.requests.length, asked)
  assert.deepEqual(told, ['expired'])
  // The client now knows that there is no session.
  assert.equal((await client.status()).authenticated, false)
})

test('CL2 someone logs in again, once, and the requests that needed it go on', async t => {
  const { line, open, openAs } = await startClientWorld(t)
  const letPass = movingClock(t)
  let asked = 0
  const client = open({
    onLoginNeeded: async () => {
      asked++
      await client.login(ruth, passwordOf(ruth))
    },
  })
  await client.login(ruth, passwordOf(ruth))
  letPass(tokenLifetime)
  const all = await Promise.all([client.status(), client.status(), client.status()])
  assert.deepEqual([all.every(status => status.authenticated), asked], [true, 1])

  // The service has ended the session. The client learns it from a 401, and repeats the request.
  await (await openAs(ruth)).logout()
  const sent = line.count('GET', '/api/authn/sessions')
  const sessions = await client.list('/api/authn/sessions').page(0, 100)
  assert.deepEqual([sessions.items.length > 0, asked], [true, 2])
  assert.ok(line.requests.length > sent)
})

test('CL2 what one person asked for is not sent when another one logs in', async t => {
  const { line, open, service } = await startClientWorld(t)
  const letPass = movingClock(t)
  await service.addEperson('other@example.org')
  const asAnother = open({
    onLoginNeeded: () => asAnother.login('other@example.org', passwordOf('other@example.org')),
  })
  await asAnother.login(ruth, passwordOf(ruth))
  letPass(tokenLifetime)
  const before = line.count('GET', '/api/authn/sessions')
  const sessions = () => asAnother.list('/api/authn/sessions').page(0, 100)
  const answers = await Promise.allSettled([sessions(), sessions()])
  for (const answer of answers) {
    assert.ok(answer.status === 'rejected' && answer.reason instanceof CarrelProblem)
    assert.equal(answer.reason.code, 'session-over')
  }
  assert.equal(line.count('GET', '/api/authn/sessions'), before)
  // From then on it is their client.
  assert.equal((await asAnother.status())._embedded.eperson?.email, 'other@example.org')
})

test('CL2 what one person asked for is not sent when they leave, or another one logs in, during its renewal', async t => {
  const { line, open, service } = await startClientWorld(t)
  await service.addEperson('other@example.org')
  const [own, others] = [
    await service.client().login(ruth),
    await service.client().login('other@example.org'),
  ]
  for (const next of [others, undefined]) {
    let kept: string | undefined = own
    const storage = {
      get: () => kept,
      set: (token: string) => {
        kept = token
      },
      remove: () => {
        kept = undefined
      },
    }
    line.fault = ({ path }) => {
      // Another tab is quicker than the answer.
      if (login.test(path)) kept = next
      return undefined
    }
    const client = open({ storage, ...atOnce })
    const before = line.count('GET', '/api/authn/sessions')
    await assert.rejects(client.list('/api/authn/sessions').page(0, 100), { code: 'session-over' })
    assert.deepEqual([line.count('GET', '/api/authn/sessions'), kept], [before, next])
  }
})

test('CL2 a login that does not come leaves the error of the request', async t => {
  const { open, openAs } = await startClientWorld(t)
  let asked = 0
  const client = open({ onLoginNeeded: () => asked++ })
  await client.login(ruth, passwordOf(ruth))
  await (await openAs(ruth)).logout()
  await assert.rejects(client.list('/api/authn/sessions').page(), { code: 'authentication-required' })
  assert.deepEqual([asked, client.session], [1, undefined])
})

test('CL1 a page begins with the session that it has kept, or without one if that has ended', async t => {
  const { open, openAs, service } = await startClientWorld(t)
  const token = await service.client().login(ruth)
  let asked = 0
  const kept = open({ token, onLoginNeeded: () => asked++ })
  assert.ok(await kept.resume())
  await (await openAs(ruth)).logout()
  assert.equal(await kept.resume(), undefined)
  assert.deepEqual([kept.session, asked], [undefined, 0])
  assert.equal(await open().resume(), undefined)
})

test('CL1 the time left is told by the clock of this machine', async t => {
  const { openAs } = await startClientWorld(t)
  const hour = 3_600_000
  /** Makes the service's clock appear an hour behind this machine's. */
  const late: typeof fetch = async (...of) => {
    const response = await fetch(...of)
    const headers = new Headers(response.headers)
    headers.set('date', new Date(Date.now() - hour).toUTCString())
    return new Response(response.body, { status: response.status, headers })
  }
  const [client, other] = [await openAs(ruth, { fetch: late }), await openAs(ruth)]
  const apart = Number(client.session?.expires) - Number(other.session?.expires)
  assert.ok(Math.abs(apart - hour) < hour / 2, `${apart} ms`)
})

testOn('sqlite', 'CL1 a session that is kept alive is renewed while nothing is asked', async t => {
  const { line, open, service } = await startClientWorld(t)
  const token = await service.client().login(ruth)
  const client = open({ token, keepAlive: true, ...atOnce })
  const renewed = new Promise<string>(resolve => client.onSession((_, why) => resolve(why)))
  assert.equal(await renewed, 'refresh')
  assert.deepEqual([line.count('POST', login), line.count('GET', '/api/authn/status')], [1, 0])
})

test('CL1 a program uses an access token, which is not renewed', async t => {
  const { line, open, openAs } = await startClientWorld(t)
  const client = await openAs(ruth)
  const made = await client.post<{ token: string }>('/api/authn/tokens', { json: { name: 'nightly' } })
  const logins = line.count('POST', login)
  const program = open({ token: made.token, ...atOnce })
  assert.equal((await program.status())._embedded.eperson?.email, ruth)
  assert.deepEqual(program.session, { eperson: undefined, expires: undefined })
  assert.equal(line.count('POST', login), logins)
})

test('CL3 an administrator acts on behalf of someone, with a reason', async t => {
  const { openAs, service } = await startClientWorld(t, {
    CARREL_LOGIN_ON_BEHALF_OF: 'true',
    CARREL_ON_BEHALF_OF_REASON: 'required',
  })
  const admin = await openAs(root)
  const { uuid } = await service.addEperson('max@example.org')
  const acting = admin.onBehalfOf(uuid, { reason: 'Störung bei Zoë – 3 €' })
  assert.equal((await acting.status())._embedded.eperson?.email, 'max@example.org')
  assert.equal((await admin.status())._embedded.eperson?.email, root)
  const reasons = await admin
    .entity('audit-events')
    .query({ where: ['=', 'event', 'on-behalf-of'] })
    .all()
  assert.deepEqual(
    reasons.map(one => one.reason),
    ['Störung bei Zoë – 3 €'],
  )
  await assert.rejects(admin.onBehalfOf(uuid).status(), { code: 'reason-required' })
})

test('CL1 the ways to log in are told, with where to come back to', async t => {
  const { open } = await startClientWorld(t)
  assert.deepEqual(await open().loginMethods('https://ui.example.edu/#/items'), [{ scheme: 'password' }])
})
