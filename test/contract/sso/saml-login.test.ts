import assert from 'node:assert/strict'
import { SPMetadata } from 'samlify'
import { assertProblem } from '../../support/clients/answers.ts'
import { bearerOf } from '../../support/clients/client.ts'
import { cookieOf, tradeCookie } from '../../support/clients/cookie-jar.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { identity } from '../../support/providers/certificates.ts'
import {
  finishSignOn,
  introduce,
  landing,
  locationOf,
  pages,
  signIn,
  startSignOn,
  startWithProvider,
  Visitor,
  withSaml,
} from '../../support/providers/saml-flow.ts'
import { inflated } from '../../support/providers/saml-forge.ts'
import { clientWith, email, logIn } from '../../support/providers/saml-login.ts'
import { nameIdFormats, person, startSamlProvider } from '../../support/providers/saml-provider.ts'
import { test, testWithoutStore } from '../../support/service/engines.ts'
import { baseUrl, type Service, startService } from '../../support/service/service.ts'

const scheme = '/api/authn/shibboleth'
const stateCookie = /^CARREL-SSO-.{8}$/

test('X1 X2 a login by SAML ends at redirectUrl with a cookie, which a POST login trades once', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  const { visitor, answer } = await signIn(service, provider, 'ada')
  assert.equal(locationOf(answer).href, landing)
  const ticket = cookieOf(answer, tradeCookie)
  assert.ok(ticket)
  assert.equal(ticket.attributes.get('max-age'), '60')
  assert.equal(ticket.attributes.get('path'), '/')
  assert.ok(ticket.attributes.has('httponly'))
  assert.equal(ticket.attributes.get('samesite'), 'Lax')
  assert.deepEqual(visitor.signOnCookies(), [ticket.name], 'the cookie of the attempt is gone')
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/)

  for (let round = 0; round < 2; round++) {
    const status = await visitor.get(visitor.url('/api/authn/status'))
    assert.equal(((await status.json()) as { authenticated: boolean }).authenticated, true)
  }
  const traded = await visitor.trade()
  assert.equal(traded.status, 200)
  assert.equal(await traded.text(), '')
  assert.deepEqual(visitor.signOnCookies(), [], 'the cookie is cleared')
  const client = clientWith(service, bearerOf(traded))
  const status = await client.status()
  assert.equal(status._embedded.eperson?.email, email)
  assert.equal((status as unknown as { authenticationMethod: string }).authenticationMethod, 'shibboleth')
  assert.equal(claimsOf(client.token ?? '').eid, status._embedded.eperson?.uuid)

  visitor.jar.set(visitor.url('/'), ticket.name, ticket.value)
  await assertProblem(await visitor.trade(), 401, 'login-failed')
})

void testWithoutStore(
  'X2 providers that sign the assertion, the response or both, and ones that encrypt',
  async t => {
    const kinds = {
      assertion: {},
      response: { sign: 'response' },
      both: { sign: 'both' },
      gcm: { encrypt: 'aes128-gcm' },
      'response-and-cbc': { sign: 'response', encrypt: 'aes256-cbc' },
      'response-and-gcm': { sign: 'response', encrypt: 'aes128-gcm' },
      'both-and-gcm': { sign: 'both', encrypt: 'aes128-gcm' },
    } as const
    const providers = await Promise.all(
      Object.entries(kinds).map(async ([id, options]) => ({
        id,
        provider: await startSamlProvider(t, options),
      })),
    )
    const service = await startService(t, withSaml(t, providers))
    await introduce(service, ...providers.map(({ provider }) => provider))
    for (const { id, provider } of providers) {
      provider.users.set('ada', person('ada-1', `${id}@example.org`))
      const { token } = await logIn(service, provider, 'ada', { provider: id })
      const status = await clientWith(service, token).status()
      assert.equal(status._embedded.eperson?.email, `${id}@example.org`)
    }
  },
)

void testWithoutStore('X1 L4 the way to the provider is in WWW-Authenticate', async t => {
  const { service } = await startWithProvider(t)
  const answer = await service.client().get('/api/authn/status')
  assert.equal(
    answer.headers.get('www-authenticate'),
    `password realm="Carrel", shibboleth realm="Carrel", location="${baseUrl}${scheme}?redirectUrl=${pages}/"`,
  )
})

void testWithoutStore(
  'X1 the start sends the browser to the provider, and stores nothing but a cookie',
  async t => {
    const { service, provider } = await startWithProvider(t)
    const { visitor, answer } = await startSignOn(service)
    const location = locationOf(answer)
    assert.equal(location.origin + location.pathname, `${provider.address}/sso`)
    const state = location.searchParams.get('RelayState') ?? ''
    assert.match(state, /^[\w-]{22,80}$/, 'the relay state is short and tells nothing (SAML bindings §3.4.3)')
    const cookie = cookieOf(answer, stateCookie)
    assert.ok(cookie)
    assert.equal(cookie.name, `CARREL-SSO-${state.slice(0, 8)}`)
    assert.ok(cookie.attributes.has('httponly'))
    assert.equal(cookie.attributes.get('path'), '/')
    assert.equal(cookie.attributes.get('max-age'), '900')
    assert.equal(cookie.attributes.get('samesite'), 'Lax')
    assert.match(answer.headers.get('cache-control') ?? '', /no-store/)

    const request = inflated(location.searchParams.get('SAMLRequest') ?? '')
    assert.match(request, new RegExp(`Destination="${provider.address}/sso"`))
    assert.match(request, new RegExp(`AssertionConsumerServiceURL="${baseUrl}/api/authn/sso/saml/acs"`))
    const again = await startSignOn(service, { visitor })
    assert.equal(again.answer.status, 303)
    assert.equal(visitor.signOnCookies().length, 2, 'two attempts in two tabs live side by side')
  },
)

void testWithoutStore('X1 two attempts of one browser end each at its own address', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  const visitor = new Visitor(service)
  await startSignOn(service, { visitor, redirectUrl: `${pages}/first` })
  const { answer } = await signIn(service, provider, 'ada', { visitor, redirectUrl: `${pages}/second` })
  assert.equal(locationOf(answer).href, `${pages}/second`)
})

void testWithoutStore('X1 redirectUrl may be left out, or be a page of the service itself', async t => {
  const { service, provider } = await startWithProvider(t, {
    further: { CARREL_ALLOWED_ORIGINS: ['https://other.example.edu', pages] },
  })
  provider.users.set('ada', person('ada-1', email))
  const visitor = new Visitor(service)
  assert.equal((await visitor.get(visitor.url(scheme))).status, 303)
  const { answer } = await signIn(service, provider, 'ada', { redirectUrl: `${baseUrl}/page?a=1&b=%20#c` })
  assert.equal(locationOf(answer).href, `${baseUrl}/page?a=1&b=%20#c`)
})

void testWithoutStore('X1 redirectUrl is taken as DSpace’s user interface sends it, not encoded', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  const page = `${pages}/search?query=maps&f.author=Byron,equals&spc.page=1`
  const visitor = new Visitor(service)
  const start = await visitor.get(visitor.url(`${scheme}?redirectUrl=${page}`))
  const { answer } = await finishSignOn(visitor, start, provider, 'ada')
  assert.equal(locationOf(answer).href, page)
})

void testWithoutStore('X2 a person who is refused is told where to begin again', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  const redirectUrl = `${pages}/search?query=maps&page=2#top`
  const { identity: own } = provider
  provider.changeKey(identity('unknown yet'))
  const { visitor, answer } = await signIn(service, provider, 'ada', { redirectUrl })
  const problem = await assertProblem(answer, 401, 'sign-on-refused')
  const { begin = '' } = problem as { begin?: string }
  provider.changeKey(own)
  const again = await finishSignOn(visitor, await visitor.get(begin), provider, 'ada')
  assert.equal(locationOf(again.answer).href, redirectUrl)
})

void testWithoutStore(
  'X2 over https the cookies are secure, bound to the host and sent from other sites',
  async t => {
    const { service, provider } = await startWithProvider(t, {
      env: { CARREL_BASE_URL: 'https://repo.example.edu' },
    })
    provider.users.set('ada', person('ada-1', email))
    const { answer: start } = await startSignOn(service)
    const { visitor, answer } = await signIn(service, provider, 'ada')
    for (const cookie of [cookieOf(start, /^__Host-CARREL-SSO-/), cookieOf(answer, tradeCookie)]) {
      assert.ok(cookie)
      assert.match(cookie.name, /^__Host-/)
      assert.ok(cookie.attributes.has('secure') && cookie.attributes.has('httponly'))
      assert.equal(cookie.attributes.get('samesite'), 'None')
      assert.equal(cookie.attributes.get('path'), '/')
      assert.equal(cookie.attributes.get('domain'), undefined)
    }
    assert.equal((await visitor.trade()).status, 200)
    assert.deepEqual(visitor.signOnCookies(), [])
  },
)

void testWithoutStore('X2 of several providers the client names one, or chooses on a page', async t => {
  const providers = [
    { id: 'uni', provider: await startSamlProvider(t) },
    { id: 'museum', provider: await startSamlProvider(t, { name: 'museum' }) },
    { id: 'lab', provider: await startSamlProvider(t), settings: { name: '<b>"Lab" & Co</b>' } },
    { id: 'club', provider: await startSamlProvider(t), settings: { scheme: 'club' } },
  ]
  const service = await startService(t, withSaml(t, providers))
  await introduce(service, ...providers.map(({ provider }) => provider))
  const visitor = new Visitor(service)

  const choice = await visitor.get(visitor.url(`${scheme}?redirectUrl=${encodeURIComponent(landing)}`))
  const html = await choice.text()
  assert.equal(choice.status, 200)
  assert.match(choice.headers.get('content-type') ?? '', /^text\/html/)
  const links = [...html.matchAll(/<a[^>]*href="([^"]+)"/g)].map(([, href = '']) =>
    visitor.url(href.replaceAll('&amp;', '&')),
  )
  assert.deepEqual(
    links.map(link => link.searchParams.get('provider')),
    ['uni', 'museum', 'lab'],
  )
  assert.doesNotMatch(html, /<b>/)
  assert.match(html, /The uni/)
  assert.deepEqual(visitor.signOnCookies(), [])
  for (const [at, link] of links.entries()) {
    assert.equal(link.searchParams.get('redirectUrl'), landing)
    assert.equal(locationOf(await visitor.get(link)).origin, providers[at]?.provider.address)
  }

  const { provider: museum } = providers[1] ?? {}
  assert.ok(museum)
  museum.users.set('ada', person('ada-1', email))
  const { token } = await logIn(service, museum, 'ada', { provider: 'museum' })
  assert.equal((await clientWith(service, token).status())._embedded.eperson?.email, email)

  const unknown = await startSignOn(service, { provider: 'nowhere' })
  const problem = await assertProblem(unknown.answer, 400, 'bad-parameter')
  assert.deepEqual((problem as unknown as { legal: unknown }).legal, ['uni', 'museum', 'lab'])
  assert.deepEqual(unknown.visitor.signOnCookies(), [])
  const otherScheme = await startSignOn(service, { provider: 'club' })
  await assertProblem(otherScheme.answer, 400, 'bad-parameter')
  const club = await startSignOn(service, { scheme: 'club' })
  assert.equal(locationOf(club.answer).origin, providers[3]?.provider.address)
})

test('X2 the same subject of two providers is two epersons', async t => {
  const providers = [
    { id: 'uni', provider: await startSamlProvider(t) },
    { id: 'museum', provider: await startSamlProvider(t, { name: 'museum' }) },
  ]
  const service = await startService(t, withSaml(t, providers))
  await introduce(service, ...providers.map(({ provider }) => provider))
  const eids: string[] = []
  for (const { id, provider } of providers) {
    provider.users.set('ada', person('1', `ada@${id}.example.org`))
    eids.push(claimsOf((await logIn(service, provider, 'ada', { provider: id })).token).eid)
  }
  assert.notEqual(eids[0], eids[1])
})

void testWithoutStore(
  'X2 without a key of its own the service signs nothing, and logs people in and out all the same',
  async t => {
    const { service, provider } = await startWithProvider(t, { saml: {} })
    provider.users.set('ada', person('ada-1', email))
    const xml = await introduce(service, provider)
    assert.equal(SPMetadata(xml).isAuthnRequestSigned(), false)
    assert.doesNotMatch(xml, /KeyDescriptor/)
    const { visitor, token } = await logIn(service, provider, 'ada')
    assert.equal(provider.requests.at(-1)?.isSigned, false)
    await visitor.post('/api/authn/logout', { authorization: `Bearer ${token}` })
    const asked = locationOf(await visitor.get(visitor.url('/api/authn/sso/logout')))
    assert.equal(asked.searchParams.get('Signature'), null)
    const back = await visitor.get(asked)
    assert.equal(provider.sessions('ada'), 0)
    assert.equal(locationOf(await visitor.get(locationOf(back))).href, `${pages}/`)

    const again = await logIn(service, provider, 'ada')
    const answered = await visitor.get(provider.logoutUrl('ada'))
    assert.equal(await service.client().isLoggedIn(again.token), false)
    assert.equal((await visitor.get(locationOf(answered))).status, 200)
  },
)

void testWithoutStore('X2 the request is signed, and the provider refuses one that was changed', async t => {
  const { service, provider } = await startWithProvider(t, { provider: { wantsSignedRequests: true } })
  provider.users.set('ada', person('ada-1', email))
  await logIn(service, provider, 'ada')
  assert.equal(provider.requests.at(-1)?.isSigned, true)

  const { visitor, answer } = await startSignOn(service)
  const location = locationOf(answer)
  assert.match(location.searchParams.get('SigAlg') ?? '', /#rsa-sha256$/)
  assert.equal((await visitor.get(location)).status, 200)
  location.searchParams.set('RelayState', 'another')
  assert.equal((await visitor.get(location)).status, 400)
})

void testWithoutStore('X2 the format of NameID is asked for where the operator says so', async t => {
  const { service, provider } = await startWithProvider(t, {
    settings: { nameIdFormat: nameIdFormats.persistent },
  })
  const asked = async (node: Service) => {
    const location = locationOf((await startSignOn(node)).answer)
    return /NameIDPolicy[^>]*\sFormat="([^"]+)"/.exec(
      inflated(location.searchParams.get('SAMLRequest') ?? ''),
    )?.[1]
  }
  assert.equal(await asked(service), nameIdFormats.persistent)
  const { env } = withSaml(t, [{ provider }])
  assert.equal(await asked(await startService(t, { env })), undefined)
})

void testWithoutStore('E1 X2 a browser that is refused sees a page, other clients a problem', async t => {
  const { service, provider } = await startWithProvider(t, { settings: { create: false } })
  provider.users.set('ada', person('<i>ada</i>', email))
  const { visitor, form } = await signIn(service, provider, 'ada')
  const acs = visitor.url('/api/authn/sso/saml/acs')
  const shown = await fetch(service.address + acs.pathname, {
    method: 'POST',
    body: new URLSearchParams(form.fields),
    headers: { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' },
  })
  const html = await shown.text()
  assert.equal(shown.status, 400)
  assert.match(shown.headers.get('content-type') ?? '', /^text\/html/)
  assert.match(html, /<title>/)
  assert.doesNotMatch(html, /<i>ada|ada@example/)
})
