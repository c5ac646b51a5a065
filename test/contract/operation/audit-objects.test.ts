import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import { newGroup } from '../../support/clients/people.ts'
import { change, newItem, upload } from '../../support/data/editing.ts'
import { addItem } from '../../support/data/repository.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

interface Event {
  readonly eventType: string
  readonly subjectUUID: string | null
  readonly subjectType: string | null
  readonly value: string | null
  readonly action: string | null
}

async function started(t: TestContext) {
  const service = await startService(t)
  const { uuid: adminId } = await service.addEperson('admin@example.org', { admin: true })
  const ruth = await service.addLoggedIn('ruth@example.org')
  const admin = await service.loggedIn('admin@example.org')
  const events = async (query = '?size=100') => {
    const response = await admin.get(`/api/system/auditevents${query}`)
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return (JSON.parse(text) as { _embedded: { auditevents: Event[] } })._embedded.auditevents
  }
  const about = async (uuid: string) =>
    (await events(`/search/findByObject?size=100&object=${uuid}`))
      .map(({ eventType }) => eventType)
      .toSorted()
  return { service, admin, ruth, adminId, events, about }
}

test('S7 the events of an item, its files and a group are found by its UUID, and lead to it', async t => {
  const { service, admin, events, about } = await started(t)
  // Identifiers that are prefixes of others, and that contain commas and characters of regular expressions.
  const { uuid: letter } = await addItem(service, { identifier: 'letter (1), first.' })
  const { uuid: other } = await addItem(service, { identifier: 'letter (1)' })
  const { uuid: letters } = await addItem(service, { identifier: 'letter (1), first.s' })
  const { body: bundle } = await change(admin, 'post', `/api/core/items/${letter}/bundles`, { name: 'TEXT' })
  const { body: file } = await upload(admin, bundle.uuid, { name: 'a, b.txt', content: 'a' })
  const group = await newGroup(admin, 'letter (1)')
  assert.deepEqual(await about(letter), ['bitstream.add', 'bundle.add', 'item.add'])
  assert.deepEqual(await about(letters), ['item.add'])
  // A comma of an item's identifier looks like the one before a bundle. So an item sees the events of another
  // one whose identifier continues its own after a comma.
  assert.ok((await about(other)).includes('item.add'))
  assert.deepEqual(await about(group), ['group.add'])
  assert.deepEqual(await about('00000000-0000-4000-8000-000000000000'), [])

  const found = new Map((await events()).map(one => [one.eventType, one]))
  const subject = (name: string) => [found.get(name)?.subjectUUID, found.get(name)?.subjectType]
  assert.deepEqual(subject('bitstream.add'), [letter, 'ITEM'])
  assert.deepEqual(subject('bundle.add'), [letter, 'ITEM'])
  assert.deepEqual(subject('group.add'), [group, 'GROUP'])
  assert.match(found.get('bitstream.add')?.value ?? '', /^letter \(1\), first\., TEXT\/a, b\.txt; \{"/)
  for (const uuid of [letter, group, file.uuid])
    assert.equal((await admin.get(`/api/dso/find?uuid=${uuid}`)).status, 200)
})

test('S7 an event about what is gone, or no object of DSpace, leads nowhere and names it', async t => {
  const { admin, service, events, adminId } = await started(t)
  const item = await newItem(admin)
  assert.equal((await change(admin, 'delete', item.path)).status, 204)
  await service.addRecords('birds', 'id', [{ id: 1 }])
  const wrong = await service.client().tryLogin('admin@example.org', 'wrong')
  assert.equal(wrong.status, 401)
  const all = await events()
  const one = (name: string, among = all) => among.find(({ eventType }) => eventType === name)
  for (const name of ['item.add', 'item.delete', 'entity.import']) {
    assert.equal(one(name)?.subjectUUID, null, name)
    assert.equal(one(name)?.subjectType, null, name)
  }
  assert.match(one('item.add')?.value ?? '', new RegExp(`^${item.uuid}; `))
  const logins = all.filter(({ eventType }) => eventType === 'login')
  assert.deepEqual(
    logins.filter(({ action }) => action !== null).map(({ action }) => action),
    ['failure'],
  )
  assert.ok(
    logins.some(({ subjectUUID, subjectType }) => subjectUUID === adminId && subjectType === 'EPERSON'),
  )
})

test('S7 Z1 only administrators find people and groups by their UUIDs', async t => {
  const { admin, ruth, adminId, service } = await started(t)
  const group = await newGroup(admin, 'Readers')
  for (const [uuid, type] of [
    [adminId, 'eperson'],
    [group, 'group'],
  ] as const) {
    const path = `/api/dso/find?uuid=${uuid}`
    const found = await admin.get(path)
    assert.deepEqual([found.status, ((await found.json()) as { type: string }).type], [200, type])
    await assertProblem(await ruth.get(path), 404, 'not-found')
    await assertProblem(await service.client().get(path), 404, 'not-found')
  }
})
