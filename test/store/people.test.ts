import assert from 'node:assert/strict'
import { commandEvent } from '../../src/cli/store.ts'
import type { Store } from '../../src/features.ts'
import type { EpersonSearch, NewPerson } from '../../src/model/people.ts'
import type { Window } from '../../src/storage/storage.ts'
import { storeClient } from '../support/clients/store-client.ts'
import { storeTests } from '../support/service/stores.ts'

/** Declares tests of epersons and groups in the store. */
const test = storeTests()

const window = { offset: 0, limit: 10 }
const person = (email: string, more: Partial<NewPerson> = {}): NewPerson => ({
  email,
  passwordHash: null,
  firstName: 'Ada',
  lastName: 'Ärmel',
  enabled: true,
  profile: {},
  ...more,
})
const event = commandEvent('eperson.change')

async function create({ people }: Store, email: string, more: Partial<NewPerson> = {}) {
  const added = await people.createEperson(person(email, more), commandEvent('eperson.add'))
  assert.ok(added !== 'exists')
  return added
}

async function createGroup({ people }: Store, name: string) {
  const added = await people.createGroup({ name, description: null }, commandEvent('group.add'))
  assert.ok(added !== 'exists')
  return added
}

test('M1 an eperson is added once, changed, and found by parts of name and address', async storage => {
  const { people } = storage
  const ada = await create(storage, 'Ada.One@example.org', { profile: { 'eperson.phone': '12' } })
  assert.equal(await people.createEperson(person('ada.one@EXAMPLE.org'), event), 'exists')
  const other = await create(storage, 'other.one@example.org')
  const change = (more: Parameters<typeof people.changeEperson>[1]) =>
    people.changeEperson(ada.uuid, more, event)
  assert.equal(await change({ email: 'OTHER.ONE@example.org' }), 'exists')
  const changed = await change({ firstName: null, lastName: 'Öhm', profile: { 'eperson.phone': null } })
  assert.deepEqual(changed, { ...ada, firstName: null, lastName: 'Öhm', profile: {} })
  assert.deepEqual(await people.eperson(ada.uuid), changed)
  const find = async (text: string) =>
    (await people.findEpersons({ text, membership: null }, window, storeClient)).rows.map(({ uuid }) => uuid)
  assert.deepEqual(await find('öhm'), [ada.uuid])
  assert.deepEqual(await find('one@exa'), [ada.uuid, other.uuid])
  assert.deepEqual(await find(ada.uuid), [ada.uuid])
  assert.deepEqual(await find('ohm'), [])
  assert.deepEqual(await find('%'), [])
  assert.deepEqual(await find('a\0'), [])
  assert.equal(await people.setPassword({ uuid: ada.uuid }, 'a hash', event), 'changed')
  assert.equal((await people.credentials('ADA.one@example.org'))?.passwordHash, 'a hash')
  assert.equal(await people.removeEperson(ada.uuid, event), 'changed')
  assert.equal(await people.eperson(ada.uuid), undefined)
  assert.equal(await change({}), 'no-eperson')
})

test('M3 members join and leave a group, all or none, and are counted inside and outside', async storage => {
  const { people } = storage
  const [one, two] = [await create(storage, 'one@m3.org'), await create(storage, 'two@m3.org')]
  const group = await createGroup(storage, 'M3')
  const joined = commandEvent('group.join')
  assert.equal(await people.setMember(true, group.uuid, one.uuid, joined), 'changed')
  assert.equal(await people.setMember(true, group.uuid, one.uuid, joined), 'unchanged')
  assert.deepEqual(await people.addMembers(group.uuid, [two.uuid, 'nobody'], joined), {
    why: 'no-eperson',
    uuid: 'nobody',
  })
  const found = async (is: boolean) =>
    (
      await people.findEpersons(
        { text: '@m3.org', membership: { group: group.uuid, is } },
        window,
        storeClient,
      )
    ).rows.map(({ uuid }) => uuid)
  assert.deepEqual([await found(true), await found(false)], [[one.uuid], [two.uuid]])
  assert.equal(await people.addMembers(group.uuid, [two.uuid], joined), 'changed')
  assert.deepEqual(await found(true), [one.uuid, two.uuid])
  assert.deepEqual(
    (await people.groupsOf(one.uuid)).map(({ name }) => name),
    ['M3'],
  )
  assert.equal(await people.setMember(false, group.uuid, one.uuid, commandEvent('group.leave')), 'changed')
  assert.deepEqual(
    (await people.groupMembers('M3'))?.map(({ uuid }) => uuid),
    [two.uuid],
  )
})

test('M6 groups are in groups through any number of levels, in no circle, and never too deep', async storage => {
  const { people } = storage
  const groups: { readonly uuid: string }[] = []
  for (let level = 0; level < 21; level++) groups.push(await createGroup(storage, `level ${level}`))
  const uuid = (level: number) => groups[level]?.uuid ?? ''
  const include = (parent: number, child: number) =>
    people.setSubgroup(true, uuid(parent), uuid(child), commandEvent('group.include'))
  for (let level = 0; level < 19; level++) assert.equal(await include(level, level + 1), 'changed')
  assert.equal(await include(19, 20), 'too-deep')
  assert.equal(await include(19, 0), 'circle')
  assert.equal(await include(0, 1), 'unchanged')
  const ada = await create(storage, 'deep@example.org')
  await people.setMember(true, uuid(19), ada.uuid, commandEvent('group.join'))
  assert.equal((await people.groupsOf(ada.uuid)).length, 20)
  const { direct, inclusions } = await people.membershipsOf(ada.uuid, [])
  assert.deepEqual([direct, inclusions.length], [[uuid(19)], 19])
  const top = [{ uuid: uuid(19), name: 'level 19' }]
  assert.equal((await storage.groupTree.withParents(top)).length, 20)
  assert.equal((await people.groupsByUuid([uuid(19)])).length, 20)
  const inside = { group: uuid(0), is: true }
  const children = await people.findGroups({ text: '', inside }, window, storeClient)
  assert.deepEqual(
    children.rows.map(({ name }) => name),
    ['level 1'],
  )
  assert.deepEqual(await people.addSubgroups(uuid(20), [uuid(0)], commandEvent('group.include')), {
    why: 'too-deep',
    uuid: uuid(0),
  })
  assert.equal(await people.setSubgroup(false, uuid(0), uuid(1), commandEvent('group.exclude')), 'changed')
})

test('S4 epersons and groups are listed in the order of their addresses and names, page by page', async storage => {
  const { people } = storage
  const page = { offset: 1, limit: 2 }
  const group = await createGroup(storage, 'S4 Many')
  for (const name of ['s4 Birds', 'S4 Ärzte']) await createGroup(storage, name)
  for (const name of ['c', 'B', 'a', 'ä', 'd']) {
    const { uuid } = await create(storage, `${name}@s4.org`)
    if (name !== 'd') await people.setMember(true, group.uuid, uuid, commandEvent('group.join'))
  }
  const found = async (text: string, membership: EpersonSearch['membership'], some: Window = page) => {
    const { rows, total } = await people.findEpersons({ text, membership }, some, storeClient)
    return [rows.map(({ email }) => email), total]
  }
  const inside = { group: group.uuid, is: true }
  assert.deepEqual(await found('@s4.', inside), [['B@s4.org', 'c@s4.org'], 4])
  assert.deepEqual(await found('', inside), [['B@s4.org', 'c@s4.org'], 4])
  const all = (await people.listEpersons()).map(({ email }) => email)
  const listed = all.toSorted((one, other) => (one.toLowerCase() < other.toLowerCase() ? -1 : 1))
  assert.deepEqual(await found('', null), [listed.slice(1, 3), all.length])
  const others = listed.filter(email => email === 'd@s4.org' || !email.endsWith('@s4.org'))
  const outside = { ...inside, is: false }
  assert.deepEqual(await found('', outside, { offset: 0, limit: 100 }), [others, others.length])
  const groups = await people.findGroups({ text: 's4', inside: null }, page, storeClient)
  assert.deepEqual([groups.rows.map(({ name }) => name), groups.total], [['S4 Ärzte', 's4 Birds'], 3])
})

test('M4 the last administrator stays, and so does a group that rules name', async storage => {
  const { people, repository } = storage
  const ada = await create(storage, 'last@example.org')
  const join = await people.join('Administrator', ada.email, commandEvent('group.join'))
  assert.equal(join, 'changed')
  assert.equal(await people.removeEperson(ada.uuid, event), 'last-administrator')
  assert.equal(await people.changeEperson(ada.uuid, { enabled: false }, event), 'last-administrator')
  assert.equal(await people.canRemoveEperson(ada.uuid), false)
  const group = await createGroup(storage, 'Named')
  const readers = [{ reader: 'group:Named' }] as const
  const item = {
    identifier: 'named/1',
    metadata: {},
    collections: [],
    readers,
    bitstreams: [],
    fingerprint: '1',
  }
  await repository.putItems([item], commandEvent('item.add'), [])
  const use = { entities: [], items: 1, bitstreams: 0 }
  assert.deepEqual(await people.removeGroup(group.uuid, event), use)
  assert.deepEqual(await people.changeGroup(group.uuid, { name: 'Other' }, event), use)
  assert.equal(await people.canRemoveGroup(group.uuid), false)
  await repository.deleteItem('named/1', commandEvent('item.delete'))
  const renamed = await people.changeGroup(group.uuid, { name: 'Other', description: 'said of it' }, event)
  assert.deepEqual({ ...(await people.group(group.uuid)) }, renamed)
  assert.equal(await people.removeGroup(group.uuid, event), 'changed')
  assert.equal(await people.group(group.uuid), undefined)
  assert.equal(await people.leave('Administrator', ada.email, commandEvent('group.leave')), 'changed')
})

test('M9 everybody is asked to agree again', async storage => {
  const { people } = storage
  const field = 'dspace.agreements.end-user'
  const ada = await create(storage, 'agrees@example.org', {
    profile: { [field]: 'true', 'eperson.phone': '1' },
  })
  assert.equal(await people.resetAgreements(commandEvent('agreement.reset')), 1)
  assert.deepEqual((await people.eperson(ada.uuid))?.profile, { 'eperson.phone': '1' })
  assert.equal(await people.resetAgreements(commandEvent('agreement.reset')), 0)
})

test('D2 commands know epersons by their addresses and groups by their names', async storage => {
  const { people } = storage
  await create(storage, 'cli@example.org')
  assert.equal(await people.setEnabled('CLI@example.org', false, event), 'changed')
  assert.equal(await people.setEnabled('cli@example.org', false, event), 'unchanged')
  assert.equal(await people.setPassword({ email: 'cli@example.org' }, 'h', event), 'changed')
  const added = await people.addGroup('Commands', commandEvent('group.add'))
  assert.ok(added !== 'exists')
  assert.equal(await people.addGroup('Commands', commandEvent('group.add')), 'exists')
  const ensured = await people.ensureGroups(['Commands', 'Configured'])
  assert.deepEqual(
    ensured.map(({ name }) => name),
    ['Commands', 'Configured'],
  )
  assert.equal((await people.groupsByName(['Configured', 'none', '\0'])).length, 1)
  assert.equal(await people.join('none', 'cli@example.org', event), 'no-group')
  assert.equal(await people.join('Commands', 'none', event), 'no-eperson')
  assert.equal(await people.join('Commands', 'cli@example.org', event), 'changed')
  const listed = (await people.listEpersons()).find(({ email }) => email === 'cli@example.org')
  assert.deepEqual(listed?.groups, ['Commands'])
  assert.equal((await people.listGroups()).find(({ name }) => name === 'Commands')?.members, 1)
  assert.equal(await people.deleteGroup('Commands', commandEvent('group.delete')), 'changed')
  assert.equal(await people.deleteGroup('Commands', commandEvent('group.delete')), 'no-group')
  assert.equal(await people.deleteEperson('cli@example.org', event), 'changed')
  assert.equal(await people.deleteEperson('cli@example.org', event), 'no-eperson')
})
