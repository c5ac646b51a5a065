import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createMetadataQuery } from '../../../src/sso/metadata/query.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import { identity } from '../../support/providers/certificates.ts'
import { document, type Member, memberXml, signMetadata } from '../../support/providers/federation.ts'
import {
  asFederation,
  federation,
  federationSettings,
  type MetadataServer,
  memberOf,
  scholar,
  startAt,
  startInFederation,
  startMetadataServer,
} from '../../support/providers/federation-flow.ts'
import { base64 } from '../../support/providers/saml-attempt.ts'
import {
  finishSignOn,
  introduce,
  locationOf,
  startSignOn,
  Visitor,
} from '../../support/providers/saml-flow.ts'
import { logoutRequestXml } from '../../support/providers/saml-forge.ts'
import { email, logIn } from '../../support/providers/saml-login.ts'
import { person, startSamlProvider } from '../../support/providers/saml-provider.ts'
import { startService } from '../../support/service/service.ts'

const discoveryUrl = 'https://ds.example.org/'
const pathOf = (entityId: string) => `/entities/${encodeURIComponent(entityId)}`

/** Starts a provider that a metadata query server knows. */
async function startKnown(t: TestContext, more: Partial<Member> = {}) {
  const [provider, server] = [await startSamlProvider(t), await startMetadataServer(t)]
  provider.users.set('ada', scholar('ada@good.example', email))
  const serveIt = (member: string, by = federation) =>
    server.files.set(pathOf(provider.entityId), { body: signMetadata(document(member), by) })
  serveIt(memberOf(provider, { scopes: ['good.example', 'example.org'], ...more }))
  return { provider, server, serveIt }
}
const queryAt = (server: MetadataServer, more: object) => ({ metadataQuery: server.address, ...more })

test('X13 a metadata query server is asked for one entity, once', async t => {
  const { provider, server } = await startKnown(t)
  provider.users.set('ada', person('ada-1', email))
  const settings = queryAt(server, { entityId: provider.entityId })
  const { service } = await startInFederation(t, [provider], { settings })
  await logIn(service, provider, 'ada')
  await logIn(service, provider, 'ada')
  assert.deepEqual(
    server.requests.map(({ path }) => path),
    [pathOf(provider.entityId)],
  )
  assert.match(String(server.requests[0]?.headers.accept), /^application\/samlmetadata\+xml/)
})

test('X13 a federation behind a metadata query server takes an external discovery service', async t => {
  const { provider, server } = await startKnown(t)
  const settings = queryAt(server, asFederation({ discoveryUrl }))
  const { service } = await startInFederation(t, [provider], { settings })
  const { visitor, answer } = await startSignOn(service)
  const back = new URL(locationOf(answer).searchParams.get('return') ?? '')
  await assertProblem(await visitor.get(back), 401, 'sign-on-refused')
  back.searchParams.set('entityID', provider.entityId)
  const { answer: ended } = await finishSignOn(visitor, await visitor.get(back), provider, 'ada')
  assert.equal(ended.status, 303, await ended.text())
  assert.equal((await visitor.trade()).status, 200)
})

test('X13 an unknown entity, or one that the rules don’t let in, is refused, and isn’t asked for again at once', async t => {
  const { provider, server } = await startKnown(t)
  const rules = { discoveryUrl, requireRegistrationAuthority: ['https://registrar.example'] }
  const { service } = await startInFederation(t, [provider], {
    settings: queryAt(server, asFederation(rules)),
  })
  for (const entityId of ['https://nobody.example/idp', provider.entityId])
    for (let at = 0; at < 3; at++)
      await assertProblem((await startAt(service, entityId)).answer, 400, 'bad-parameter')
  assert.equal(server.requests.length, 2)
})

test('X13 an answer without the federation’s signature, or about someone else, is not used', async t => {
  const { provider, server, serveIt } = await startKnown(t)
  const other = memberXml({ entityId: 'https://other.example/idp' })
  const settings = queryAt(server, { entityId: provider.entityId })
  for (const serve of [
    () => serveIt(memberOf(provider), identity('someone else')),
    () => server.files.set(pathOf(provider.entityId), { body: document(memberOf(provider)) }),
    () => serveIt(other),
    () => serveIt(memberOf(provider, { validUntil: new Date(Date.now() - 1_000) })),
    () => server.files.set(pathOf(provider.entityId), { status: 500 }),
    () => server.files.set(pathOf(provider.entityId), { body: 'x'.repeat(2_000_000) }),
  ]) {
    serve()
    const { service } = await startInFederation(t, [provider], { settings })
    await assertProblem((await startSignOn(service)).answer, 502, 'provider-unavailable')
    await service.stop()
  }
})

/** Queries metadata in this process, so that the number of requests can be counted. */
function query(t: TestContext, server: MetadataServer) {
  const made = createMetadataQuery(`${server.address}/`, [federation.certificate])
  t.after(() => made.close())
  return { find: (entityId: string, network = '192.0.2.1') => made.find(entityId, network) }
}
const flood = Array.from({ length: 200 }, (_, at) => `https://${at}.example/idp`)
const serveEntity = (server: MetadataServer, entityId: string) =>
  server.files.set(pathOf(entityId), { body: signMetadata(document(memberXml({ entityId })), federation) })

test('X13 those who ask for the same entity at once share one request', async t => {
  const server = await startMetadataServer(t)
  serveEntity(server, 'https://a.example/idp')
  const { find } = query(t, server)
  const found = await Promise.all(Array.from({ length: 50 }, () => find('https://a.example/idp')))
  assert.equal(new Set(found).size, 1)
  assert.equal(server.requests.length, 1)
})

test('X13 a flood of entities waits in a line that has an end', async t => {
  const server = await startMetadataServer(t)
  const { find } = query(t, server)
  const found = await Promise.all(flood.map(one => find(one)))
  const refused = found.filter(one => typeof one === 'string' && /too many requests/.test(one)).length
  assert.equal(refused, 200 - 4 - 64)
  assert.equal(server.requests.length, 4 + 64)
})

test('X13 only the newest thousand answers are kept', async t => {
  const server = await startMetadataServer(t)
  const { find } = query(t, server)
  for (let at = 0; at <= 1_000; at += 1) await find(`https://${at}.example/idp`)
  const before = server.requests.length
  await find('https://1000.example/idp')
  assert.equal(server.requests.length, before)
  await find('https://0.example/idp')
  assert.equal(server.requests.length, before + 1)
})

test('X13 names that nobody has displace no identity provider', async t => {
  const server = await startMetadataServer(t)
  serveEntity(server, 'https://a.example/idp')
  const { find } = query(t, server)
  await find('https://a.example/idp')
  for (let at = 0; at <= 1_000; at += 1) await find(`https://${at}.example/idp`)
  const before = server.requests.length
  assert.equal(typeof (await find('https://a.example/idp')), 'object')
  assert.equal(server.requests.length, before)
})

test('X13 a flood from one network keeps no other from the metadata query server', async t => {
  const server = await startMetadataServer(t)
  const wanted = 'https://wanted.example/idp'
  serveEntity(server, wanted)
  const { find } = query(t, server)
  // The wanted entity is also the last one of the flood.
  const all = Promise.all([...flood.slice(0, 60), wanted].map(one => find(one)))
  const found = await Promise.all([...flood.slice(60).map(one => find(one)), find(wanted, '198.51.100.1')])
  assert.equal(typeof found.at(-1), 'object')
  const turn = server.requests.findIndex(({ path }) => path === pathOf(wanted))
  assert.ok(turn < 8, `it had turn ${turn}`)
  await all
  assert.equal(server.requests.filter(({ path }) => path === pathOf(wanted)).length, 1)
})

test('X13 an entity is asked for by a name that stays below /entities', async t => {
  const server = await startMetadataServer(t)
  const { find } = query(t, server)
  for (const name of ['.', '..', '', 'x'.repeat(1_025), 'https://a.example/idp b'])
    assert.equal(await find(name), undefined)
  assert.deepEqual(server.requests, [])
})

test('X13 starts at names that nobody has, and logouts from them, keep no other network from logging in', async t => {
  const { provider, server } = await startKnown(t)
  const settings = queryAt(server, asFederation({ discoveryUrl }))
  const { env } = federationSettings(t, { settings })
  const service = await startService(t, { env: { ...env, CARREL_TRUSTED_PROXIES: '127.0.0.1' } })
  await introduce(service, provider)
  const [full, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const after = () => {
    if (server.requests.length === 4) full.resolve()
    return held.promise
  }
  for (const one of flood) server.files.set(pathOf(one), { status: 404, after })
  const headers = { 'x-forwarded-for': '203.0.113.9' }
  const start = `/api/authn/shibboleth?provider=uni&entityID=`
  const visitor = new Visitor(service)
  const destination = visitor.url('/api/authn/sso/saml/logout').href
  const asked = flood.map((issuer, at) => {
    if (at % 2 === 0) return visitor.get(visitor.url(`${start}${encodeURIComponent(issuer)}`), headers)
    const xml = logoutRequestXml({ issuer, destination, nameId: 'nobody' })
    return visitor.submit({ action: destination, fields: { SAMLRequest: base64(xml) } }, undefined, headers)
  })
  await full.promise
  const { answer } = await startAt(service, provider.entityId)
  assert.equal(answer.status, 303, await answer.text())
  held.resolve()
  const { length } = (await Promise.all(asked)).filter(({ status }) => status >= 400)
  assert.equal(length, flood.length)
})
