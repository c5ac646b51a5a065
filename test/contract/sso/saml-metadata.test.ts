import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { SPMetadata } from 'samlify'
import { assertProblem } from '../../support/clients/answers.ts'
import { bodyOf, identity } from '../../support/providers/certificates.ts'
import {
  introduce,
  serviceIdentity,
  signIn,
  startSignOn,
  startWithProvider,
  Visitor,
  withSaml,
} from '../../support/providers/saml-flow.ts'
import { email, logIn } from '../../support/providers/saml-login.ts'
import { person, startSamlProvider } from '../../support/providers/saml-provider.ts'
import { testWithoutStore } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

void testWithoutStore('X2 the metadata tell a provider what it needs', async t => {
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

void testWithoutStore('X2 the operator can choose the entity id', async t => {
  const entityId = 'https://repo.example.edu/entity'
  const provider = await startSamlProvider(t)
  provider.users.set('ada', person('ada-1', email))
  const service = await startService(t, withSaml(t, [{ provider }], { saml: { entityId } }))
  assert.equal(SPMetadata(await introduce(service, provider)).getEntityID(), entityId)
  await logIn(service, provider, 'ada')
})

void testWithoutStore('X2 a provider changes its key by its metadata, without a restart', async t => {
  const { service, provider, metadataFile } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  await logIn(service, provider, 'ada')
  const [old, next] = [provider.identity, identity('idp of tomorrow')]
  const statusNow = async () => (await signIn(service, provider, 'ada')).answer.status

  writeFileSync(metadataFile(), provider.metadata({ certificates: [old.certificate, next.certificate] }))
  provider.changeKey(next)
  await until('a login with the new key', statusNow, status => status === 303)
  provider.changeKey(old)
  assert.equal(await statusNow(), 303, 'both keys are good for a while')

  writeFileSync(metadataFile(), provider.metadata({ certificates: [next.certificate] }))
  await until('a refusal of the old key', statusNow, status => status === 401)
  provider.changeKey(next)
  assert.equal(await statusNow(), 303)
})

void testWithoutStore('X2 X5 metadata that can’t be read leave the last good ones in force', async t => {
  const { service, provider, metadataFile } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  await logIn(service, provider, 'ada')
  for (const broken of ['', '<EntityDescriptor', '<html/>', '{}']) {
    writeFileSync(metadataFile(), broken)
    await logIn(service, provider, 'ada')
  }
})

void testWithoutStore('X2 a provider whose metadata have expired is not available', async t => {
  const { service, provider, metadataFile } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  const until_ = (milliseconds: number) =>
    writeFileSync(metadataFile(), provider.metadata({ validUntil: new Date(Date.now() + milliseconds) }))
  until_(3_600_000)
  const { visitor, answer } = await startSignOn(service)
  assert.equal(answer.status, 303)
  until_(-3_600_000)
  const statusNow = async () => (await startSignOn(service)).answer.status
  await until('a provider that is not available', statusNow, status => status === 502)
  const late = await startSignOn(service)
  await assertProblem(late.answer, 502, 'provider-unavailable')
  assert.deepEqual(late.visitor.signOnCookies(), [])
  assert.equal(visitor.signOnCookies().length, 1)
  until_(3_600_000)
  await until('a provider that is available', statusNow, status => status === 303)
})

void testWithoutStore('X2 of metadata of many providers the operator names one', async t => {
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
