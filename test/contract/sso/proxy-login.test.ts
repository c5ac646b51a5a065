import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bearerOf, Client, type Status } from '../../support/clients/client.ts'
import { tradeCookie } from '../../support/clients/cookie-jar.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { eventsOf } from '../../support/data/events.ts'
import { Browser, trade } from '../../support/providers/openid-flow.ts'
import {
  assertRefused,
  cookieOf,
  fetchSession,
  type Header,
  logIn,
  page,
  provider,
  ruth,
  secret,
  send,
  sessionCookie,
  start,
  startTrusting,
  trusted,
  ui,
  withProxy,
} from '../../support/providers/proxy-flow.ts'
import { startReverseProxy } from '../../support/providers/reverse-proxy.ts'
import { test, testOnOne } from '../../support/service/engines.ts'
import { baseUrl, passwordOf, startService, temporaryFolder } from '../../support/service/service.ts'

test('X1 X2 the attributes that the proxy sends log in: start, its login form, back, trade', async t => {
  const front = await startReverseProxy(t, { users: { ruth }, secret })
  const loginUrl = `${front.loginPage}?target={target}`
  const service = await startTrusting(t, { provider: { loginUrl }, env: { CARREL_BASE_URL: front.address } })
  front.forwardTo(service.address)
  const browser = new Browser({})

  const offered = await browser.open(`${front.address}/api/authn/status`)
  const location = `${front.address}/api/authn/shibboleth?redirectUrl=${ui}/`
  assert.equal(
    offered.answer.headers.get('www-authenticate'),
    `password realm="Carrel", shibboleth realm="Carrel", location="${location}"`,
  )
  const begun = await browser.follow(
    await browser.open(`${front.address}${start}`),
    next => next.origin === ui,
  )
  assert.equal(begun.next, undefined, 'the proxy asks for a login first')
  const form = { user: 'ruth', password: 'ruth' }
  const back = await browser.follow(await browser.submit(begun.page, form), next => next.origin === ui)
  assert.equal(back.next?.href, page)

  const status = (await (await browser.open(`${front.address}/api/authn/status`)).answer.json()) as Status
  assert.equal(status.authenticated, true, 'a session is there to be fetched')
  const answer = await trade(browser, { at: front.address })
  assert.equal(answer.status, 200)
  assert.equal(await answer.text(), '')
  const client = new Client(front.address)
  client.token = bearerOf(answer)
  const { authenticationMethod, _embedded } = (await client.status()) as Status & {
    authenticationMethod: string
  }
  assert.equal(authenticationMethod, 'shibboleth')
  assert.equal(_embedded.eperson?.email, 'ruth@example.edu')
  assert.equal((await trade(browser, { at: front.address })).status, 401, 'the session is fetched once')
})

test('T4 a logout between the return and the trade ends what was established', async t => {
  const service = await startTrusting(t)
  const first = await logIn(service)
  const cookie = cookieOf(await send(service, trusted()))
  assert.equal((await first.post('/api/authn/logout')).status, 204)
  assert.equal((await fetchSession(service.client(), cookie)).status, 401)
  assert.equal(await first.isLoggedIn(), false)
})

testOnOne('X1 without attributes a browser is sent to loginUrl, once', async t => {
  const login = 'https://sp.example.edu/Shibboleth.sso/Login'
  const service = await startTrusting(t, { provider: { loginUrl: `${login}?target={target}` } })
  const begun = await send(service, [[secret.header, secret.value]])
  assert.equal(begun.status, 303)
  const where = new URL(begun.location ?? '')
  assert.equal(where.origin + where.pathname, login)
  assert.deepEqual([...where.searchParams.keys()], ['target'])
  const target = new URL(where.searchParams.get('target') ?? '')
  assert.equal(target.origin, baseUrl, 'the browser comes back to the service')
  assert.equal(sessionCookie(begun), undefined)

  // The browser comes back, still without attributes.
  const cookies: Header = ['Cookie', [...begun.cookies].map(pair => pair.join('=')).join('; ')]
  const back = { path: target.pathname + target.search }
  await assertRefused(service, await send(service, [[secret.header, secret.value], cookies], back))
  await assertRefused(service, await send(service, [[secret.header, secret.value]], back))
  assert.match(cookieOf(await send(service, [...trusted(), cookies], back)), tradeCookie)
})

testOnOne('X2 redirectUrl must be of an allowed origin, else nothing is established', async t => {
  const loginUrl = 'https://sp.example.edu/login?target={target}'
  const service = await startTrusting(t, { provider: { loginUrl } })
  for (const url of [
    'https://evil.example/',
    'https://ui.example.edu/',
    'http://ui.example.edu:8080/',
    'http://ui.example.edu.evil.example/',
    'http://ui.example.edu@evil.example/',
    'http://evil.example\\@ui.example.edu/',
    '//evil.example/',
    '/relative',
    'javascript:alert(1)',
    'data:text/html,x',
    'ui.example.edu',
    'null',
    '',
  ])
    for (const headers of [trusted(), [[secret.header, secret.value]] as Header[], []]) {
      const path = `/api/authn/shibboleth?redirectUrl=${encodeURIComponent(url)}`
      const answer = await send(service, headers, { path })
      await assertRefused(service, answer, 400, 'redirect-not-allowed')
      assert.deepEqual(
        [...answer.cookies.keys()].filter(name => name.includes('SSO')),
        [],
        url,
      )
    }
})

testOnOne(
  'X2 redirectUrl may be any page of an allowed origin or of the service itself, and may be left out',
  async t => {
    const service = await startTrusting(t)
    for (const [query, expected] of [
      ['', `${ui}/`],
      [`?redirectUrl=${ui}`, ui],
      [`?redirectUrl=${encodeURIComponent(`${ui}/a/b?c=d&e=ü#f`)}`, `${ui}/a/b?c=d&e=ü#f`],
      [`?redirectUrl=${ui}/search?query=x`, `${ui}/search?query=x`],
      [`?redirectUrl=${baseUrl}/api`, `${baseUrl}/api`],
      [`?provider=apache&redirectUrl=${ui}/`, `${ui}/`],
      [`?redirectUrl=${ui}/&provider=apache`, `${ui}/`],
    ] as const) {
      const { status, location, body } = await send(service, trusted(), {
        path: `/api/authn/shibboleth${query}`,
      })
      assert.equal(status, 303, body)
      assert.equal(new URL(location ?? '').href, new URL(expected).href)
    }
  },
)

testOnOne('X2 the address that is configured is where a browser goes that named none', async t => {
  const path = join(temporaryFolder(t), 'carrel.json')
  const defaultRedirectUrl = 'https://other.example.edu/home'
  writeFileSync(path, JSON.stringify({ singleSignOn: { defaultRedirectUrl, providers: [provider] } }))
  const env = {
    CARREL_CONFIG: path,
    CARREL_ALLOWED_ORIGINS: `${ui},https://other.example.edu`,
    PROXY_SECRET: secret.value,
  }
  const service = await startService(t, { env })
  assert.equal(
    (await send(service, trusted(), { path: '/api/authn/shibboleth' })).location,
    defaultRedirectUrl,
  )
})

testOnOne('X2 a scheme that is not among the methods is switched off', async t => {
  const path = join(temporaryFolder(t), 'carrel.json')
  const env = { ...withProxy(t), CARREL_CONFIG: path }
  writeFileSync(path, JSON.stringify({ singleSignOn: { methods: ['password'], providers: [provider] } }))
  const service = await startService(t, { env })
  const status = await service.client().get('/api/authn/status')
  assert.equal(status.headers.get('www-authenticate'), 'password realm="Carrel"')
  await assertRefused(service, await send(service, trusted()), 404, 'not-found')
})

testOnOne('X2 the password is switched off where it is not among the methods', async t => {
  const path = join(temporaryFolder(t), 'carrel.json')
  const env = { ...withProxy(t), CARREL_CONFIG: path }
  writeFileSync(path, JSON.stringify({ singleSignOn: { methods: ['shibboleth'], providers: [provider] } }))
  const service = await startService(t, { env })
  await service.addEperson('max@example.org')
  const answer = await service.client().tryLogin('max@example.org', passwordOf('max@example.org'))
  assert.equal(answer.status, 401)
  const location = `${baseUrl}/api/authn/shibboleth?redirectUrl=${ui}/`
  assert.equal(answer.headers.get('www-authenticate'), `shibboleth realm="Carrel", location="${location}"`)
})

testOnOne(
  'X2 the cookie is for browsers only, short-lived, and bound to the host where that is possible',
  async t => {
    for (const [address, name, protection] of [
      ['http://repo.example.edu', 'CARREL-SSO-TRADE-', 'SameSite=Lax'],
      ['https://repo.example.edu/server', '__Host-CARREL-SSO-TRADE-', 'Secure; SameSite=None'],
    ] as const) {
      const service = await startTrusting(t, { env: { CARREL_BASE_URL: address } })
      const { setCookies } = await send(service, trusted())
      const [cookie = ''] = setCookies.filter(one => one.startsWith(name))
      const [value, ...attributes] = cookie.split('; ')
      assert.match(value ?? '', /=[\w-]{43}$/)
      assert.deepEqual(
        attributes.toSorted(),
        ['Path=/', 'HttpOnly', 'Max-Age=60', ...protection.split('; ')].toSorted(),
      )
    }
  },
)

test('X2 the cookie alone opens nothing, and the status says who is waited for', async t => {
  const service = await startTrusting(t)
  await service.addRecords('papers', 'id', [{ id: 1 }], 'eperson')
  const cookie: Header = ['Cookie', cookieOf(await send(service, trusted()))]
  for (let round = 0; round < 2; round++) {
    const status = JSON.parse((await send(service, [cookie], { path: '/api/authn/status' })).body) as Status
    assert.equal(status.authenticated, true)
    assert.equal(status._embedded.eperson?.email, 'ruth@example.edu')
  }
  assert.equal((await send(service, [cookie], { path: '/api/query/v4/papers' })).status, 401)
  const without = await send(service, [cookie], { path: '/api/authn/login', method: 'POST' })
  assert.equal((JSON.parse(without.body) as { code: string }).code, 'csrf-cookie-missing')
  const client = service.client()
  const short = await client.post('/api/authn/shortlivedtokens', undefined, {
    cookie: `${(await client.csrfPair()).cookie}; ${cookie[1]}`,
  })
  assert.equal(short.status, 401)
  assert.equal((await fetchSession(service.client(), cookie[1])).status, 200)
})

test('X1 logoutUrl is where single logout leads, and comes back', async t => {
  const logout = 'https://sp.example.edu/Shibboleth.sso/Logout'
  const service = await startTrusting(t, { provider: { logoutUrl: `${logout}?return={target}` } })
  const client = await logIn(service)
  const answer = await client.post('/api/authn/logout')
  assert.equal(answer.status, 204)
  assert.equal(answer.headers.get('link'), `<${baseUrl}/api/authn/sso/logout>; rel="logout"`)
  const [cookie = ''] = answer.headers.getSetCookie().filter(one => one.startsWith('CARREL-SSO-LOGOUT='))
  const header: Header = ['Cookie', cookie.split(';')[0] ?? '']
  const gone = await send(service, [header], { path: '/api/authn/sso/logout' })
  assert.equal(gone.status, 303)
  const where = new URL(gone.location ?? '')
  assert.equal(where.origin + where.pathname, logout)
  const back = new URL(where.searchParams.get('return') ?? '')
  assert.equal(back.origin, baseUrl)
  const done = await send(service, [], { path: back.pathname + back.search })
  assert.equal(done.status, 303)
  assert.equal(done.location, `${ui}/`)
})

testOnOne('X1 a proxy without logoutUrl has no single logout', async t => {
  const client = await logIn(await startTrusting(t))
  const answer = await client.post('/api/authn/logout')
  assert.equal(answer.status, 204)
  assert.equal(answer.headers.get('link'), null)
  assert.deepEqual(
    answer.headers.getSetCookie().filter(cookie => cookie.includes('LOGOUT')),
    [],
  )
})

test('X2 the audit trail has logins with scheme and provider, and those that were created', async t => {
  const service = await startTrusting(t)
  await service.addEperson('admin@example.org', { admin: true })
  const { eid } = claimsOf((await logIn(service)).token)
  await logIn(service)
  const admin = await service.loggedIn('admin@example.org')
  const logins = (await eventsOf(admin, 'login')).filter(({ method }) => method === 'shibboleth')
  const expected = {
    outcome: 'success',
    eperson: eid,
    actor: eid,
    client_ip: '127.0.0.1',
    method: 'shibboleth',
    object: 'apache',
    reason: null,
  }
  assert.deepEqual(logins, [expected, expected])
  const added = (await eventsOf(admin, 'eperson.add')).filter(({ eperson }) => eperson === eid)
  assert.equal(added.length, 1)
  assert.doesNotMatch(await (await admin.get('/api/query/v4/audit-events')).text(), /r-1|X-Shib/)
})
