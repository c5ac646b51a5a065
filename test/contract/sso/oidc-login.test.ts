import assert from 'node:assert/strict'
import { after } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import { bearerOf } from '../../support/clients/client.ts'
import { cookieOf, readCookie, tradeCookie, tradeCookieOf } from '../../support/clients/cookie-jar.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import {
  assertNotSignedOn,
  emails,
  epersons,
  ruth,
  secureUrl,
  startCompany,
  startSecond,
  type statusIn,
  tokenOf,
} from '../../support/providers/openid-company.ts'
import {
  authenticate,
  Browser,
  begin,
  browserOf,
  home,
  locationOf,
  signIn,
  startOf,
  trade,
  userInterface,
} from '../../support/providers/openid-flow.ts'
import { test, testOnOne } from '../../support/service/engines.ts'
import { baseUrl, type Service, startService, temporaryFolder } from '../../support/service/service.ts'

/** A provider for all tests; each test has a service of its own, and the providers don't know each other. */
const { company, ruthIs, start } = await startCompany()
const second = await startSecond()
after(() => Promise.all([company.stop(), second.stop()]))

const signOnCookies = ({ headers }: Response) =>
  headers
    .getSetCookie()
    .map(readCookie)
    .filter(({ name }) => name.includes('SSO'))

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

testOnOne(
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

testOnOne('X2 the secret goes by Basic authentication or in the form, or there is none', async t => {
  const service = await start(t, {
    providers: ['company', 'posted', 'open'].map(id => ({
      ...company.settings(id),
      create: true,
      scheme: id,
    })),
  })
  for (const [at, scheme] of ['company', 'posted', 'open'].entries()) {
    // The provider accepts each client only with its own authentication method.
    company.users.set('ruth', { ...ruth, sub: scheme, email: `r${at}@example.edu` })
    const token = await tokenOf(service, { scheme })
    const client = service.client()
    client.token = token
    const status = (await client.status()) as Awaited<ReturnType<typeof statusIn>>
    assert.equal(status.authenticationMethod, scheme)
  }
})

testOnOne('L4 S2 WWW-Authenticate lists the scheme, and where to begin', async t => {
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

testOnOne('X1 an address that the user interface of DSpace puts in as it is comes back whole', async t => {
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

testOnOne('X1 a login without redirectUrl comes back to the default one', async t => {
  const service = await start(t, { singleSignOn: { defaultRedirectUrl: `${userInterface}/welcome` } })
  const { answer } = await signIn(browserOf(service), { redirectUrl: null })
  assert.equal(answer.headers.get('location'), `${userInterface}/welcome`)
})

testOnOne('X2 the user may say no, and may begin again', async t => {
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

testOnOne('X2 two logins may be under way in one browser', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  const [one, other] = [await begin(browser), await begin(browser, { redirectUrl: `${userInterface}/2` })]
  // The provider's own cookies are for one login at a time, so each login has a browser of its own there.
  const returned = [
    await authenticate(browserOf(service), one),
    await authenticate(browserOf(service), other),
  ] as const
  const { answer } = await browser.open(returned[1])
  assert.equal(answer.headers.get('location'), `${userInterface}/2`)
  assert.equal((await browser.open(returned[0])).answer.headers.get('location'), home)
})

// Cookies ----------------------------------------------------------------------------------------------------

testOnOne('X2 the cookies are for nobody but the service, and short', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  const begun = await browser.open(startOf({}))
  const attempt = cookieOf(begun.answer, /^CARREL-SSO-[\w-]{8}$/) ?? assert.fail('no cookie')
  const state = locationOf(begun)?.searchParams.get('state') ?? ''
  assert.ok(state.includes(attempt.name.slice('CARREL-SSO-'.length)))
  const plain = { path: '/', httponly: '', samesite: 'Lax' }
  assert.deepEqual(Object.fromEntries(attempt.attributes), { ...plain, 'max-age': '900' })

  const { answer } = await browser.open(await authenticate(browser, locationOf(begun) ?? assert.fail()))
  const cookie = cookieOf(answer, tradeCookie) ?? assert.fail('no cookie')
  assert.deepEqual(Object.fromEntries(cookie.attributes), { ...plain, 'max-age': '60' })
  assert.match(cookie.value, /^[\w-]{43,}$/)
  const gone = cookieOf(answer, attempt.name) ?? assert.fail('the attempt is over')
  assert.deepEqual([gone.value, gone.attributes.get('max-age')], ['', '0'])

  const traded = cookieOf(await trade(browser), tradeCookie) ?? assert.fail('the cookie is cleared')
  assert.deepEqual([traded.value, Object.fromEntries(traded.attributes)], ['', { ...plain, 'max-age': '0' }])
})

testOnOne(
  'X2 over https no neighbouring host can plant the cookies, and other sites may send them',
  async t => {
    const service = await start(t, { env: { CARREL_BASE_URL: secureUrl } })
    const at = secureUrl
    const browser = browserOf(service, at)
    const begun = await browser.open(startOf({ at }))
    const attempt = cookieOf(begun.answer, /^__Host-CARREL-SSO-[\w-]{8}$/) ?? assert.fail('no cookie')
    const secure = { path: '/', httponly: '', secure: '', samesite: 'None' }
    assert.deepEqual(Object.fromEntries(attempt.attributes), { ...secure, 'max-age': '900' })
    const returned = await authenticate(browser, locationOf(begun) ?? assert.fail(), { at })
    const { answer } = await browser.open(returned)
    const cookie = cookieOf(answer, tradeCookie) ?? assert.fail('no cookie')
    assert.deepEqual(Object.fromEntries(cookie.attributes), { ...secure, 'max-age': '60' })
    for (const { name } of [...signOnCookies(begun.answer), ...signOnCookies(answer)])
      assert.match(name, /^__Host-/)
    assert.match(answer.headers.get('strict-transport-security') ?? '', /max-age/)

    // Under the name without a prefix, which others could set, the cookie is ignored.
    const planted = new Browser({ [new URL(at).origin]: service.address })
    planted.cookies.set(new URL(at), tradeCookieOf(cookie.value), cookie.value)
    await assertProblem(await trade(planted, { at }), 401, 'login-failed')
    assert.equal((await trade(browser, { at })).status, 200)
  },
)

testOnOne('X2 a start costs a cookie, and the store nothing', async t => {
  const service = await start(t)
  const before = await service.storage.people.listEpersons()
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => (await browserOf(service).open(startOf({}))).answer),
  )
  for (const answer of answers) assert.equal(signOnCookies(answer).length, 1)
  assert.deepEqual(await service.storage.people.listEpersons(), before)
})

// Addresses to return to
// -------------------------------------------------------------------------------------

testOnOne('X1 only origins on the list are returned to, and nothing begins otherwise', async t => {
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
    assert.deepEqual(signOnCookies(answer), [], bad)
    await assertProblem(answer, 400, 'redirect-not-allowed')
  }
})

testOnOne('X1 what is sent back to is never more than what was allowed', async t => {
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

testOnOne('X1 two redirectUrl, or a parameter that nobody knows, are refused', async t => {
  const service = await start(t)
  const address = encodeURIComponent(`${userInterface}/`)
  const start1 = `${baseUrl}/api/authn/oidc?redirectUrl=${address}`
  for (const more of [`redirectUrl=${address}`, 'redirecturl=https://evil.example', 'return=1']) {
    const { answer } = await browserOf(service).open(`${start1}&${more}`)
    await assertProblem(answer, 400, 'bad-parameter')
    assert.deepEqual(signOnCookies(answer), [])
  }
})

// Several providers ------------------------------------------------------------------------------------------

testOnOne('X2 of several providers of a scheme one is chosen, on a page or by name', async t => {
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
  assert.deepEqual(signOnCookies(answer), [])
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

// The provider over time -------------------------------------------------------------------------------------

testOnOne('X2 the keys of the provider may change between two logins', async t => {
  const service = await start(t)
  await tokenOf(service)
  company.rotateKeys()
  await tokenOf(service)
})

testOnOne(
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

testOnOne('X1 without providers of its own a service knows nothing of single sign-on', async t => {
  const service = await startService(t, { dataFolder: temporaryFolder(t) })
  const client = service.client()
  for (const path of ['oidc', 'shibboleth', 'sso/oidc/callback/company', 'sso/logout'])
    await assertProblem(await client.get(`/api/authn/${path}`), 404, 'not-found')
  assert.equal(
    (await client.get('/api/authn/status')).headers.get('www-authenticate'),
    'password realm="Carrel"',
  )
})
