import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { administrator } from '../../support/clients/administrator.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import {
  affiliation,
  asFederation,
  memberOf,
  scholar,
  signedAggregate,
  startAt,
  startInFederation,
  startMetadataServer,
} from '../../support/providers/federation-flow.ts'
import { withSingleSignOn } from '../../support/providers/openid-flow.ts'
import { finishSignOn, signIn, startWithProvider } from '../../support/providers/saml-flow.ts'
import { attributeNames, person, startSamlProvider } from '../../support/providers/saml-provider.ts'
import { test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { baseUrl, startService, temporaryFolder } from '../../support/service/service.ts'

const json = { 'content-type': 'application/json' }
// Tests read any member of a body.
type Body = ReturnType<typeof JSON.parse>

const ask = (client: Client, body: unknown) =>
  client.post('/api/admin/sso/explain', typeof body === 'string' ? body : JSON.stringify(body), json)

async function explained(client: Client, body: unknown): Promise<Body> {
  const answer = await ask(client, body)
  assert.equal(answer.status, 200, await answer.clone().text())
  return answer.json()
}

const staff = { group: 'Staff', attribute: attributeNames.affiliation, value: 'staff' }

for (const encrypt of [undefined, 'aes128-gcm'] as const)
  test(`OP2 X3 a pasted assertion says who it would be here${encrypt ? ', also if it is encrypted' : ''}, and logs nobody in`, async t => {
    const { service, provider, metadataFile } = await startWithProvider(t, {
      settings: { email: { match: true }, attributes: { email: attributeNames.mail }, groups: [staff] },
      ...(encrypt && { provider: { encrypt } }),
    })
    const root = await administrator(service)
    provider.users.set('ada', person('ada', 'ada@example.org', { attributes: { [affiliation]: 'staff' } }))
    const { uuid } = await service.addEperson('ada@example.org')
    const max = await service.addEperson('max@example.org')
    // Ada sends the administrator the assertion of a login of hers.
    const { form, answer } = await signIn(service, provider, 'ada')
    assert.equal(answer.status, 303)
    const assertion = form.fields.SAMLResponse ?? ''
    const before = await service.storage.identities.listIdentities()
    const said = await explained(root.client, { assertion })
    const expected = {
      provider: 'uni',
      signature: 'valid',
      subject: said.subject,
      email: 'ada@example.org',
      emailIgnored: null,
      outcome: 'known',
      why: null,
      eperson: { uuid, email: 'ada@example.org' },
      specialGroups: ['Staff'],
    }
    assert.deepEqual(said, expected)
    assert.deepEqual(await service.storage.identities.listIdentities(), before)
    if (encrypt) return
    const xml = Buffer.from(assertion, 'base64').toString()
    assert.deepEqual(await explained(root.client, { provider: 'uni', assertion: xml }), expected)
    // The command gives the same explanation.
    const file = join(temporaryFolder(t, 'sqlite'), 'assertion.xml')
    writeFileSync(file, xml)
    const args = ['sso', 'explain', '--assertion', file, '--json']
    const { stdout } = await carrel(service.dataFolder, args, {
      env: { CARREL_CONFIG: join(dirname(metadataFile()), 'carrel.json'), CARREL_BASE_URL: baseUrl },
    })
    assert.deepEqual(JSON.parse(stdout), expected)
    // A changed assertion is read, and its signature is reported as wrong.
    const forged = xml.replaceAll('ada@example.org', 'max@example.org')
    const other = await explained(root.client, { assertion: forged })
    assert.match(other.signature, /matches none of the provider/)
    assert.equal(other.outcome, 'known')
    assert.equal(
      (await explained(root.client, { attributes: { NameID: 'm', [attributeNames.mail]: max.email } }))
        .outcome,
      'linked',
    )
  })

test('OP2 X12 in a federation the issuer of the assertion says whose word it is', async t => {
  const provider = await startSamlProvider(t)
  provider.users.set('ada', scholar('ada@lu.example', 'ada@lu.example'))
  const metadata = signedAggregate([memberOf(provider, { name: 'Lund', scopes: ['lu.example'] })])
  const { service } = await startInFederation(t, [provider], { metadata, settings: asFederation() })
  const root = await administrator(service)
  const { visitor, answer } = await startAt(service, provider.entityId)
  const { form } = await finishSignOn(visitor, answer, provider, 'ada')
  const said = await explained(root.client, { assertion: form.fields.SAMLResponse })
  assert.deepEqual(
    [said.signature, said.subject, said.outcome],
    ['valid', `${provider.entityId} ada@lu.example`, 'known'],
  )
  await assertProblem(await ask(root.client, { attributes: { a: 'b' } }), 422, 'explanation-refused')
  const elsewhere = { entityId: 'https://nobody.example', assertion: form.fields.SAMLResponse }
  await assertProblem(await ask(root.client, elsewhere), 422, 'explanation-refused')
})

test('OP2 nothing that is pasted makes the service ask another server than its providers, or read a file of its own', async t => {
  const { service, provider } = await startWithProvider(t)
  const root = await administrator(service)
  const server = await startMetadataServer(t)
  const evil = `${server.address}/evil`
  const entity = `<!DOCTYPE r [<!ENTITY x SYSTEM "${evil}">]><r>&x;</r>`
  const issuer = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="a" Destination="${evil}"><saml:Issuer>${evil}</saml:Issuer></samlp:Response>`
  const include = `<r xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="file:///etc/hostname" parse="text"/></r>`
  const bomb = '<a>'.repeat(200_000)
  for (const assertion of [entity, issuer, include, bomb, 'AAAA', ''])
    await assertProblem(await ask(root.client, { assertion }), 422, 'explanation-refused')
  await assertProblem(await ask(root.client, { entityId: evil, attributes: {} }), 422, 'explanation-refused')
  await assertProblem(await ask(root.client, { provider: evil, attributes: {} }), 422, 'explanation-refused')
  assert.deepEqual(server.requests, [])
  assert.ok(provider.entityId)
})

test('OP2 the claims of an ID token are explained, and a body that is wrong is refused with what would be right', async t => {
  const settings = {
    id: 'company',
    kind: 'oidc',
    issuer: 'https://id.example.org',
    clientId: 'carrel',
    email: { match: true },
    groups: [{ group: 'Staff', attribute: 'groups', value: 'staff' }],
  }
  const env = withSingleSignOn(t, { providers: [settings, { ...settings, id: 'other' }] })
  const service = await startService(t, { env })
  const root = await administrator(service)
  const claims = { sub: 'r1', email: 'root@example.org', email_verified: true, groups: ['staff'] }
  const token = `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.sig`
  const said = await explained(root.client, { provider: 'company', assertion: token })
  assert.deepEqual(
    [said.signature, said.outcome, said.eperson?.uuid, said.specialGroups],
    ['not checked', 'linked', root.uuid, ['Staff']],
  )
  for (const [body, detail] of [
    [{}, /either attributes or assertion/],
    [{ attributes: {}, assertion: 'x' }, /either attributes or assertion/],
    [{ attributes: [] }, /must be an object/],
    [{ attributes: {} }, /^provider must be one of company, other/],
    [{ provider: 1, attributes: {} }, /provider must be a text/],
    [{ provider: 'company', assertion: 'x.y.z' }, /must be an ID token/],
    [{ provider: 'company', entityId: 'x', attributes: {} }, /for federations/],
    [{ secret: 1 }, /secret is unknown; known are provider/],
  ] as const) {
    const problem = await assertProblem(await ask(root.client, body), 422, 'explanation-refused')
    assert.match(problem.detail, detail)
  }
  await assertProblem(await ask(root.client, '[1]'), 400, 'bad-request')
  for (const levels of [20, 5_000, 200_000]) {
    const nested = `{"provider":"company","attributes":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}`
    const deep = await assertProblem(await ask(root.client, nested), 422, 'explanation-refused')
    assert.match(deep.detail, /nested more than 20 levels/)
  }
  await assertProblem(
    await ask(root.client, { provider: 'company', assertion: 'x'.repeat(2 ** 20) }),
    413,
    'body-too-large',
  )
})

test('OP2 the check says over HTTP what the command says; without single sign-on there is nothing to check', async t => {
  const { service, provider } = await startWithProvider(t)
  const root = await administrator(service)
  const answer = await root.client.get('/api/admin/sso/check')
  assert.equal(answer.status, 200)
  const { configured, findings } = (await answer.json()) as Body
  assert.equal(configured, true)
  assert.ok(
    findings.some(({ about, what }: Body) => about === 'uni' && what.includes(provider.entityId)),
    JSON.stringify(findings),
  )
  const plain = await administrator(await startService(t))
  const nothing = await plain.client.get('/api/admin/sso/check')
  assert.deepEqual(await nothing.json(), { configured: false, counts: {}, findings: [] })
  await assertProblem(await ask(plain.client, { attributes: {} }), 404, 'not-found')
})
