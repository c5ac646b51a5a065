import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import { bearerOf } from '../../support/clients/client.ts'
import { identity } from '../../support/providers/certificates.ts'
import type { Member } from '../../support/providers/federation.ts'
import {
  asFederation,
  memberOf,
  scholar,
  signedAggregate,
  startAt,
  startInFederation,
  subjectId,
} from '../../support/providers/federation-flow.ts'
import {
  about,
  base64,
  mail,
  type PendingLogin,
  response,
  send,
} from '../../support/providers/saml-attempt.ts'
import { finishSignOn, locationOf, startSignOn } from '../../support/providers/saml-flow.ts'
import { inflated } from '../../support/providers/saml-forge.ts'
import { person, type SamlProvider, startSamlProvider } from '../../support/providers/saml-provider.ts'
import { test, testWithoutStore } from '../../support/service/engines.ts'
import { type Service, temporaryFolder } from '../../support/service/service.ts'

/** Starts a service in a federation with a hostile identity provider. */
async function startWithEvil(
  t: TestContext,
  settings: Readonly<Record<string, unknown>> = asFederation(),
  ofEvil: Partial<Member> = {},
) {
  const [good, evil] = [await startSamlProvider(t), await startSamlProvider(t, { name: 'evil' })]
  const metadata = signedAggregate([
    memberOf(good, { name: 'Good', scopes: ['good.example'] }),
    memberOf(evil, { name: 'Evil', scopes: ['evil.example'], ...ofEvil }),
  ])
  good.users.set('ada', scholar('ada@good.example', 'ada@good.example'))
  const { service } = await startInFederation(t, [good, evil], { metadata, settings })
  return { good, evil, service }
}

/** Begins a login at this provider, chosen by the user. */
async function beginAt(service: Service, provider: SamlProvider): Promise<PendingLogin> {
  const { visitor, answer } = await startAt(service, provider.entityId)
  const { searchParams } = locationOf(answer)
  return {
    visitor,
    provider,
    state: searchParams.get('RelayState') ?? '',
    request: /\sID="([^"]+)"/.exec(inflated(searchParams.get('SAMLRequest') ?? ''))?.[1] ?? '',
  }
}

async function logInAt(service: Service, provider: SamlProvider, user: string) {
  const { visitor, answer } = await startAt(service, provider.entityId)
  const { answer: ended } = await finishSignOn(visitor, answer, provider, user)
  assert.equal(ended.status, 303, await ended.text())
  return { visitor, token: bearerOf(await visitor.trade()) }
}

test('X12 an identity provider can’t name another’s users by their subject', async t => {
  const { good, evil, service } = await startWithEvil(t)
  await logInAt(service, good, 'ada')
  for (const subject of ['ada@good.example', 'ada@GOOD.example', 'ada@evil.example@good.example', 'ada']) {
    const attempt = await beginAt(service, evil)
    const attributes = { [subjectId]: subject, ...mail('mallory@evil.example') }
    const answer = await send(attempt, base64(response(attempt, { attributes })))
    await assertProblem(answer, 403, 'account-refused')
  }
  // A subject with the provider's own scope is another person.
  const attempt = await beginAt(service, evil)
  const attributes = { [subjectId]: 'ada@evil.example', ...mail('ada@evil.example') }
  assert.equal((await send(attempt, base64(response(attempt, { attributes })))).status, 303)
  const linked = await service.storage.identities.listIdentities()
  assert.deepEqual(
    linked.map(({ email, subject }) => [email, subject]).toSorted(),
    [
      ['ada@evil.example', `${evil.entityId} ada@evil.example`],
      ['ada@good.example', `${good.entityId} ada@good.example`],
    ].toSorted(),
  )
})

test('X12 the same NameID at two identity providers is two people', async t => {
  const { good, evil, service } = await startWithEvil(t, { federation: {} })
  for (const [provider, address] of [
    [good, 'ada@good.example'],
    [evil, 'ada@evil.example'],
  ] as const) {
    provider.users.set('same', person('same-name', address))
    await logInAt(service, provider, 'same')
  }
  const linked = await service.storage.identities.listIdentities()
  assert.deepEqual(
    linked.map(({ subject }) => subject).toSorted(),
    [good, evil].map(({ entityId }) => `${entityId} same-name`).toSorted(),
  )
})

void testWithoutStore(
  'X12 an e-mail address counts only in a scope of the identity provider, or below it',
  async t => {
    const match = { email: { match: true } }
    const { evil, service } = await startWithEvil(t, asFederation({}, match))
    const victims = [
      'admin@good.example',
      'admin@notevil.example',
      'admin@evil.example.good.example',
      'admin@example',
    ]
    for (const [at, victim] of victims.entries()) {
      await service.addEperson(victim)
      const attempt = await beginAt(service, evil)
      const attributes = { [subjectId]: `m${at}@evil.example`, ...mail(victim) }
      const answer = await send(attempt, base64(response(attempt, { attributes })))
      await assertProblem(answer, 403, 'account-refused')
    }
    assert.deepEqual(await service.storage.identities.listIdentities(), [])
    await service.addEperson('bob@students.evil.example')
    const attempt = await beginAt(service, evil)
    const attributes = { [subjectId]: 'bob@evil.example', ...mail('bob@students.evil.example') }
    assert.equal((await send(attempt, base64(response(attempt, { attributes })))).status, 303)
  },
)

void testWithoutStore(
  'X12 a scope that is a regular expression, or a top-level domain, opens nothing',
  async t => {
    for (const ofEvil of [
      { scopes: ['.*'], areRegular: true },
      { scopes: ['.*'] },
      { scopes: ['example'] },
      { scopes: [] },
    ]) {
      const { evil, service } = await startWithEvil(t, { federation: {} }, ofEvil)
      const attempt = await beginAt(service, evil)
      const answer = await send(
        attempt,
        base64(response(attempt, { attributes: mail('admin@good.example') })),
      )
      await assertProblem(answer, 403, 'account-refused')
      await service.stop()
    }
  },
)

void testWithoutStore(
  'X12 a response counts only from the identity provider that the user has chosen',
  async t => {
    const { good, evil, service } = await startWithEvil(t)
    const attributes = { [subjectId]: 'mallory@evil.example', ...mail('mallory@evil.example') }
    const attempt = await beginAt(service, good)
    // The provider's own response, although the user has chosen another.
    const own = about({ ...attempt, provider: evil }, { attributes })
    for (const changes of [
      own,
      { ...own, issuer: good.entityId },
      { ...own, assertionIssuer: good.entityId },
    ]) {
      const again = await beginAt(service, good)
      const forged = response(again, { ...changes, inResponseTo: again.request }, { identity: evil.identity })
      await assertProblem(await send(again, base64(forged)), 401, 'sign-on-refused')
    }
    // The other way round: a provider's key isn't valid for another.
    const elsewhere = await beginAt(service, evil)
    const stolen = response(elsewhere, { attributes }, { identity: good.identity })
    await assertProblem(await send(elsewhere, base64(stolen)), 401, 'sign-on-refused')
    assert.deepEqual(await service.storage.identities.listIdentities(), [])
  },
)

test('X12 an identity provider ends no session that began at another', async t => {
  const { good, evil, service } = await startWithEvil(t)
  evil.users.set('eve', {
    ...scholar('ada@good.example', 'eve@evil.example'),
    attributes: { [subjectId]: 'eve@evil.example', ...mail('eve@evil.example') },
  })
  const { token } = await logInAt(service, good, 'ada')
  const { token: ofEve, visitor } = await logInAt(service, evil, 'eve')
  // Both have the same NameID at their providers.
  assert.equal(good.users.get('ada')?.nameId, evil.users.get('eve')?.nameId)
  await visitor.get(evil.logoutUrl('eve'))
  assert.equal(await service.client().isLoggedIn(ofEve), false)
  assert.equal(await service.client().isLoggedIn(token), true)
  await visitor.get(good.logoutUrl('ada'))
  assert.equal(await service.client().isLoggedIn(token), false)
})

void testWithoutStore(
  'X12 an impostor in a federation ends no session that began with the true metadata',
  async t => {
    const good = await startSamlProvider(t)
    good.users.set('ada', scholar('ada@good.example', 'ada@good.example'))
    const impostor = identity('impostor')
    const own = join(temporaryFolder(t), 'own.xml')
    writeFileSync(own, good.metadata())
    const { service } = await startInFederation(t, [good], {
      metadata: signedAggregate([memberOf({ ...good, identity: impostor })]),
      settings: asFederation(),
      others: [{ id: 'own', kind: 'saml', name: 'Own', create: true, metadata: own }],
    })
    const { visitor } = await startSignOn(service)
    const start = visitor.url('/api/authn/shibboleth?provider=own')
    await finishSignOn(visitor, await visitor.get(start), good, 'ada')
    const token = bearerOf(await visitor.trade())
    const { identity: real } = good
    good.changeKey(impostor)
    await visitor.get(good.logoutUrl('ada'))
    assert.equal(await service.client().isLoggedIn(token), true)
    good.changeKey(real)
    await visitor.get(good.logoutUrl('ada'))
    assert.equal(await service.client().isLoggedIn(token), false)
  },
)

void testWithoutStore(
  'X12 logout leads to the identity provider where the session began, with the name that it gave',
  async t => {
    const { good, service } = await startWithEvil(t)
    const { visitor, token } = await logInAt(service, good, 'ada')
    const left = await visitor.post('/api/authn/logout', { authorization: `Bearer ${token}` })
    assert.match(left.headers.get('link') ?? '', /rel="logout"/)
    const asked = locationOf(await visitor.get(visitor.url('/api/authn/sso/logout')))
    assert.equal(asked.origin, good.address)
    assert.match(
      inflated(asked.searchParams.get('SAMLRequest') ?? ''),
      /<(\w+:)?NameID[^>]*>ada@good\.example</,
    )
    await visitor.get(asked)
    assert.equal(good.sessions('ada'), 0)
  },
)

void testWithoutStore('X12 an entity that comes twice is neither shown nor let in', async t => {
  const [good, evil] = [await startSamlProvider(t), await startSamlProvider(t, { name: 'evil' })]
  const metadata = signedAggregate([
    memberOf(good, { name: 'Good' }),
    memberOf(
      { ...evil, entityId: good.entityId, address: evil.address, identity: evil.identity },
      { name: 'Good' },
    ),
    memberOf(evil, { name: 'Other' }),
  ])
  const { service } = await startInFederation(t, [good], { metadata, settings: asFederation() })
  const { visitor, answer } = await startAt(service, good.entityId)
  assert.equal(answer.status, 400)
  const page = await visitor.get(
    visitor.url(`/api/authn/shibboleth?redirectUrl=${encodeURIComponent(service.config.baseUrl)}`),
  )
  assert.match(await page.text(), />1 institution</)
})
