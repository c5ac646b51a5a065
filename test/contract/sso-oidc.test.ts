import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, type TestContext } from 'node:test'
import type { AccountClaims } from 'oidc-provider'
import { commandEvent } from '../../src/cli/store.ts'
import { assertProblem } from '../support/clients/answers.ts'
import { bearerOf, type Status } from '../support/clients/client.ts'
import { cookieOf, readCookie } from '../support/clients/cookie-jar.ts'
import { claimsOf } from '../support/clients/jwt.ts'
import { eventsOf } from '../support/data/events.ts'
import {
  authenticate,
  Browser,
  begin,
  browserOf,
  home,
  locationOf,
  logOut,
  type SignIn,
  signIn,
  startOf,
  trade,
  userInterface,
  withSingleSignOn,
} from '../support/providers/openid-flow.ts'
import {
  type OpenIdSettings,
  providerPasswordOf,
  startOpenIdProvider,
} from '../support/providers/openid-provider.ts'
import { databaseOf, runSqlIn, test, testOn } from '../support/service/engines.ts'
import { adminOf, quickLogin } from '../support/service/nodes.ts'
import {
  baseUrl,
  passwordOf,
  type Service,
  startService,
  temporaryFolder,
} from '../support/service/service.ts'

const secureUrl = 'https://repo.example.edu/server'

/** Clients for tests that need many. */
const caseIds = Array.from({ length: 20 }, (_, at) => `case-${at}`)

/** Every test has a Carrel of its own; the providers know nothing of each other and of it. */
const company = await startOpenIdProvider({
  clients: {
    company: 'basic',
    posted: 'post',
    open: 'none',
    ...Object.fromEntries(caseIds.map(id => [id, 'basic' as const])),
  },
  publicAddresses: [baseUrl, secureUrl],
})
const second = await startOpenIdProvider({ clients: { second: 'basic' }, claimsIn: 'user info' })
after(() => Promise.all([company.stop(), second.stop()]))

const ruth = {
  sub: 'r-1',
  email: 'ruth@example.edu',
  email_verified: true,
  given_name: 'Ruth',
  family_name: 'Reader',
}
/** Whom the user `ruth` is for the provider from now on. */
function ruthIs(claims: Partial<AccountClaims> = {}, at = company): void {
  at.users.set('ruth', { ...ruth, ...claims })
}

type Provider = OpenIdSettings & Readonly<Record<string, unknown>>

interface Options {
  readonly providers?: readonly Provider[]
  readonly provider?: Readonly<Record<string, unknown>>
  readonly singleSignOn?: object
  readonly file?: object
  readonly env?: Readonly<Record<string, string>>
  readonly dataFolder?: string
}

/** A Carrel that creates whom `company` vouches for, unless told otherwise; and who `ruth` is, is as above again. */
async function start(t: TestContext, options: Options = {}): Promise<Service> {
  const { provider = {}, providers = [{ ...company.settings('company'), create: true, ...provider }] } =
    options
  ruthIs()
  const env = withSingleSignOn(t, { providers, ...options.singleSignOn }, options.file)
  const service = await startService(t, {
    env: { ...env, ...options.env },
    ...(options.dataFolder === undefined ? {} : { dataFolder: options.dataFolder }),
  })
  company.reach(baseUrl, service.address)
  return service
}

/** A login from its start to its token, in a new browser unless told otherwise. */
async function tokenOf(service: Service, options: SignIn & { browser?: Browser } = {}): Promise<string> {
  const { browser = browserOf(service) } = options
  const { answer } = await signIn(browser, options)
  assert.equal(answer.status, 303, await answer.text())
  return bearerOf(await trade(browser))
}

/** What has nothing to do with the store. */
const onOne = (name: string, work: (t: TestContext) => Promise<void>) => testOn('sqlite', name, work)

const epersons = async ({ storage }: Service) => storage.accounts.listEpersons()
const emails = async (service: Service) => (await epersons(service)).map(({ email }) => email).sort()

/** The provider's word was taken, and led to nobody. */
async function assertNoAccount(service: Service, options: SignIn = {}): Promise<void> {
  const before = await epersons(service)
  const browser = browserOf(service)
  const { answer } = await signIn(browser, options)
  await assertProblem(answer, 403, 'account-refused')
  await assertNotSignedOn(browser, answer)
  assert.deepEqual(await epersons(service), before)
}

/** Nothing to be traded for a token came with the answer, and nothing is in the browser. */
async function assertNotSignedOn(browser: Browser, answer: Response, at = baseUrl): Promise<void> {
  assert.equal(cookieOf(answer, /CARREL-SSO$/), undefined)
  await assertProblem(await trade(browser, { at }), 401, 'login-failed')
}

const statusIn = async (browser: Browser): Promise<Status & { authenticationMethod: string | null }> =>
  JSON.parse((await browser.open(`${baseUrl}/api/authn/status`)).text)

/** The browser's cookies for Carrel, to be sent by hand. */
const cookiesIn = (browser: Browser) => browser.cookies.header(new URL(baseUrl)) ?? ''

// The way to a token -----------------------------------------------------------------------------------------

test('X2 a login goes to the provider, comes back, and is traded for a token', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  const begun = await browser.open(startOf({}))
  assert.equal(begun.answer.status, 303)
  assert.match(begun.answer.headers.get('cache-control') ?? '', /no-store/)
  const asked = locationOf(begun) ?? assert.fail()
  const returned = await authenticate(browser, asked)
  const { answer } = await browser.open(returned)
  assert.equal(answer.status, 303, await answer.text())
  assert.equal(answer.headers.get('location'), home)
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/)
  assert.equal(answer.headers.get('authorization'), null)

  const traded = await trade(browser)
  assert.equal(traded.status, 200)
  assert.equal(await traded.text(), '')
  assert.ok(traded.headers.get('dspace-xsrf-token'), 'C6 a new CSRF pair')
  assert.match(traded.headers.get('cache-control') ?? '', /no-store/)
  const token = bearerOf(traded)
  const [person] = await epersons(service)
  const { eid, sg, exp, ...more } = claimsOf(token)
  assert.deepEqual([eid, sg, more], [person?.uuid, [], {}])
  assert.ok(exp > Date.now() / 1000)

  const client = service.client()
  client.token = token
  const status = (await client.status()) as Awaited<ReturnType<typeof statusIn>>
  assert.equal(status.authenticated, true)
  assert.equal(status.authenticationMethod, 'oidc')
  assert.equal(status._embedded.eperson?.email, ruth.email)
  client.token = await client.refresh()
  const refreshed = (await client.status()) as Awaited<ReturnType<typeof statusIn>>
  assert.equal(refreshed.authenticationMethod, 'oidc', 'S2 a refresh does not change how the session began')
})

onOne(
  'X2 the provider is asked for a code, with PKCE, a state and a nonce, which differ each time',
  async t => {
    const service = await start(t, {
      provider: { scopes: ['openid', 'email'], parameters: { prompt: 'login', acr_values: 'a b' } },
    })
    const [one, other] = [await begin(browserOf(service)), await begin(browserOf(service))]
    const { searchParams } = one
    assert.equal(`${one.origin}${one.pathname}`, `${company.issuer}/auth`)
    assert.equal(searchParams.get('response_type'), 'code')
    assert.equal(searchParams.get('client_id'), 'carrel-company')
    assert.equal(searchParams.get('redirect_uri'), `${baseUrl}/api/authn/sso/oidc/callback/company`)
    assert.deepEqual(searchParams.get('scope')?.split(' ').toSorted(), ['email', 'openid'])
    assert.equal(searchParams.get('code_challenge_method'), 'S256')
    assert.equal(searchParams.get('prompt'), 'login')
    assert.equal(searchParams.get('acr_values'), 'a b')
    const fresh = ['state', 'nonce', 'code_challenge']
    const values = [one, other].flatMap(url => fresh.map(name => url.searchParams.get(name) ?? ''))
    for (const value of values) assert.match(value, /^[\w-]{43,}$/, '256 random bits, at least')
    assert.equal(new Set(values).size, 6)
  },
)

onOne('X2 the secret goes by Basic authentication or in the form, or there is none', async t => {
  const service = await start(t, {
    providers: ['company', 'posted', 'open'].map(id => ({
      ...company.settings(id),
      create: true,
      scheme: id,
    })),
  })
  for (const [at, scheme] of ['company', 'posted', 'open'].entries()) {
    // The provider takes each client by its own way only.
    company.users.set('ruth', { ...ruth, sub: scheme, email: `r${at}@example.edu` })
    const token = await tokenOf(service, { scheme })
    const client = service.client()
    client.token = token
    const status = (await client.status()) as Awaited<ReturnType<typeof statusIn>>
    assert.equal(status.authenticationMethod, scheme)
  }
})

onOne('L4 S2 WWW-Authenticate lists the scheme, and where to begin', async t => {
  const challengeOf = async (service: Service) => {
    const status = await service.client().get('/api/authn/status')
    const login = await service.client().post('/api/authn/login')
    assert.equal(login.status, 401)
    assert.equal(status.headers.get('www-authenticate'), login.headers.get('www-authenticate'))
    return login.headers.get('www-authenticate')
  }
  const start1 = `${baseUrl}/api/authn/oidc?redirectUrl=${userInterface}/`
  assert.equal(
    await challengeOf(await start(t)),
    `password realm="Carrel", oidc realm="Carrel", location="${start1}"`,
  )
  const page = `${userInterface}/a?b=c&d#e`
  const ordered = await start(t, {
    singleSignOn: { methods: ['oidc', 'password'], defaultRedirectUrl: page },
  })
  const start2 = `${baseUrl}/api/authn/oidc?redirectUrl=${page}`
  assert.equal(
    await challengeOf(ordered),
    `oidc realm="Carrel", location="${start2}", password realm="Carrel"`,
  )
})

onOne('X1 an address that the user interface of DSpace puts in as it is comes back whole', async t => {
  const service = await start(t)
  for (const address of [
    `${userInterface}/`,
    `${userInterface}/a?b=c&d=e`,
    `${userInterface}/a%20b?c=%26&redirectUrl=https://evil.example/`,
  ]) {
    const browser = browserOf(service)
    const begun = await browser.open(`${baseUrl}/api/authn/oidc?redirectUrl=${address}`)
    const asked = locationOf(begun) ?? assert.fail(begun.text)
    const { answer } = await browser.open(await authenticate(browser, asked))
    assert.equal(answer.headers.get('location'), address)
  }
  const { answer } = await browserOf(service).open(
    `${baseUrl}/api/authn/oidc?redirectUrl=https://evil.example/?redirectUrl=${userInterface}/`,
  )
  await assertProblem(answer, 400, 'redirect-not-allowed')
})

onOne('X1 a login without redirectUrl comes back to the default one', async t => {
  const service = await start(t, { singleSignOn: { defaultRedirectUrl: `${userInterface}/welcome` } })
  const { answer } = await signIn(browserOf(service), { redirectUrl: null })
  assert.equal(answer.headers.get('location'), `${userInterface}/welcome`)
})

onOne('X2 the user may say no, and may begin again', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  const form = await browser.follow(await browser.open(await begin(browser)), () => false)
  const { next } = await browser.follow(await browser.submit(form.page, { answer: 'cancel' }), url =>
    url.href.startsWith(baseUrl),
  )
  assert.equal(next?.searchParams.get('error'), 'access_denied')
  const { answer } = await browser.open(next ?? '')
  await assertProblem(answer, 401, 'sign-on-refused')
  await assertNotSignedOn(browser, answer)
  assert.deepEqual(await emails(service), [])
  await tokenOf(service, { browser })
})

onOne('X2 two logins may be under way in one browser', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  const [one, other] = [await begin(browser), await begin(browser, { redirectUrl: `${userInterface}/2` })]
  // The provider's own cookies are for one login at a time.
  const returned = [
    await authenticate(browserOf(service), one),
    await authenticate(browserOf(service), other),
  ] as const
  const { answer } = await browser.open(returned[1])
  assert.equal(answer.headers.get('location'), `${userInterface}/2`)
  assert.equal((await browser.open(returned[0])).answer.headers.get('location'), home)
})

// Cookies ----------------------------------------------------------------------------------------------------

onOne('X2 the cookies are for nobody but the service, and short', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  const begun = await browser.open(startOf({}))
  const attempt = cookieOf(begun.answer, /^CARREL-SSO-[\w-]{8}$/) ?? assert.fail('no cookie')
  const state = locationOf(begun)?.searchParams.get('state') ?? ''
  assert.ok(state.includes(attempt.name.slice('CARREL-SSO-'.length)))
  const plain = { path: '/', httponly: '', samesite: 'Lax' }
  assert.deepEqual(Object.fromEntries(attempt.attributes), { ...plain, 'max-age': '900' })

  const { answer } = await browser.open(await authenticate(browser, locationOf(begun) ?? assert.fail()))
  const cookie = cookieOf(answer, 'CARREL-SSO') ?? assert.fail('no cookie')
  assert.deepEqual(Object.fromEntries(cookie.attributes), { ...plain, 'max-age': '60' })
  assert.match(cookie.value, /^[\w-]{43,}$/)
  const gone = cookieOf(answer, attempt.name) ?? assert.fail('the attempt is over')
  assert.deepEqual([gone.value, gone.attributes.get('max-age')], ['', '0'])

  const traded = cookieOf(await trade(browser), 'CARREL-SSO') ?? assert.fail('the cookie is cleared')
  assert.deepEqual([traded.value, Object.fromEntries(traded.attributes)], ['', { ...plain, 'max-age': '0' }])
})

onOne('X2 over https no neighbouring host can plant the cookies, and other sites may send them', async t => {
  const service = await start(t, { env: { CARREL_BASE_URL: secureUrl } })
  const at = secureUrl
  const browser = browserOf(service, at)
  const begun = await browser.open(startOf({ at }))
  const attempt = cookieOf(begun.answer, /^__Host-CARREL-SSO-[\w-]{8}$/) ?? assert.fail('no cookie')
  const secure = { path: '/', httponly: '', secure: '', samesite: 'None' }
  assert.deepEqual(Object.fromEntries(attempt.attributes), { ...secure, 'max-age': '900' })
  const returned = await authenticate(browser, locationOf(begun) ?? assert.fail(), { at })
  const { answer } = await browser.open(returned)
  const cookie = cookieOf(answer, '__Host-CARREL-SSO') ?? assert.fail('no cookie')
  assert.deepEqual(Object.fromEntries(cookie.attributes), { ...secure, 'max-age': '60' })
  for (const line of [...begun.answer.headers.getSetCookie(), ...answer.headers.getSetCookie()])
    if (/SSO/.test(line)) assert.match(readCookie(line).name, /^__Host-/)
  assert.match(answer.headers.get('strict-transport-security') ?? '', /max-age/)

  // Under the plain name, which others could set, it is nothing.
  const planted = new Browser({ [new URL(at).origin]: service.address })
  planted.cookies.set(new URL(at), 'CARREL-SSO', cookie.value)
  await assertProblem(await trade(planted, { at }), 401, 'login-failed')
  assert.equal((await trade(browser, { at })).status, 200)
})

onOne('X2 a start costs a cookie, and the store nothing', async t => {
  const service = await start(t)
  const before = await service.storage.accounts.listEpersons()
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => (await browserOf(service).open(startOf({}))).answer),
  )
  for (const answer of answers)
    assert.equal(answer.headers.getSetCookie().filter(one => /SSO/.test(one)).length, 1)
  assert.deepEqual(await service.storage.accounts.listEpersons(), before)
})

// The trade --------------------------------------------------------------------------------------------------

test('X2 the cookie is traded once, also by many at the same moment', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  await signIn(browser)
  const cookie = cookiesIn(browser)
  bearerOf(await trade(browser))
  await assertProblem(await trade(browser), 401, 'login-failed')
  browser.cookies.set(new URL(baseUrl), 'CARREL-SSO', /CARREL-SSO=([^;]+)/.exec(cookie)?.[1] ?? assert.fail())
  assert.equal((await statusIn(browser)).authenticated, false)
  await assertProblem(await trade(browser), 401, 'login-failed')

  await signIn(browser)
  assert.deepEqual(await statusesOf([service, service, service, service], browser), [200, 401, 401, 401])

  // The server does not rely on the browser to forget it.
  for (const [seconds, status] of [
    [50, 200],
    [60, 401],
  ] as const) {
    await signIn(browser)
    await letPass(service, seconds)
    assert.equal((await statusIn(browser)).authenticated, status === 200)
    assert.equal((await trade(browser)).status, status, `${seconds} seconds`)
  }

  await signIn(browser)
  const base = new URL(baseUrl)
  const value = browser.cookies.all(base).get('CARREL-SSO') ?? assert.fail()
  const flipped = (at: number) => value.slice(0, at) + (value[at] === 'A' ? 'B' : 'A') + value.slice(at + 1)
  for (const wrong of [
    flipped(0),
    flipped(20),
    `${value}A`,
    value.slice(0, -1),
    value.toUpperCase(),
    '',
    '%00',
    "' OR 1=1",
  ]) {
    browser.cookies.set(base, 'CARREL-SSO', wrong)
    assert.equal((await statusIn(browser)).authenticated, false, wrong)
    await assertProblem(await trade(browser), 401, 'login-failed')
  }
  browser.cookies.set(base, 'CARREL-SSO', value)
  assert.equal((await trade(browser)).status, 200)
})

/** As if so many seconds had gone by for everything in the store that is waited for. */
async function letPass({ dataFolder }: Service, seconds: number): Promise<void> {
  const change = `ticket SET expires = expires - ${seconds * 1000}`
  if ((await databaseOf(dataFolder)) !== undefined) {
    await runSqlIn(dataFolder, `UPDATE carrel.${change}`)
    return
  }
  const db = new DatabaseSync(join(dataFolder, 'carrel.db'))
  db.exec(`UPDATE ${change}`)
  db.close()
}

testOn('postgres', 'X2 any node takes the cookie, and all of them together once', async t => {
  const first = await start(t)
  const { dataFolder } = first
  const other = await start(t, { dataFolder })
  // Each step at another node.
  const browser = browserOf(first)
  const returned = await authenticate(browser, await begin(browser))
  const elsewhere = new Browser({ [baseUrl]: other.address })
  for (const [name, value] of browser.cookies.all(new URL(baseUrl)))
    elsewhere.cookies.set(new URL(baseUrl), name, value)
  assert.equal((await elsewhere.open(returned)).answer.status, 303)
  assert.deepEqual(await statusesOf([first, other, first, other], elsewhere), [200, 401, 401, 401])
})

/** Trades the browser's cookie at each of the services at the same moment. @returns the statuses, sorted */
async function statusesOf(services: readonly Service[], browser: Browser): Promise<number[]> {
  const cookie = cookiesIn(browser)
  const answers = await Promise.all(
    services.map(async service => {
      const client = service.client()
      const pair = await client.csrfPair()
      return client.post('/api/authn/login', undefined, { cookie: `${cookie}; ${pair.cookie}` })
    }),
  )
  return answers.map(({ status }) => status).sort()
}

onOne('C1 the trade needs a CSRF pair, and a refusal does not use the cookie up', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  await signIn(browser)
  const refused = [
    await browser.open(`${baseUrl}/api/authn/login`, {
      method: 'POST',
      headers: { cookie: cookiesIn(browser) },
    }),
    await browser.open(`${baseUrl}/api/authn/login`, {
      method: 'POST',
      headers: { 'x-xsrf-token': 'made up' },
    }),
  ]
  for (const { answer } of refused) {
    assert.equal(answer.status, 403)
    assert.equal(answer.headers.get('authorization'), null)
    assert.equal(cookieOf(answer, 'CARREL-SSO'), undefined)
  }
  assert.equal((await trade(browser)).status, 200)
})

onOne('L1 L9 T10 what is refused at a login is refused with the cookie too', async t => {
  const service = await start(t)
  const { uuid } = await service.addEperson('max@example.org', { password: null })
  const browser = browserOf(service)
  await signIn(browser)
  assert.equal((await browser.open(`${baseUrl}/api/authn/login`)).answer.status, 405)
  await assertProblem(
    await trade(browser, { headers: { 'x-on-behalf-of': uuid } }),
    403,
    'on-behalf-of-refused',
  )
  const { cookie, value } = await service.client().csrfPair()
  const answer = await fetch(`${service.address}/api/authn/login?authentication-token=x`, {
    method: 'POST',
    headers: { cookie: `${cookiesIn(browser)}; ${cookie}`, 'x-xsrf-token': value },
  })
  await assertProblem(answer, 403, 'short-lived-token-refused')
  assert.equal((await trade(browser)).status, 200)
})

onOne('S1 the status with the cookie says who it is, and does not use it up', async t => {
  const service = await start(t, {
    provider: { groups: [{ group: 'Staff', attribute: 'groups', value: 'staff' }] },
  })
  ruthIs({ groups: ['staff'] })
  const browser = browserOf(service)
  await signIn(browser)
  for (let round = 0; round < 3; round++) {
    const status = await statusIn(browser)
    assert.equal(status.authenticated, true)
    assert.equal(status.authenticationMethod, 'oidc')
    assert.equal(status._embedded.eperson?.email, ruth.email)
  }
  // It is for the way to the token and nothing else.
  const { cookie, value } = await service.client().csrfPair()
  const short = await fetch(`${service.address}/api/authn/shortlivedtokens`, {
    method: 'POST',
    headers: { cookie: `${cookiesIn(browser)}; ${cookie}`, 'x-xsrf-token': value },
  })
  await assertProblem(short, 401, 'authentication-required')
  const events = await browser.open(`${baseUrl}/api/query/v4/epersons`)
  assert.equal(events.answer.status, 401)
  assert.equal((await trade(browser)).status, 200)
  assert.equal((await statusIn(browser)).authenticated, false)
})

test('T4 T6 a logout, a disabling or a deletion between the return and the trade ends it', async t => {
  const service = await start(t)
  const { accounts } = service.storage
  const token = await tokenOf(service)
  const logOut = async () => {
    const client = service.client()
    client.token = token
    assert.equal((await client.post('/api/authn/logout')).status, 204)
  }
  for (const [why, end] of [
    ['logout', logOut],
    ['disabled', () => accounts.setEnabled(ruth.email, false, commandEvent('eperson.disable'))],
    ['deleted', () => accounts.deleteEperson(ruth.email, commandEvent('eperson.delete'))],
  ] as const) {
    const browser = browserOf(service)
    const { answer } = await signIn(browser)
    assert.equal(answer.status, 303, why)
    await end()
    assert.equal((await statusIn(browser)).authenticated, false, why)
    const traded = await trade(browser)
    await assertProblem(traded, 401, 'login-failed')
    assert.equal(traded.headers.get('authorization'), null)
    await accounts.setEnabled(ruth.email, true, commandEvent('eperson.enable'))
    await assertProblem(await trade(browser), 401, 'login-failed')
  }
  const again = claimsOf(await tokenOf(service)).eid
  assert.notEqual(again, claimsOf(token).eid, 'a subject does not lead to who is no more')
  assert.deepEqual(await emails(service), [ruth.email])
})

onOne('L6 credentials or a valid token win over the cookie', async t => {
  const service = await start(t)
  const max = await service.addEperson('max@example.org')
  const browser = browserOf(service)
  await signIn(browser)
  const [person] = (await epersons(service)).filter(({ email }) => email === ruth.email)
  const cookie = cookiesIn(browser)
  const client = service.client()
  const { cookie: pair } = await client.csrfPair()
  const post = (password: string) =>
    client.post('/api/authn/login', new URLSearchParams({ user: max.email, password }), {
      cookie: `${cookie}; ${pair}`,
    })
  assert.equal((await post('wrong')).status, 401)
  assert.equal(claimsOf(bearerOf(await post(passwordOf(max.email)))).eid, max.uuid)

  const bearer = await quickLogin(service, max.email)
  const refreshed = await trade(browser, { headers: { authorization: `Bearer ${bearer}` } })
  assert.equal(claimsOf(bearerOf(refreshed)).eid, max.uuid)

  // A token that is no good is none.
  const other = browserOf(service)
  await signIn(other)
  const traded = await trade(other, { headers: { authorization: 'Bearer x' } })
  assert.equal(claimsOf(bearerOf(traded)).eid, person?.uuid)
})

// Where to return to -----------------------------------------------------------------------------------------

onOne('X1 only origins on the list are returned to, and nothing begins otherwise', async t => {
  const service = await start(t, {
    file: { CARREL_ALLOWED_ORIGINS: 'https://ui.example.edu, http://127.0.0.1:5555' },
  })
  for (const good of [
    'https://ui.example.edu',
    'https://ui.example.edu/',
    'HTTPS://UI.EXAMPLE.EDU:443/a/../b?c=d#e',
    'http://127.0.0.1:5555/#/login',
    `${baseUrl}/anything`,
    `${baseUrl}:80/`,
  ]) {
    const { answer } = await signIn(browserOf(service), { redirectUrl: good })
    assert.equal(answer.status, 303, good)
    assert.equal(answer.headers.get('location'), new URL(good).href)
  }
  for (const bad of [
    '',
    ' ',
    '/',
    '/relative',
    'ui.example.edu',
    '//ui.example.edu/',
    '\\\\ui.example.edu',
    'https:ui.example.edu',
    'https:/ui.example.edu',
    'https://ui.example.edu.evil.example/',
    'https://ui.example.edu@evil.example/',
    'https://ui.example.edu:pass@evil.example/',
    'https://user@ui.example.edu/',
    'https://user:pass@ui.example.edu/',
    'https://evil.example\\@ui.example.edu/',
    'https://evil.example/https://ui.example.edu/',
    'https://evil.example/?https://ui.example.edu',
    'https://evil.example#https://ui.example.edu/',
    'https://ui.example.edu\\.evil.example/',
    'https://ui.example.edu\\@evil.example/',
    'https:\\\\ui.example.edu/',
    'https://\\ui.example.edu/',
    'https://ui.example.ed',
    'https://ui.example.eduu/',
    'https://sub.ui.example.edu/',
    'https://example.edu/',
    'https://ui.example.edu./',
    'https://ui.example.edu:444/',
    'http://ui.example.edu/',
    'http://127.0.0.1:5556/',
    'http://127.0.0.1/',
    'http://localhost:5555/',
    'javascript:alert(1)//https://ui.example.edu/',
    'javascript://ui.example.edu/%0aalert(1)',
    'data:text/html,x',
    'ftp://ui.example.edu/',
    'blob:https://ui.example.edu/x',
    'null',
    `https://ui.example.edu/${'x'.repeat(5_000)}`,
  ]) {
    const { answer } = await browserOf(service).open(startOf({ redirectUrl: bad }))
    assert.equal(answer.headers.get('location'), null, bad)
    assert.deepEqual(
      answer.headers.getSetCookie().filter(line => /SSO/.test(line)),
      [],
      bad,
    )
    await assertProblem(answer, 400, 'redirect-not-allowed')
  }
})

onOne('X1 what is sent back to is never more than what was allowed', async t => {
  const service = await start(t)
  for (const odd of [
    `${userInterface}/\r\nSet-Cookie: a=b`,
    `${userInterface}/\t//evil.example`,
    `${userInterface}/\u0000`,
    `${userInterface}/ä"<script>`,
  ]) {
    const { answer } = await browserOf(service).open(startOf({ redirectUrl: odd }))
    if (answer.status === 400) continue
    const signedIn = await signIn(browserOf(service), { redirectUrl: odd })
    const location = signedIn.answer.headers.get('location') ?? ''
    assert.ok(location.startsWith(`${userInterface}/`), location)
    assert.match(location, /^[\x21-\x7e]+$/)
    assert.equal(cookieOf(signedIn.answer, 'a'), undefined)
  }
})

onOne('X1 two redirectUrl, or a parameter that nobody knows, are refused', async t => {
  const service = await start(t)
  const address = encodeURIComponent(`${userInterface}/`)
  const start1 = `${baseUrl}/api/authn/oidc?redirectUrl=${address}`
  for (const more of [`redirectUrl=${address}`, 'redirecturl=https://evil.example', 'return=1']) {
    const { answer } = await browserOf(service).open(`${start1}&${more}`)
    await assertProblem(answer, 400, 'bad-parameter')
    assert.deepEqual(
      answer.headers.getSetCookie().filter(line => /SSO/.test(line)),
      [],
    )
  }
})

// Several providers ------------------------------------------------------------------------------------------

onOne('X2 of several providers of a scheme one is chosen, on a page or by name', async t => {
  ruthIs({}, second)
  const service = await start(t, {
    providers: [
      { ...company.settings('company'), name: 'Company <& "Sons">', create: true },
      { ...second.settings('second'), create: true, userInfo: true },
    ],
  })
  const browser = browserOf(service)
  const { answer, text } = await browser.open(startOf({}))
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('content-type') ?? '', /^text\/html\b/)
  assert.match(answer.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  assert.deepEqual(
    answer.headers.getSetCookie().filter(line => /SSO/.test(line)),
    [],
  )
  assert.ok(text.includes('Company &lt;&amp; &quot;Sons&quot;&gt;'), text)
  const links = [...text.matchAll(/<a\b[^>]*href="([^"]*)"/g)].map(
    ([, href = '']) => new URL(href.replaceAll('&amp;', '&'), baseUrl),
  )
  assert.deepEqual(
    links.map(link => [
      link.pathname,
      link.searchParams.get('provider'),
      link.searchParams.get('redirectUrl'),
    ]),
    [
      ['/api/authn/oidc', 'company', home],
      ['/api/authn/oidc', 'second', home],
    ],
  )
  for (const [link, issuer] of [
    [links[0], company.issuer],
    [links[1], second.issuer],
  ] as const)
    assert.equal(locationOf(await browser.open(link ?? ''))?.origin, issuer)

  const refused = await browser.open(startOf({ provider: 'third' }))
  const problem = await assertProblem(refused.answer, 400, 'bad-parameter')
  assert.deepEqual((problem as unknown as { legal: unknown }).legal, ['company', 'second'])
  const unlisted = await browser.open(startOf({ redirectUrl: 'https://evil.example/' }))
  await assertProblem(unlisted.answer, 400, 'redirect-not-allowed')
})

test('X3 the same subject of two providers is two people', async t => {
  ruthIs({ email: 'another-ruth@example.edu' }, second)
  const service = await start(t, {
    providers: [
      { ...company.settings('company'), create: true },
      { ...second.settings('second'), create: true, userInfo: true },
    ],
  })
  const one = claimsOf(await tokenOf(service, { provider: 'company' })).eid
  const other = claimsOf(await tokenOf(service, { provider: 'second' })).eid
  assert.notEqual(one, other)
  assert.equal(claimsOf(await tokenOf(service, { provider: 'company' })).eid, one)
  assert.deepEqual(await emails(service), ['another-ruth@example.edu', ruth.email])
})

onOne('X3 userInfo says where else claims are looked for', async t => {
  ruthIs({ groups: ['staff'] }, second)
  const settings = second.settings('second')
  const groups = [{ group: 'Staff', attribute: 'groups', value: 'staff' }]
  const asking = await start(t, { providers: [{ ...settings, create: true, userInfo: true, groups }] })
  const client = asking.client()
  client.token = await tokenOf(asking)
  const status = await client.status()
  assert.equal(status._embedded.eperson?.email, ruth.email)
  assert.deepEqual(await client.specialGroups(), ['Staff'])

  // Without it there is no e-mail address, and so nobody to create.
  await assertNoAccount(await start(t, { providers: [{ ...settings, create: true, groups }] }))
})

// Who it is --------------------------------------------------------------------------------------------------

test('X3 the subject decides, whatever else changes at the provider', async t => {
  const service = await start(t)
  const { eid } = claimsOf(await tokenOf(service))
  await service.addEperson('max@example.org', { password: null })
  for (const changed of [
    { email: 'new@example.edu' },
    { email: 'max@example.org' },
    { email_verified: false },
    { email: undefined, email_verified: undefined },
  ]) {
    ruthIs(changed)
    assert.equal(claimsOf(await tokenOf(service)).eid, eid, JSON.stringify(changed))
  }
  assert.deepEqual(await emails(service), ['max@example.org', ruth.email])

  // Subjects are compared as they stand.
  const seen = new Set<string>()
  const subjects = ['R-1', 'r-1 ', 'r-10', 'r', 'ſ-1', "r-1' OR '1'='1"]
  for (const [at, sub] of subjects.entries()) {
    ruthIs({ sub, email: `r${at}@example.edu` })
    seen.add(claimsOf(await tokenOf(service)).eid)
  }
  assert.equal(seen.add(eid).size, subjects.length + 1)
})

test('X3 an eperson with the verified e-mail address is linked, if that is allowed', async t => {
  const service = await start(t, { provider: { create: false, email: { match: true } } })
  const { uuid } = await service.addEperson('Ruth@Example.edu', { password: null })
  ruthIs({ email: 'RUTH@example.EDU' })
  assert.equal(claimsOf(await tokenOf(service)).eid, uuid, 'in any case')
  // From now on the subject decides.
  ruthIs({ email: 'other@example.edu', email_verified: false })
  assert.equal(claimsOf(await tokenOf(service)).eid, uuid)

  const admin = service.client()
  admin.token = await adminOf(service)
  const [linked, ...others] = await eventsOf(admin, 'eperson.link')
  assert.deepEqual(others, [])
  assert.equal(linked?.eperson, uuid)
  assert.equal(linked?.outcome, 'success')
  assert.equal(linked?.method, 'oidc')
})

test('X3 an eperson is never linked by an e-mail address where that is not allowed, verified or in doubt', async t => {
  const match = { match: true }
  const cases = [
    [{ create: false }, {}],
    [{}, {}],
    [{ email: { match: false } }, {}],
    [{ email: match }, { email_verified: false }],
    [{ email: match }, { email_verified: undefined }],
    [{ email: match }, { email_verified: 'false' }],
    [{ email: match }, { email_verified: 0 }],
    [{ email: match }, { email_verified: {} }],
    [{ email: match }, { email_verified: 'yes' }],
    [{ email: { match: true, verified: 'never' } }, {}],
    [{ email: { match: true, domains: ['example.org'] } }, {}],
    [{ email: { match: true, domains: ['edu'] } }, {}],
    [{ email: { match: true, domains: ['sub.example.edu', 'xample.edu'] } }, {}],
    [{ email: match }, { email: ' ruth@example.edu' }],
    [{ email: match }, { email: 'ruth@example.edu\n' }],
    [{ email: match }, { email: 'ruth@example.edu\u0000' }],
    [{ email: match }, { email: 'ruth@example.edu@evil.example' }],
  ] as const
  const service = await start(t, {
    providers: cases.map(([provider], at) => ({
      ...company.settings(caseIds[at] ?? assert.fail()),
      create: true,
      ...provider,
    })),
  })
  const { uuid } = await service.addEperson(ruth.email, { password: null })
  for (const [at, [, claims]] of cases.entries()) {
    ruthIs(claims)
    await assertNoAccount(service, { provider: caseIds[at] ?? '' })
  }
  // The one that is allowed and verified is.
  ruthIs()
  const relying = cases.findIndex(([provider]) => 'email' in provider && provider.email === match)
  assert.equal(claimsOf(await tokenOf(service, { provider: caseIds[relying] ?? '' })).eid, uuid)
})

onOne('X3 who says that addresses are verified may be the operator', async t => {
  const email = { match: true, verified: 'always', domains: ['Example.EDU', 'example.org'] }
  const service = await start(t, { provider: { email } })
  const { uuid } = await service.addEperson(ruth.email, { password: null })
  ruthIs({ email_verified: undefined, email: 'ruth@EXAMPLE.edu' })
  assert.equal(claimsOf(await tokenOf(service)).eid, uuid)

  // Lookalikes of the domain are none of it.
  for (const address of [
    'ruth@example.edu.evil.example',
    'ruth@evil-example.edu',
    'ruth@sub.example.edu',
    '"ruth@example.edu"@evil.example',
  ]) {
    ruthIs({ sub: address, email: address })
    await assertNoAccount(service)
  }
})

onOne(
  'X3 nobody is created unless that is allowed, and nobody without a verified e-mail address',
  async t => {
    const service = await start(t, {
      providers: [
        { ...company.settings('company'), create: true },
        { ...company.settings('case-0'), create: false, email: { match: true } },
      ],
    })
    await assertNoAccount(service, { provider: 'case-0' })
    for (const claims of [
      { email: undefined },
      { email_verified: false },
      { email: 'no address' },
      { email: '@' },
      { email: 17 },
    ]) {
      ruthIs(claims)
      await assertNoAccount(service, { provider: 'company' })
    }
    ruthIs()
    await tokenOf(service, { provider: 'company' })

    const admin = service.client()
    admin.token = await adminOf(service)
    const [person] = (await epersons(service)).filter(({ email }) => email === ruth.email)
    const [added] = await eventsOf(admin, 'eperson.add')
    assert.equal(added?.eperson, person?.uuid)
    assert.equal(added?.method, 'oidc')
    assert.deepEqual(await eventsOf(admin, 'eperson.link'), [])
    assert.equal(person?.firstName, ruth.given_name)
    assert.equal(person?.lastName, ruth.family_name)
  },
)

test('X3 a second subject with the same e-mail address is refused, and so is a disabled eperson', async t => {
  const service = await start(t, { provider: { email: { match: true } } })
  const { eid } = claimsOf(await tokenOf(service))
  ruthIs({ sub: 'who-got-the-address-later' })
  await assertNoAccount(service)
  ruthIs()
  assert.equal(claimsOf(await tokenOf(service)).eid, eid)

  const { accounts } = service.storage
  await accounts.setEnabled(ruth.email, false, commandEvent('eperson.disable'))
  await assertNoAccount(service)
  await service.addEperson('max@example.edu', { password: null })
  await accounts.setEnabled('max@example.edu', false, commandEvent('eperson.disable'))
  ruthIs({ sub: 'm-1', email: 'max@example.edu' })
  await assertNoAccount(service)
  await accounts.setEnabled(ruth.email, true, commandEvent('eperson.enable'))
  ruthIs()
  assert.equal(claimsOf(await tokenOf(service)).eid, eid)
})

test('X3 names are taken over at each login, and stay where the provider has none', async t => {
  const service = await start(t)
  const names = async () => {
    await tokenOf(service)
    const [person] = await epersons(service)
    return [person?.firstName, person?.lastName]
  }
  assert.deepEqual(await names(), ['Ruth', 'Reader'])
  ruthIs({ given_name: 'Ruth 👩🏽‍🔬', family_name: "O'Néill; DROP TABLE eperson" })
  assert.deepEqual(await names(), ['Ruth 👩🏽‍🔬', "O'Néill; DROP TABLE eperson"])
  ruthIs({ given_name: undefined, family_name: '' })
  assert.deepEqual(await names(), ['Ruth 👩🏽‍🔬', "O'Néill; DROP TABLE eperson"])
  ruthIs({ given_name: `A${'b'.repeat(10_000)}`, family_name: 'nul \u0000 \uD800' })
  await names()
})

test('X3 first logins of one subject at the same moment make one eperson', async t => {
  const service = await start(t)
  const other = await start(t, { dataFolder: service.dataFolder })
  const services = [service, other, service, other]
  const returned = await Promise.all(
    services.map(async one => {
      const browser = browserOf(one)
      return { browser, url: await authenticate(browser, await begin(browser)) }
    }),
  )
  const answers = await Promise.all(returned.map(({ browser, url }) => browser.open(url)))
  assert.deepEqual(
    answers.map(({ answer }) => answer.status),
    answers.map(() => 303),
  )
  const tokens = await Promise.all(returned.map(async ({ browser }) => bearerOf(await trade(browser))))
  assert.equal(new Set(tokens.map(token => claimsOf(token).eid)).size, 1)
  assert.deepEqual(await emails(service), [ruth.email])
  const admin = service.client()
  admin.token = await adminOf(service)
  const added = (await eventsOf(admin, 'eperson.add')).filter(({ method }) => method === 'oidc')
  assert.equal(added.length, 1)
})

// Groups -----------------------------------------------------------------------------------------------------

onOne('G2 claims give groups by exact value and by pattern, and the method gives its own', async t => {
  const service = await start(t, {
    file: { specialGroups: { method: [{ group: 'By OIDC', method: 'oidc' }] } },
    provider: {
      groups: [
        { group: 'Staff', attribute: 'groups', value: 'staff' },
        { group: 'Curators', attribute: 'groups', pattern: 'urn:curator:.*|chief' },
        { group: 'Nested', attribute: 'realm_access.roles', value: 'curator' },
        { group: 'Staff', attribute: 'realm_access.roles', value: 'staff too' },
        { group: 'Verified', attribute: 'email_verified', value: 'true' },
      ],
    },
  })
  const client = service.client()
  const groupsWith = async (claims: Partial<AccountClaims>) => {
    ruthIs(claims)
    client.token = await tokenOf(service)
    const names = await client.specialGroups()
    assert.equal(claimsOf(client.token).sg.length, names.length)
    return names.filter(name => name !== 'By OIDC' && name !== 'Verified')
  }
  for (const [claims, expected] of [
    [{}, []],
    [{ groups: ['staff'] }, ['Staff']],
    [{ groups: 'staff' }, ['Staff']],
    [{ groups: ['other', 'staff', 'staff'] }, ['Staff']],
    [{ groups: ['Staff', ' staff', 'staff ', 'staff;', 'staff,other', 'staff\n'] }, []],
    [{ groups: 'staff other' }, []],
    [{ groups: { staff: true } }, []],
    [{ groups: [['staff']] }, []],
    [{ groups: ['urn:curator:maps'] }, ['Curators']],
    [{ groups: ['chief'] }, ['Curators']],
    [{ groups: ['xurn:curator:maps', 'chief!', 'a chief', 'urn:curator', 'chief\n'] }, []],
    [{ realm_access: { roles: ['curator', 'staff too'] } }, ['Nested', 'Staff']],
    [{ realm_access: { roles: 'curator' } }, ['Nested']],
    [{ realm_access: ['curator'] }, []],
    [{ realm_access: null }, []],
  ] as const)
    assert.deepEqual(await groupsWith(claims), expected, JSON.stringify(claims))
  assert.deepEqual(await client.specialGroups(), ['By OIDC', 'Verified'])
})

test('G2 a refresh keeps the groups, and the next login asks again', async t => {
  const groups = [{ group: 'Staff', attribute: 'groups', value: 'staff' }]
  const service = await start(t, { provider: { groups } })
  await service.addRecords('papers', 'id', [{ id: 1 }], 'group:Staff')
  ruthIs({ groups: ['staff'] })
  const client = service.client()
  client.token = await tokenOf(service)
  const { sg } = claimsOf(client.token)
  assert.equal(sg.length, 1)
  assert.equal((await client.get('/api/query/v4/papers')).status, 200)
  ruthIs({ groups: [] })
  client.token = await client.refresh()
  assert.deepEqual(claimsOf(client.token).sg, sg)
  client.token = await tokenOf(service)
  assert.deepEqual(claimsOf(client.token).sg, [])
  assert.equal((await client.get('/api/query/v4/papers')).status, 403)
})

// The provider over time -------------------------------------------------------------------------------------

onOne('X2 the keys of the provider may change between two logins', async t => {
  const service = await start(t)
  await tokenOf(service)
  company.rotateKeys()
  await tokenOf(service)
})

onOne(
  'X2 a provider that is down stops neither the start nor anything else, and is used once it is back',
  async t => {
    company.goDown()
    try {
      const service = await start(t)
      assert.equal((await service.client().get('/health/ready')).status, 200)
      const browser = browserOf(service)
      const { answer } = await browser.open(startOf({}))
      await assertProblem(answer, 502, 'provider-unavailable')
      assert.deepEqual(
        answer.headers.getSetCookie().filter(line => /SSO-/.test(line)),
        [],
      )
      company.comeUp()
      const asked = await begin(browser)
      const returned = await authenticate(browser, asked)
      company.goDown()
      const failed = await browser.open(returned)
      await assertProblem(failed.answer, 502, 'provider-unavailable')
      await assertNotSignedOn(browser, failed.answer)
      company.comeUp()
      await tokenOf(service)
    } finally {
      company.comeUp()
    }
  },
)

// Logout -----------------------------------------------------------------------------------------------------

test('O1 a logout offers the way to the logout of the provider, which comes back', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  const token = await tokenOf(service, { browser })
  const loggedOut = await logOut(browser, token)
  assert.equal(loggedOut.status, 204)
  assert.equal(loggedOut.headers.get('link'), `<${baseUrl}/api/authn/sso/logout>; rel="logout"`)
  const cookie = cookieOf(loggedOut, 'CARREL-SSO-LOGOUT') ?? assert.fail('no cookie')
  assert.equal(cookie.attributes.get('httponly'), '')
  assert.equal(await service.client().isLoggedIn(token), false)

  const way = await browser.open(`${baseUrl}/api/authn/sso/logout`)
  assert.equal(way.answer.status, 303)
  const end = locationOf(way) ?? assert.fail()
  assert.equal(`${end.origin}${end.pathname}`, `${company.issuer}/session/end`)
  assert.equal(end.searchParams.get('post_logout_redirect_uri'), `${baseUrl}/api/authn/sso/logout/done`)
  const left = await browser.submit(await browser.open(end))
  const back = locationOf(left) ?? assert.fail(left.text)
  assert.equal(back.origin + back.pathname, `${baseUrl}/api/authn/sso/logout/done`)
  const done = await browser.open(back)
  assert.equal(done.answer.status, 303)
  assert.equal(done.answer.headers.get('location'), `${userInterface}/`)

  // The way is gone once; and the provider asks who it is again.
  const again = await browser.open(`${baseUrl}/api/authn/sso/logout`)
  assert.notEqual(locationOf(again)?.origin, company.issuer)
  const { page } = await browser.follow(await browser.open(await begin(browser)), () => false)
  assert.match(page.text, /name="password"/)
})

onOne(
  'O1 without the way to the provider nothing there ends, and a configured page is still gone to',
  async t => {
    const service = await start(t, { env: { CARREL_LOGOUT_PAGE_URL: `${baseUrl}/api/authn/sso/logout` } })
    const browser = browserOf(service)
    const loggedOut = await logOut(browser, await tokenOf(service, { browser }))
    assert.equal(loggedOut.status, 302)
    assert.equal(loggedOut.headers.get('location'), `${baseUrl}/api/authn/sso/logout`)
    const again = await signIn(browser, { user: 'nobody' })
    assert.equal(again.answer.status, 303, 'the provider still knows the browser')

    // A session that a password began has no such way.
    await service.addEperson('max@example.org', { password: null })
    const plain = await logOut(browserOf(service), await quickLogin(service, 'max@example.org'))
    assert.equal(plain.headers.get('link'), null)
    assert.equal(cookieOf(plain, 'CARREL-SSO-LOGOUT'), undefined)
    // And nobody goes anywhere without the cookie.
    const nowhere = await browserOf(service).open(`${baseUrl}/api/authn/sso/logout`)
    assert.notEqual(locationOf(nowhere)?.origin, company.issuer)
    assert.ok(nowhere.answer.status < 500)
  },
)

test('T4 the logout at the provider ends every token at once', async t => {
  const service = await start(t)
  const other = await start(t, { dataFolder: service.dataFolder })
  company.users.set('max', { ...ruth, sub: 'm-1', email: 'max@example.edu' })
  const max = await tokenOf(service, { user: 'max' })
  const browser = browserOf(service)
  const tokens = [await tokenOf(service, { browser }), await tokenOf(service), await tokenOf(other)]
  const client = service.client()
  client.token = tokens[0]
  tokens.push(await client.refresh())
  const waiting = browserOf(service)
  await signIn(waiting)

  const before = company.backChannel.length
  const page = await browser.open(`${company.issuer}/session/end`)
  await browser.submit(page)
  assert.deepEqual(company.backChannel.slice(before), [200])
  for (const node of [service, other])
    for (const token of tokens) assert.equal(await node.client().isLoggedIn(token), false)
  assert.equal((await trade(waiting)).status, 401, 'nor what waits to be traded')
  assert.equal(await service.client().isLoggedIn(max), true)
  const admin = service.client()
  admin.token = await adminOf(service)
  const [logout, ...others] = await eventsOf(admin, 'logout')
  assert.deepEqual(others, [])
  assert.equal(logout?.eperson, claimsOf(tokens[0] ?? '').eid)
  assert.equal(logout?.method, 'oidc')
  await tokenOf(service)
})

// The audit trail --------------------------------------------------------------------------------------------

test('X2 the audit trail says who came how, from which provider, and who was refused', async t => {
  const service = await start(t, { env: { CARREL_TRUSTED_PROXIES: '127.0.0.1' } })
  const token = await tokenOf(service)
  await logOut(browserOf(service), token)
  await service.storage.accounts.setEnabled(ruth.email, false, commandEvent('eperson.disable'))
  await assertNoAccount(service)
  const { eid } = claimsOf(token)
  const admin = service.client()
  admin.token = await adminOf(service)
  const common = { client_ip: '127.0.0.1', method: 'oidc', object: 'company', reason: null }
  const logins = (await eventsOf(admin, 'login')).filter(({ method }) => method !== 'password')
  assert.deepEqual(logins[0], { ...common, outcome: 'success', eperson: eid, actor: eid })
  assert.ok(
    logins.some(({ outcome, eperson }) => outcome === 'failure' && eperson === eid),
    JSON.stringify(logins),
  )
  assert.deepEqual((await eventsOf(admin, 'logout'))[0], {
    ...common,
    object: null,
    outcome: 'success',
    eperson: eid,
    actor: eid,
  })
  const whole = await (await admin.get('/api/query/v4/events')).text()
  for (const secret of [ruth.sub, providerPasswordOf('ruth')]) assert.ok(!whole.includes(secret), secret)
})

onOne('X1 without providers of its own a service knows nothing of single sign-on', async t => {
  const service = await startService(t, { dataFolder: temporaryFolder(t) })
  const client = service.client()
  for (const path of ['oidc', 'shibboleth', 'sso/oidc/callback/company', 'sso/logout'])
    await assertProblem(await client.get(`/api/authn/${path}`), 404, 'not-found')
  assert.equal(
    (await client.get('/api/authn/status')).headers.get('www-authenticate'),
    'password realm="Carrel"',
  )
})
