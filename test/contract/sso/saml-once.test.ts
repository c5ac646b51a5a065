import assert from 'node:assert/strict'
import { assertProblem } from '../../support/clients/answers.ts'
import { bearerOf } from '../../support/clients/client.ts'
import { cookieOf, tradeCookie, tradeCookieOf } from '../../support/clients/cookie-jar.ts'
import { identity } from '../../support/providers/certificates.ts'
import {
  about,
  assertAccepted,
  assertRefused,
  base64,
  begin,
  type Forge,
  notBegun,
  type PendingLogin,
  response,
  send,
} from '../../support/providers/saml-attempt.ts'
import {
  introduce,
  locationOf,
  type Node,
  signIn,
  startWithProvider,
  Visitor,
  withSaml,
} from '../../support/providers/saml-flow.ts'
import {
  logoutRequestXml,
  newId,
  responseXml,
  signed,
  signedQuery,
} from '../../support/providers/saml-forge.ts'
import { logoutAnswerOf } from '../../support/providers/saml-logout-answers.ts'
import { person, startSamlProvider } from '../../support/providers/saml-provider.ts'
import { test, testOn, testWithoutStore } from '../../support/service/engines.ts'
import { startNodes } from '../../support/service/nodes.ts'
import { serve } from '../../support/service/process.ts'
import { baseUrl, temporaryFolder } from '../../support/service/service.ts'

const foreign = identity('someone else')

/** Restores the cookies of the attempt, as a client with a copy of them can do. */
function rewind(one: PendingLogin): () => Visitor {
  const host = one.visitor.url('/')
  const cookies = [...one.visitor.jar.all(host)]
  return () => {
    for (const [name, value] of cookies) one.visitor.jar.set(host, name, value)
    return one.visitor
  }
}

test('X2 an assertion is good once, in whichever browser', async t => {
  const { service, provider } = await startWithProvider(t)
  const one = await begin(service, provider)
  const putBack = rewind(one)
  const [xml, fresh] = [response(one), response(one)]
  await assertAccepted(one, await send(one, base64(xml)))
  await assertRefused(one, await send(one, base64(xml)), notBegun)
  putBack()
  await assertRefused(one, await send(one, base64(xml)), notBegun)
  // The request has been answered once.
  putBack()
  await assertRefused(one, await send(one, base64(fresh)), notBegun)

  const thief = { ...one, visitor: new Visitor(service) }
  await assertRefused(thief, await send(thief, base64(xml)), notBegun)
  for (const [name, value] of putBack().jar.all(one.visitor.url('/')))
    thief.visitor.jar.set(one.visitor.url('/'), name, value)
  await assertRefused(thief, await send(thief, base64(xml)), notBegun)
  const another = await begin(service, provider)
  await assertRefused(another, await send(another, base64(xml)))
})

test('X2 of several that send the same assertion at once one gets in', async t => {
  const { service, provider } = await startWithProvider(t)
  const one = await begin(service, provider)
  const xml = base64(response(one))
  const answers = await Promise.all([1, 2, 3, 4].map(() => send(one, xml)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 400, 400, 400])
})

test('X1 of two that trade the same cookie at once one gets a token', async t => {
  const { service, provider } = await startWithProvider(t)
  const one = await begin(service, provider)
  await send(one, base64(response(one)))
  const pair = await service.client().csrfPair()
  const cookie = `${pair.cookie}; ${one.visitor.jar.header(one.visitor.url('/'))}`
  const answers = await Promise.all(
    [1, 2, 3, 4].map(() =>
      service.client().request('/api/authn/login', {
        method: 'POST',
        headers: { cookie, 'x-xsrf-token': pair.value },
      }),
    ),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401])
})

test('O1 X2 a provider’s logout request is good once, for the sessions of its time', async t => {
  const { service, provider } = await startWithProvider(t)
  const logIn = async () => {
    const one = await begin(service, provider)
    return { one, token: await assertAccepted(one, await send(one, base64(response(one)))) }
  }
  const { one, token } = await logIn()
  const destination = `${baseUrl}/api/authn/sso/saml/logout`
  const request = logoutRequestXml({ issuer: provider.entityId, destination, nameId: 'mallory' })
  const { identity: key } = provider
  const byPost = signed(request, { element: 'LogoutRequest', identity: key })
  assert.equal(
    (await one.visitor.get(`${destination}?${signedQuery(request, { identity: key })}`)).status,
    303,
  )
  assert.equal(await service.client().isLoggedIn(token), false)

  const { one: again, token: next } = await logIn()
  for (const answer of [
    await again.visitor.get(`${destination}?${signedQuery(request, { identity: key })}`),
    await again.visitor.get(`${destination}?${signedQuery(request, { identity: key, relayState: 'x' })}`),
    await again.visitor.submit(
      { action: destination, fields: { SAMLRequest: base64(byPost) } },
      provider.address,
    ),
  ])
    assert.equal((await logoutAnswerOf(answer))?.status, 'Requester/RequestDenied')
  assert.equal(await service.client().isLoggedIn(next), true)
})

testOn(
  'postgres',
  'X2 any node goes on where another has begun, and none accepts what another has',
  async t => {
    const provider = await startSamlProvider(t)
    const { nodes } = await startNodes(t, 2, withSaml(t, [{ provider }]))
    const [here, there] = nodes
    assert.ok(here && there)
    assert.equal(await introduce(here, provider), await introduce(there))
    const one = await begin(here, provider)
    const putBack = rewind(one)
    const xml = base64(response(one))
    one.visitor.goesTo(there)
    const accepted = await send(one, xml)
    assert.equal(accepted.status, 303, await accepted.text())
    const ticket = cookieOf(accepted, tradeCookie)?.value ?? ''
    one.visitor.goesTo(here)
    assert.equal((await one.visitor.trade()).status, 200)
    for (const node of [here, there]) {
      putBack().goesTo(node)
      await assertRefused(one, await send(one, xml), notBegun)
      one.visitor.jar.set(one.visitor.url('/'), tradeCookieOf(ticket), ticket)
      await assertProblem(await one.visitor.trade(), 401, 'login-failed')
    }

    // Sent to both nodes at the same moment, as a client with copied cookies can do.
    const both = await begin(here, provider)
    const again = base64(response(both))
    const cookies = [...both.visitor.jar.all(new URL(baseUrl))]
    const answers = await Promise.all(
      [here, there].map(node => {
        const visitor = new Visitor(node)
        for (const [name, value] of cookies) visitor.jar.set(new URL(baseUrl), name, value)
        return send({ ...both, visitor }, again)
      }),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 400])
  },
)

void testWithoutStore('E2 X2 nothing of a sign-on is in the output of the process', async t => {
  const provider = await startSamlProvider(t)
  const nameId = `name-${newId()}`
  provider.users.set('ada', person(nameId, 'ada@example.org'))
  const { env } = withSaml(t, [{ provider }])
  const served = await serve(t, temporaryFolder(t), {
    env: { ...env, CARREL_BASE_URL: baseUrl, CARREL_LOG_LEVEL: 'info' },
  })
  const node: Node = { address: served.address, config: { baseUrl } }
  await introduce(node, provider)
  const secrets = new Set([nameId, 'ada@example.org', 'Byron'])

  const { visitor, answer, form } = await signIn(node, provider, 'ada')
  assert.equal(answer.status, 303)
  const { SAMLResponse = '', RelayState = '' } = form.fields
  const xml = Buffer.from(SAMLResponse, 'base64').toString()
  for (const [, id = ''] of xml.matchAll(/ (?:ID|SessionIndex)="([^"]+)"/g)) secrets.add(id)
  secrets.add(SAMLResponse.slice(100, 160)).add(RelayState)
  secrets.add(cookieOf(answer, tradeCookie)?.value ?? '')
  const token = bearerOf(await visitor.trade())
  secrets.add(token)
  const left = await visitor.post('/api/authn/logout', { authorization: `Bearer ${token}` })
  secrets.add(cookieOf(left, 'CARREL-SSO-LOGOUT')?.value ?? '')
  const away = locationOf(await visitor.get(visitor.url('/api/authn/sso/logout')))
  secrets.add(encodeURIComponent(away.searchParams.get('SAMLRequest') ?? ''))
  const back = locationOf(await visitor.get(away))
  secrets.add(encodeURIComponent(back.searchParams.get('SAMLResponse') ?? ''))
  await visitor.get(back)

  const hostile: Forge[] = [
    one => response(one, { nameId }, { identity: foreign }),
    one => response(one, { nameId, audience: 'https://other.example.org' }),
    one => response(one, { nameId: '' }),
    one => responseXml(about(one, { nameId })),
    one => `<!DOCTYPE ${nameId}>${response(one, { nameId })}`,
    one => response(one, { nameId }).slice(0, -30),
    one => response(one, { nameId }).replace('<samlp:Response', `<samlp:Response x=${nameId}`),
  ]
  for (const forge of hostile) {
    const one = await begin(node, provider)
    const sent = base64(await forge(one))
    secrets.add(one.state).add(one.request).add(sent.slice(100, 160))
    const refused = await send(one, sent)
    assert.ok([401, 403].includes(refused.status), `${refused.status} ${forge}`)
  }
  const lost = await begin(node, provider)
  secrets.add(lost.state)
  lost.visitor.jar.remove(lost.visitor.url('/'), lost.visitor.signOnCookies()[0] ?? '')
  assert.equal((await send(lost, base64(response(lost, { nameId })))).status, 400)
  assert.equal((await visitor.get(provider.logoutUrl('ada'))).status, 303)
  const broken = await visitor.get(provider.logoutUrl('ada').replace(/Signature=.{10}/, 'Signature='))
  assert.equal(broken.status, 303)

  assert.equal(await served.stop(), 0)
  const output = served.output.stdout + served.output.stderr
  assert.match(output, /uni/, 'refusals are in the log, with the provider')
  for (const secret of secrets) {
    assert.ok(secret.length > 4)
    assert.equal(output.includes(secret), false, secret)
  }
})
