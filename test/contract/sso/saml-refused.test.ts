import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { SPMetadata } from 'samlify'
import { assertProblem } from '../../support/clients/answers.ts'
import { cookieOf, ticketIn, tradeCookie, tradeCookieOf } from '../../support/clients/cookie-jar.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { pemOf } from '../../support/providers/certificates.ts'
import {
  about,
  assertAccepted,
  assertRefused,
  base64,
  begin,
  type Forge,
  mail,
  notBegun,
  type PendingLogin,
  type Refused,
  response,
  type Signed,
  send,
} from '../../support/providers/saml-attempt.ts'
import { introduce, pages, startSignOn, Visitor, withSaml } from '../../support/providers/saml-flow.ts'
import {
  assertionXml,
  deflated,
  encrypted,
  first,
  logoutRequestXml,
  logoutWrappings,
  newId,
  responseXml,
  signed,
  signedQuery,
} from '../../support/providers/saml-forge.ts'
import {
  contents,
  encryptedOnes,
  foreign,
  markup,
  signatures,
  victim,
  wrapped,
} from '../../support/providers/saml-forgeries.ts'
import { assertNotLoggedOut } from '../../support/providers/saml-logout-answers.ts'
import { startSamlProvider } from '../../support/providers/saml-provider.ts'
import { isLong } from '../../support/scale.ts'
import { testWithoutStore } from '../../support/service/engines.ts'
import { baseUrl, type Service, startService } from '../../support/service/service.ts'

const logoutAddress = `${baseUrl}/api/authn/sso/saml/logout`

const epersonsOf = async ({ storage }: Service) =>
  (await storage.people.listEpersons()).map(({ uuid, email }) => `${uuid} ${email}`).sort()

/** Starts one service with two providers, for all tests that leave nothing behind. */
async function startLab(t: TestContext) {
  const [uni, other] = await Promise.all([startSamlProvider(t), startSamlProvider(t, { name: 'other' })])
  const settings = { email: { match: true } }
  const service = await startService(
    t,
    withSaml(t, [
      { provider: uni, settings },
      { id: 'other', provider: other, settings },
    ]),
  )
  const xml = await introduce(service, uni, other)
  await service.addEperson(victim, { password: null })
  const certificate = pemOf(String(SPMetadata(xml).getX509Certificate('encryption')))
  return { service, uni, other, certificate }
}

void testWithoutStore('X2 messages that no honest and careful provider sends', async t => {
  const { service, uni, other, certificate } = await startLab(t)

  /** Asserts a refusal, and that no eperson was created. */
  async function refuses(one: PendingLogin, answer: () => Promise<Response>, refused?: Refused) {
    const before = await epersonsOf(service)
    await assertRefused(one, await answer(), refused)
    assert.deepEqual(await epersonsOf(service), before)
  }
  const acceptsHonest = async (honest: Forge = one => response(one)) => {
    const one = await begin(service, uni)
    return assertAccepted(one, await send(one, base64(await honest(one))))
  }

  for (const [at, { name, honest, hostile, refused, harmless }] of [
    ...wrapped,
    ...markup,
    ...contents,
    ...signatures,
    ...encryptedOnes(certificate),
  ].entries())
    await t.test(`X2 X4 ${name} is refused`, async () => {
      // In CI, only some honest messages are tried, because most are the same.
      const token = isLong || harmless || at % 5 === 0 ? await acceptsHonest(honest) : ''
      const one = await begin(service, uni)
      const xml = await hostile(one)
      const before = await epersonsOf(service)
      const answer = await send(one, base64(xml))
      if (harmless && answer.status === 303)
        assert.equal(claimsOf(await assertAccepted(one, answer)).eid, claimsOf(token).eid)
      else await assertRefused(one, answer, refused)
      assert.deepEqual(await epersonsOf(service), before)
    })

  await t.test('X2 an element in NameID does not cut it short', async () => {
    const { eid } = claimsOf(await acceptsHonest())
    const one = await begin(service, uni)
    const changes = { nameId: 'mallory<x xmlns="urn:x"/>.evil', attributes: mail('element@example.net') }
    const answer = await send(one, base64(response(one, changes)))
    if (answer.status === 303) assert.notEqual(claimsOf(await assertAccepted(one, answer)).eid, eid)
    else await assertRefused(one, answer)
  })

  await t.test('X2 another provider’s assertion is refused', async () => {
    await acceptsHonest()
    const theirs = await begin(service, other, 'other')
    const own = response(theirs, { nameId: 'elsewhere' })
    await assertAccepted(theirs, await send(theirs, base64(own)))
    const asResponse = { element: 'Response' } as const
    const byUni = { identity: uni.identity }
    for (const forge of [
      // The provider claims to be the other one.
      one => response({ ...one, provider: other }, {}, byUni),
      one => response({ ...one, provider: other }, {}, { ...byUni, ...asResponse }),
      one => response({ ...one, provider: other }, { assertionIssuer: uni.entityId }, byUni),
      one => response(one, { assertionIssuer: other.entityId }),
    ] satisfies Forge[]) {
      const one = await begin(service, other, 'other')
      await refuses(one, () => send(one, base64(forge({ ...one, provider: uni }))))
    }
    for (const forge of [
      // The provider answers a request that was sent to the first one.
      one => response(one),
      one => response(one, {}, asResponse),
      one => response(one, { issuer: uni.entityId }),
      one => response(one, { issuer: uni.entityId }, asResponse),
      one => response(one, { issuer: uni.entityId, assertionIssuer: other.entityId }),
    ] satisfies Forge[]) {
      const one = await begin(service, uni)
      await refuses(one, () => send(one, base64(forge({ ...one, provider: other }))))
    }
  })

  await t.test('X2 an assertion in a browser that has not begun it is refused', async () => {
    await acceptsHonest()
    const host = new URL(baseUrl)
    /** Returns the cookie of an attempt, as name and value. */
    const cookieIn = ({ visitor, state }: PendingLogin) => {
      const name = `CARREL-SSO-${state.slice(0, 8)}`
      return { name, value: visitor.jar.all(host).get(name) ?? '' }
    }
    const without = await begin(service, uni)
    without.visitor.jar.remove(host, cookieIn(without).name)
    await refuses(without, () => send(without, base64(response(without))), notBegun)

    // The response to one login is sent in the browser of another, which would then have the wrong eperson.
    const [mine, theirs] = [await begin(service, uni), await begin(service, uni)]
    const inTheirs = { ...mine, visitor: theirs.visitor }
    await refuses(inTheirs, () => send(inTheirs, base64(response(mine))), notBegun)
    const withTheirState = { ...inTheirs, state: theirs.state }
    await refuses(withTheirState, () => send(withTheirState, base64(response(mine))))

    const { value } = cookieIn(mine)
    for (const wrong of [value, value.slice(0, -1), `${value}A`, '', 'x', '.', value.toUpperCase()]) {
      const one = await begin(service, uni)
      one.visitor.jar.set(host, cookieIn(one).name, wrong)
      await refuses(one, () => send(one, base64(response(one))), notBegun)
    }
    for (const state of ['', 'x', 'x'.repeat(5_000), `${mine.state}x`, mine.state.slice(0, 8)]) {
      const one = { ...mine, state }
      await refuses(one, () => send(one, base64(response(one))), notBegun)
    }
    await assertAccepted(mine, await send(mine, base64(response(mine))))
  })

  await t.test('X2 what is no response at all is refused', async () => {
    await acceptsHonest()
    const garbage: readonly ((xml: string, one: PendingLogin) => string)[] = [
      () => '',
      () => 'AAAA',
      () => '%%%',
      () => 'not base64 at all',
      () => base64('{}'),
      () => base64('<'),
      () => base64('<Response/>'),
      () => base64('<html><body>Sign in</body></html>'),
      () => Buffer.from([0xff, 0xfe, 0x00, 0x3c]).toString('base64'),
      xml => base64(xml.slice(0, -20)),
      xml => base64(`${xml}${xml}`),
      xml => base64(`${xml}<x/>`),
      xml => base64(xml.replaceAll('urn:oasis:names:tc:SAML:2.0:protocol', 'urn:x')),
      xml => base64(xml.replace('<samlp:Response', '<samlp:Response ID="twice"')),
      xml => base64(xml.replace('<samlp:Response', '<samlp:Response a=b')),
      xml => base64(xml.replace('</samlp:Response>', '<a></samlp:Response>')),
      xml => Buffer.from(xml, 'utf16le').toString('base64'),
      xml => decodeURIComponent(deflated(xml)),
      (_, one) => base64(signed(assertionXml(about(one)), { element: 'Assertion', identity: uni.identity })),
    ]
    for (const make of garbage) {
      const one = await begin(service, uni)
      await refuses(one, () => send(one, make(response(one), one)))
    }
  })

  await t.test('X2 a form that no provider sends is refused', async () => {
    const path = '/api/authn/sso/saml/acs'
    const fresh = async () => {
      const one = await begin(service, uni)
      const message = encodeURIComponent(base64(response(one)))
      const form = `SAMLResponse=${message}&RelayState=${one.state}`
      const post = (body: string, type = 'application/x-www-form-urlencoded') =>
        one.visitor.post(path, { 'content-type': type }, body)
      return { one, message, form, post }
    }
    for (const malform of [
      ({ form, message }) => `${form}&SAMLResponse=${message}`,
      ({ form, one }) => `${form}&RelayState=${one.state}`,
      ({ form }) => `${form}&x=%zz`,
      ({ one }) => `RelayState=${one.state}`,
      () => '',
    ] satisfies ((given: Awaited<ReturnType<typeof fresh>>) => string)[]) {
      const given = await fresh()
      const answer = await given.post(malform(given))
      assert.ok([400, 401].includes(answer.status), `${answer.status} ${malform}`)
      assert.equal(cookieOf(answer, tradeCookie), undefined)
    }
    const { one, form, post } = await fresh()
    await assertProblem(await post('{}', 'application/json'), 415, 'unsupported-media-type')
    await assertProblem(await post(form, 'text/plain'), 415, 'unsupported-media-type')
    const get = await one.visitor.get(one.visitor.url(`${path}?${form}`))
    await assertProblem(get, 405, 'method-not-allowed')
    await assertAccepted(one, await post(form))
  })

  await t.test(
    'X2 a message that is too large, or has more elements than any provider’s, is refused',
    async () => {
      const more = (x: string | readonly string[]) => ({ attributes: { ...mail('mallory@example.net'), x } })
      const large = await begin(service, uni)
      const huge = base64(response(large, more('x'.repeat(225_000))))
      await refuses(large, () => send(large, huge), { status: 413, code: 'body-too-large' })
      // Parsing them in the library takes time quadratic in their number.
      for (const inside of ['<a/>'.repeat(6_000), `${'<a>'.repeat(6_000)}${'</a>'.repeat(6_000)}`]) {
        const one = await begin(service, uni)
        const xml = response(one).replace('</samlp:Response>', `${inside}</samlp:Response>`)
        await refuses(one, () => send(one, base64(xml)))
      }
      const one = await begin(service, uni)
      const many = more(Array.from({ length: 500 }, String))
      await assertAccepted(one, await send(one, base64(response(one, many))))
    },
  )

  await t.test('X2 redirectUrl must be a page of an allowed origin', async () => {
    for (const redirectUrl of [
      'https://evil.example.org/',
      'https://ui.example.edu.evil.example.org/',
      'https://ui.example.edu@evil.example.org/',
      'https://ui.example.edu:x@evil.example.org/',
      'https://ui.example.edu%2f@evil.example.org/',
      'https://ui.example.edu\\@evil.example.org/',
      'https://ui.example.edu:8443/',
      'http://ui.example.edu/',
      'https://user:password@ui.example.edu/',
      'https://UI.example.edu.',
      '//evil.example.org/',
      '//ui.example.edu/',
      '\\\\evil.example.org/',
      '/\\evil.example.org/',
      'https:evil.example.org',
      'https:\\\\evil.example.org/',
      'https:///evil.example.org/',
      '/local',
      'local',
      '?x',
      'javascript:alert(1)',
      'JavaScript:alert(1)//https://ui.example.edu/',
      'data:text/html,x',
      'blob:https://ui.example.edu/x',
      'null',
      ' ',
      'https://',
      `https://ui.example.edu/${'x'.repeat(10_000)}`,
    ]) {
      const { visitor, answer } = await startSignOn(service, { redirectUrl, provider: 'uni' })
      await assertProblem(answer, 400, 'redirect-not-allowed')
      assert.equal(answer.headers.get('location'), null)
      assert.deepEqual(visitor.signOnCookies(), [], redirectUrl)
    }
    const twice = new Visitor(service)
    const address = twice.url(
      `/api/authn/shibboleth?provider=uni&redirectUrl=${pages}/&redirectUrl=https://evil.example.org/`,
    )
    assert.equal((await twice.get(address)).status, 400)
    assert.deepEqual(twice.signOnCookies(), [])
    assert.equal((await startSignOn(service, { provider: 'uni' })).answer.status, 303)
  })

  await t.test('X4 the provider’s logout ends a session whose name came encrypted', async () => {
    const one = await begin(service, uni)
    const xml = await encrypted(responseXml(about(one)), { element: 'NameID', certificate })
    const { identity } = uni
    const answer = await send(one, base64(signed(xml, { element: 'Assertion', identity })))
    const token = await assertAccepted(one, answer)
    const wanted = { issuer: uni.entityId, destination: logoutAddress, nameId: 'mallory' }
    const query = signedQuery(logoutRequestXml(wanted), { identity })
    assert.equal((await one.visitor.get(`${logoutAddress}?${query}`)).status, 303)
    assert.equal(await service.client().isLoggedIn(token), false)
  })

  await t.test('X2 logout requests that the provider has not made end nothing', async () => {
    const login = await begin(service, uni)
    const sessionIndex = newId()
    const token = await assertAccepted(login, await send(login, base64(response(login, { sessionIndex }))))
    const { visitor } = login
    const wanted = { issuer: uni.entityId, destination: logoutAddress, nameId: 'mallory', sessionIndex }
    const xml = logoutRequestXml(wanted)
    const { identity: key } = uni
    const harmless = logoutRequestXml({ ...wanted, nameId: 'nobody', sessionIndex: newId() })
    const good = signedQuery(harmless, { identity: key, relayState: 'x' })
    const query = (text: string) => visitor.get(`${logoutAddress}?${text}`)
    const form = (text: string) =>
      visitor.submit({ action: logoutAddress, fields: { SAMLRequest: base64(text) } }, uni.address)
    const signedForm = (text: string, signing: Partial<Signed> = {}) =>
      form(signed(text, { element: 'LogoutRequest', identity: key, ...signing }))

    const hostile: Record<string, () => Promise<Response>> = {
      'unsigned, by redirect': () => query(`SAMLRequest=${deflated(xml)}`),
      'unsigned, by POST': () => form(xml),
      'without Signature': () => query(signedQuery(xml, { identity: key }).replace(/&Signature=.*/, '')),
      'with an empty Signature': () =>
        query(signedQuery(xml, { identity: key }).replace(/&Signature=.*/, '&Signature=')),
      'without SigAlg': () => query(signedQuery(xml, { identity: key }).replace(/&SigAlg=[^&]*/, '')),
      'by a foreign key, by redirect': () => query(signedQuery(xml, { identity: foreign })),
      'by a foreign key, by POST': () => signedForm(xml, { identity: foreign }),
      'by the other provider’s key': () => query(signedQuery(xml, { identity: other.identity })),
      'SHA-1, by redirect': () => query(signedQuery(xml, { identity: key, algorithm: 'rsa-sha1' })),
      'SHA-1, by POST': () => signedForm(xml, { algorithm: 'rsa-sha1' }),
      'HMAC, by POST': () => signedForm(xml, { algorithm: 'hmac-sha1' }),
      'another message under a good signature': () =>
        query(good.replace(/SAMLRequest=[^&]*/, `SAMLRequest=${deflated(xml)}`)),
      'another RelayState': () =>
        query(signedQuery(xml, { identity: key, relayState: 'x' }).replace('RelayState=x', 'RelayState=y')),
      'the message twice': () => query(`${good}&SAMLRequest=${deflated(xml)}`),
      'the message twice, the other way round': () => query(`SAMLRequest=${deflated(xml)}&${good}`),
      'the message twice, once in disguise': () => query(`${good}&%53AMLRequest=${deflated(xml)}`),
      'the message in disguise before it': () => query(`%53AMLRequest=${deflated(xml)}&${good}`),
      'the message in another parameter’s value': () =>
        query(`x=${good.replace(/^SAMLRequest=/, 'SAMLRequest%3D')}&SAMLRequest=${deflated(xml)}`),
      'for another destination': () =>
        query(
          signedQuery(logoutRequestXml({ ...wanted, destination: 'https://other.example.org/' }), {
            identity: key,
          }),
        ),
      'from another issuer': () =>
        query(
          signedQuery(logoutRequestXml({ ...wanted, issuer: 'https://other.example.org/' }), {
            identity: key,
          }),
        ),
      'too late': () =>
        query(signedQuery(logoutRequestXml({ ...wanted, notOnOrAfter: -600 }), { identity: key })),
      'with a comment in NameID': () =>
        form(
          signed(logoutRequestXml({ ...wanted, nameId: 'mallory.evil' }), {
            element: 'LogoutRequest',
            identity: key,
          }).replace('mallory.evil', 'mallory<!---->.evil'),
        ),
      'with more elements than any': () =>
        signedForm(xml.replace('</samlp:LogoutRequest>', `${'<a/>'.repeat(6_000)}</samlp:LogoutRequest>`)),
      'that is not well-formed': () =>
        form(
          signed(xml, { element: 'LogoutRequest', identity: key }).replace(
            '</samlp:LogoutRequest>',
            '<a></samlp:LogoutRequest>',
          ),
        ),
      'with a document type': () =>
        form(`<!DOCTYPE x>${signed(xml, { element: 'LogoutRequest', identity: key })}`),
      'not base64': () =>
        visitor.submit({ action: logoutAddress, fields: { SAMLRequest: '%%' } }, uni.address),
      'not deflated': () => query(`SAMLRequest=AAAA&SigAlg=x&Signature=x`),
      'a bomb': () => query(`SAMLRequest=${deflated(`${xml}${' '.repeat(20_000_000)}`)}`),
      ...Object.fromEntries(
        logoutWrappings.map(({ wrap }, at) => [
          `wrapped ${at + 1}`,
          () => {
            const own = signed(harmless, { element: 'LogoutRequest', identity: key })
            return form(
              wrap(own, copy => {
                first(copy, 'NameID').textContent = 'mallory'
                first(copy, 'SessionIndex').textContent = sessionIndex
              }),
            )
          },
        ]),
      ),
    }
    for (const [name, sent] of Object.entries(hostile)) {
      const answer = await sent()
      await assertNotLoggedOut(answer, uni.address, name)
      assert.doesNotMatch(await answer.text(), /mallory/)
      assert.equal(await service.client().isLoggedIn(token), true, name)
    }

    // The other provider has no user with this name.
    const theirs = logoutRequestXml({ ...wanted, issuer: other.entityId })
    assert.equal((await query(signedQuery(theirs, { identity: other.identity }))).status, 303)
    assert.equal(await service.client().isLoggedIn(token), true)

    assert.equal((await query(good)).status, 303)
    assert.equal(await service.client().isLoggedIn(token), true)
    assert.equal((await query(signedQuery(xml, { identity: key, relayState: 'x' }))).status, 303)
    assert.equal(await service.client().isLoggedIn(token), false)
  })

  await t.test('X2 a trade cookie that the service has not made is worth nothing', async () => {
    const one = await begin(service, uni)
    await send(one, base64(response(one)))
    const host = one.visitor.url('/')
    const value = ticketIn(one.visitor.jar.all(host)) ?? ''
    assert.notEqual(value, '')
    for (const wrong of [
      '',
      'x',
      value.slice(1),
      `${value}x`,
      value.toLowerCase(),
      'x'.repeat(3_000),
      `${value},`,
    ]) {
      const other = new Visitor(service)
      other.jar.set(host, tradeCookieOf(value), wrong)
      const status = await other.get(other.url('/api/authn/status'))
      assert.equal(((await status.json()) as { authenticated: boolean }).authenticated, false)
      await assertProblem(await other.trade(), 401, 'login-failed')
    }
    assert.equal((await one.visitor.trade()).status, 200)
  })
})
