import assert from 'node:assert/strict'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import { identity } from '../../support/providers/certificates.ts'
import { aggregate, signMetadata } from '../../support/providers/federation.ts'
import {
  federation,
  federationSettings,
  memberOf,
  signedAggregate,
  startInFederation,
  startMetadataServer,
} from '../../support/providers/federation-flow.ts'
import { introduce, startSignOn } from '../../support/providers/saml-flow.ts'
import { email, logIn } from '../../support/providers/saml-login.ts'
import { person, type SamlProvider, startSamlProvider } from '../../support/providers/saml-provider.ts'
import { repeats } from '../../support/scale.ts'
import { serve } from '../../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000)

async function startProvider(t: TestContext): Promise<SamlProvider> {
  const provider = await startSamlProvider(t)
  provider.users.set('ada', person('ada-1', email))
  return provider
}

const statusOf = async (service: Pick<Service, 'address' | 'config'>) =>
  (await startSignOn(service)).answer.status

const untilStatus = (service: Pick<Service, 'address' | 'config'>, expected: number) =>
  until(
    `a start of a login that is answered with ${expected}`,
    () => statusOf(service),
    status => status === expected,
  )

const untilAsked = ({ requests }: { readonly requests: readonly unknown[] }, times: number) =>
  until(
    `${times} requests for metadata`,
    () => requests.length,
    count => count >= times,
  )

test('X11 metadata that a federation has signed logs people in', async t => {
  const provider = await startProvider(t)
  const metadata = signedAggregate([memberOf(provider)], { validUntil: inHours(1) })
  const { service } = await startInFederation(t, [provider], {
    metadata,
    settings: { entityId: provider.entityId },
  })
  await logIn(service, provider, 'ada')
})

test('X11 metadata without the federation’s signature is never used, and takes no place of a good one', async t => {
  const provider = await startProvider(t)
  const members = [memberOf(provider)]
  const settings = { entityId: provider.entityId }
  const unsigned = aggregate(members)
  const forged = signMetadata(unsigned, identity('someone else'))
  for (const metadata of [unsigned, forged]) {
    const { service } = await startInFederation(t, [provider], { metadata, settings })
    await assertProblem((await startSignOn(service)).answer, 502, 'provider-unavailable')
  }

  const { service, file } = await startInFederation(t, [provider], {
    metadata: signedAggregate(members),
    settings,
  })
  await logIn(service, provider, 'ada')
  const other = identity('another key')
  for (const bad of [unsigned, forged, signedAggregate(members).replace(/https:\/\/idp/, 'https://evil')]) {
    writeFileSync(
      file,
      bad.replaceAll(/(<md:EntityDescriptor.*X509Certificate>)[^<]*/gs, `$1${other.certificate}`),
    )
    await logIn(service, provider, 'ada')
  }
})

test('X11 an entity that its federation has removed logs nobody in any more', async t => {
  const [provider, other] = [await startProvider(t), await startSamlProvider(t, { name: 'other' })]
  const settings = { entityId: provider.entityId }
  const all = signedAggregate([memberOf(other), memberOf(provider)])
  const { service, file } = await startInFederation(t, [provider], { metadata: all, settings })
  await logIn(service, provider, 'ada')
  writeFileSync(file, signedAggregate([memberOf(other)]))
  await untilStatus(service, 502)
})

test('X11 one file serves several entries, each for its identity provider', async t => {
  const [one, two] = [await startProvider(t), await startSamlProvider(t, { name: 'other' })]
  two.users.set('bob', person('bob-1', 'bob@example.org'))
  const metadata = signedAggregate([memberOf(one), memberOf(two)])
  const second = { id: 'two', kind: 'saml', create: true, metadata: 'federation.xml' }
  const { service } = await startInFederation(t, [one, two], {
    metadata,
    settings: { entityId: one.entityId },
    others: [{ ...second, metadataCertificate: 'federation.pem', entityId: two.entityId }],
  })
  await logIn(service, one, 'ada', { provider: 'uni' })
  await logIn(service, two, 'bob', { provider: 'two' })
})

test('X11 the log says when metadata has expired, and what is wrong with metadata', async t => {
  const provider = await startProvider(t)
  const ended = inHours(-1)
  const metadata = signedAggregate([memberOf(provider)], { validUntil: ended })
  const { env, file } = federationSettings(t, { metadata, settings: { entityId: provider.entityId } })
  const served = await serve(t, temporaryFolder(t), { env })
  const { port } = new URL(served.address)
  const start = () =>
    fetch(`${served.address}/api/authn/shibboleth?redirectUrl=http://localhost:${port}/`, {
      redirect: 'manual',
    })
  assert.equal((await start()).status, 502)
  await served.said(
    new RegExp(`"its metadata expired on ${ended.toISOString()} \\(validUntil\\): newer metadata is needed"`),
  )
  writeFileSync(file, aggregate([memberOf(provider)]))
  assert.equal((await start()).status, 502)
  await served.said(/"why":"it is not signed: [^"]*","msg":"the metadata of a provider cannot be read"/)
})

test('X11 metadata from an address is read once for all workers, asked for again with its ETag, and kept for a restart', async t => {
  const provider = await startProvider(t)
  const server = await startMetadataServer(t)
  const metadata = signedAggregate([memberOf(provider)])
  server.files.set('/all.xml', { body: metadata, headers: { etag: '"1"' } })
  const settings = { metadata: `${server.address}/all.xml`, entityId: provider.entityId, metadataRefresh: 1 }
  const { env } = federationSettings(t, { settings })
  const dataFolder = temporaryFolder(t)
  const served = await serve(t, dataFolder, { env: { ...env, CARREL_WORKERS: '2' } })
  const { port } = new URL(served.address)
  const start = () =>
    fetch(`${served.address}/api/authn/shibboleth?redirectUrl=http://localhost:${port}/`, {
      redirect: 'manual',
      headers: { connection: 'close' },
    })
  for (let at = 0; at < 20; at++) assert.equal((await start()).status, 303)
  const times = repeats(2, 3)
  await untilAsked(server, times)
  const asked = server.requests.map(({ headers }) => headers['if-none-match'])
  assert.deepEqual(asked.slice(0, times), [undefined, '"1"', '"1"'].slice(0, times))
  await served.stop()

  // The server fails, and the last good copy is used.
  server.files.set('/all.xml', { status: 500 })
  const again = await startService(t, { env, dataFolder })
  await introduce(again, provider)
  await logIn(again, provider, 'ada')
})

test('X11 metadata from an address changes without a restart, and never to bad metadata', async t => {
  const provider = await startProvider(t)
  const server = await startMetadataServer(t)
  const settings = { metadata: `${server.address}/all.xml`, entityId: provider.entityId, metadataRefresh: 1 }
  const bad = { body: aggregate([memberOf(provider)]), headers: { etag: '"bad"' } }
  server.files.set('/all.xml', bad)
  const { service } = await startInFederation(t, [provider], { settings })
  assert.equal(await statusOf(service), 502)
  const kept = join(service.dataFolder, 'metadata')
  assert.deepEqual(readdirSync(kept), [], 'nothing bad is kept')

  server.files.set('/all.xml', { body: signedAggregate([memberOf(provider)]) })
  await untilStatus(service, 303)
  await logIn(service, provider, 'ada')
  server.files.set('/all.xml', bad)
  const asked = server.requests.length
  await untilAsked(server, asked + 2)
  await logIn(service, provider, 'ada')
  server.files.set('/all.xml', { body: signedAggregate([memberOf(provider)], { validUntil: inHours(-1) }) })
  await untilStatus(service, 502)
})

test('X11 a redirect is followed, but not to another kind of address', async t => {
  const provider = await startProvider(t)
  const server = await startMetadataServer(t)
  const settings = { metadata: `${server.address}/old.xml`, entityId: provider.entityId, metadataRefresh: 1 }
  for (const location of ['http://metadata.example.org/all.xml', 'file:///etc/passwd', '/old.xml']) {
    server.files.set('/old.xml', { status: 302, headers: { location } })
    const { service } = await startInFederation(t, [provider], { settings })
    assert.equal(await statusOf(service), 502, location)
    await service.stop()
  }
  server.files.set('/old.xml', { status: 302, headers: { location: '/new.xml' } })
  server.files.set('/new.xml', { body: signedAggregate([memberOf(provider)]) })
  const { service } = await startInFederation(t, [provider], { settings })
  await logIn(service, provider, 'ada')
})

test('X11 a kept copy is verified again: who can write to the folder can’t log in as someone', async t => {
  const provider = await startProvider(t)
  const server = await startMetadataServer(t)
  server.files.set('/all.xml', { body: signedAggregate([memberOf(provider)]) })
  const settings = { metadata: `${server.address}/all.xml`, entityId: provider.entityId }
  const { service } = await startInFederation(t, [provider], { settings })
  await logIn(service, provider, 'ada')
  const folder = join(service.dataFolder, 'metadata')
  const [copy] = readdirSync(folder).filter(name => name.endsWith('.xml'))
  assert.ok(copy)
  const { dataFolder } = service
  await service.stop()
  server.files.clear()
  writeFileSync(join(folder, copy), signMetadata(aggregate([memberOf(provider)]), identity('someone else')))
  const { service: next } = await startInFederation(t, [], { settings, dataFolder })
  assert.equal(await statusOf(next), 502)
  await next.stop()
  rmSync(folder, { recursive: true })
  assert.equal(existsSync(folder), false)
  server.files.set('/all.xml', { body: signMetadata(aggregate([memberOf(provider)]), federation) })
  const { service: last } = await startInFederation(t, [provider], { settings, dataFolder })
  await logIn(last, provider, 'ada')
})
