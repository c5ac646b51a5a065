import assert from 'node:assert/strict'
import { after, type TestContext } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { eventsOf } from '../../support/data/events.ts'
import {
  assertTruthAccepted,
  type Lies,
  sendLogout,
  startLiars,
  truth,
  withProviders,
} from '../../support/providers/lying-flow.ts'
import { idTokenWith, subjectOf } from '../../support/providers/lying-provider.ts'
import { repeats } from '../../support/scale.ts'
import { test, testOn, testOnOne } from '../../support/service/engines.ts'
import { adminOf, bearer, isAuthenticated } from '../../support/service/nodes.ts'
import { serve } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'
import { connectionsTo } from '../../support/service/workers.ts'

/** Providers whose pages log out by a frame in the user's browser, which anyone can load (X7). */
const { providers } = await startLiars()
after(() => providers.stop())

const settingsOf = (t: TestContext, lies: Lies = {}) =>
  withProviders(
    t,
    Object.entries({ [truth]: {}, ...lies }).map(([name, lie]) => providers.settings(name, lie)),
    { frontChannelLogout: true },
  )
const start = async (t: TestContext, lies: Lies = {}) => startService(t, { env: settingsOf(t, lies) })

const sidOf = (name: string) => `session-of-${name}`
const issuerOf = (name: string) => providers.settings(name).issuer
const pathOf = (name: string, query: Readonly<Record<string, string>>) =>
  `/api/authn/sso/oidc/logout/${name}?${new URLSearchParams(query)}`

/** Sends the request of a frame: a GET without any cookie. */
const load = (
  { address }: Pick<Service, 'address'>,
  name: string,
  query: Readonly<Record<string, string>> = { iss: issuerOf(name), sid: sidOf(name) },
) => fetch(address + pathOf(name, query), { headers: { 'sec-fetch-dest': 'iframe' } })

test('X7 T4 a frame that names the session ends every token, and nobody else’s', async t => {
  const service = await start(t, { other: {} })
  const tokens = [await assertTruthAccepted(service), await assertTruthAccepted(service)]
  const client = service.client()
  client.token = tokens[0]
  tokens.push(await client.refresh())
  const bystander = await assertTruthAccepted(service, { provider: 'other' })

  const answer = await load(service, truth)
  assert.equal(answer.status, 200, await answer.clone().text())
  for (const token of tokens) assert.equal(await client.isLoggedIn(token), false)
  assert.equal(await client.isLoggedIn(bystander), true)
  const admin = service.client()
  admin.token = await adminOf(service)
  const [logout, ...more] = await eventsOf(admin, 'logout')
  assert.deepEqual(more, [])
  assert.equal(logout?.eperson, claimsOf(tokens[0] ?? '').eid)
  assert.equal(logout?.method, 'oidc')

  // A second request, such as from a browser's cache, ends nothing, not even a new session.
  assert.equal((await load(service, truth)).status, 200)
  assert.equal((await eventsOf(admin, 'logout')).length, 1)
})

testOnOne(
  'X7 only the provider’s pages may show the answer, which is the same for every session',
  async t => {
    const service = await start(t)
    const known = await assertTruthAccepted(service)
    const answers = [await load(service, truth, { sid: 'of-nobody' }), await load(service, truth)]
    assert.equal(await service.client().isLoggedIn(known), false)
    const origin = new URL(issuerOf(truth)).origin
    const shown = answers.map(({ status, headers }) => ({
      status,
      policy: headers.get('content-security-policy'),
      frame: headers.get('x-frame-options'),
      cache: headers.get('cache-control'),
    }))
    assert.deepEqual(shown[0], {
      status: 200,
      policy: `default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors ${origin}`,
      frame: null,
      cache: 'private, no-store',
    })
    assert.deepEqual(shown[1], shown[0])
    const [one, other] = await Promise.all(answers.map(answer => answer.text()))
    assert.equal(one, other)
  },
)

testOnOne(
  'X7 the provider’s pages may have other origins, and none of them can write into the policy',
  async t => {
    const service = await start(t, {
      elsewhere: {
        discovery: described => ({
          ...described,
          end_session_endpoint: 'https://logout.example.edu/bye',
          authorization_endpoint: "https://a;frame-ancestors*,'b.example.edu/authorize",
        }),
      },
      gone: { discovery: () => ({}) },
    })
    const policyAt = async (name: string) => {
      const answer = await load(service, name, { sid: 'x' })
      assert.equal(answer.status, 200)
      return /frame-ancestors (.*)$/.exec(answer.headers.get('content-security-policy') ?? '')?.[1]
    }
    const { origin } = new URL(issuerOf(truth))
    assert.equal(await policyAt('elsewhere'), `${origin} https://logout.example.edu`)
    assert.equal(await policyAt('gone'), origin, 'a provider that is down still has its own address')
  },
)

test('X7 a frame that doesn’t name a session of this provider ends nothing', async t => {
  const service = await start(t, { other: {}, 'no-sid': idTokenWith({ sid: undefined }) })
  const client = service.client()
  const token = await assertTruthAccepted(service)
  const other = await assertTruthAccepted(service, { provider: 'other' })
  const withoutSid = await assertTruthAccepted(service, { provider: 'no-sid' })
  const iss = issuerOf(truth)
  for (const [name, query, status] of [
    [truth, {}, 400],
    [truth, { iss }, 400],
    [truth, { iss, sid: '' }, 400],
    [truth, { iss, sub: subjectOf(truth) }, 400],
    [truth, { iss: issuerOf('other'), sid: sidOf(truth) }, 400],
    [truth, { iss: `${iss}/x`, sid: sidOf(truth) }, 400],
    [truth, { iss: '', sid: sidOf(truth) }, 400],
    [truth, { iss, sid: 'x'.repeat(2_000) }, 400],
    [truth, { iss, sid: sidOf('other') }, 200],
    [truth, { iss, sid: `${sidOf(truth)} ` }, 200],
    [truth, { iss, sid: sidOf(truth).toUpperCase() }, 200],
    [truth, { iss, sid: '%' }, 200],
    [truth, { iss, sid: '\u0000' }, 400],
    [truth, { iss, sid: "' OR 1=1 --" }, 200],
    [truth, { iss, sid: subjectOf(truth) }, 200],
    ['other', { iss: issuerOf('other'), sid: sidOf(truth) }, 200],
    ['no-sid', { iss: issuerOf('no-sid'), sid: 'null' }, 200],
    ['no-sid', { iss: issuerOf('no-sid'), sid: subjectOf('no-sid') }, 200],
  ] as const) {
    const answer = await load(service, name, query)
    assert.equal(answer.status, status, JSON.stringify(query))
  }
  const twice = `${pathOf(truth, { iss, sid: sidOf(truth) })}&sid=${sidOf(truth)}`
  await assertProblem(await client.get(twice), 400, 'bad-parameter')
  for (const one of [token, other, withoutSid]) assert.equal(await client.isLoggedIn(one), true)
})

testOnOne('X7 Entra ID leaves iss out: the address names the provider', async t => {
  const service = await start(t)
  const token = await assertTruthAccepted(service)
  assert.equal((await load(service, truth, { sid: sidOf(truth) })).status, 200)
  assert.equal(await service.client().isLoggedIn(token), false)
})

testOnOne('X7 front-channel logout is off unless it is switched on', async t => {
  const service = await startService(t, { env: withProviders(t, [providers.settings(truth)]) })
  const token = await assertTruthAccepted(service)
  const answer = await load(service, truth)
  await assertProblem(answer, 405, 'method-not-allowed')
  assert.equal(answer.headers.get('allow'), 'POST')
  assert.equal(answer.headers.get('x-frame-options'), 'DENY')
  assert.equal(await service.client().isLoggedIn(token), true)
})

testOnOne('X7 a logout that ends nothing is logged, and the log doesn’t say whose it was', async t => {
  const env = settingsOf(t)
  const own = await startService(t, { env })
  const served = await serve(t, own.dataFolder, {
    env: { ...env, CARREL_LOG_LEVEL: 'info', CARREL_BASE_URL: own.config.baseUrl },
  })
  assert.equal((await load(served, truth, { sid: 'sid-of-a-stranger' })).status, 200)
  await served.said(/logout: nobody has a session here with that sid"/)
  const stranger = await providers.logoutToken(truth, right => ({
    ...right,
    claims: { ...right.claims, sub: 'sub-of-a-stranger', sid: 'sid-of-a-stranger' },
  }))
  assert.equal((await sendLogout(served, truth, stranger)).status, 200)
  await served.said(/logout: nobody has a session here with that sub and sid"/)
  await served.stop()
  assert.doesNotMatch(served.output.stdout + served.output.stderr, /of-a-stranger/)
})

testOn('postgres', 'X7 T4 a frame at one node ends the tokens on every node', async t => {
  const env = settingsOf(t)
  const first = await startService(t, { env })
  const second = await startService(t, { env, dataFolder: first.dataFolder })
  for (const [here, there] of [
    [first, second],
    [second, first],
  ] as const) {
    const tokens = [await assertTruthAccepted(here), await assertTruthAccepted(there)]
    for (const node of [here, there])
      for (const token of tokens) assert.equal(await node.client().isLoggedIn(token), true)
    assert.equal((await load(there, truth)).status, 200)
    for (const node of [here, there])
      for (const token of tokens) assert.equal(await node.client().isLoggedIn(token), false)
  }
})

test('X7 T4 a frame at one worker ends the tokens on every worker', async t => {
  const env = settingsOf(t)
  const own = await startService(t, { env })
  const served = await serve(t, own.dataFolder, {
    env: { ...env, CARREL_WORKERS: '3', CARREL_LOG_LEVEL: 'error', CARREL_BASE_URL: own.config.baseUrl },
  })
  const connections = connectionsTo(t, served.address)
  const accepted = async (token: string) =>
    Promise.all(
      connections.map(async one =>
        isAuthenticated(await one.ask('/api/authn/status', { headers: bearer(token) })),
      ),
    )
  for (let round = 0; round < repeats(3, 10); round++) {
    const token = await assertTruthAccepted({ ...own, address: served.address })
    assert.deepEqual(new Set(await accepted(token)), new Set([true]))
    const frame = connections[round % connections.length] ?? assert.fail()
    const { status } = await frame.ask(pathOf(truth, { iss: issuerOf(truth), sid: sidOf(truth) }))
    assert.equal(status, 200)
    assert.deepEqual(new Set(await accepted(token)), new Set([false]))
  }
})
