import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { change, changeTo, newItem, read, statusOf, upload } from '../support/data/editing.ts'
import { test } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

const policies = '/api/authz/resourcepolicies'
const anonymous = '00000000-0000-8000-8000-000000000000'
const loggedIn = '00000000-0000-8000-8000-000000000001'
const api = 'http://repo.example.edu/api'

async function started(t: TestContext) {
  const service = await startService(t)
  await service.addEperson('root@example.org', { admin: true })
  const ed = await service.addEperson('ed@example.org', { groups: ['Editors'] })
  await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  const [admin, editor, reader, nobody] = [
    service.client(),
    service.client(),
    service.client(),
    service.client(),
  ]
  await admin.login('root@example.org')
  await editor.login('ed@example.org')
  await reader.login('ruth@example.org')
  const item = await newItem(admin)
  const { body: file } = await upload(admin, item.bundle, { name: 'a.txt', content: 'a' })
  const groups = new Map((await service.storage.accounts.listGroups()).map(one => [one.name, one.uuid]))
  const add = (resource: string, group: string, body: object = { action: 'READ' }) =>
    change(admin, 'post', `${policies}?resource=${resource}&group=${group}`, body)
  const list = async (uuid: string, action = '') => {
    const page = await read(admin, `${policies}/search/resource?uuid=${uuid}&action=${action}`)
    return page._embedded.resourcepolicies ?? []
  }
  return { service, admin, editor, reader, nobody, item, file, groups, add, list, ed }
}

test('I12 a policy to read lets a group, anybody, or anybody who is logged in read, from its first to its last day', async t => {
  const { admin, reader, nobody, item, file, groups, add, list } = await started(t)
  const content = `/api/core/bitstreams/${file.uuid}/content`
  assert.deepEqual(await list(item.uuid), [])
  const added = await add(item.uuid, groups.get('Readers') ?? '', {
    action: 'READ',
    name: 'Readers of rivers',
    description: null,
    policyType: 'TYPE_CUSTOM',
    startDate: null,
    endDate: null,
    type: 'resourcepolicy',
  })
  assert.equal(added.status, 201, JSON.stringify(added.body))
  assert.deepEqual(
    [added.body.name, added.body.action, added.body.type],
    ['Readers of rivers', 'READ', 'resourcepolicy'],
  )
  const path = `${policies}/${added.body.id}`
  assert.deepEqual(await read(admin, path), added.body)
  assert.deepEqual(await list(item.uuid), [added.body])
  assert.deepEqual(await list(item.uuid, 'WRITE'), [])
  assert.equal((await read(admin, `${path}/group`)).name, 'Readers')
  assert.equal(await statusOf(admin, `${path}/eperson`), 204)
  // Files that had the item's readers still have them.
  assert.deepEqual([await statusOf(reader, item.path), await statusOf(reader, content)], [200, 200])
  assert.deepEqual([await statusOf(nobody, item.path), await statusOf(nobody, content)], [401, 401])
  assert.deepEqual(
    (await list(file.uuid)).map(one => one.action),
    ['READ'],
  )

  const later = await change(admin, 'patch', path, [{ op: 'add', path: '/startDate', value: '2999-01-01' }])
  assert.deepEqual([later.status, later.body.id, later.body.startDate], [200, added.body.id, '2999-01-01'])
  assert.equal(await statusOf(reader, item.path), 403)
  const back = await change(admin, 'patch', path, [
    { op: 'replace', path: '/startDate', value: '2020-01-01T00:00:00.000+00:00' },
    { op: 'replace', path: '/name', value: null },
  ])
  assert.deepEqual([back.status, back.body.startDate, back.body.name], [200, '2020-01-01', null])
  assert.equal(await statusOf(reader, item.path), 200)
  assert.equal(await changeTo(admin, 'put', `${path}/group`, `${api}/eperson/groups/${anonymous}`), 204)
  assert.equal((await read(admin, `${path}/group`)).name, 'Anonymous')
  assert.deepEqual([await statusOf(nobody, item.path), await statusOf(nobody, content)], [200, 200])
  assert.equal((await change(admin, 'delete', path)).status, 204)
  assert.deepEqual([await statusOf(nobody, item.path), await statusOf(reader, content)], [401, 403])
  assert.equal(await statusOf(admin, path), 404)

  // A file gets readers of its own.
  assert.equal((await add(file.uuid, loggedIn)).status, 201)
  assert.deepEqual([await statusOf(reader, content), await statusOf(reader, item.path)], [200, 403])
  assert.equal((await add(item.uuid, anonymous)).status, 201)
  assert.equal(await statusOf(nobody, content), 401)
})

test('I12 policies that the command line and an ingest made have ids, too, which stay', async t => {
  const { admin, service, item, list } = await started(t)
  const event = {
    event: 'item.access',
    outcome: 'success',
    eperson: null,
    actor: null,
    clientIp: null,
  } as const
  const readers = [{ reader: 'anonymous' }, { reader: 'group:Readers', until: '2030-01-01' }] as const
  const template = { ...event, method: null, object: null, reason: null }
  await service.storage.repository.setReaders({ identifier: item.uuid, file: null, readers }, template)
  const before = await list(item.uuid)
  assert.equal(before.length, 2)
  const until = before.find(one => one.startDate === null && one.id !== before[0]?.id)
  const patched = await change(admin, 'patch', `${policies}/${until?.id}`, [
    { op: 'add', path: '/description', value: 'until they know it' },
  ])
  assert.equal(patched.status, 200)
  assert.deepEqual(new Set((await list(item.uuid)).map(one => one.id)), new Set(before.map(one => one.id)))
})

test('I13 a policy to write lets a group change an item with its files, and nothing else', async t => {
  const { admin, editor, reader, nobody, item, file, groups, add, list } = await started(t)
  const content = `/api/core/bitstreams/${file.uuid}/content`
  const title = [{ op: 'replace', path: '/metadata/dc.title/0/value', value: 'Edited' }]
  assert.equal((await change(editor, 'patch', item.path, title)).status, 403)
  const added = await add(item.uuid, groups.get('Editors') ?? '', { action: 'WRITE' })
  assert.deepEqual([added.status, added.body.action], [201, 'WRITE'])
  assert.deepEqual(
    (await list(item.uuid)).map(one => one.action),
    ['WRITE'],
  )
  assert.deepEqual(await list(file.uuid), [])

  assert.equal((await change(editor, 'patch', item.path, title)).status, 200)
  assert.deepEqual([await statusOf(editor, item.path), await statusOf(editor, content)], [200, 200])
  for (const [client, status] of [
    [reader, 403],
    [nobody, 401],
  ] as const)
    assert.deepEqual([await statusOf(client, item.path), await statusOf(client, content)], [status, status])
  const sent = await upload(editor, item.bundle, { name: 'b.txt', content: 'b' })
  assert.equal(sent.status, 201)
  assert.equal(await statusOf(reader, `/api/core/bitstreams/${sent.body.uuid}/content`), 403)
  const bundle = await change(editor, 'post', `${item.path}/bundles`, { name: 'TEXT' })
  assert.equal(bundle.status, 201)
  assert.equal((await change(editor, 'delete', `/api/core/bundles/${bundle.body.uuid}`)).status, 204)
  assert.equal((await change(editor, 'delete', `/api/core/bitstreams/${sent.body.uuid}`)).status, 204)

  // What only administrators may.
  assert.equal((await change(editor, 'delete', item.path)).status, 403)
  assert.equal((await change(editor, 'post', '/api/core/items', { metadata: {} })).status, 403)
  assert.equal(await statusOf(editor, `${policies}/search/resource?uuid=${item.uuid}`), 403)
  assert.equal((await change(editor, 'delete', `${policies}/${added.body.id}`)).status, 403)
  const other = await newItem(admin)
  assert.equal((await change(editor, 'patch', other.path, title)).status, 403)
  const [, mine] = [await upload(admin, other.bundle, { name: 'c', content: 'c' }), `/api/core/bitstreams`]
  const [theirs] =
    (await read(admin, `/api/core/bundles/${other.bundle}/bitstreams`))._embedded.bitstreams ?? []
  const removals = [file.uuid, theirs?.uuid].map(uuid => ({ op: 'remove', path: `/bitstreams/${uuid}` }))
  assert.equal((await change(editor, 'patch', mine, removals)).status, 403)
  assert.equal(await statusOf(admin, `/api/core/bitstreams/${file.uuid}`), 200)

  // A right that has ended is no right.
  await change(admin, 'patch', `${policies}/${added.body.id}`, [
    { op: 'add', path: '/endDate', value: '2020-01-01' },
  ])
  assert.equal((await change(editor, 'patch', item.path, title)).status, 403)
  assert.deepEqual([await statusOf(editor, item.path), await statusOf(editor, content)], [403, 403])
})

test('I14 what Carrel has no rule for is refused by name', async t => {
  const { admin, editor, nobody, item, file, groups, add, list, ed } = await started(t)
  const readers = groups.get('Readers') ?? ''
  const refused = async (answer: Promise<{ status: number; body: { detail: string } }>, why: RegExp) => {
    const { status, body } = await answer
    assert.equal(status, 422, body.detail)
    assert.match(body.detail, why)
  }
  for (const action of ['ADD', 'REMOVE', 'ADMIN', 'DELETE', 'DEFAULT_ITEM_READ', 'read', 7])
    await refused(add(item.uuid, readers, { action }), /action/)
  await refused(add(file.uuid, readers, { action: 'WRITE' }), /WRITE is a right to an item/)
  await refused(add(item.uuid, anonymous, { action: 'WRITE' }), /groups with members only/)
  await refused(add(item.uuid, groups.get('Administrator') ?? '', {}), /Administrators may/)
  await refused(add(item.uuid, ed.uuid), /no group/)
  await refused(add(item.uuid, readers, { startDate: '2021-02-30' }), /startDate must be a day/)
  await refused(add(item.uuid, readers, { startDate: '2022-01-01', endDate: '2021-01-01' }), /not be after/)
  await refused(add(item.uuid, readers, { policyType: 'TYPE_X' }), /policyType/)
  await refused(add(item.uuid, readers, { name: 'a\nb' }), /name/)
  await refused(
    change(admin, 'post', `${policies}?resource=${item.uuid}&eperson=${ed.uuid}`, {}),
    /not single epersons/,
  )
  assert.equal((await add('nonsense', readers)).status, 400)
  assert.equal((await add(readers, readers)).status, 404)
  assert.equal((await add(item.uuid, readers)).status, 201)
  await refused(add(item.uuid, readers), /such a policy already/)
  const [policy] = await list(item.uuid)
  const path = `${policies}/${policy?.id}`
  await refused(change(admin, 'patch', path, [{ op: 'replace', path: '/action', value: 'ADMIN' }]), /action/)
  await refused(change(admin, 'patch', path, [{ op: 'replace', path: '/group', value: 'x' }]), /no "group"/)
  await refused(
    change(admin, 'patch', path, [{ op: 'move', from: '/name', path: '/description' }]),
    /takes add/,
  )
  assert.equal(await changeTo(admin, 'put', `${path}/eperson`, `${api}/eperson/epersons/${ed.uuid}`), 422)
  for (const [client, status] of [
    [editor, 403],
    [nobody, 401],
  ] as const) {
    assert.equal(
      (await change(client, 'post', `${policies}?resource=${item.uuid}&group=${anonymous}`, {})).status,
      status,
    )
    assert.equal((await change(client, 'patch', path, [])).status, status)
    assert.equal((await change(client, 'delete', path)).status, status)
    assert.equal(await statusOf(client, path), status)
  }
  const some = Array.from({ length: 10 }, (_, n) => add(item.uuid, anonymous, { endDate: `203${n}-01-01` }))
  assert.deepEqual(new Set((await Promise.all(some)).map(one => one.status)), new Set([201]))
  let last = 201
  for (let n = 40; last === 201; n++)
    last = (await add(item.uuid, anonymous, { endDate: `20${n}-01-01` })).status
  assert.equal(last, 422)
})

test('I12 the policies for a group are listed over all items and files, whatever the page', async t => {
  const { admin, editor, item, file, groups, add, service } = await started(t)
  const readers = groups.get('Readers') ?? ''
  const other = await newItem(admin)
  const { body: open } = await upload(admin, other.bundle, { name: 'open.txt', content: 'open' })
  // Names that stand in each other's rules, and one that JSON escapes.
  await service.storage.accounts.ensureGroups(['Read', '"Readers"', 'group:Readers'])
  const all = new Map((await service.storage.accounts.listGroups()).map(one => [one.name, one.uuid]))
  for (const { status, body } of [
    await add(item.uuid, readers),
    await add(item.uuid, readers, { action: 'WRITE' }),
    await add(item.uuid, readers, { action: 'READ', endDate: '2999-01-01' }),
    await add(file.uuid, readers, { action: 'READ', startDate: '2020-01-01' }),
    await add(other.uuid, readers, { action: 'READ', startDate: '2021-01-01' }),
    await add(open.uuid, readers),
  ])
    assert.equal(status, 201, JSON.stringify(body))
  for (const name of ['Read', '"Readers"', 'group:Readers', 'Editors'])
    assert.equal((await add(other.uuid, all.get(name) ?? '')).status, 201)
  // What an item's state takes from its rules is no other policy.
  assert.equal(
    (await change(admin, 'patch', other.path, [{ op: 'replace', path: '/withdrawn', value: true }])).status,
    200,
  )
  const address = `${policies}/search/group?uuid=${readers}`
  const objects = [item, file, other, open].map(({ uuid }) => read(admin, `${address}&resource=${uuid}`))
  // Files have policies that their items had when they came, too.
  const wanted = (await Promise.all(objects)).flatMap(({ _embedded }) => _embedded.resourcepolicies ?? [])
  assert.ok(wanted.length >= 6)
  const listed = async (query: string) => {
    const { page, _embedded } = await read(admin, address + query)
    assert.equal(page.totalElements, wanted.length)
    return (_embedded.resourcepolicies ?? []).map(one => one.id)
  }
  const whole = await listed('')
  assert.deepEqual([...whole].sort(), wanted.map(one => one.id).sort())
  for (const size of [1, 2, 3, 4, 5]) {
    const pages: string[] = []
    for (let page = 0; page * size < wanted.length; page++)
      pages.push(...(await listed(`&size=${size}&page=${page}`)))
    assert.deepEqual(pages, whole, `pages of ${size}`)
  }
  assert.deepEqual(await listed('&page=9007199254740991'), [])
  assert.equal((await change(admin, 'delete', `${policies}/${wanted[0]?.id}`)).status, 204)
  assert.equal((await read(admin, address)).page.totalElements, wanted.length - 1)
  assert.equal((await read(admin, `${policies}/search/group?uuid=${all.get('Read')}`)).page.totalElements, 1)
  assert.equal((await read(admin, `${policies}/search/group?uuid=${loggedIn}`)).page.totalElements, 0)
  assert.equal(await statusOf(editor, address), 403)
  assert.equal(await statusOf(admin, `${address}&resource=x`), 400)
})

test('I14 the pages of policies are found by group, and are empty by eperson', async t => {
  const { admin, item, groups, add, ed } = await started(t)
  const readers = groups.get('Readers') ?? ''
  await add(item.uuid, readers)
  await add(item.uuid, anonymous)
  const page = await read(admin, `${policies}/search/group?uuid=${readers}&resource=${item.uuid}`)
  assert.equal(page.page.totalElements, 1)
  assert.equal((await read(admin, `${policies}/search/eperson?uuid=${ed.uuid}`)).page.totalElements, 0)
  assert.equal((await read(admin, `/api/eperson/groups/${anonymous}`)).name, 'Anonymous')
  const found = await read(admin, '/api/eperson/groups/search/byMetadata?query=anonym')
  assert.deepEqual(
    (found._embedded.groups ?? []).map(one => one.uuid),
    [anonymous],
  )
})

test('I15 communities, collections, workflows and drafts are answered with what Carrel has instead', async t => {
  const { admin, item } = await started(t)
  const collection = `http://repo.example.edu/api/core/items?owningCollection=${item.uuid}`
  assert.match(
    (await change(admin, 'post', new URL(collection).pathname + new URL(collection).search, {})).body.detail,
    /no collections/,
  )
  for (const [path, what] of [
    ['/api/core/communities', /no communities/],
    ['/api/core/collections?parent=x', /no collections/],
    ['/api/workflow/workflowitems', /no workflows/],
    ['/api/submission/workspaceitems', /no drafts/],
    ['/api/versioning/versions', /no versions/],
  ] as const) {
    const answer = await change(admin, 'post', path, {})
    assert.equal(answer.status, 404)
    assert.match(answer.body.detail, what)
  }
})
