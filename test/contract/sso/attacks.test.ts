import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { type TestContext, test } from 'node:test'
import { bearerOf } from '../../support/clients/client.ts'
import { cookieOf } from '../../support/clients/cookie-jar.ts'
import { eventsOf } from '../../support/data/events.ts'
import { withSingleSignOn } from '../../support/providers/openid-flow.ts'
import { assertAccepted, base64, begin, response, send } from '../../support/providers/saml-attempt.ts'
import {
  pages,
  serviceIdentity,
  signIn,
  startWithProvider,
  Visitor,
} from '../../support/providers/saml-flow.ts'
import { deflated, encrypted, logoutRequestXml, signed } from '../../support/providers/saml-forge.ts'
import { assertNotLoggedOut, logoutAnswerOf } from '../../support/providers/saml-logout-answers.ts'
import { person } from '../../support/providers/saml-provider.ts'
import { type Service, startService } from '../../support/service/service.ts'

const logoutPath = '/api/authn/sso/saml/logout'

async function withPeople(t: TestContext, mallorysNameId = 'mallory-id') {
  const all = await startWithProvider(t)
  all.provider.users.set('ruth', person('ruth-id', 'ruth@example.edu'))
  all.provider.users.set('mallory', person(mallorysNameId, 'mallory@example.edu'))
  const { visitor } = await signIn(all.service, all.provider, 'ruth')
  const ruth = all.service.client()
  ruth.token = bearerOf(await visitor.trade())
  return { ...all, ruth }
}

test('T4 what the provider has signed for one logout does not carry another that is spelt in disguise', async t => {
  const { service, provider, ruth } = await withPeople(t)
  const { visitor: mallory } = await signIn(service, provider, 'mallory')
  const own = bearerOf(await mallory.trade())
  await mallory.post('/api/authn/logout', { authorization: `Bearer ${own}` })
  const toProvider = await mallory.get(mallory.url('/api/authn/sso/logout'))
  const back = await mallory.get(toProvider.headers.get('location') ?? '')
  const { search } = new URL(back.headers.get('location') ?? '')
  assert.match(search, /SAMLResponse=.*&Signature=/, 'the provider has signed something for her')
  const forged = logoutRequestXml({ issuer: provider.entityId, destination: null, nameId: 'ruth-id' })
  for (const query of [
    `SAMLReques%74=${deflated(forged)}&${search.slice(1)}`,
    `${search.slice(1)}&SAMLReques%74=${deflated(forged)}`,
    `SAMLRequest=${deflated(forged)}&${search.slice(1)}`,
    `SAMLRequest=${deflated(forged)}&${search.slice(1).replace('SAMLResponse', 'SAMLRequest%3Dx&RelayState')}`,
  ]) {
    const answer = await new Visitor(service).get(mallory.url(`${logoutPath}?${query}`))
    await assertNotLoggedOut(answer, provider.address, query)
    assert.equal(await ruth.isLoggedIn(), true)
  }
  const honest = `SAMLRequest=${deflated(forged)}&SigAlg=${encodeURIComponent('http://www.w3.org/2001/04/xmldsig-more#rsa-sha256')}`
  const signature = sign('sha256', Buffer.from(honest), provider.identity.privateKey).toString('base64')
  await mallory.get(mallory.url(`${logoutPath}?${honest}&Signature=${encodeURIComponent(signature)}`))
  assert.equal(await ruth.isLoggedIn(), false, 'the same request, signed, is the provider’s')
})

test('T4 X2 an instruction in the middle of a message does not cut a NameID short', async t => {
  const { service, provider, ruth } = await withPeople(t, 'x.ruth-id')
  const message = { issuer: provider.entityId, destination: null, nameId: 'x.ruth-id' }
  const own = signed(logoutRequestXml(message), { element: 'LogoutRequest', identity: provider.identity })
  const visitor = new Visitor(service)
  const post = (xml: string) =>
    visitor.submit({ action: visitor.url(logoutPath).href, fields: { SAMLRequest: base64(xml) } })
  for (const instruction of ['<?xml x.?>', '<?xml version="1.0"?>', '<?XML x.?>', '<?x x.?>']) {
    const answer = await post(own.replace('>x.ruth-id<', `>${instruction}ruth-id<`))
    assert.equal(answer.status, 400)
    assert.equal(await ruth.isLoggedIn(), true, instruction)
  }
})

test('T4 a logout request with space around its NameID ends the sessions of that NameID', async t => {
  const { service, provider, ruth } = await withPeople(t)
  const xml = logoutRequestXml({ issuer: provider.entityId, destination: null, nameId: '\n  ruth-id\n' })
  const visitor = new Visitor(service)
  const SAMLRequest = base64(signed(xml, { element: 'LogoutRequest', identity: provider.identity }))
  const answer = await visitor.submit({ action: visitor.url(logoutPath).href, fields: { SAMLRequest } })
  assert.equal((await logoutAnswerOf(answer))?.status, 'Success')
  assert.equal(await ruth.isLoggedIn(), false)
})

/** An element in the place of a signature that signs nothing. */
const emptySignature =
  '<d:Signature xmlns:d="http://www.w3.org/2000/09/xmldsig#"><d:SignedInfo><d:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><d:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/><d:Reference URI="#_1"><d:Transforms><d:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/></d:Transforms><d:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><d:DigestValue>AAAA</d:DigestValue></d:Reference></d:SignedInfo><d:SignatureValue>AAAA</d:SignatureValue></d:Signature>'

test('X2 what takes a library the cube of its size is refused before it comes to one', async t => {
  const { service, provider } = await startWithProvider(t)
  const visitor = new Visitor(service)
  const many = (count: number, one: string) => one.repeat(count)
  for (const [what, inside] of [
    ['signatures in each other', `${many(900, '<d:Signature>')}${many(900, '</d:Signature>')}`],
    ['signatures beside each other', many(900, '<d:Signature/>')],
    ['elements in each other', `${many(900, '<a>')}${many(900, '</a>')}`],
    ['elements beside each other', many(5_000, '<a/>')],
    [
      'namespaces of one element',
      `<a${Array.from({ length: 5_000 }, (_, at) => ` xmlns:n${at}="u"`).join('')}/>`,
    ],
    [
      'attributes of many elements',
      many(400, `<a${Array.from({ length: 20 }, (_, at) => ` a${at}="u"`).join('')}/>`),
    ],
    ['prefixes', `<a PrefixList="${many(5_000, 'x ')}"/>`],
  ] as const) {
    const body = `${emptySignature}${inside}`
    const request = `<p:LogoutRequest xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:d="http://www.w3.org/2000/09/xmldsig#" ID="_1" IssueInstant="${new Date().toISOString()}"><s:Issuer xmlns:s="urn:oasis:names:tc:SAML:2.0:assertion">${provider.entityId}</s:Issuer>${body}</p:LogoutRequest>`
    const fields = { SAMLRequest: base64(request) }
    const logout = await visitor.submit({ action: visitor.url(logoutPath).href, fields })
    assert.ok([400, 413].includes(logout.status), `${what}: ${logout.status}`)
    const one = await begin(service, provider)
    const xml = response(one).replace(
      '</samlp:Response>',
      `${body.replaceAll('d:', 'ds:').replace('<ds:Signature', '<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"')}</samlp:Response>`,
    )
    assert.equal((await send(one, base64(xml))).status, 401, what)
  }
  const one = await begin(service, provider)
  await assertAccepted(one, await send(one, base64(response(one))))
})

test('X2 an algorithm that is refused is refused in every namespace', async t => {
  const { service, provider } = await startWithProvider(t)
  for (const key of ['rsa-1.5', 'rsa-oaep'] as const) {
    const one = await begin(service, provider)
    const { certificate } = serviceIdentity
    const xml = await encrypted(response(one), { certificate, key })
    const disguised = xml
      .replaceAll(/<(\/?)\w+:EncryptionMethod/g, '<$1EncryptionMethod')
      .replaceAll('<EncryptionMethod', '<EncryptionMethod xmlns="urn:nothing"')
    assert.notEqual(disguised, xml)
    const answer = await send(one, base64(disguised))
    if (key === 'rsa-1.5') assert.equal(answer.status, 401)
    else await assertAccepted(one, answer)
  }
})

// A proxy that brings names of its own -------------------------------------------------------------------------

const secret = 'sixteen-characters'
const proxy = {
  id: 'apache',
  kind: 'proxy',
  create: true,
  addresses: ['127.0.0.1'],
  secretHeader: 'X-Secret',
  secret: { env: 'PROXY_SECRET' },
  attributes: { subject: 'X-Subject', email: 'X-Mail' },
}

const startBehindProxy = (t: TestContext, more: object = {}) =>
  startService(t, {
    env: { ...withSingleSignOn(t, { providers: [{ ...proxy, ...more }] }), PROXY_SECRET: secret },
  })

/** @param headers whose characters are bytes */
const fromProxy = (service: Service, headers: Readonly<Record<string, string>>) =>
  new Promise<{ status: number; cookie: string }>((resolve, reject) => {
    const url = `${service.address}/api/authn/shibboleth`
    const request = httpRequest(url, { headers: { 'x-secret': secret, ...headers } }, answer => {
      answer.resume()
      const cookies = answer.headers['set-cookie'] ?? []
      resolve({ status: answer.statusCode ?? 0, cookie: cookies.map(one => one.split(';')[0]).join('; ') })
    })
    request.on('error', reject)
    request.end()
  })

const emailBehind = async (service: Service, cookie: string) =>
  (await service.client().status('/api/authn/status', { cookie }))._embedded.eperson?.email

test('X3 subjects that are no clean text are nobody, and never the same one', async t => {
  const service = await startBehindProxy(t)
  for (const subject of ['Jos\xe9', 'Jos\xe8', '\xff', '\xef\xbf\xbd', 'a\tb'])
    assert.equal((await fromProxy(service, { 'x-subject': subject, 'x-mail': 'a@example.edu' })).status, 403)
  const clean = Buffer.from('José').toString('latin1')
  const { status, cookie } = await fromProxy(service, { 'x-subject': clean, 'x-mail': 'a@example.edu' })
  assert.equal(status, 303)
  assert.equal(await emailBehind(service, cookie), 'a@example.edu')
})

test('X3 an address of letters that only look like others matches nobody', async t => {
  const service = await startBehindProxy(t, { email: { match: true, domains: ['example.edu'] } })
  await service.addEperson('kate@example.edu', { admin: true })
  // KELVIN SIGN, and LATIN SMALL LIGATURE FI: both become other characters in another case or normalization
  // form.
  for (const address of ['\u212aate@example.edu', 'ﬁ@example.edu', 'kate@example.edu\u0301']) {
    const mail = Buffer.from(address).toString('latin1')
    assert.equal(
      (await fromProxy(service, { 'x-subject': `of ${address.length}`, 'x-mail': mail })).status,
      403,
    )
  }
  const { cookie } = await fromProxy(service, { 'x-subject': 'kate', 'x-mail': 'Kate@example.edu' })
  assert.equal(await emailBehind(service, cookie), 'kate@example.edu')
})

test('X3 a login that lacks what is required is in the audit trail, and succeeds once it is met', async t => {
  const require = [
    { attribute: 'X-Affiliation', pattern: '(staff|student)@example\\.edu' },
    { attribute: 'X-Assurance', value: 'high' },
  ]
  const service = await startBehindProxy(t, { require })
  const admin = await service.addLoggedIn('admin@example.org', { admin: true })
  const ruth = { 'x-subject': 'ruth', 'x-mail': 'ruth@example.edu' }
  for (const more of [
    {},
    { 'x-affiliation': 'staff@example.edu' },
    { 'x-affiliation': 'staff@example.edu.evil.example', 'x-assurance': 'high' },
    { 'x-affiliation': 'alumni@example.edu', 'x-assurance': 'high' },
  ])
    assert.equal((await fromProxy(service, { ...ruth, ...more })).status, 403)
  const refused = (await eventsOf(admin, 'login')).filter(({ outcome }) => outcome === 'failure')
  assert.deepEqual(
    refused.map(({ method, object, eperson }) => [method, object, eperson]),
    [['shibboleth', 'apache', null]],
    'the others are identical, and counted',
  )
  const good = { 'x-affiliation': 'alumni@example.edu;staff@example.edu', 'x-assurance': 'high' }
  assert.equal((await fromProxy(service, { ...ruth, ...good })).status, 303)
})

// Requests that a hostile page can cause -----------------------------------------------------------------------

test('X2 no page can fill a browser with attempts, nor begin one by an image or a frame', async t => {
  const { service } = await startWithProvider(t)
  for (const dest of ['image', 'iframe', 'empty', 'script']) {
    const headers = { 'sec-fetch-dest': dest, 'sec-fetch-site': 'cross-site' }
    const answer = await fetch(`${service.address}/api/authn/shibboleth`, { redirect: 'manual', headers })
    assert.equal(answer.status, 400, dest)
    assert.equal(cookieOf(answer, /CARREL-SSO/), undefined)
  }
  const visitor = new Visitor(service)
  const states: string[] = []
  for (let round = 0; round < 12; round++) {
    const answer = await visitor.get(visitor.url(`/api/authn/shibboleth?redirectUrl=${pages}/`), {
      'sec-fetch-dest': 'document',
    })
    assert.equal(answer.status, 303)
    const added = visitor.signOnCookies().filter(name => !states.includes(name))
    states.push(...added)
    assert.ok(visitor.signOnCookies().length <= 5)
  }
  assert.deepEqual(visitor.signOnCookies(), states.slice(-5), 'the oldest go first')
})

test('O1 T4 a logout also takes away a login that nobody has picked up yet', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ruth', person('ruth-id', 'ruth@example.edu'))
  const { visitor } = await signIn(service, provider, 'ruth')
  const kept = visitor.jar.header(visitor.url('/')) ?? ''
  assert.equal((await visitor.post('/api/authn/logout')).status, 204)
  assert.deepEqual(visitor.signOnCookies(), [])
  const status = await service.client().status('/api/authn/status', { cookie: kept })
  assert.equal(status.authenticated, false, 'the cookie opens nothing any more, wherever it is')
})
