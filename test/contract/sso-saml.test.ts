import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test as nodeTest } from 'node:test'
import { SPMetadata } from 'samlify'
import { commandEvent } from '../../src/cli/store.ts'
import { assertProblem } from '../support/clients/answers.ts'
import { bearerOf } from '../support/clients/client.ts'
import { cookieOf } from '../support/clients/cookie-jar.ts'
import { claimsOf } from '../support/clients/jwt.ts'
import { eventsOf } from '../support/data/events.ts'
import { until } from '../support/data/imports.ts'
import { bodyOf, identity } from '../support/providers/certificates.ts'
import {
  finishSignOn,
  introduce,
  landing,
  locationOf,
  pages,
  serviceIdentity,
  signIn,
  startSignOn,
  startWithProvider,
  Visitor,
  withSaml,
} from '../support/providers/saml-flow.ts'
import { inflated } from '../support/providers/saml-forge.ts'
import {
  attributeNames,
  nameIdFormats,
  person,
  type SamlProvider,
  startSamlProvider,
} from '../support/providers/saml-provider.ts'
import { test } from '../support/service/engines.ts'
import { baseUrl, type Service, startService } from '../support/service/service.ts'

const email = 'ada@example.org'
const scheme = '/api/authn/shibboleth'
const stateCookie = /^CARREL-SSO-(?!LOGOUT)/

/** A whole login. @returns the token */
async function logIn(service: Service, provider: SamlProvider, user: string, options = {}) {
  const { visitor, answer } = await signIn(service, provider, user, options)
  assert.equal(answer.status, 303, await answer.text())
  return { visitor, token: bearerOf(await visitor.trade()) }
}

/** A client that uses this token. */
function clientWith(service: Service, token: string) {
  const client = service.client()
  client.token = token
  return client
}

async function administratorOf(service: Service) {
  await service.addEperson('root@example.org', { admin: true })
  const client = service.client()
  await client.login('root@example.org')
  return client
}

test('X1 X2 a login by SAML ends at redirectUrl with a cookie, which a POST login trades once', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  const { visitor, answer } = await signIn(service, provider, 'ada')
  assert.equal(locationOf(answer).href, landing)
  const ticket = cookieOf(answer, 'CARREL-SSO')
  assert.ok(ticket)
  assert.equal(ticket.attributes.get('max-age'), '60')
  assert.equal(ticket.attributes.get('path'), '/')
  assert.ok(ticket.attributes.has('httponly'))
  assert.equal(ticket.attributes.get('samesite'), 'Lax')
  assert.deepEqual(visitor.signOnCookies(), ['CARREL-SSO'], 'the cookie of the attempt is gone')
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

  visitor.jar.set(visitor.url('/'), 'CARREL-SSO', ticket.value)
  await assertProblem(await visitor.trade(), 401, 'login-failed')
})

void nodeTest(
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

void nodeTest('X1 L4 the way to the provider is in WWW-Authenticate', async t => {
  const { service } = await startWithProvider(t)
  const answer = await service.client().get('/api/authn/status')
  assert.equal(
    answer.headers.get('www-authenticate'),
    `password realm="Carrel", shibboleth realm="Carrel", location="${baseUrl}${scheme}?redirectUrl=${pages}/"`,
  )
})

void nodeTest('X1 the start sends the browser to the provider, and stores nothing but a cookie', async t => {
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
})

void nodeTest('X1 two attempts of one browser end each at its own address', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  const visitor = new Visitor(service)
  await startSignOn(service, { visitor, redirectUrl: `${pages}/first` })
  const { answer } = await signIn(service, provider, 'ada', { visitor, redirectUrl: `${pages}/second` })
  assert.equal(locationOf(answer).href, `${pages}/second`)
})

void nodeTest('X1 redirectUrl may be left out, or be a page of the service itself', async t => {
  const { service, provider } = await startWithProvider(t, {
    further: { CARREL_ALLOWED_ORIGINS: ['https://other.example.edu', pages] },
  })
  provider.users.set('ada', person('ada-1', email))
  const visitor = new Visitor(service)
  assert.equal((await visitor.get(visitor.url(scheme))).status, 303)
  const { answer } = await signIn(service, provider, 'ada', { redirectUrl: `${baseUrl}/page?a=1&b=%20#c` })
  assert.equal(locationOf(answer).href, `${baseUrl}/page?a=1&b=%20#c`)
})

void nodeTest('X1 redirectUrl is taken as DSpace’s user interface sends it, not encoded', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  const page = `${pages}/search?query=maps&f.author=Byron,equals&spc.page=1`
  const visitor = new Visitor(service)
  const start = await visitor.get(visitor.url(`${scheme}?redirectUrl=${page}`))
  const { answer } = await finishSignOn(visitor, start, provider, 'ada')
  assert.equal(locationOf(answer).href, page)
})

void nodeTest('X2 whoever is refused is told where to begin again', async t => {
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

void nodeTest(
  'X2 over https the cookies are secure, bound to the host and sent from other sites',
  async t => {
    const { service, provider } = await startWithProvider(t, {
      env: { CARREL_BASE_URL: 'https://repo.example.edu' },
    })
    provider.users.set('ada', person('ada-1', email))
    const { answer: start } = await startSignOn(service)
    const { visitor, answer } = await signIn(service, provider, 'ada')
    for (const cookie of [cookieOf(start, /^__Host-CARREL-SSO-/), cookieOf(answer, '__Host-CARREL-SSO')]) {
      assert.ok(cookie)
      assert.ok(cookie.attributes.has('secure') && cookie.attributes.has('httponly'))
      assert.equal(cookie.attributes.get('samesite'), 'None')
      assert.equal(cookie.attributes.get('path'), '/')
      assert.equal(cookie.attributes.get('domain'), undefined)
    }
    assert.equal((await visitor.trade()).status, 200)
    assert.deepEqual(visitor.signOnCookies(), [])
  },
)

void nodeTest('X2 of several providers the client names one, or chooses on a page', async t => {
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

void nodeTest('X2 the metadata tell a provider what it needs', async t => {
  const { service } = await startWithProvider(t)
  const visitor = new Visitor(service)
  const answer = await visitor.get(visitor.url('/api/authn/sso/saml/metadata'))
  assert.match(answer.headers.get('content-type') ?? '', /^application\/(samlmetadata\+)?xml\b/)
  const xml = await answer.text()
  const metadata = SPMetadata(xml)
  assert.equal(metadata.getEntityID(), `${baseUrl}/api/authn/sso/saml/metadata`)
  assert.equal(metadata.getAssertionConsumerService('post'), `${baseUrl}/api/authn/sso/saml/acs`)
  for (const binding of ['redirect', 'post'])
    assert.equal(metadata.getSingleLogoutService(binding), `${baseUrl}/api/authn/sso/saml/logout`)
  assert.equal(metadata.isAuthnRequestSigned(), true)
  for (const use of ['signing', 'encryption'])
    assert.equal(metadata.getX509Certificate(use), bodyOf(serviceIdentity.certificate))
  assert.doesNotMatch(xml, /PRIVATE/)
  const again = await visitor.get(visitor.url('/api/authn/sso/saml/metadata'))
  assert.equal(await again.text(), xml)
})

void nodeTest('X2 the operator can choose the entity id', async t => {
  const entityId = 'https://repo.example.edu/entity'
  const provider = await startSamlProvider(t)
  provider.users.set('ada', person('ada-1', email))
  const service = await startService(t, withSaml(t, [{ provider }], { saml: { entityId } }))
  assert.equal(SPMetadata(await introduce(service, provider)).getEntityID(), entityId)
  await logIn(service, provider, 'ada')
})

void nodeTest(
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

void nodeTest('X2 the request is signed, and the provider refuses one that was changed', async t => {
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

void nodeTest('X2 the format of NameID is asked for where the operator says so', async t => {
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

test('X3 the subject is NameID, the rest are attributes by their usual names', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  const first = claimsOf((await logIn(service, provider, 'ada')).token).eid
  const [eperson] = await service.storage.accounts.listEpersons()
  assert.ok(eperson)
  assert.equal(eperson.uuid, first)
  assert.equal(eperson.email, email)
  assert.equal(eperson.firstName, 'Ada')
  assert.equal(eperson.lastName, 'Byron')

  provider.users.set(
    'ada',
    person('ada-1', email, { attributes: { [attributeNames.surname]: 'King & <Lovelace>' } }),
  )
  assert.equal(claimsOf((await logIn(service, provider, 'ada')).token).eid, first)
  const epersons = await service.storage.accounts.listEpersons()
  assert.deepEqual(
    epersons.map(({ lastName }) => lastName),
    ['King & <Lovelace>'],
  )
})

void nodeTest('X3 the operator says which attributes are taken for what', async t => {
  const { service, provider } = await startWithProvider(t, {
    settings: {
      attributes: { subject: 'uid', email: 'mail', firstName: 'given', lastName: 'family' },
    },
  })
  const named = (uid: string | readonly string[], nameId: string) =>
    person(nameId, 'not-this@example.org', {
      nameIdFormat: nameIdFormats.transient,
      attributes: { uid, mail: email, given: 'Grace', family: 'Hopper' },
    })
  provider.users.set('ada', named('ada', 'one'))
  const first = claimsOf((await logIn(service, provider, 'ada')).token).eid
  provider.users.set('ada', named('ada', 'another'))
  assert.equal(claimsOf((await logIn(service, provider, 'ada')).token).eid, first)
  const epersons = await service.storage.accounts.listEpersons()
  assert.deepEqual(
    epersons.map(({ email: address, firstName, lastName }) => [address, firstName, lastName]),
    [[email, 'Grace', 'Hopper']],
  )

  provider.users.set('ada', named(['ada', 'grace'], 'two'))
  const two = await signIn(service, provider, 'ada')
  await assertProblem(two.answer, 403, 'account-refused')
})

test('X3 an eperson is found by the subject, else by e-mail where that is allowed, else made where that is', async t => {
  const provider = await startSamlProvider(t)
  const configured = (id: string, settings: object) => ({ id, provider, settings: { ...settings } })
  const service = await startService(
    t,
    withSaml(t, [
      configured('strict', { create: false }),
      configured('matching', { create: false, email: { match: true } }),
      configured('making', {}),
    ]),
  )
  await introduce(service, provider)
  const { uuid } = await service.addEperson(email, { password: null })
  const logInAt = async (id: string, user: string) => {
    const { visitor, answer } = await signIn(service, provider, user, { provider: id })
    if (answer.status === 303) return claimsOf(bearerOf(await visitor.trade())).eid
    await assertProblem(answer, 403, 'account-refused')
    assert.deepEqual(visitor.signOnCookies(), [])
    return 'refused'
  }
  provider.users.set('ada', person('ada-1', 'ADA@example.org'))
  provider.users.set('other', person('other-1', email))
  provider.users.set('new', person('new-1', 'new@example.org'))
  assert.equal(await logInAt('strict', 'ada'), 'refused')
  assert.equal(await logInAt('making', 'ada'), 'refused', 'the address belongs to somebody')
  assert.equal(await logInAt('matching', 'new'), 'refused')
  assert.equal(await logInAt('matching', 'ada'), uuid)
  assert.equal(await logInAt('matching', 'other'), 'refused', 'the eperson has another subject')
  provider.users.set('ada', person('ada-1', 'somewhere.else@example.org'))
  assert.equal(await logInAt('matching', 'ada'), uuid, 'the subject decides')
  assert.equal((await service.storage.accounts.listEpersons()).length, 1)

  const made = await logInAt('making', 'new')
  assert.equal((await service.storage.accounts.listEpersons()).length, 2)
  assert.equal(await logInAt('making', 'new'), made)
  await service.storage.accounts.setEnabled('new@example.org', false, commandEvent('eperson.disable'))
  assert.equal(await logInAt('making', 'new'), 'refused')
})

test('X2 X3 the audit trail says who came from where', async t => {
  const { service, provider } = await startWithProvider(t, { settings: { email: { match: true } } })
  const admin = await administratorOf(service)
  const { uuid } = await service.addEperson('grace@example.org', { password: null })
  provider.users.set('ada', person('ada-1', email))
  provider.users.set('grace', person('grace-1', 'grace@example.org'))
  const { token } = await logIn(service, provider, 'ada')
  await logIn(service, provider, 'grace')
  const { eid } = claimsOf(token)
  const byMethod = (events: Awaited<ReturnType<typeof eventsOf>>) =>
    events.filter(({ method }) => method === 'shibboleth')
  const logins = byMethod(await eventsOf(admin, 'login'))
  assert.deepEqual(
    logins.map(({ outcome, eperson, object, client_ip }) => [outcome, eperson, object, client_ip]),
    [
      ['success', eid, 'uni', '127.0.0.1'],
      ['success', uuid, 'uni', '127.0.0.1'],
    ],
  )
  assert.deepEqual(
    byMethod(await eventsOf(admin, 'eperson.add')).map(({ eperson }) => eperson),
    [eid],
  )
  assert.deepEqual(
    byMethod(await eventsOf(admin, 'eperson.link')).map(({ eperson }) => eperson),
    [uuid],
  )
  assert.doesNotMatch(await (await admin.get('/api/query/v4/events')).text(), /ada-1|grace-1/)
})

test('G2 X3 attributes give groups by exact value and by pattern, which matches the whole value', async t => {
  const { affiliation, entitlement } = attributeNames
  const { service, provider } = await startWithProvider(t, {
    settings: {
      groups: [
        { group: 'Staff', attribute: affiliation, value: 'staff@example.edu' },
        { group: 'Curators', attribute: entitlement, pattern: 'urn:mace:example\\.edu:curator:.*' },
        { group: 'Either', attribute: entitlement, pattern: 'one|two' },
        { group: 'Ada', attribute: 'NameID', value: 'ada-1' },
      ],
    },
    further: { specialGroups: { method: [{ group: 'Federated', method: 'shibboleth' }] } },
  })
  const groupsWith = async (attributes: Record<string, string | readonly string[]>) => {
    provider.users.set('ada', person('ada-2', email, { attributes }))
    const { token } = await logIn(service, provider, 'ada')
    const client = clientWith(service, token)
    const groups = await client.specialGroups()
    assert.equal(claimsOf(token).sg.length, groups.length)
    assert.deepEqual(claimsOf(await client.refresh()).sg, claimsOf(token).sg, 'kept on refresh')
    return groups
  }
  const curator = 'urn:mace:example.edu:curator:maps'
  assert.deepEqual(await groupsWith({}), ['Federated'])
  assert.deepEqual(await groupsWith({ [affiliation]: ['student@example.edu', 'staff@example.edu'] }), [
    'Federated',
    'Staff',
  ])
  assert.deepEqual(await groupsWith({ [affiliation]: 'staff@example.edu', [entitlement]: curator }), [
    'Curators',
    'Federated',
    'Staff',
  ])
  for (const near of [
    `x${curator}`,
    'urn:mace:exampleXedu:curator:maps',
    `evil\n${curator}`,
    'one-and-more',
    'not-two',
    'URN:MACE:EXAMPLE.EDU:CURATOR:MAPS',
  ])
    assert.deepEqual(await groupsWith({ [entitlement]: near }), ['Federated'], near)
  for (const near of ['STAFF@example.edu', 'staff@example.edu.evil.org', 'staff']) {
    assert.deepEqual(await groupsWith({ [affiliation]: near }), ['Federated'], near)
    assert.deepEqual(await groupsWith({ [entitlement]: 'staff@example.edu' }), ['Federated'])
  }
  assert.deepEqual(await groupsWith({ [entitlement]: ['none', 'two', 'one'] }), ['Either', 'Federated'])
})

test('G2 X3 groups are those of the last login, and open what they may read', async t => {
  const { service, provider } = await startWithProvider(t, {
    settings: {
      groups: [{ group: 'Staff', attribute: attributeNames.affiliation, value: 'staff@example.edu' }],
    },
  })
  await service.addRecords('papers', 'id', [{ id: 1 }], 'group:Staff')
  const read = async (token: string) => (await clientWith(service, token).get('/api/query/v4/papers')).status
  const staff = { attributes: { [attributeNames.affiliation]: 'staff@example.edu' } }
  provider.users.set('ada', person('ada-1', email, staff))
  const { token: then } = await logIn(service, provider, 'ada')
  assert.equal(await read(then), 200)
  provider.users.set('ada', person('ada-1', email))
  const { token: now } = await logIn(service, provider, 'ada')
  assert.equal(await read(now), 403)
  assert.equal(await read(await clientWith(service, then).refresh()), 200, 'the older session keeps its own')
})

// Logout -------------------------------------------------------------------------------------------------------

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

void nodeTest(
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

void nodeTest(
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

    const said = locationOf(answer)
    assert.equal(said.origin + said.pathname, `${provider.address}/slo`)
    assert.equal(said.searchParams.get('RelayState'), 'bye')
    assert.match(said.searchParams.get('SigAlg') ?? '', /#rsa-sha256$/)
    const read = await visitor.get(said)
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

void nodeTest(
  'O1 X2 the provider’s request for somebody without a session is answered, and ends nothing',
  async t => {
    const { service, provider } = await startWithProvider(t)
    provider.users.set('ada', person('ada-1', email))
    provider.users.set('grace', person('grace-1', 'grace@example.org'))
    const ada = await logIn(service, provider, 'ada')
    const grace = await logIn(service, provider, 'grace')
    await ada.visitor.post('/api/authn/logout', { authorization: `Bearer ${ada.token}` })
    const answer = await ada.visitor.get(provider.logoutUrl('ada'))
    assert.equal(locationOf(answer).origin, provider.address)
    assert.equal(await service.client().isLoggedIn(grace.token), true)
  },
)

void nodeTest('O1 X2 a provider that is configured twice ends the sessions of both', async t => {
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

// The provider's metadata --------------------------------------------------------------------------------------

void nodeTest('X2 a provider changes its key by its metadata, without a restart', async t => {
  const { service, provider, metadataFile } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  await logIn(service, provider, 'ada')
  const [old, next] = [provider.identity, identity('idp of tomorrow')]
  const statusNow = async () => (await signIn(service, provider, 'ada')).answer.status

  writeFileSync(metadataFile(), provider.metadata({ certificates: [old.certificate, next.certificate] }))
  provider.changeKey(next)
  await until(async () => (await statusNow()) === 303)
  provider.changeKey(old)
  assert.equal(await statusNow(), 303, 'both keys are good for a while')

  writeFileSync(metadataFile(), provider.metadata({ certificates: [next.certificate] }))
  await until(async () => (await statusNow()) === 401)
  provider.changeKey(next)
  assert.equal(await statusNow(), 303)
})

void nodeTest('X2 X5 metadata that can’t be read leave the last good ones in force', async t => {
  const { service, provider, metadataFile } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  for (const broken of ['', '<EntityDescriptor', '<html/>', '{}']) {
    writeFileSync(metadataFile(), broken)
    await logIn(service, provider, 'ada')
  }
})

void nodeTest('X2 a provider whose metadata have expired is not available', async t => {
  const { service, provider, metadataFile } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  const until_ = (milliseconds: number) =>
    writeFileSync(metadataFile(), provider.metadata({ validUntil: new Date(Date.now() + milliseconds) }))
  until_(3_600_000)
  const { visitor, answer } = await startSignOn(service)
  assert.equal(answer.status, 303)
  until_(-3_600_000)
  await until(async () => (await startSignOn(service)).answer.status === 502)
  const late = await startSignOn(service)
  await assertProblem(late.answer, 502, 'provider-unavailable')
  assert.deepEqual(late.visitor.signOnCookies(), [])
  assert.equal(visitor.signOnCookies().length, 1)
  until_(3_600_000)
  await until(async () => (await startSignOn(service)).answer.status === 303)
})

void nodeTest('X2 of metadata of many providers the operator names one', async t => {
  const provider = await startSamlProvider(t)
  const other = await startSamlProvider(t, { name: 'other' })
  provider.users.set('ada', person('ada-1', email))
  const { env, metadataFile } = withSaml(t, [{ provider, settings: { entityId: provider.entityId } }])
  const inside = [other, provider].map(one => one.metadata().replace(/^<\?xml[^>]*>/, ''))
  writeFileSync(
    metadataFile(),
    `<?xml version="1.0"?><md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">${inside.join('')}</md:EntitiesDescriptor>`,
  )
  const service = await startService(t, { env })
  await introduce(service, provider)
  await logIn(service, provider, 'ada')
})

void nodeTest('E1 X2 a browser that is refused sees a page, other clients a problem', async t => {
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
