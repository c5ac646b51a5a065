import assert from 'node:assert/strict'
import { commandEvent } from '../../../src/cli/store.ts'
import type { Status } from '../../support/clients/client.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { eventsOf } from '../../support/data/events.ts'
import {
  assertRefused,
  type Header,
  logIn,
  names,
  ruth,
  send,
  sessionCookie,
  startTrusting,
  trusted,
} from '../../support/providers/proxy-flow.ts'
import type { Attributes } from '../../support/providers/reverse-proxy.ts'
import { test, testOnOne } from '../../support/service/engines.ts'

test('X2 what the proxy says becomes an eperson, known again by its subject whatever else changes', async t => {
  const service = await startTrusting(t)
  const uuid = claimsOf((await logIn(service)).token).eid
  const again = await logIn(service, {
    ...ruth,
    [names.email]: 'married@example.edu',
    [names.lastName]: 'Other',
  })
  assert.equal(claimsOf(again.token).eid, uuid)
  const other = await logIn(service, { ...ruth, [names.subject]: 'r-2', [names.email]: 'second@example.edu' })
  assert.notEqual(claimsOf(other.token).eid, uuid)
  assert.equal((await service.storage.people.listEpersons()).length, 2)
})

test('X2 names are UTF-8', async t => {
  const service = await startTrusting(t)
  const attributes = { ...ruth, [names.firstName]: 'Зоя 亜 👩🏽‍🔬', [names.lastName]: 'Ångström-Čapek' }
  const { token } = await logIn(service, attributes)
  const eperson = await service.storage.people.eperson(claimsOf(token).eid)
  assert.equal(eperson?.firstName, 'Зоя 亜 👩🏽‍🔬')
  assert.equal(eperson?.lastName, 'Ångström-Čapek')
})

test('X2 an e-mail address and a subject may be UTF-8, too', async t => {
  const service = await startTrusting(t)
  const attributes = { [names.subject]: 'ž-1', [names.email]: 'žofie@example.edu' }
  const { eid } = claimsOf((await logIn(service, attributes)).token)
  assert.equal((await service.storage.people.eperson(eid))?.email, 'žofie@example.edu')
  assert.equal(claimsOf((await logIn(service, attributes)).token).eid, eid)
  assert.notEqual(claimsOf((await logIn(service, { ...ruth, [names.subject]: 'z-1' })).token).eid, eid)
})

testOnOne(
  'X2 of several values the first is the name, each counts for groups, a backslash keeps a separator',
  async t => {
    const attribute = 'X-Shib-Affiliation'
    const values = ['a;b', 'c', 'staff', 'a\\b', 'x y', 'é']
    const groups = values.map(value => ({ group: `Group ${value}`, attribute, value }))
    const service = await startTrusting(t, { provider: { groups } })
    const groupsFor = async (header: string) =>
      (await logIn(service, { ...ruth, [attribute]: header })).specialGroups()
    for (const [header, expected] of [
      ['staff', ['staff']],
      ['a\\;b;c', ['a;b', 'c']],
      ['c;a\\;b', ['a;b', 'c']],
      ['a;b', []],
      ['c;;staff;', ['c', 'staff']],
      [';', []],
      ['other;x y', ['x y']],
      ['é;staff', ['staff', 'é']],
      ['Staff;staff2;my staff', []],
    ] as const)
      assert.deepEqual(await groupsFor(header), expected.map(value => `Group ${value}`).toSorted(), header)

    const { token } = await logIn(service, { ...ruth, [names.firstName]: 'Ruth;Rut' })
    assert.equal((await service.storage.people.eperson(claimsOf(token).eid))?.firstName, 'Ruth')
  },
)

testOnOne('X2 another separator is the one that is configured', async t => {
  const attribute = 'X-Forwarded-Groups'
  const groups = ['one', 'two', 'a;b'].map(value => ({ group: value, attribute, value }))
  const service = await startTrusting(t, { provider: { separator: ',', groups } })
  const client = await logIn(service, { ...ruth, [attribute]: 'one,a;b,three' })
  assert.deepEqual(await client.specialGroups(), ['a;b', 'one'])
})

testOnOne('X2 an empty attribute is an absent one', async t => {
  const service = await startTrusting(t)
  const { token } = await logIn(service, { ...ruth, [names.firstName]: '', [names.lastName]: ' ' })
  const eperson = await service.storage.people.eperson(claimsOf(token).eid)
  assert.equal(eperson?.firstName, null)
  assert.equal(eperson?.lastName, null)
})

testOnOne('X2 without a subject nobody logs in', async t => {
  const service = await startTrusting(t)
  const { [names.subject]: _none, ...rest } = ruth
  for (const subject of [[], ['']] as const) {
    const headers = subject.map((value): Header => [names.subject, value])
    await assertRefused(service, await send(service, [...trusted(rest), ...headers]))
  }
})

testOnOne('X3 without an e-mail address nobody is created', async t => {
  const service = await startTrusting(t)
  for (const email of ['', 'no address', '@example.edu', 'ruth@']) {
    const answer = await send(service, trusted({ ...ruth, [names.email]: email }))
    await assertRefused(service, answer, 403, 'account-refused')
  }
})

test('X3 by default nobody is created, and nobody is matched by e-mail address', async t => {
  const service = await startTrusting(t, { provider: { create: undefined } })
  await assertRefused(service, await send(service, trusted()), 403, 'account-refused')
  await service.addEperson('ruth@example.edu')
  const answer = await send(service, trusted())
  assert.equal(answer.status, 403)
  assert.equal(sessionCookie(answer), undefined)
})

test('X3 an eperson is matched by e-mail address where that is allowed, once, and then known by the subject', async t => {
  const service = await startTrusting(t, { provider: { create: false, email: { match: true } } })
  await service.addEperson('admin@example.org', { admin: true })
  const { uuid } = await service.addEperson('ruth@example.edu')
  assert.equal(
    claimsOf((await logIn(service, { ...ruth, [names.email]: 'RUTH@example.edu' })).token).eid,
    uuid,
  )
  assert.equal(claimsOf((await logIn(service, { ...ruth, [names.email]: '' })).token).eid, uuid)
  const other = await send(service, trusted({ ...ruth, [names.subject]: 'r-2' }))
  assert.equal(other.status, 403, 'the address belongs to another subject of the proxy')

  const admin = await service.loggedIn('admin@example.org')
  const [link, ...none] = await eventsOf(admin, 'eperson.link')
  assert.deepEqual(none, [])
  assert.equal(link?.eperson, uuid)
  assert.equal(link?.method, 'shibboleth')
})

test('X3 a disabled eperson does not log in', async t => {
  const service = await startTrusting(t)
  await logIn(service)
  await service.storage.people.setEnabled('ruth@example.edu', false, commandEvent('eperson.disable'))
  const answer = await send(service, trusted())
  assert.equal(answer.status, 403)
  assert.equal(sessionCookie(answer), undefined)
})

test('X3 G2 groups come from values and patterns, which must match as a whole', async t => {
  const attribute = 'X-Shib-Entitlement'
  const groups = [
    { group: 'Staff', attribute: 'x-shib-AFFILIATION', value: 'staff@example.edu' },
    { group: 'Curators', attribute, pattern: 'urn:mace:example\\.edu:curator:.*' },
    { group: 'Either', attribute, pattern: 'one|two' },
    { group: 'Staff', attribute, value: 'staff' },
  ]
  const service = await startTrusting(t, { provider: { groups } })
  const groupsFor = async (attributes: Attributes) =>
    (await logIn(service, { ...ruth, ...attributes })).specialGroups()
  assert.deepEqual(await groupsFor({}), [])
  assert.deepEqual(await groupsFor({ 'X-Shib-Affiliation': 'staff@example.edu' }), ['Staff'])
  assert.deepEqual(await groupsFor({ [attribute]: 'urn:mace:example.edu:curator:maps' }), ['Curators'])
  assert.deepEqual(await groupsFor({ [attribute]: 'two;staff;urn:mace:example.edu:curator:' }), [
    'Curators',
    'Either',
    'Staff',
  ])
  for (const near of [
    'urn:mace:example-edu:curator:x',
    'xurn:mace:example.edu:curator:x',
    'onex',
    'xtwo',
    'ONE',
  ])
    assert.deepEqual(await groupsFor({ [attribute]: near }), [], near)
})

test('G2 the login method shibboleth gives groups, beside those of attributes, each once', async t => {
  const attribute = 'X-Shib-Affiliation'
  const provider = {
    groups: [
      { group: 'Members', attribute, value: 'member' },
      { group: 'Staff', attribute, value: 'staff' },
    ],
  }
  const method = [
    { group: 'Single sign-on', method: 'shibboleth' },
    { group: 'Members', method: 'shibboleth' },
    { group: 'Local', method: 'password' },
  ]
  const service = await startTrusting(t, { provider, file: { specialGroups: { method } } })
  const client = await logIn(service, { ...ruth, [attribute]: 'staff;member' })
  assert.deepEqual(await client.specialGroups(), ['Members', 'Single sign-on', 'Staff'])
  assert.equal(new Set(claimsOf(client.token).sg).size, 3)
  assert.equal(claimsOf(client.token).sg.length, 3)
  await service.addEperson('max@example.org')
  await client.login('max@example.org')
  assert.deepEqual(await client.specialGroups(), ['Local'])
})

test('G2 groups of attributes are kept on refresh and found again at each login', async t => {
  const attribute = 'X-Shib-Affiliation'
  const groups = ['staff', 'student'].map(value => ({ group: value, attribute, value }))
  const service = await startTrusting(t, { provider: { groups } })
  await service.addRecords('papers', 'id', [{ id: 1 }], 'group:staff')
  const staff = await logIn(service, { ...ruth, [attribute]: 'staff' })
  const { sg } = claimsOf(staff.token)
  const student = await logIn(service, { ...ruth, [attribute]: 'student' })
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(claimsOf(await staff.refresh()).sg, sg)
    staff.token = await staff.refresh()
  }
  assert.deepEqual(await staff.specialGroups(), ['staff'])
  assert.deepEqual(await student.specialGroups(), ['student'])
  assert.equal((await staff.get('/api/query/v4/papers')).status, 200)
  assert.equal((await student.get('/api/query/v4/papers')).status, 403)
  assert.deepEqual(await (await logIn(service)).specialGroups(), [])
  assert.equal(
    ((await staff.status()) as Status & { authenticationMethod: string }).authenticationMethod,
    'shibboleth',
  )
})

test('G2 a refresh keeps the groups of attributes when the configuration no longer has them', async t => {
  const attribute = 'X-Shib-Affiliation'
  const groups = [{ group: 'staff', attribute, value: 'staff' }]
  const before = await startTrusting(t, { provider: { groups } })
  const { token } = await logIn(before, { ...ruth, [attribute]: 'staff' })
  await before.stop()
  const after = await startTrusting(t, {}, { dataFolder: before.dataFolder })
  const client = after.client()
  client.token = token
  client.token = await client.refresh()
  assert.deepEqual(await client.specialGroups(), ['staff'])
  assert.deepEqual(await (await logIn(after, { ...ruth, [attribute]: 'staff' })).specialGroups(), [])
})
