import assert from 'node:assert/strict'
import { after, type TestContext } from 'node:test'
import { problems } from '../../../src/http/problems.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import { bearerOf } from '../../support/clients/client.ts'
import { cookieOf, tradeCookie } from '../../support/clients/cookie-jar.ts'
import {
  assertTruthAccepted,
  type Lies,
  sendLogout,
  startLiars,
  truth,
  withProviders,
} from '../../support/providers/lying-flow.ts'
import {
  callbackLies,
  discoveryLies,
  emailOf,
  idTokenLies,
  keyLies,
  type Lie,
  logoutLies,
  stateLies,
  subjectOf,
  tokenEndpointLies,
  userInfoFailures,
  userInfoLies,
} from '../../support/providers/lying-provider.ts'
import {
  authenticate,
  Browser,
  begin,
  browserOf,
  home,
  signIn,
  startOf,
  trade,
} from '../../support/providers/openid-flow.ts'
import { clientSecret } from '../../support/providers/openid-provider.ts'
import { testOn, testOnOne } from '../../support/service/engines.ts'
import { type Served, serve } from '../../support/service/process.ts'
import { baseUrl, type Service, startService, temporaryFolder } from '../../support/service/service.ts'

/** Lying providers, and one that tells the truth; the service must tell them apart. */
const { providers, withLies, start } = await startLiars()
after(() => providers.stop())

/** Codes of the catalogue, each of which is an acceptable answer. */
type Expected = readonly (keyof typeof problems)[]
const notBegun: Expected = ['sign-on-not-begun']
const refused: Expected = ['sign-on-refused']
const unavailable: Expected = ['provider-unavailable']
/** Codes for answers that may be wrong or just broken. */
const either: Expected = [...refused, ...unavailable]

/**
 * Asserts that the answer is such a problem, and that neither browser nor store has anything of the login.
 */
async function assertRefused(
  service: Service,
  browser: Browser,
  answer: Response,
  expected: Expected,
  name: string,
): Promise<void> {
  const code = expected.find(one => problems[one].status === answer.status)
  assert.ok(code, `${answer.status} is not ${expected}: ${await answer.clone().text()}`)
  await assertProblem(answer, answer.status, code)
  assert.equal(answer.headers.get('location'), null, name)
  await assertNotSignedOn(service, browser, answer, name)
}

async function assertNotSignedOn(service: Service, browser: Browser, answer: Response, name: string) {
  assert.equal(cookieOf(answer, tradeCookie), undefined, name)
  await assertProblem(await trade(browser), 401, 'login-failed')
  const known = await service.storage.people.listEpersons()
  assert.ok(!known.some(({ email }) => email === emailOf(name)), name)
}

interface Group {
  readonly lies: Lies
  readonly expected: Expected
  /** For lies about the provider itself, which are refused before the browser goes there. */
  readonly at?: 'start'
  readonly more?: Readonly<Record<string, unknown>>
}

/** Asserts that each of these providers is refused, and that the truthful one beside them is accepted. */
async function assertAllRefused(t: TestContext, ...groups: readonly Group[]): Promise<void> {
  const env = withProviders(t, [
    providers.settings(truth),
    ...groups.flatMap(({ lies, more }) =>
      Object.entries(lies).map(([name, lie]) => ({ ...providers.settings(name, lie), ...more })),
    ),
  ])
  const service = await startService(t, { env })
  const all = groups.flatMap(group => Object.keys(group.lies).map(name => ({ ...group, name })))
  const failed = await Promise.all(
    all.map(async ({ name, expected, at }) => {
      const browser = browserOf(service)
      try {
        const { answer } =
          at === 'start'
            ? await browser.open(startOf({ provider: name }))
            : await signIn(browser, { provider: name })
        await assertRefused(service, browser, answer, expected, name)
        return []
      } catch (error) {
        return [`${name}: ${(error as Error).message}`]
      }
    }),
  )
  assert.deepEqual(failed.flat(), [])
  await assertTruthAccepted(service)
}

// Lies of the provider
// ---------------------------------------------------------------------------------------

testOnOne('X2 an ID token that is wrong in one thing is refused', t =>
  assertAllRefused(t, { lies: idTokenLies, expected: refused }),
)

testOnOne('X2 a callback that is wrong in one thing is refused', t =>
  assertAllRefused(
    t,
    { lies: callbackLies, expected: refused },
    { lies: stateLies, expected: notBegun },
    { lies: userInfoLies, expected: refused, more: { userInfo: true } },
  ),
)

testOnOne('X2 endpoints that fail, hang, go on and on, redirect or talk nonsense lead nowhere', async t => {
  await assertAllRefused(
    t,
    { lies: discoveryLies, expected: unavailable, at: 'start' },
    { lies: tokenEndpointLies, expected: either },
    { lies: keyLies, expected: either },
    { lies: userInfoFailures, expected: either, more: { userInfo: true } },
  )
  for (const endpoint of ['discovery', 'token', 'jwks', 'userinfo'])
    assert.deepEqual(providers.seen(`${endpoint}-redirects`).elsewhere, [], 'no secret goes anywhere else')
})

testOnOne('X2 a provider that lied is believed once it tells the truth', async t => {
  const name = 'penitent'
  const lies = { ...idTokenLies['another-key'], ...discoveryLies['discovery-fails-500'] }
  const service = await start(t, { [name]: lies })
  const browser = browserOf(service)
  const { answer } = await browser.open(startOf({ provider: name }))
  await assertRefused(service, browser, answer, unavailable, name)
  providers.tell(name, idTokenLies['another-key'] ?? {})
  const lied = await signIn(browser, { provider: name })
  await assertRefused(service, browser, lied.answer, refused, name)
  providers.tell(name, {})
  await assertTruthAccepted(service, { provider: name })
})

// Parameters of the browser
// ----------------------------------------------------------------------------------

testOnOne('X2 nobody comes back who did not leave', async t => {
  const service = await start(t)
  const victim = browserOf(service)
  // The attacker's login, on its way back.
  const attacker = browserOf(service)
  const returned = await authenticate(attacker, await begin(attacker, { provider: truth }))
  await assertRefused(service, victim, (await victim.open(returned)).answer, notBegun, truth)
  await begin(victim, { provider: truth })
  await assertRefused(service, victim, (await victim.open(returned)).answer, notBegun, truth)
  for (const query of [
    '',
    '?code=x',
    '?state=x&code=x',
    `?state=${'a'.repeat(43)}&code=x`,
    '?error=access_denied',
    '?%',
    '?state=%00&code=%00',
    `?state=${'a'.repeat(5_000)}`,
  ]) {
    const url = `${baseUrl}/api/authn/sso/oidc/callback/${truth}${query}`
    const { answer } = await victim.open(url)
    assert.equal(answer.status, 400, query)
    await assertNotSignedOn(service, victim, answer, truth)
  }
  const { answer } = await attacker.open(returned)
  assert.equal(answer.headers.get('location'), home, 'for the one who left it is right')
})

const base = new URL(baseUrl)
const attemptOf = (browser: Browser) =>
  [...browser.cookies.all(base)].find(([name]) => name.startsWith('CARREL-SSO-')) ?? assert.fail()

testOnOne('X2 the cookie of an attempt can not be made, changed, moved or kept', async t => {
  const service = await start(t)
  for (const change of [
    (value: string) => `${value}A`,
    (value: string) => value.slice(0, -1),
    (value: string) => value.replace(/^./, first => (first === 'A' ? 'B' : 'A')),
    (value: string) => value.replace(/.$/, last => (last === 'A' ? 'B' : 'A')),
    (value: string) => value.split('.')[0] ?? '',
    (value: string) => `${value.split('.')[0]}.`,
    (value: string) => `.${value.split('.')[1]}`,
    () => '',
    () => '.',
    () => '%',
    () => Buffer.from('{}').toString('base64url'),
    /** Another address to return to, with the signature of the original. */
    (value: string) => {
      const [content = '', ...rest] = value.split('.')
      const text = Buffer.from(content, 'base64url').toString().replace('ui.example.edu', 'evil.example.org')
      return [Buffer.from(text).toString('base64url'), ...rest].join('.')
    },
  ]) {
    const browser = browserOf(service)
    const returned = await authenticate(browser, await begin(browser, { provider: truth }))
    const [name, value] = attemptOf(browser)
    browser.cookies.set(base, name, change(value))
    await assertRefused(service, browser, (await browser.open(returned)).answer, notBegun, truth)
  }

  // A valid value of another attempt, under the name of this one.
  const browser = browserOf(service)
  const returned = await authenticate(browser, await begin(browser, { provider: truth }))
  const other = browserOf(service)
  await begin(other, { provider: truth })
  browser.cookies.set(base, attemptOf(browser)[0], attemptOf(other)[1])
  await assertRefused(service, browser, (await browser.open(returned)).answer, notBegun, truth)
})

testOn(
  'sqlite',
  'X2 T11 an attempt is over after 15 minutes, and stays so when the clock is set back',
  async t => {
    const service = await start(t)
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    const moveClock = (minutes: number) => t.mock.timers.setTime(Date.now() + minutes * 60_000)
    const attempt = async () => {
      const browser = browserOf(service)
      return { browser, returned: await authenticate(browser, await begin(browser, { provider: truth })) }
    }
    const quick = await attempt()
    moveClock(14)
    assert.equal((await quick.browser.open(quick.returned)).answer.status, 303)
    const { browser, returned } = await attempt()
    const [name, value] = attemptOf(browser)
    moveClock(16)
    assert.equal((await browser.open(returned)).answer.status, 400)
    moveClock(-16)
    browser.cookies.set(base, name, value)
    assert.equal((await browser.open(returned)).answer.status, 400)
  },
)

testOn(
  'postgres',
  'X2 what came back once never counts again, on any node, even where the provider takes codes twice',
  async t => {
    const lies = { careless: { acceptsCodesTwice: true as const } }
    const env = withLies(t, lies)
    const first = await startService(t, { env })
    const other = await startService(t, { env, dataFolder: first.dataFolder })
    const provider = 'careless'
    const replay = (service: Service, url: URL, cookie: string) =>
      browserOf(service).open(url, { headers: { cookie } })

    const browser = browserOf(first)
    const returned = await authenticate(browser, await begin(browser, { provider }))
    const cookie = browser.cookies.header(new URL(baseUrl)) ?? ''
    assert.equal((await browser.open(returned)).answer.status, 303)
    for (const service of [first, other]) {
      const { answer } = await replay(service, returned, cookie)
      assert.ok([400, 401].includes(answer.status), `${answer.status}`)
      assert.equal(cookieOf(answer, tradeCookie), undefined)
    }
    assert.equal((await trade(browser)).status, 200, 'the replay harms nobody')

    // Sent to all nodes at the same moment.
    const again = browserOf(other)
    const url = await authenticate(again, await begin(again, { provider }))
    const cookies = again.cookies.header(new URL(baseUrl)) ?? ''
    const answers = await Promise.all(
      [first, other, first, other].map(service => replay(service, url, cookies)),
    )
    const statuses = answers.map(({ answer }) => answer.status).sort()
    assert.equal(statuses[0], 303)
    assert.ok(
      statuses.slice(1).every(status => status === 400 || status === 401),
      statuses.join(),
    )
    const given = answers.filter(({ answer }) => cookieOf(answer, tradeCookie))
    assert.equal(given.length, 1)
  },
)

testOn('sqlite', 'X2 what one provider sends does not count at the address of another', async t => {
  // The callback doesn't name the issuer, so its address identifies the provider (RFC 9700 §4.4.2.2).
  const silent: Lie = {
    discovery: ({ authorization_response_iss_parameter_supported: _left, ...rest }) => rest,
    callback: callbackLies['no-issuer-in-callback']?.callback ?? assert.fail(),
  }
  const service = await start(t, { one: silent, two: silent })
  const at = (provider: string, { search }: URL) =>
    new URL(`${baseUrl}/api/authn/sso/oidc/callback/${provider}${search}`)
  const moved = browserOf(service)
  const fromOne = await authenticate(moved, await begin(moved, { provider: 'one' }))
  const { answer } = await moved.open(at('two', fromOne))
  assert.ok([400, 401].includes(answer.status), `${answer.status}`)
  await assertNotSignedOn(service, moved, answer, 'one')
  assert.deepEqual(
    providers.seen('two').tokenRequests,
    [],
    'the code of one provider is never shown to another',
  )

  // Both logins are under way in one browser, with code and state swapped.
  const mixed = browserOf(service)
  const one = await authenticate(mixed, await begin(mixed, { provider: 'one' }))
  const two = await authenticate(mixed, await begin(mixed, { provider: 'two' }))
  for (const [code, state, path] of [
    [two, one, 'one'],
    [one, two, 'two'],
    [one, two, 'one'],
    [two, one, 'two'],
  ] as const) {
    const url = at(path, code)
    url.searchParams.set('state', state.searchParams.get('state') ?? '')
    const swapped = browserOf(service)
    const cookie = mixed.cookies.header(new URL(baseUrl)) ?? ''
    const page = await swapped.open(url, { headers: { cookie } })
    assert.ok([400, 401].includes(page.answer.status), page.text)
    await assertNotSignedOn(service, swapped, page.answer, path)
  }
  await assertTruthAccepted(service, { provider: 'one' })
  await assertTruthAccepted(service, { provider: 'two' })
})

testOnOne('L1 E2 other methods and other addresses of single sign-on are refused as everywhere', async t => {
  const service = await start(t)
  const client = service.client()
  for (const path of [
    `oidc?redirectUrl=${home}`,
    `sso/oidc/callback/${truth}?state=x`,
    'sso/logout',
    'sso/logout/done',
  ]) {
    const answer = await client.post(`/api/authn/${path}`)
    assert.equal(answer.status, 405, path)
    assert.equal(answer.headers.get('allow'), 'GET, HEAD', path)
  }
  const answer = await client.get(`/api/authn/sso/oidc/logout/${truth}`)
  assert.equal(answer.status, 405)
  assert.equal(answer.headers.get('allow'), 'POST')
  for (const path of ['callback/nobody?state=x', 'callback/', 'callback/__proto__', 'logout/nobody'])
    assert.ok((await client.get(`/api/authn/sso/oidc/${path}`)).status < 500, path)
})

testOnOne('X2 who comes with a browser gets a page, which repeats nothing of what came', async t => {
  const service = await start(t, { 'unknown-error': callbackLies['unknown-error'] ?? {} })
  const browser = browserOf(service)
  const returned = await authenticate(browser, await begin(browser, { provider: 'unknown-error' }))
  const { answer, text } = await browser.open(returned, { headers: { accept: 'text/html, */*;q=0.8' } })
  assert.equal(answer.status, 401)
  assert.match(answer.headers.get('content-type') ?? '', /^text\/html\b/)
  assert.match(answer.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/)
  assert.match(text, /sign-on-refused/)
  assert.doesNotMatch(text, /script|The provider says/)
  for (const value of returned.searchParams.values()) assert.ok(!text.includes(value), value)
})

// The log ----------------------------------------------------------------------------------------------------

testOnOne('E2 nothing of what is secret, and nobody’s name, is in the output of the service', async t => {
  const dataFolder = temporaryFolder(t)
  const lies: Lies = {
    ...pick(idTokenLies, 'another-key', 'another-nonce', 'another-issuer', 'empty-subject'),
    ...pick(callbackLies, 'unknown-error', 'another-code', 'no-code'),
    ...pick(stateLies, 'another-state'),
    ...pick(tokenEndpointLies, 'token-fails-500', 'token-is-html', 'token-breaks-off'),
    ...pick(keyLies, 'jwks-empty'),
    ...pick(discoveryLies, 'discovery-of-another-issuer'),
    'token-error': { tokens: () => ({ error: 'invalid_grant', error_description: 'no such secret-code' }) },
  }
  const served = await serve(t, dataFolder, {
    env: { ...withLies(t, lies), CARREL_BASE_URL: baseUrl, CARREL_LOG_LEVEL: 'info' },
  })
  const secrets = new Set([clientSecret, encodeURIComponent(clientSecret), 'secret-code', 'alert(1)'])
  const browserHere = () => new Browser({ [baseUrl]: served.address })
  for (const provider of [truth, ...Object.keys(lies)]) {
    const browser = browserHere()
    const { answer } = await browser.open(startOf({ provider }))
    noteCookies(browser, secrets)
    const asked = answer.headers.get('location')
    if (asked !== null) {
      const url = new URL(asked)
      for (const name of ['state', 'nonce', 'code_challenge']) secrets.add(url.searchParams.get(name) ?? '')
      const returned = await authenticate(browser, url)
      const page = await browser.open(returned)
      noteCookies(browser, secrets)
      if (provider === truth) {
        assert.equal(page.answer.status, 303, page.text)
        secrets.add(bearerOf(await trade(browser)))
        await browser.open(returned)
      } else assert.ok(page.answer.status >= 400, provider)
    }
    for (const secret of providers.seen(provider).secrets) secrets.add(secret)
    for (const { authorization, form } of providers.seen(provider).tokenRequests)
      for (const value of [authorization?.replace('Basic ', ''), form.get('code_verifier')])
        if (value) secrets.add(value)
    secrets.add(subjectOf(provider)).add(emailOf(provider))
  }
  for (const lie of [logoutLies['another key'], logoutLies['no events'], undefined]) {
    const token = await providers.logoutToken(truth, lie)
    secrets.add(token)
    assert.equal((await sendLogout(served, truth, token)).status, lie === undefined ? 200 : 400)
  }
  await outputSays(served, /"path":"\/api\/authn\/sso\/oidc\/logout/)
  assert.equal(await served.stop(), 0)

  const output = served.output.stdout + served.output.stderr
  secrets.delete('')
  assert.ok(secrets.size > 50)
  for (const secret of secrets) assert.ok(!output.includes(secret), `${secret} is in the output`)
  // The log contains what an operator needs: the provider, and the reason.
  const refusals = output.split('\n').filter(line => line.includes('"level":40'))
  for (const provider of [
    'another-key',
    'another-nonce',
    'token-fails-500',
    'unknown-error',
    'discovery-of-another-issuer',
  ])
    assert.ok(
      refusals.some(line => (JSON.parse(line) as { provider?: string }).provider === provider),
      `${provider}: ${refusals.join('\n')}`,
    )
  assert.doesNotMatch(output, /"status":500/, 'none of it is a fault of the service')
})

const pick = (lies: Lies, ...names: readonly string[]): Lies =>
  Object.fromEntries(names.map(name => [name, lies[name] ?? assert.fail(name)]))

function noteCookies(browser: Browser, secrets: Set<string>): void {
  for (const [name, value] of browser.cookies.all(new URL(baseUrl))) if (/SSO/.test(name)) secrets.add(value)
}

const outputSays = async ({ said }: Served, pattern: RegExp): Promise<void> => said(pattern)
