import assert from 'node:assert/strict'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import { bearerOf } from '../../support/clients/client.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { eventsOf } from '../../support/data/events.ts'
import { introduce, signIn, startWithProvider, withSaml } from '../../support/providers/saml-flow.ts'
import { administratorOf, clientWith, email, logIn } from '../../support/providers/saml-login.ts'
import {
  attributeNames,
  nameIdFormats,
  person,
  startSamlProvider,
} from '../../support/providers/saml-provider.ts'
import { test, testWithoutStore } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

test('X3 the subject is NameID, the rest are attributes by their usual names', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', email))
  const first = claimsOf((await logIn(service, provider, 'ada')).token).eid
  const [eperson] = await service.storage.people.listEpersons()
  assert.ok(eperson)
  assert.equal(eperson.uuid, first)
  assert.equal(eperson.email, email)
  assert.equal(eperson.firstName, 'Ada')
  assert.equal(eperson.lastName, 'Byron')

  provider.users.set(
    'ada',
    person('ada-1', email, { attributes: { [attributeNames.surname]: 'King & <Lovelace>' } }),
  )
  assert.equal(claimsOf((await logIn(service, provider, 'ada')).token).eid, first)
  const epersons = await service.storage.people.listEpersons()
  assert.deepEqual(
    epersons.map(({ lastName }) => lastName),
    ['King & <Lovelace>'],
  )
})

void testWithoutStore('X3 the operator says which attributes are taken for what', async t => {
  const { service, provider } = await startWithProvider(t, {
    settings: {
      attributes: { subject: 'uid', email: 'mail', firstName: 'given', lastName: 'family' },
    },
  })
  const named = (uid: string | readonly string[], nameId: string) =>
    person(nameId, 'not-this@example.org', {
      nameIdFormat: nameIdFormats.transient,
      attributes: { uid, mail: email, given: 'Grace', family: 'Hopper' },
    })
  provider.users.set('ada', named('ada', 'one'))
  const first = claimsOf((await logIn(service, provider, 'ada')).token).eid
  provider.users.set('ada', named('ada', 'another'))
  assert.equal(claimsOf((await logIn(service, provider, 'ada')).token).eid, first)
  const epersons = await service.storage.people.listEpersons()
  assert.deepEqual(
    epersons.map(({ email: address, firstName, lastName }) => [address, firstName, lastName]),
    [[email, 'Grace', 'Hopper']],
  )

  provider.users.set('ada', named(['ada', 'grace'], 'two'))
  const two = await signIn(service, provider, 'ada')
  await assertProblem(two.answer, 403, 'account-refused')
})

test('X3 an eperson is found by the subject, else by e-mail where that is allowed, else made where that is', async t => {
  const provider = await startSamlProvider(t)
  const configured = (id: string, settings: object) => ({ id, provider, settings: { ...settings } })
  const service = await startService(
    t,
    withSaml(t, [
      configured('strict', { create: false }),
      configured('matching', { create: false, email: { match: true } }),
      configured('making', {}),
    ]),
  )
  await introduce(service, provider)
  const { uuid } = await service.addEperson(email, { password: null })
  const logInAt = async (id: string, user: string) => {
    const { visitor, answer } = await signIn(service, provider, user, { provider: id })
    if (answer.status === 303) return claimsOf(bearerOf(await visitor.trade())).eid
    await assertProblem(answer, 403, 'account-refused')
    assert.deepEqual(visitor.signOnCookies(), [])
    return 'refused'
  }
  provider.users.set('ada', person('ada-1', 'ADA@example.org'))
  provider.users.set('other', person('other-1', email))
  provider.users.set('new', person('new-1', 'new@example.org'))
  assert.equal(await logInAt('strict', 'ada'), 'refused')
  assert.equal(await logInAt('making', 'ada'), 'refused', 'the address belongs to someone')
  assert.equal(await logInAt('matching', 'new'), 'refused')
  assert.equal(await logInAt('matching', 'ada'), uuid)
  assert.equal(await logInAt('matching', 'other'), 'refused', 'the eperson has another subject')
  provider.users.set('ada', person('ada-1', 'somewhere.else@example.org'))
  assert.equal(await logInAt('matching', 'ada'), uuid, 'the subject decides')
  assert.equal((await service.storage.people.listEpersons()).length, 1)

  const made = await logInAt('making', 'new')
  assert.equal((await service.storage.people.listEpersons()).length, 2)
  assert.equal(await logInAt('making', 'new'), made)
  await service.storage.people.setEnabled('new@example.org', false, commandEvent('eperson.disable'))
  assert.equal(await logInAt('making', 'new'), 'refused')
})

test('X2 X3 the audit trail says who came from where', async t => {
  const { service, provider } = await startWithProvider(t, { settings: { email: { match: true } } })
  const admin = await administratorOf(service)
  const { uuid } = await service.addEperson('grace@example.org', { password: null })
  provider.users.set('ada', person('ada-1', email))
  provider.users.set('grace', person('grace-1', 'grace@example.org'))
  const { token } = await logIn(service, provider, 'ada')
  await logIn(service, provider, 'grace')
  const { eid } = claimsOf(token)
  const byMethod = (events: Awaited<ReturnType<typeof eventsOf>>) =>
    events.filter(({ method }) => method === 'shibboleth')
  const logins = byMethod(await eventsOf(admin, 'login'))
  assert.deepEqual(
    logins.map(({ outcome, eperson, object, client_ip }) => [outcome, eperson, object, client_ip]),
    [
      ['success', eid, 'uni', '127.0.0.1'],
      ['success', uuid, 'uni', '127.0.0.1'],
    ],
  )
  assert.deepEqual(
    byMethod(await eventsOf(admin, 'eperson.add')).map(({ eperson }) => eperson),
    [eid],
  )
  assert.deepEqual(
    byMethod(await eventsOf(admin, 'eperson.link')).map(({ eperson }) => eperson),
    [uuid],
  )
  assert.doesNotMatch(await (await admin.get('/api/query/v4/audit-events')).text(), /ada-1|grace-1/)
})

test('G2 X3 attributes give groups by exact value and by pattern, which matches the whole value', async t => {
  const { affiliation, entitlement } = attributeNames
  const { service, provider } = await startWithProvider(t, {
    settings: {
      groups: [
        { group: 'Staff', attribute: affiliation, value: 'staff@example.edu' },
        { group: 'Curators', attribute: entitlement, pattern: 'urn:mace:example\\.edu:curator:.*' },
        { group: 'Either', attribute: entitlement, pattern: 'one|two' },
        { group: 'Ada', attribute: 'NameID', value: 'ada-1' },
      ],
    },
    further: { specialGroups: { method: [{ group: 'Federated', method: 'shibboleth' }] } },
  })
  const groupsWith = async (attributes: Record<string, string | readonly string[]>) => {
    provider.users.set('ada', person('ada-2', email, { attributes }))
    const { token } = await logIn(service, provider, 'ada')
    const client = clientWith(service, token)
    const groups = await client.specialGroups()
    assert.equal(claimsOf(token).sg.length, groups.length)
    assert.deepEqual(claimsOf(await client.refresh()).sg, claimsOf(token).sg, 'kept on refresh')
    return groups
  }
  const curator = 'urn:mace:example.edu:curator:maps'
  assert.deepEqual(await groupsWith({}), ['Federated'])
  assert.deepEqual(await groupsWith({ [affiliation]: ['student@example.edu', 'staff@example.edu'] }), [
    'Federated',
    'Staff',
  ])
  assert.deepEqual(await groupsWith({ [affiliation]: 'staff@example.edu', [entitlement]: curator }), [
    'Curators',
    'Federated',
    'Staff',
  ])
  for (const near of [
    `x${curator}`,
    'urn:mace:exampleXedu:curator:maps',
    `evil\n${curator}`,
    'one-and-more',
    'not-two',
    'URN:MACE:EXAMPLE.EDU:CURATOR:MAPS',
  ])
    assert.deepEqual(await groupsWith({ [entitlement]: near }), ['Federated'], near)
  for (const near of ['STAFF@example.edu', 'staff@example.edu.evil.org', 'staff']) {
    assert.deepEqual(await groupsWith({ [affiliation]: near }), ['Federated'], near)
    assert.deepEqual(await groupsWith({ [entitlement]: 'staff@example.edu' }), ['Federated'])
  }
  assert.deepEqual(await groupsWith({ [entitlement]: ['none', 'two', 'one'] }), ['Either', 'Federated'])
})

test('G2 X3 groups are those of the last login, and open what they may read', async t => {
  const { service, provider } = await startWithProvider(t, {
    settings: {
      groups: [{ group: 'Staff', attribute: attributeNames.affiliation, value: 'staff@example.edu' }],
    },
  })
  await service.addRecords('papers', 'id', [{ id: 1 }], 'group:Staff')
  const read = async (token: string) => (await clientWith(service, token).get('/api/query/v4/papers')).status
  const staff = { attributes: { [attributeNames.affiliation]: 'staff@example.edu' } }
  provider.users.set('ada', person('ada-1', email, staff))
  const { token: then } = await logIn(service, provider, 'ada')
  assert.equal(await read(then), 200)
  provider.users.set('ada', person('ada-1', email))
  const { token: now } = await logIn(service, provider, 'ada')
  assert.equal(await read(now), 403)
  assert.equal(await read(await clientWith(service, then).refresh()), 200, 'the older session keeps its own')
})
