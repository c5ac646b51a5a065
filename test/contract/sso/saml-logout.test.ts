import assert from 'node:assert/strict'
import { assertProblem } from '../../support/clients/answers.ts'
import { cookieOf } from '../../support/clients/cookie-jar.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { eventsOf } from '../../support/data/events.ts'
import {
  formIn,
  introduce,
  locationOf,
  pages,
  signIn,
  startWithProvider,
  withSaml,
} from '../../support/providers/saml-flow.ts'
import { inflated } from '../../support/providers/saml-forge.ts'
import { administratorOf, clientWith, email, logIn } from '../../support/providers/saml-login.ts'
import { logoutAnswerOf } from '../../support/providers/saml-logout-answers.ts'
import { person, startSamlProvider } from '../../support/providers/saml-provider.ts'
import { test, testWithoutStore } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'

test('O1 X2 logout says where the provider’s own logout is, and a browser that goes there ends that, too', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  for (const query of ['', `?action=logout&return=${encodeURIComponent('https://evil.example.org/')}`]) {
    const { visitor, token } = await logIn(service, provider, 'ada')
    assert.equal(provider.sessions('ada'), 1)
    const left = await visitor.post(`/api/authn/logout${query}`, { authorization: `Bearer ${token}` })
    assert.equal(left.status, 204)
    assert.equal(left.headers.get('link'), `<${baseUrl}/api/authn/sso/logout>; rel="logout"`)
    const cookie = cookieOf(left, 'CARREL-SSO-LOGOUT')
    assert.ok(cookie)
    assert.ok(cookie.attributes.has('httponly'))
    assert.equal(await service.client().isLoggedIn(token), false)
    assert.equal(provider.sessions('ada'), 1, 'nobody has asked the provider yet')

    const away = await visitor.get(visitor.url('/api/authn/sso/logout'))
    const asked = locationOf(away)
    assert.equal(asked.origin + asked.pathname, `${provider.address}/slo`)
    assert.deepEqual(visitor.signOnCookies(), [], 'the cookie is for once')
    const request = inflated(asked.searchParams.get('SAMLRequest') ?? '')
    assert.match(request, /<(\w+:)?NameID[^>]*>ada-1</)
    assert.match(request, /SessionIndex/)
    const back = await visitor.get(asked)
    assert.equal(back.status, 303, await back.text())
    assert.equal(provider.sessions('ada'), 0)
    const answered = locationOf(back)
    assert.equal(answered.origin + answered.pathname, `${baseUrl}/api/authn/sso/saml/logout`)
    assert.equal(locationOf(await visitor.get(answered)).href, `${pages}/`)

    visitor.jar.set(visitor.url('/'), 'CARREL-SSO-LOGOUT', cookie.value)
    const again = await visitor.get(visitor.url('/api/authn/sso/logout'))
    assert.notEqual(again.headers.get('location')?.startsWith(provider.address), true)
    assert.ok(again.status < 500)
  }
})

void testWithoutStore(
  'O1 with a logout page the answer is 302 to it, and the provider’s logout is offered all the same',
  async t => {
    const page = `${baseUrl}/api/authn/sso/logout`
    const { service, provider } = await startWithProvider(t, { env: { CARREL_LOGOUT_PAGE_URL: page } })
    provider.users.set('ada', person('ada-1', email))
    const { visitor, token } = await logIn(service, provider, 'ada')
    const left = await visitor.post('/api/authn/logout?return=https://evil.example.org/', {
      authorization: `Bearer ${token}`,
    })
    assert.equal(locationOf(left, 302).href, page)
    assert.equal(locationOf(await visitor.get(page)).origin, provider.address)
  },
)

void testWithoutStore(
  'O1 X2 logout offers nothing more where the session has no provider, or the provider no logout',
  async t => {
    const { service, provider } = await startWithProvider(t, { provider: { hasLogout: false } })
    provider.users.set('ada', person('ada-1', email))
    await service.addEperson('ruth@example.org')
    const { visitor, token } = await logIn(service, provider, 'ada')
    const ruth = await service.client().login('ruth@example.org')
    for (const own of [token, ruth, undefined]) {
      const headers = own === undefined ? {} : { authorization: `Bearer ${own}` }
      const left = await visitor.post('/api/authn/logout', headers)
      assert.equal(left.status, 204)
      assert.equal(left.headers.get('link'), null)
      assert.equal(cookieOf(left, 'CARREL-SSO-LOGOUT'), undefined)
      if (own !== undefined) assert.equal(await service.client().isLoggedIn(own), false)
    }
  },
)

test('O1 X2 the provider’s request, by redirect or by POST, ends every token of its eperson at once', async t => {
  const { service, provider } = await startWithProvider(t)
  const admin = await administratorOf(service)
  provider.users.set('ada', person('ada-1', email))
  provider.users.set('grace', person('grace-1', 'grace@example.org'))
  const grace = await logIn(service, provider, 'grace')
  for (const binding of ['redirect', 'post']) {
    const elsewhere = await logIn(service, provider, 'ada')
    const { visitor, token } = await logIn(service, provider, 'ada')
    const answer =
      binding === 'redirect'
        ? await visitor.get(provider.logoutUrl('ada'))
        : await visitor.submit(provider.logoutForm('ada'), provider.address)
    for (const one of [token, elsewhere.token])
      assert.equal(await service.client().isLoggedIn(one), false, binding)
    assert.equal(await service.client().isLoggedIn(grace.token), true)

    const said = await logoutAnswerOf(answer)
    assert.equal(said?.binding, binding, 'it is answered by the binding of the request')
    assert.equal(said?.address, `${provider.address}/slo`)
    assert.equal(said?.relayState, 'bye')
    assert.equal(said?.isSigned, true)
    const read =
      binding === 'redirect'
        ? await visitor.get(locationOf(answer))
        : await visitor.submit(formIn(await answer.text(), baseUrl))
    assert.equal(read.status, 200, await read.text())
    assert.equal(provider.logoutAnswers.at(-1), 'Success')
  }
  const { eid } = claimsOf(grace.token)
  const events = await eventsOf(admin, 'logout')
  assert.equal(events.length, 2)
  for (const { eperson, outcome } of events) {
    assert.notEqual(eperson, eid)
    assert.equal(outcome, 'success')
  }
})

void testWithoutStore(
  'X4 the provider’s request for someone without a session ends nothing, and is answered with an error',
  async t => {
    const { service, provider } = await startWithProvider(t)
    provider.users.set('ada', person('ada-1', email))
    provider.users.set('grace', person('grace-1', 'grace@example.org'))
    const ada = await logIn(service, provider, 'ada')
    const grace = await logIn(service, provider, 'grace')
    await ada.visitor.post('/api/authn/logout', { authorization: `Bearer ${ada.token}` })
    const answer = await ada.visitor.get(provider.logoutUrl('ada'))
    assert.equal(locationOf(answer).origin, provider.address)
    assert.match(inflated(locationOf(answer).searchParams.get('SAMLResponse') ?? ''), /:UnknownPrincipal"/)
    assert.equal(await service.client().isLoggedIn(grace.token), true)
  },
)

void testWithoutStore('O1 X2 a provider that is configured twice ends the sessions of both', async t => {
  const provider = await startSamlProvider(t)
  const service = await startService(t, withSaml(t, [{ provider }, { id: 'again', provider }]))
  await introduce(service, provider)
  for (const id of ['uni', 'again']) {
    provider.users.set(id, person(`ada-at-${id}`, `ada@${id}.example.org`))
    const { visitor, token } = await logIn(service, provider, id, { provider: id })
    assert.equal((await visitor.get(provider.logoutUrl(id))).status, 303)
    assert.equal(await service.client().isLoggedIn(token), false, id)
  }
})

test('T4 X2 a logout between the return and the trade ends that, too', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  const { token } = await logIn(service, provider, 'ada')
  const { visitor } = await signIn(service, provider, 'ada')
  assert.equal((await clientWith(service, token).post('/api/authn/logout')).status, 204)
  await assertProblem(await visitor.trade(), 401, 'login-failed')
})
