import assert from 'node:assert/strict'
import { commandEvent } from '../../src/cli/store.ts'
import { useOf } from '../../src/storage/statements/people-rows.ts'
import type { Client } from '../support/clients/client.ts'
import { listPath } from '../support/clients/listings.ts'
import { eventsOf } from '../support/data/events.ts'
import { asNewItem } from '../support/data/policies.ts'
import { withSpecialGroups } from '../support/service/configuration.ts'
import { test, testOn, testWithoutStore } from '../support/service/engines.ts'
import { carrel, type Finished } from '../support/service/process.ts'
import { type Service, startService } from '../support/service/service.ts'

const ruth = 'ruth@example.org'

function assertDone({ code, stdout, stderr }: Finished): string {
  assert.equal(code, 0, stdout + stderr)
  assert.equal(stderr, '')
  return stdout
}

function assertRefused({ code, stdout, stderr }: Finished, says: RegExp): void {
  assert.equal(code, 1, stdout + stderr)
  assert.equal(stdout, '')
  assert.match(stderr, /^carrel: [^\n]+\n$/)
  assert.match(stderr, says)
}

const statusOf = async (client: Client, entity: string) => (await client.get(listPath(entity))).status

/** Deletes the group and adds another of the same name, which may read the letters. */
async function replaceGroup(service: Service, name: string): Promise<void> {
  await service.addRecords('letters', 'id', [{ id: 1 }], 'admin')
  assert.equal(
    assertDone(await carrel(service.dataFolder, ['group', 'delete', name])),
    `Deleted group ${name}.\n`,
  )
  await service.storage.people.addGroup(name, commandEvent('group.add'))
  await service.addRecords('letters', 'id', [{ id: 1 }], `group:${name}`)
}

test('D8 group delete ends memberships at once on every node, also for a later group of that name', async t => {
  const first = await startService(t)
  const { dataFolder, storage } = first
  const second = await startService(t, { dataFolder })
  const { uuid } = await first.addEperson(ruth, { groups: ['Readers', 'Others'] })
  await first.addEperson('root@example.org', { admin: true })
  await first.addRecords('letters', 'id', [{ id: 1 }], 'group:Readers')
  const clients = [first.client(), second.client()]
  for (const client of clients) {
    await client.login(ruth)
    assert.equal(await statusOf(client, 'letters'), 200)
  }
  await replaceGroup(first, 'Readers')
  for (const client of clients) {
    assert.equal(await statusOf(client, 'letters'), 403)
    assert.equal(await client.isLoggedIn(), true, 'nobody is logged out')
  }
  assert.deepEqual(
    (await storage.sessions.of(uuid))?.groups.map(({ name }) => name),
    ['Others'],
  )
  assert.deepEqual(await storage.people.groupMembers('Readers'), [])

  const admin = first.client()
  await admin.login('root@example.org')
  assert.deepEqual(
    (await eventsOf(admin, 'group.delete')).map(({ object, actor, outcome }) => [object, actor, outcome]),
    [['Readers', null, 'success']],
  )
})

test('D8 group delete ends special groups that tokens name, also for a later group of that name', async t => {
  const env = withSpecialGroups(t, { method: [{ group: 'By password', method: 'password' }] })
  const service = await startService(t, { env })
  await service.addEperson(ruth)
  await service.addRecords('letters', 'id', [{ id: 1 }], 'group:By password')
  const client = service.client()
  await client.login(ruth)
  assert.equal(await statusOf(client, 'letters'), 200)
  // The command doesn't see the file that names the group.
  await replaceGroup(service, 'By password')
  assert.equal(await statusOf(client, 'letters'), 403)
})

test('D8 group delete refuses a group that an access rule names, and says where', async t => {
  const { dataFolder, storage, addEperson, addRecords } = await startService(t)
  await addEperson(ruth, { groups: ['Readers', 'Items', 'Used before', 'Löwe "\\'] })
  await addRecords('letters', 'id', [{ id: 1 }], 'group:Readers')
  await addRecords('maps', 'id', [{ id: 1 }], 'group:Readers')
  const day = '2020-01-01'
  const item = (identifier: string, readers: readonly object[]) =>
    asNewItem({
      identifier,
      title: null,
      issued: null,
      readers: readers as never,
      bitstreams: [
        { name: 'a', readers: null },
        { name: 'b', readers: [{ reader: 'group:Löwe "\\' }] },
      ],
    })
  const put = (...items: ReturnType<typeof item>[]) =>
    storage.repository.putItems(items, commandEvent('item.add'), [])
  await put(
    item('1', [{ reader: 'eperson' }, { reader: 'group:Items', from: day }]),
    item('2', [{ reader: 'group:Items' }]),
    item('3', [{ reader: 'group:Used before' }]),
  )
  await put(item('3', [{ reader: 'anonymous' }]))
  const refused: readonly (readonly [name: string, says: RegExp])[] = [
    ['Readers', /in use: the entity letters, the entity maps can be read by group:Readers/],
    ['Items', /in use: 2 items, 2 files can be read by group:Items/],
    ['Löwe "\\', /in use: 3 files can be read/],
    ['Administrator', /can't be deleted/],
    ['Nobodies', /no group Nobodies.*`carrel group list`/],
  ]
  for (const [name, says] of refused) assertRefused(await carrel(dataFolder, ['group', 'delete', name]), says)
  const groups = async () =>
    (await storage.people.listGroups()).map(({ name, members }) => `${name} ${members}`)
  assert.deepEqual(await groups(), ['Administrator 0', 'Items 1', 'Löwe "\\ 1', 'Readers 1', 'Used before 1'])
  assertDone(await carrel(dataFolder, ['group', 'delete', 'Used before']))
  assert.deepEqual(await groups(), ['Administrator 0', 'Items 1', 'Löwe "\\ 1', 'Readers 1'])
})

testOn('sqlite', 'D8 group delete refuses a group that the configuration would add again', async t => {
  const { dataFolder, storage } = await startService(t)
  await storage.people.ensureGroups(['Campus'])
  const env = withSpecialGroups(t, { ip: [{ group: 'Campus', ranges: ['192.0.2.0/24'] }] })
  assertRefused(
    await carrel(dataFolder, ['group', 'delete', 'Campus'], { env }),
    /configuration file name Campus/,
  )
  assertDone(await carrel(dataFolder, ['group', 'delete', 'Campus']))
})

test('D8 group members lists the members by e-mail address, as a table and as JSON', async t => {
  const { dataFolder, storage, addEperson } = await startService(t)
  await addEperson('Zoe@example.org', { groups: ['Readers'] })
  const { uuid } = await addEperson(ruth, { groups: ['Readers', 'Empty'] })
  await addEperson('carl@example.org')
  await storage.people.leave('Empty', ruth, commandEvent('group.leave'))
  await storage.people.setEnabled('zoe@example.org', false, commandEvent('eperson.disable'))
  const members = async (name: string) =>
    JSON.parse(assertDone(await carrel(dataFolder, ['group', 'members', name, '--json']))) as {
      email: string
    }[]
  assert.deepEqual((await members('Readers'))[0], {
    uuid,
    email: ruth,
    firstName: 'Test',
    lastName: 'Person',
    enabled: true,
    profile: {},
  })
  assert.deepEqual(
    (await members('Readers')).map(({ email }) => email),
    [ruth, 'Zoe@example.org'],
  )
  assert.deepEqual(await members('Empty'), [])
  const table = assertDone(await carrel(dataFolder, ['group', 'members', 'Readers']))
  assert.match(table, /^ruth@example\.org +Test Person +yes +\S{36}\nZoe@example\.org +Test Person +no /m)
  assertRefused(await carrel(dataFolder, ['group', 'members', 'Nobodies']), /no group Nobodies/)
})

testWithoutStore('D8 a group is in use where a rule names exactly it', () => {
  const audience = (readers: string, items: number, bitstreams: number) => ({
    readers: JSON.stringify([{ reader: 'anonymous', until: '2020-01-01' }, { reader: readers }]),
    items,
    bitstreams,
  })
  const rules = {
    entities: [
      { name: 'a', read: 'group:eperson' },
      { name: 'b', read: 'eperson' },
      { name: 'c', read: 'group:A' },
    ],
    audiences: [audience('group:A', 2, 3), audience('group:A', 0, 1), audience('group:a', 5, 5)],
  }
  assert.deepEqual(useOf('A', rules), { entities: ['c'], items: 2, bitstreams: 4 })
  assert.deepEqual(useOf('eperson', rules), { entities: ['a'], items: 0, bitstreams: 0 })
  assert.equal(useOf('anonymous', rules), undefined)
  assert.equal(useOf('B', rules), undefined)
})
