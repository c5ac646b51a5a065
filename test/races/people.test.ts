import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { UnknownReader } from '../../src/storage/single-records.ts'
import type { Client } from '../support/clients/client.ts'
import { addTo, epersonsPath, groupsPath, newGroup, patchJson, postJson } from '../support/clients/people.ts'
import { change, newItem, upload } from '../support/data/editing.ts'
import { verify } from '../support/data/trail.ts'
import { repeats } from '../support/scale.ts'
import { test, testOn } from '../support/service/engines.ts'
import { connectTo, waiting } from '../support/service/nodes.ts'
import { startService } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

/** Returns the path of a group. Administrators change people and groups at the same time on two nodes. */
const at = (uuid: string) => `${groupsPath}/${uuid}`
const person = (uuid: string) => `${epersonsPath}/${uuid}`

async function started(t: TestContext) {
  const service = await startService(t)
  const node = await startService(t, { dataFolder: service.dataFolder })
  const { uuid: adminId } = await service.addEperson('admin@example.org', { admin: true })
  const { uuid: ruthId } = await service.addEperson('ruth@example.org')
  const clients: Client[] = []
  for (const one of [service, node]) {
    const client = one.client()
    await client.login('admin@example.org')
    clients.push(client)
  }
  const ruth = node.client()
  await ruth.login('ruth@example.org')
  const [admin, other] = clients
  assert.ok(admin && other)
  return { service, node, admin, other, ruth, adminId, ruthId }
}

const statuses = async (answers: readonly Promise<Response>[]): Promise<number[]> => {
  const found = await Promise.all(answers)
  return found.map(({ status }) => status)
}

test('M6 of changes at once that would make a circle together, one is refused', async t => {
  const { service, admin, other } = await started(t)
  for (let round = 0; round < repeats(1, 30); round++) {
    const ring: string[] = []
    for (let n = 0; n < 4; n++) ring.push(await newGroup(admin, `Ring ${round} ${n}`))
    const answers = ring.map((group, n) =>
      addTo(n % 2 === 0 ? admin : other, `${at(group)}/subgroups`, at(ring[(n + 1) % ring.length] ?? '')),
    )
    const codes = (await statuses(answers)).toSorted()
    assert.deepEqual(codes, [204, 204, 204, 422])
  }
  assert.deepEqual((await verify(service.storage)).faults, [])
})

test('M6 of changes at once that are too deep together, one is refused', async t => {
  const { admin, other } = await started(t)
  const groups: string[] = []
  for (let n = 0; n < 21; n++) groups.push(await newGroup(admin, `G${n}`))
  const link = (client: Client, n: number) =>
    addTo(client, `${at(groups[n] ?? '')}/subgroups`, at(groups[n + 1] ?? ''))
  for (let n = 0; n < 20; n++) if (n !== 6 && n !== 13) assert.equal((await link(admin, n)).status, 204)
  for (let round = 0; round < repeats(1, 20); round++) {
    const codes = await statuses([link(admin, 6), link(other, 13)])
    assert.deepEqual(codes.toSorted(), [204, 422])
    for (const n of [6, 13]) await admin.delete(`${at(groups[n] ?? '')}/subgroups/${groups[n + 1]}`)
  }
})

test('M6 who joins a group while it is put into another is in both for the next request of any node', async t => {
  const { service, admin, other, ruth, ruthId } = await started(t)
  const [outer, inner] = [await newGroup(admin, 'Outer'), await newGroup(admin, 'Inner')]
  await service.addRecords('letters', 'id', [{ id: 1 }], 'group:Outer')
  for (let round = 0; round < repeats(1, 100); round++) {
    const asking = [1, 2, 3].map(() => ruth.get('/api/query/v4/letters'))
    const codes = await statuses([
      addTo(admin, `${at(outer)}/subgroups`, at(inner)),
      addTo(other, `${at(inner)}/epersons`, person(ruthId)),
    ])
    assert.deepEqual(codes, [204, 204])
    assert.equal((await ruth.get('/api/query/v4/letters')).status, 200)
    await Promise.all(asking)
    const ends = [
      admin.delete(`${at(outer)}/subgroups/${inner}`),
      other.delete(`${at(inner)}/epersons/${ruthId}`),
    ]
    assert.deepEqual(await statuses(ends), [204, 204])
    assert.equal((await ruth.get('/api/query/v4/letters')).status, 403)
  }
})

test('Q11 M7 a rule that is made while what it names is deleted is refused, or goes with the eperson', async t => {
  const { service, admin, other } = await started(t)
  await service.addRecords('letters', 'id', [{ id: 1 }])
  const give = (rule: object) =>
    other.patch('/api/admin/entities/letters', JSON.stringify(rule), { 'content-type': 'application/json' })
  for (let round = 0; round < repeats(2, 40); round++) {
    const { uuid, email } = await service.addEperson(`reader-${round}@example.org`)
    const group = await newGroup(admin, `Readers ${round}`)
    const isPerson = round % 2 === 0
    const [path, name] = isPerson ? [person(uuid), uuid] : [at(group), `Readers ${round}`]
    const rule = isPerson ? `eperson:${email}` : `group:${name}`
    const [given, removed] = await statuses([give({ read: rule, write: rule }), admin.delete(path)])
    assert.ok([200, 422].includes(given ?? 0), `${given}`)
    const letters = (await service.storage.entities.all()).get('letters')
    const named = [letters?.read, letters?.write].filter(one => one?.endsWith(name))
    // A group that a rule names isn't deleted, and a deleted eperson is named by none.
    assert.equal(named.length === 0, removed === 204, `${given} ${removed} ${named}`)
    await service.storage.entities.changeReadRule('letters', 'admin', commandEvent('entity.access'))
    await service.storage.entities.changeWriteRule('letters', null, commandEvent('entity.writers'))
  }
})

testOn('postgres', 'Q11 M7 a deletion by a command waits for a rule that is being made', async t => {
  const { service } = await started(t)
  const { entities, people } = service.storage
  await service.addRecords('letters', 'id', [{ id: 1 }])
  await people.ensureGroups(['Readers'])
  const { uuid, email } = await service.addEperson('reader@example.org')
  const { url } = service.config.database as { url: string }
  const holder = await connectTo(t, url)
  for (const [rule, remove, left] of [
    [`eperson:${uuid}`, () => people.deleteEperson(email, commandEvent('eperson.delete')), 'admin'],
    ['group:Readers', () => people.deleteGroup('Readers', commandEvent('group.delete')), 'group:Readers'],
  ] as const) {
    await holder.query('BEGIN')
    await holder.query("SELECT 1 FROM carrel.entity WHERE name = 'letters' FOR UPDATE")
    let ended = 0
    const given = entities.changeReadRule('letters', rule, commandEvent('entity.access'))
    await until(
      'the rule waits',
      () => waiting(url),
      count => count === 1,
    )
    const removed = remove().finally(() => ended++)
    await until(
      'the deletion waits, too',
      async () => (await waiting(url)) + ended,
      count => count === 2,
    )
    await holder.query('ROLLBACK')
    assert.equal(await given, true)
    assert.notEqual(await removed, 'no-eperson')
    assert.equal((await entities.all()).get('letters')?.read, left)
    assert.equal((await people.groupsByName(['Readers'])).length, 1)
  }
})

testOn('postgres', 'Q11 M7 a rule that waits for the deletion of what it names is refused', async t => {
  const { service } = await started(t)
  const { entities, people } = service.storage
  await service.addRecords('letters', 'id', [{ id: 1 }])
  await people.ensureGroups(['Readers'])
  const { uuid, email } = await service.addEperson('reader@example.org')
  const { url } = service.config.database as { url: string }
  const holder = await connectTo(t, url)
  for (const [rule, remove] of [
    [`eperson:${uuid}`, () => people.deleteEperson(email, commandEvent('eperson.delete'))],
    ['group:Readers', () => people.deleteGroup('Readers', commandEvent('group.delete'))],
  ] as const) {
    await holder.query('BEGIN')
    await holder.query('SELECT 1 FROM carrel.state FOR UPDATE')
    const removed = remove()
    const untilWaiting = (wanted: number) =>
      until(
        `${wanted} that wait`,
        () => waiting(url),
        count => count === wanted,
      )
    await untilWaiting(1)
    const refused = assert.rejects(
      entities.changeReadRule('letters', rule, commandEvent('entity.access')),
      UnknownReader,
    )
    await untilWaiting(2)
    await holder.query('ROLLBACK')
    assert.equal(await removed, 'changed')
    await refused
  }
})

testOn(
  'postgres',
  'Q11 a deletion by a command has no eperson locked while it waits for what they write',
  async t => {
    const { service } = await started(t)
    const { people } = service.storage
    const { uuid, email } = await service.addEperson('writer@example.org')
    const { url } = service.config.database as { url: string }
    // As a write of a record does: the row of the state first, then those of its writer.
    const writer = await connectTo(t, url)
    await writer.query('BEGIN')
    await writer.query('SELECT 1 FROM carrel.state FOR UPDATE')
    const removed = people.deleteEperson(email, commandEvent('eperson.delete'))
    await until(
      'the deletion waits',
      () => waiting(url),
      count => count === 1,
    )
    await writer.query('SELECT 1 FROM carrel.eperson WHERE uuid = $1 FOR UPDATE NOWAIT', [uuid])
    await writer.query('ROLLBACK')
    assert.equal(await removed, 'changed')
  },
)

test('M7 two administrators who remove each other at once leave one', async t => {
  const { service, admin, adminId } = await started(t)
  const { uuid } = await service.addEperson('second@example.org', { admin: true })
  const second = service.client()
  const found = await (await admin.get(`${groupsPath}/search/byMetadata?query=administrator`)).json()
  const group: string = found._embedded.groups[0].uuid
  const event = commandEvent('group.join')
  const join = (one: string) => service.storage.people.setMember(true, group, one, event)
  for (let round = 0; round < repeats(2, 20); round++) {
    await second.login('second@example.org')
    await admin.login('admin@example.org')
    const codes = await statuses([
      admin.delete(`${at(group)}/epersons/${uuid}`),
      round % 2 === 0
        ? second.delete(`${at(group)}/epersons/${adminId}`)
        : patchJson(second, person(adminId), [{ op: 'replace', path: '/canLogIn', value: false }]),
    ])
    const done = codes.filter(code => code < 300)
    assert.equal(done.length, 1, `${codes}`)
    for (const one of [adminId, uuid]) {
      await join(one)
      await service.storage.people.changeEperson(one, { enabled: true }, event)
    }
  }
})

test('M5 joining a group or being deleted while it goes leaves nothing behind', async t => {
  const { service, admin, other, ruthId } = await started(t)
  for (let round = 0; round < repeats(1, 40); round++) {
    const [group, inner] = [await newGroup(admin, `Short ${round}`), await newGroup(admin, `Inner ${round}`)]
    const [removed = 0, ...codes] = await statuses([
      admin.delete(at(group)),
      addTo(other, `${at(group)}/epersons`, person(ruthId)),
      addTo(other, `${at(group)}/subgroups`, at(inner)),
    ])
    assert.equal(removed, 204)
    for (const code of codes) assert.ok([204, 404].includes(code), `${code}`)
    const { uuid } = await service.addEperson(`brief-${round}@example.org`)
    const [gone = 0, joined = 0] = await statuses([
      admin.delete(person(uuid)),
      addTo(other, `${at(inner)}/epersons`, person(uuid)),
    ])
    assert.equal(gone, 204)
    assert.ok([204, 422].includes(joined), `${joined}`)
  }
  const epersons = await service.storage.people.listEpersons()
  assert.deepEqual(epersons.find(({ uuid }) => uuid === ruthId)?.groups, [])
  const groups = await service.storage.people.listGroups()
  assert.ok(groups.every(({ name, members }) => name === 'Administrator' || members === 0))
})

test('I17 who is deleted while policies for them come and items are changed leaves no rule behind', async t => {
  const { service, admin, other } = await started(t)
  // Another administrator, because changes of the same one wait for each other.
  await service.addEperson('second@example.org', { admin: true })
  await other.login('second@example.org')
  const { repository } = service.storage
  const items = await Promise.all([1, 2, 3].map(() => newItem(admin)))
  const file = await upload(admin, items[0]?.bundle ?? '', { name: 'a.txt', content: 'a' })
  for (let round = 0; round < repeats(3, 60); round++) {
    const { uuid } = await service.addEperson(`short-${round}@example.org`)
    const address = (one: string) => `/api/authz/resourcepolicies?resource=${one}&eperson=${uuid}`
    const add = (client: Client, one: string, body: object) => change(client, 'post', address(one), body)
    const [first, second, third] = items
    assert.ok(first && second && third)
    assert.equal((await add(admin, first.uuid, { action: 'WRITE' })).status, 201)
    assert.equal((await add(admin, file.body.uuid, {})).status, 201)
    assert.equal((await add(admin, second.uuid, { endDate: '2999-01-01' })).status, 201)
    const state = [{ op: 'replace', path: '/withdrawn', value: round % 2 === 0 }]
    const [removed, ...others] = await Promise.all([
      admin.delete(person(uuid)),
      change(other, 'patch', first.path, state),
      change(other, 'patch', second.path, state),
      add(other, third.uuid, {}),
      add(other, first.uuid, {}),
      upload(other, first.bundle, { name: `${round}.txt`, content: 'b' }),
    ])
    assert.equal(removed.status, 204)
    for (const { status, body } of others)
      assert.ok([200, 201, 404, 422].includes(status), `${status} ${JSON.stringify(body)}`)
    assert.deepEqual(await repository.audiencesWith(`eperson:${uuid}`), [])
    for (const one of [...items, file.body])
      assert.ok(!JSON.stringify(await repository.policyNotes(one.uuid)).includes(uuid))
  }
})

testOn(
  'postgres',
  'I17 a deletion waits for policies and changes that are under way, and undoes what they did',
  async t => {
    const { service, admin, other } = await started(t)
    await service.addEperson('second@example.org', { admin: true })
    await other.login('second@example.org')
    const { url } = service.config.database as { url: string }
    const holder = await connectTo(t, url)
    const item = await newItem(admin)
    const state = [{ op: 'replace', path: '/withdrawn', value: true }]
    for (const [what, isFirst] of [
      ['a policy that is being added', true],
      ['an item that is being withdrawn', false],
    ] as const) {
      const { uuid } = await service.addEperson(`of-${isFirst}@example.org`)
      const policy = `/api/authz/resourcepolicies?resource=${item.uuid}&eperson=${uuid}`
      if (!isFirst) assert.equal((await change(admin, 'post', policy, {})).status, 201)
      await holder.query('BEGIN')
      await holder.query('SELECT 1 FROM carrel.item WHERE uuid = $1 FOR UPDATE', [item.uuid])
      let ended = 0
      const untilHeld = (count: number) =>
        until(
          `${count} that wait for the item`,
          async () => (await waiting(url)) + ended,
          seen => seen === count,
        )
      const changed = isFirst ? change(admin, 'post', policy, {}) : change(admin, 'patch', item.path, state)
      await untilHeld(1)
      // Where the withdrawal needs an audience that is new, PostgreSQL ends one of the two, which is made again.
      const removing: Promise<unknown> = isFirst
        ? other.delete(person(uuid)).then(({ status }) => status)
        : service.storage.people.deleteEperson(`of-${isFirst}@example.org`, commandEvent('eperson.delete'))
      const removed = removing.finally(() => ended++)
      await untilHeld(2)
      await holder.query('ROLLBACK')
      const { status } = await changed
      assert.ok([200, 201, 404, 422].includes(status), `${what}: ${status}`)
      assert.equal(await removed, isFirst ? 204 : 'changed')
      assert.deepEqual(await service.storage.repository.audiencesWith(`eperson:${uuid}`), [], what)
      assert.deepEqual(await service.storage.repository.policyNotes(item.uuid), [], what)
    }
  },
)

test('M1 M2 M4 of two changes at once to one address or one name, one is refused', async t => {
  const { admin, other, ruthId } = await started(t)
  for (let round = 0; round < repeats(1, 20); round++) {
    const email = `same-${round}@example.org`
    const codes = await statuses([
      postJson(admin, epersonsPath, { email }),
      patchJson(other, person(ruthId), [{ op: 'replace', path: '/email', value: email }]),
    ])
    assert.ok(codes.includes(422) && codes.some(code => code < 300), `${codes}`)
    const names = [await newGroup(admin, `First ${round}`), await newGroup(admin, `Second ${round}`)]
    const renamed = await statuses(
      names.map((uuid, n) =>
        patchJson(n === 0 ? admin : other, at(uuid), [
          { op: 'replace', path: '/name', value: `Same ${round}` },
        ]),
      ),
    )
    assert.deepEqual(renamed.toSorted(), [200, 422])
  }
})
