import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import { identity } from '../../support/providers/certificates.ts'
import {
  assertAccepted,
  assertRefused,
  base64,
  begin,
  mail,
  response,
  send,
} from '../../support/providers/saml-attempt.ts'
import { introduce, signIn, startWithProvider, Visitor, withSaml } from '../../support/providers/saml-flow.ts'
import { logoutRequestXml, signed, signedQuery } from '../../support/providers/saml-forge.ts'
import { logoutAnswerOf } from '../../support/providers/saml-logout-answers.ts'
import { person, startSamlProvider } from '../../support/providers/saml-provider.ts'
import { serve } from '../../support/service/process.ts'
import { baseUrl, temporaryFolder } from '../../support/service/service.ts'

const logoutAddress = `${baseUrl}/api/authn/sso/saml/logout`
const foreign = identity('someone else')

const logoutXml = (issuer: string, inside = '') =>
  logoutRequestXml({ issuer, destination: logoutAddress, nameId: 'nobody' }).replace(
    '</samlp:LogoutRequest>',
    `${inside}</samlp:LogoutRequest>`,
  )
const submit = (visitor: Visitor, xml: string, headers: Readonly<Record<string, string>> = {}) =>
  visitor.submit({ action: logoutAddress, fields: { SAMLRequest: base64(xml) } }, undefined, headers)

const indexes = (count: number) => '<samlp:SessionIndex>_1</samlp:SessionIndex>'.repeat(count)
const nested = (levels: number) => `${'<a>'.repeat(levels)}${'</a>'.repeat(levels)}`
const attributes = (count: number) => Array.from({ length: count }, (_, at) => ` a${at}="1"`).join('')

test('X10 a logout request in excess is refused even if the provider has signed it, and one within the bounds is not', async t => {
  const { service, provider } = await startWithProvider(t)
  const visitor = new Visitor(service)
  const { entityId, identity: key } = provider
  const by = (xml: string) => signed(xml, { element: 'LogoutRequest', identity: key })
  for (const [what, inside] of [
    ['elements', indexes(100)],
    ['levels', nested(20)],
    ['attributes of one element', `<a${attributes(21)}/>`],
    ['attributes', `<a${attributes(20)}/>`.repeat(20)],
    ['bytes', `<a>${'x'.repeat(32 * 1024)}</a>`],
  ] as const) {
    const xml = logoutXml(entityId, inside)
    await assertProblem(await submit(visitor, by(xml)), 400, 'logout-not-understood')
    const byRedirect = await visitor.get(`${logoutAddress}?${signedQuery(xml, { identity: key })}`)
    assert.equal(byRedirect.status, 400, what)
  }
  await assertProblem(
    await submit(visitor, logoutXml(entityId, '<a/>'.repeat(16_000))),
    413,
    'body-too-large',
  )

  const many = logoutXml(entityId, indexes(75))
  assert.equal((await logoutAnswerOf(await submit(visitor, by(many))))?.status, 'Requester/UnknownPrincipal')
})

test('X10 a response in excess is refused, and one with 500 values is not', async t => {
  const { service, provider } = await startWithProvider(t)
  const values = (count: number) => ({
    attributes: { ...mail('mallory@example.net'), groups: Array.from({ length: count }, String) },
  })
  for (const [what, xmlOf] of [
    ['elements', one => response(one, values(600))],
    ['levels', one => response(one, { nameId: nested(20) })],
    ['attributes', one => response(one, { nameId: `<a${attributes(21)}/>` })],
  ] satisfies [string, (one: Awaited<ReturnType<typeof begin>>) => string][]) {
    const one = await begin(service, provider)
    await assertRefused(one, await send(one, base64(xmlOf(one)))).catch(error => {
      throw new Error(what, { cause: error })
    })
  }
  const one = await begin(service, provider)
  await assertAccepted(one, await send(one, base64(response(one, values(500)))))
})

test('X10 a signature over SignedInfo alone, or one that asks for another canonicalisation, is none', async t => {
  const { service, provider } = await startWithProvider(t)
  const { identity: key, entityId } = provider
  const visitor = new Visitor(service)
  const good = signed(logoutXml(entityId), { element: 'LogoutRequest', identity: key })
  for (const [what, xml] of [
    ['changed content', good.replace('>nobody<', '>someone<')],
    ['changed digest', good.replace(/(<ds:DigestValue>).{4}/, '$1AAAA')],
    ['changed value', good.replace(/(<ds:SignatureValue>).{4}/, '$1AAAA')],
    [
      'inclusive canonicalisation',
      good.replace(
        /(CanonicalizationMethod Algorithm=")[^"]*/,
        '$1http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
      ),
    ],
    ['two SignedInfo', good.replace(/(<ds:SignedInfo>.*<\/ds:SignedInfo>)/, '$1$1')],
    ['a large SignedInfo', good.replace('</ds:SignedInfo>', `${'<ds:a/>'.repeat(30)}</ds:SignedInfo>`)],
    ['no SignedInfo', good.replace(/<ds:SignedInfo>.*<\/ds:SignedInfo>/, '')],
    ['no value', good.replace(/<ds:SignatureValue>.*<\/ds:SignatureValue>/, '')],
  ] as const) {
    assert.notEqual(xml, good, what)
    const said = await logoutAnswerOf(await submit(visitor, xml))
    assert.deepEqual([said?.status, said?.isSigned], ['Requester/RequestDenied', false], what)
  }
  assert.equal((await logoutAnswerOf(await submit(visitor, good)))?.isSigned, true)
})

/** Starts a service behind a proxy, so that requests can come from several networks. */
const behindProxy = (t: TestContext) => startWithProvider(t, { env: { CARREL_TRUSTED_PROXIES: '127.0.0.1' } })

test('X10 messages wait in a bounded queue, in which networks take turns: one that floods it keeps nobody out', async t => {
  const { service, provider } = await behindProxy(t)
  provider.users.set('ada', person('ada-1', 'ada@example.org'))
  // The most expensive anonymous request: signed by the provider, and changed afterwards.
  const padded = logoutXml(provider.entityId, `<a${attributes(15)}/>`.repeat(20))
  const good = signed(padded, { element: 'LogoutRequest', identity: provider.identity })
  const costly = good.replace('>nobody<', '>someone<')
  const visitor = new Visitor(service)
  const flood = Array.from({ length: 400 }, () =>
    submit(visitor, costly, { 'x-forwarded-for': '203.0.113.9' }),
  )
  const { visitor: honest, answer } = await signIn(service, provider, 'ada')
  assert.equal(answer.status, 303, 'another network has its turn')
  assert.equal((await honest.trade()).status, 200)
  const answers = await Promise.all(flood)
  const busy = answers.filter(({ status }) => status === 503)
  assert.ok(busy.length > 0, 'what does not fit is refused')
  for (const one of busy) {
    assert.equal(one.headers.get('retry-after'), '5')
    await assertProblem(one, 503, 'busy')
  }
  for (const one of answers.filter(({ status }) => status !== 503))
    assert.equal((await logoutAnswerOf(one))?.status, 'Requester/RequestDenied')
})

test('X10 of identical refusals the log has the first and the number of the others', async t => {
  const provider = await startSamlProvider(t)
  const { env } = withSaml(t, [{ provider }])
  const served = await serve(t, temporaryFolder(t), {
    env: { ...env, CARREL_BASE_URL: baseUrl, CARREL_LOG_LEVEL: 'info', CARREL_WORKERS: '1' },
  })
  const node = { address: served.address, config: { baseUrl } }
  await introduce(node, provider)
  const visitor = new Visitor(node)
  for (let round = 0; round < 20; round++) {
    const xml = logoutXml(provider.entityId)
    await submit(visitor, signed(xml, { element: 'LogoutRequest', identity: foreign }))
  }
  await submit(visitor, logoutXml('https://other.example.org/'))
  assert.equal(await served.stop(), 0)
  const lines = `${served.output.stdout}\n${served.output.stderr}`
    .split('\n')
    .filter(line => line.includes('single sign-on refused'))
    .map(line => JSON.parse(line) as { provider: string; msg: string; count?: number })
  assert.deepEqual(
    lines.map(one => [one.provider, one.msg, one.count]),
    [
      ['uni', 'single sign-on refused', undefined],
      ['unknown', 'single sign-on refused', undefined],
      ['uni', 'single sign-on refused, again', 19],
    ],
  )
})
