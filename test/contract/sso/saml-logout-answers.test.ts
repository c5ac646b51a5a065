import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import { identity } from '../../support/providers/certificates.ts'
import { assertAccepted, base64, begin, response, send } from '../../support/providers/saml-attempt.ts'
import { introduce, pages, serviceIdentity, Visitor, withSaml } from '../../support/providers/saml-flow.ts'
import {
  deflated,
  encrypted,
  logoutRequestXml,
  newId,
  signed,
  signedQuery,
} from '../../support/providers/saml-forge.ts'
import { logoutAnswerOf } from '../../support/providers/saml-logout-answers.ts'
import { startSamlProvider } from '../../support/providers/saml-provider.ts'
import { baseUrl, startService } from '../../support/service/service.ts'

const logoutAddress = `${baseUrl}/api/authn/sso/saml/logout`
const foreign = identity('someone else')

interface Options {
  /** Changes the provider's metadata before the service gets them. */
  readonly metadata?: (own: string) => string
  readonly hasLogout?: boolean
}

async function start(t: TestContext, { metadata = own => own, hasLogout = true }: Options = {}) {
  const provider = await startSamlProvider(t, { hasLogout })
  const { env, metadataFile } = withSaml(t, [{ provider }])
  writeFileSync(metadataFile(), metadata(readFileSync(metadataFile(), 'utf8')))
  const service = await startService(t, { env })
  await introduce(service, provider)
  const visitor = new Visitor(service)
  const { identity: key, entityId: issuer } = provider
  const xmlOf = (changes: Partial<Parameters<typeof logoutRequestXml>[0]> = {}) =>
    logoutRequestXml({ issuer, destination: logoutAddress, nameId: 'mallory', ...changes })
  const byRedirect = (query: string) => visitor.get(`${logoutAddress}?${query}`, { accept: 'text/html' })
  const byPost = (xml: string, relayState = 'chain') =>
    visitor.submit({ action: logoutAddress, fields: { SAMLRequest: base64(xml), RelayState: relayState } })
  const signedXml = (xml: string, by = key) => signed(xml, { element: 'LogoutRequest', identity: by })
  const logIn = async () => {
    const one = await begin(service, provider)
    return assertAccepted(one, await send(one, base64(response(one))))
  }
  return { service, provider, key, xmlOf, byRedirect, byPost, signedXml, logIn }
}

const idOf = (xml: string) => / ID="([^"]+)"/.exec(xml)?.[1]

test('X4 what the provider has signed and is refused is answered with a signed error, by the same binding', async t => {
  const { service, provider, key, xmlOf, byRedirect, byPost, signedXml, logIn } = await start(t)
  const token = await logIn()
  const used = xmlOf({ nameId: 'nobody' })
  const twoNames = xmlOf().replace(/(<saml:NameID.*<\/saml:NameID>)/, '$1$1')
  const old = xmlOf().replace(/IssueInstant="[^"]*"/, 'IssueInstant="2020-01-01T00:00:00Z"')
  for (const [what, xml, status] of [
    ['nobody’s', used, 'UnknownPrincipal'],
    ['used', used, 'RequestDenied'],
    ['for another address', xmlOf({ destination: 'https://other.example.org/' }), 'RequestDenied'],
    ['old', old, 'RequestDenied'],
    ['expired', xmlOf({ notOnOrAfter: -600 }), 'RequestDenied'],
    ['without a clear name', twoNames, 'RequestUnsupported'],
  ] as const)
    for (const binding of ['redirect', 'post'] as const) {
      // The first of the two bindings has used the message.
      const expected = what === 'nobody’s' && binding === 'post' ? 'RequestDenied' : status
      const answer =
        binding === 'redirect'
          ? await byRedirect(signedQuery(xml, { identity: key, relayState: 'chain' }))
          : await byPost(signedXml(xml))
      const { xml: _, ...said } = (await logoutAnswerOf(answer)) ?? assert.fail(`${what} by ${binding}`)
      assert.deepEqual(said, {
        binding,
        address: `${provider.address}/slo`,
        relayState: 'chain',
        inResponseTo: idOf(xml),
        status: `Requester/${expected}`,
        isSigned: true,
      })
    }
  assert.equal(await service.client().isLoggedIn(token), true)
})

test('X4 a name that is encrypted for someone else is answered as a request that cannot be read', async t => {
  const { xmlOf, byPost, signedXml } = await start(t)
  const secret = await encrypted(xmlOf(), { element: 'NameID', certificate: foreign.certificate })
  const said = await logoutAnswerOf(await byPost(signedXml(secret)))
  assert.equal(said?.status, 'Requester/RequestUnsupported')
  assert.equal(said?.isSigned, true)
  const own = await encrypted(xmlOf(), { element: 'NameID', certificate: serviceIdentity.certificate })
  assert.equal((await logoutAnswerOf(await byPost(signedXml(own))))?.status, 'Requester/UnknownPrincipal')
})

test('X4 what the provider has not signed gets nothing signed, goes only to the provider, and tells nobody who is logged in', async t => {
  const { service, provider, key, xmlOf, byRedirect, byPost, signedXml, logIn } = await start(t)
  const token = await logIn()
  for (const nameId of ['mallory', 'nobody']) {
    const xml = xmlOf({ nameId })
    const good = signedQuery(xml, { identity: key, relayState: 'chain' })
    const sent: Record<string, () => Promise<Response>> = {
      'unsigned, by redirect': () => byRedirect(`SAMLRequest=${deflated(xml)}&RelayState=chain`),
      'unsigned, by POST': () => byPost(xml),
      'by someone else, by redirect': () =>
        byRedirect(signedQuery(xml, { identity: foreign, relayState: 'chain' })),
      'by someone else, by POST': () => byPost(signedXml(xml, foreign)),
      'with another RelayState': () => byRedirect(good.replace('=chain', '=https%3A%2F%2Fevil.example.org')),
      'changed after it was signed': () => byPost(signedXml(xml).replace(`>${nameId}<`, '>ruth<')),
    }
    for (const [what, send] of Object.entries(sent)) {
      const said = (await logoutAnswerOf(await send())) ?? assert.fail(what)
      assert.equal(said.isSigned, false, what)
      assert.equal(said.address, `${provider.address}/slo`, what)
      assert.equal(said.status, 'Requester/RequestDenied', what)
      assert.equal(said.inResponseTo, idOf(xml), what)
    }
  }
  assert.equal(await service.client().isLoggedIn(token), true)
})

test('X4 where nobody can be answered, a page says what a person can do, and leads nowhere else', async t => {
  const { xmlOf, byRedirect, byPost, key } = await start(t)
  const evil = 'https://evil.example.org/slo'
  const unanswered: Record<string, () => Promise<Response>> = {
    'an unknown issuer': () =>
      byRedirect(signedQuery(xmlOf({ issuer: 'https://evil.example.org' }), { identity: foreign })),
    'no issuer': () =>
      byRedirect(signedQuery(xmlOf().replace(/<saml:Issuer>.*<\/saml:Issuer>/, ''), { identity: key })),
    'an ID that is none': () =>
      byRedirect(`SAMLRequest=${deflated(xmlOf().replace(/ ID="[^"]*"/, ` ID="${evil}"`))}`),
    'no ID': () => byRedirect(`SAMLRequest=${deflated(xmlOf().replace(/ ID="[^"]*"/, ''))}`),
    'a long RelayState': () =>
      byRedirect(
        signedQuery(xmlOf({ notOnOrAfter: -600 }), { identity: key, relayState: 'x'.repeat(1_100) }),
      ),
    'no XML': () => byRedirect(`SAMLRequest=${deflated('logout')}`),
  }
  for (const [what, send] of Object.entries(unanswered)) {
    const answer = await send()
    assert.equal(answer.status, 400, what)
    assert.equal(answer.headers.get('location'), null, what)
    const page = await answer.text()
    assert.match(page, /You are still logged in here/, what)
    assert.match(page, new RegExp(`href="${pages}/"`), what)
    assert.doesNotMatch(page, /evil|<form/, what)
  }
  await assertProblem(await byPost('<a/>'), 400, 'logout-not-understood')
})

test('X4 a provider without an address for answers is not answered', async t => {
  const { service, key, xmlOf, byRedirect, logIn } = await start(t, { hasLogout: false })
  const token = await logIn()
  const refused = await byRedirect(signedQuery(xmlOf({ notOnOrAfter: -600 }), { identity: key }))
  assert.equal(refused.status, 400)
  const done = await byRedirect(signedQuery(xmlOf(), { identity: key }))
  assert.equal(done.status, 200)
  assert.match(await done.text(), /You are logged out/)
  assert.equal(await service.client().isLoggedIn(token), false)
})

const endpoint = (binding: string, more = '') =>
  new RegExp(`<SingleLogoutService[^>]*HTTP-${binding}"[^>]*?(/>|>${more}</SingleLogoutService>)`, 'g')

test('X4 answers go to the address that the metadata has for them', async t => {
  const { key, xmlOf, byRedirect } = await start(t, {
    metadata: own => own.replaceAll(/(\/slo")/g, '$1 ResponseLocation="https://idp.example.edu/answers?a=b"'),
  })
  const query = signedQuery(xmlOf({ notOnOrAfter: -600 }), { identity: key })
  const { address, isSigned } = (await logoutAnswerOf(await byRedirect(query))) ?? assert.fail()
  assert.deepEqual([address, isSigned], ['https://idp.example.edu/answers', true])
})

test('X4 with an address for one binding only, answers come by that one, and RelayState is not signed that was not', async t => {
  const onlyPost = await start(t, { metadata: own => own.replace(endpoint('Redirect'), '') })
  const byForm = await logoutAnswerOf(
    await onlyPost.byRedirect(signedQuery(onlyPost.xmlOf(), { identity: onlyPost.key, relayState: 'chain' })),
  )
  assert.equal(byForm?.binding, 'post')
  assert.equal(byForm?.relayState, 'chain')

  const onlyRedirect = await start(t, { metadata: own => own.replace(endpoint('POST'), '') })
  const { xmlOf, byPost, signedXml } = onlyRedirect
  // The provider's signature on a form doesn't cover RelayState, so an attacker may have replaced it.
  const chosen = await logoutAnswerOf(await byPost(signedXml(xmlOf()), 'https://evil.example.org/'))
  assert.equal(chosen?.binding, 'redirect')
  assert.equal(chosen?.isSigned, true)
  assert.equal(chosen?.relayState, null)
})

test('X4 a form that goes on by itself carries what it was given as text, and runs no other script', async t => {
  const { byPost, xmlOf, provider } = await start(t)
  const relayState = `"><script>alert(1)</script><input name="x" value='`
  const answer = await byPost(xmlOf(), relayState)
  const policy = answer.headers.get('content-security-policy') ?? ''
  assert.match(policy, /default-src 'none'; script-src 'sha256-[^']+'; style-src/)
  assert.match(policy, /frame-ancestors 'none'/)
  const page = await answer.clone().text()
  assert.equal(page.match(/<script>/g)?.length, 1)
  assert.equal((await logoutAnswerOf(answer))?.relayState, relayState.replaceAll("'", '&#39;'))
  assert.match(page, new RegExp(`<form method="post" action="${provider.address}/slo">`))
})

test('X4 no two answers have the same ID, and none repeats what else the request has', async t => {
  const { byRedirect, xmlOf, key } = await start(t)
  const ids = new Set<string | undefined>()
  for (let round = 0; round < 3; round++) {
    const marked = xmlOf({ nameId: `mark-${newId()}`, sessionIndex: `mark-${newId()}` })
    const said = await logoutAnswerOf(await byRedirect(signedQuery(marked, { identity: key })))
    assert.doesNotMatch(said?.xml ?? '', /mark-/)
    ids.add(idOf(said?.xml ?? ''))
  }
  assert.equal(ids.size, 3)
})
