import assert from 'node:assert/strict'
import { after } from 'node:test'
import { cookieOf } from '../../support/clients/cookie-jar.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { eventsOf } from '../../support/data/events.ts'
import { ruth, startCompany, tokenOf } from '../../support/providers/openid-company.ts'
import {
  begin,
  browserOf,
  locationOf,
  logOut,
  signIn,
  trade,
  userInterface,
} from '../../support/providers/openid-flow.ts'
import { test, testOnOne } from '../../support/service/engines.ts'
import { adminOf, quickLogin } from '../../support/service/nodes.ts'
import { baseUrl } from '../../support/service/service.ts'

/** A provider for all tests; each test has a service of its own. */
const { company, start } = await startCompany()
after(() => company.stop())

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

  // The way works only once, and then the provider asks for the password again.
  const again = await browser.open(`${baseUrl}/api/authn/sso/logout`)
  assert.notEqual(locationOf(again)?.origin, company.issuer)
  const { page } = await browser.follow(await browser.open(await begin(browser)), () => false)
  assert.match(page.text, /name="password"/)
})

testOnOne(
  'O1 without the way to the provider nothing there ends, and a configured page is still gone to',
  async t => {
    const service = await start(t, { env: { CARREL_LOGOUT_PAGE_URL: `${baseUrl}/api/authn/sso/logout` } })
    const browser = browserOf(service)
    const loggedOut = await logOut(browser, await tokenOf(service, { browser }))
    assert.equal(loggedOut.status, 302)
    assert.equal(loggedOut.headers.get('location'), `${baseUrl}/api/authn/sso/logout`)
    const again = await signIn(browser, { user: 'nobody' })
    assert.equal(again.answer.status, 303, 'the provider still knows the browser')

    // A session that began with a password has no such way.
    await service.addEperson('max@example.org', { password: null })
    const plain = await logOut(browserOf(service), await quickLogin(service, 'max@example.org'))
    assert.equal(plain.headers.get('link'), null)
    assert.equal(cookieOf(plain, 'CARREL-SSO-LOGOUT'), undefined)
    // Without the cookie, there is no redirect.
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
