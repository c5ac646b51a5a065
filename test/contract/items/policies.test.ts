import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { change, changeTo, newItem, read, statusOf, upload } from '../../support/data/editing.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

const policies = '/api/authz/resourcepolicies'
const anonymous = '00000000-0000-8000-8000-000000000000'
const loggedIn = '00000000-0000-8000-8000-000000000001'
const api = 'http://repo.example.edu/api'

async function started(t: TestContext) {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' } })
  await service.addEperson('root@example.org', { admin: true })
  const ed = await service.addEperson('ed@example.org', { groups: ['Editors'] })
  const ruth = await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  const admin = await service.loggedIn('root@example.org')
  const editor = await service.loggedIn('ed@example.org')
  const reader = await service.loggedIn('ruth@example.org')
  const nobody = service.client()
  const item = await newItem(admin)
  const { body: file } = await upload(admin, item.bundle, { name: 'a.txt', content: 'a' })
  const groups = new Map((await service.storage.people.listGroups()).map(one => [one.name, one.uuid]))
  const add = (resource: string, group: string, body: object = { action: 'READ' }) =>
    change(admin, 'post', `${policies}?resource=${resource}&group=${group}`, body)
  const addFor = (resource: string, eperson: string, body: object = { action: 'READ' }) =>
    change(admin, 'post', `${policies}?resource=${resource}&eperson=${eperson}`, body)
  const list = async (uuid: string, action = '') => {
    const page = await read(admin, `${policies}/search/resource?uuid=${uuid}&action=${action}`)
    return page._embedded.resourcepolicies ?? []
  }
  return { service, admin, editor, reader, nobody, item, file, groups, add, addFor, list, ed, ruth }
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
  // Files that had the item's readers keep them.
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

  // These requests are for administrators only.
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

  // A right whose end date has passed doesn't apply.
  await change(admin, 'patch', `${policies}/${added.body.id}`, [
    { op: 'add', path: '/endDate', value: '2020-01-01' },
  ])
  assert.equal((await change(editor, 'patch', item.path, title)).status, 403)
  assert.deepEqual([await statusOf(editor, item.path), await statusOf(editor, content)], [403, 403])
})

test('I14 what Carrel has no rule for is refused by name', async t => {
  const { admin, item, file, groups, add, addFor, list, ed } = await started(t)
  const readers = groups.get('Readers') ?? ''
  const refused = async (answer: Promise<{ status: number; body: { detail: string } }>, why: RegExp) => {
    const { status, body } = await answer
    assert.equal(status, 422, body.detail)
    assert.match(body.detail, why)
  }
  for (const action of ['ADD', 'REMOVE', 'ADMIN', 'DELETE', 'DEFAULT_ITEM_READ', 'read', 7])
    await refused(add(item.uuid, readers, { action }), /action/)
  await refused(add(file.uuid, readers, { action: 'WRITE' }), /WRITE is a right to an item/)
  await refused(
    add(item.uuid, anonymous, { action: 'WRITE' }),
    /groups with members and to single epersons only/,
  )
  await refused(add(item.uuid, groups.get('Administrator') ?? '', {}), /Administrators may/)
  await refused(add(item.uuid, ed.uuid), /no group/)
  await refused(add(item.uuid, readers, { startDate: '2021-02-30' }), /startDate must be a day/)
  await refused(add(item.uuid, readers, { startDate: '2022-01-01', endDate: '2021-01-01' }), /not be after/)
  await refused(add(item.uuid, readers, { policyType: 'TYPE_X' }), /policyType/)
  await refused(add(item.uuid, readers, { name: 'a\nb' }), /name/)
  await refused(addFor(item.uuid, readers), /no eperson/)
  await refused(addFor(file.uuid, ed.uuid, { action: 'WRITE' }), /WRITE is a right to an item/)
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
  // A policy for a group can't become one for an eperson or vice versa, as in DSpace.
  assert.equal(await changeTo(admin, 'put', `${path}/eperson`, `${api}/eperson/epersons/${ed.uuid}`), 422)
  const ofEd = `${policies}/${(await addFor(item.uuid, ed.uuid)).body.id}`
  assert.equal(await changeTo(admin, 'put', `${ofEd}/group`, `${api}/eperson/groups/${readers}`), 422)
  for (const wrong of [readers, ed.uuid.replace(/^........-/, '00000000-')])
    assert.equal(await changeTo(admin, 'put', `${ofEd}/eperson`, `${api}/eperson/epersons/${wrong}`), 422)
  assert.equal(await changeTo(admin, 'put', `${ofEd}/eperson`, `${api}/eperson/groups/${ed.uuid}`), 422)
  await refused(addFor(item.uuid, ed.uuid), /such a policy already/)
  for (const both of ['', `&group=${readers}&eperson=${ed.uuid}`, '&eperson=ed', '&group='])
    assert.equal(
      (await change(admin, 'post', `${policies}?resource=${item.uuid}${both}`, {})).status,
      400,
      both,
    )
  assert.equal((await change(admin, 'delete', ofEd)).status, 204)
  const some = Array.from({ length: 10 }, (_, n) => add(item.uuid, anonymous, { endDate: `203${n}-01-01` }))
  assert.deepEqual(new Set((await Promise.all(some)).map(one => one.status)), new Set([201]))
  let last = 201
  for (let n = 40; last === 201; n++)
    last = (await add(item.uuid, anonymous, { endDate: `20${n}-01-01` })).status
  assert.equal(last, 422)
})

test('I12 a policy for one eperson lets them alone read, on its days, until it is for someone else', async t => {
  const { service, admin, editor, reader, nobody, item, file, addFor, list, ed, ruth } = await started(t)
  const content = `/api/core/bitstreams/${file.uuid}/content`
  const readers = async () => {
    const seen: string[] = []
    for (const [name, client] of Object.entries({ editor, reader, nobody })) {
      const statuses = [await statusOf(client, item.path), await statusOf(client, content)]
      const listed = await client.get('/api/query/v4/items?include_total=true')
      const files = await client.get('/api/query/v4/bitstreams?include_total=true')
      const totals = [listed, files].map(({ headers }) => Number(headers.get('x-records')))
      const sees = statuses[0] === 200
      const refused = name === 'nobody' ? 401 : 403
      assert.deepEqual(
        [statuses, totals],
        sees
          ? [
              [200, 200],
              [1, 1],
            ]
          : [
              [refused, refused],
              [0, 0],
            ],
        name,
      )
      if (sees) seen.push(name)
    }
    return seen
  }
  const added = await addFor(item.uuid, ruth.uuid.toUpperCase(), { action: 'READ', name: 'For Ruth' })
  assert.equal(added.status, 201, JSON.stringify(added.body))
  const path = `${policies}/${added.body.id}`
  assert.deepEqual(await read(admin, path), added.body)
  assert.deepEqual(await list(item.uuid), [added.body])
  assert.deepEqual(await readers(), ['reader'])
  assert.equal((await read(admin, `${path}/eperson`)).name, 'ruth@example.org')
  assert.equal(await statusOf(admin, `${path}/group`), 204)
  const embedded = added.body._embedded as unknown as { eperson: { name: string }; group: null }
  assert.deepEqual([embedded.eperson.name, embedded.group], ['ruth@example.org', null])

  for (const [member, day, who] of [
    ['startDate', '2999-01-01', []],
    ['startDate', '2020-01-01', ['reader']],
    ['endDate', '2021-01-01', []],
    ['endDate', '2999-01-01', ['reader']],
  ] as const) {
    const operations = [{ op: 'add', path: `/${member}`, value: day }]
    assert.equal((await change(admin, 'patch', path, operations)).status, 200)
    assert.deepEqual(await readers(), who, `${member} ${day}`)
  }

  // An administrator who acts on behalf of an eperson has that eperson's rights. An access token applies only
  // to its part of the API.
  const as = (uuid: string) => ({ 'x-on-behalf-of': uuid })
  const acting = async (uuid: string) => (await admin.get(item.path, as(uuid))).status
  assert.deepEqual([await acting(ruth.uuid), await acting(ed.uuid)], [200, 403])
  const limited = service.client()
  const token = await reader.post(
    '/api/authn/tokens',
    JSON.stringify({ name: 'lists', parts: ['query'], methods: ['GET'] }),
    {
      'content-type': 'application/json',
    },
  )
  assert.equal(token.status, 201)
  limited.token = ((await token.json()) as { token: string }).token
  assert.equal((await limited.get('/api/query/v4/items?include_total=true')).headers.get('x-records'), '1')
  assert.equal(await statusOf(limited, item.path), 403)

  assert.equal(await changeTo(admin, 'put', `${path}/eperson`, `${api}/eperson/epersons/${ed.uuid}`), 204)
  assert.deepEqual(await readers(), ['editor'])
  assert.deepEqual([await acting(ruth.uuid), await acting(ed.uuid)], [403, 200])
  assert.equal((await limited.get('/api/query/v4/items?include_total=true')).headers.get('x-records'), '0')
  assert.deepEqual(
    (await list(item.uuid)).map(({ id, name, startDate }) => [id, name, startDate]),
    [[added.body.id, 'For Ruth', '2020-01-01']],
  )
  assert.equal((await change(admin, 'delete', path)).status, 204)
  assert.deepEqual(await readers(), [])
})

test('I13 a policy to write lets one eperson change a withdrawn item, and ends at once', async t => {
  const { admin, editor, reader, item, addFor, ruth } = await started(t)
  const title = [{ op: 'replace', path: '/metadata/dc.title/0/value', value: 'Edited' }]
  const added = await addFor(item.uuid, ruth.uuid, { action: 'WRITE' })
  assert.deepEqual([added.status, added.body.action], [201, 'WRITE'])
  await change(admin, 'patch', item.path, [{ op: 'replace', path: '/withdrawn', value: true }])
  const mayEach = async () => [
    (await change(reader, 'patch', item.path, title)).status,
    (await change(editor, 'patch', item.path, title)).status,
  ]
  assert.deepEqual(await mayEach(), [200, 403])
  assert.equal((await upload(reader, item.bundle, { name: 'b.txt', content: 'b' })).status, 201)
  assert.equal((await change(reader, 'delete', item.path)).status, 403)
  assert.equal((await change(reader, 'delete', `${policies}/${added.body.id}`)).status, 403)
  assert.equal((await change(admin, 'delete', `${policies}/${added.body.id}`)).status, 204)
  assert.deepEqual(await mayEach(), [403, 403])
  assert.equal((await upload(reader, item.bundle, { name: 'c.txt', content: 'c' })).status, 403)
})

test('I17 the policies for an eperson go with them, and all others stay as they are', async t => {
  const { service, admin, nobody, item, file, groups, add, addFor, list, ruth, ed } = await started(t)
  const other = await newItem(admin)
  const { body: own } = await upload(admin, other.bundle, { name: 'own.txt', content: 'own' })
  const stay = [
    await add(item.uuid, groups.get('Readers') ?? '', { action: 'READ', name: 'stays' }),
    await addFor(item.uuid, ed.uuid, { action: 'WRITE', description: 'stays' }),
    await add(own.uuid, anonymous),
  ]
  const go = [
    await addFor(item.uuid, ruth.uuid, { action: 'READ', name: 'goes' }),
    await addFor(item.uuid, ruth.uuid, { action: 'WRITE' }),
    await addFor(other.uuid, ruth.uuid, { action: 'READ', startDate: '2999-01-01' }),
    await addFor(own.uuid, ruth.uuid),
  ]
  for (const { status, body } of [...stay, ...go]) assert.equal(status, 201, JSON.stringify(body))
  await change(admin, 'patch', other.path, [{ op: 'replace', path: '/discoverable', value: false }])
  const search = `${policies}/search/eperson?uuid=`
  const ids = async (address: string) =>
    ((await read(admin, address))._embedded.resourcepolicies ?? []).map(one => one.id)
  const mine = await ids(search + ruth.uuid)
  for (const { body } of go) assert.ok(mine.includes(body.id))
  const pages: string[] = []
  for (let page = 0; page < mine.length; page++)
    pages.push(...(await ids(`${search}${ruth.uuid}&size=1&page=${page}`)))
  assert.deepEqual(pages, mine)
  assert.equal((await ids(`${search}${ruth.uuid}&resource=${item.uuid}`)).length, 2)
  assert.deepEqual(await ids(`${search}${ed.uuid}`), [stay[1]?.body.id])
  const everything = async () => [
    ...(await list(item.uuid)),
    ...(await list(file.uuid)),
    ...(await list(other.uuid)),
    ...(await list(own.uuid)),
  ]
  const before = await everything()
  const tag = (await admin.get(item.path)).headers.get('etag') ?? ''

  assert.equal((await change(admin, 'delete', `/api/eperson/epersons/${ruth.uuid}`)).status, 204)
  assert.deepEqual(
    await everything(),
    before.filter(({ id }) => !mine.includes(id)),
  )
  assert.equal(await statusOf(admin, `${policies}/${go[0]?.body.id}`), 404)
  assert.equal(await statusOf(admin, search + ruth.uuid), 422)
  assert.equal((await addFor(item.uuid, ruth.uuid)).status, 422)
  assert.equal(await statusOf(nobody, `/api/core/bitstreams/${own.uuid}/content`), 200)
  // Policies are not part of the item's entity tag.
  const title = [{ op: 'replace', path: '/metadata/dc.title/0/value', value: 'Still' }]
  assert.equal((await change(admin, 'patch', item.path, title, { 'if-match': tag })).status, 200)
  assert.equal(
    await service.storage.people.deleteEperson('ed@example.org', commandEvent('eperson.delete')),
    'changed',
  )
  assert.deepEqual(
    (await everything()).map(one => one.id).sort(),
    [stay[0], stay[2]]
      .map(one => one?.body.id ?? '')
      .concat(
        // The file had the item's readers.
        (await list(file.uuid)).map(one => one.id),
      )
      .sort(),
  )
  const left = await service.storage.repository.audiencesWith(`eperson:${ed.uuid}`)
  assert.deepEqual(left, [])
})

test('I12 the policies for a group are listed over all items and files, whatever the page', async t => {
  const { admin, item, file, groups, add, service } = await started(t)
  const readers = groups.get('Readers') ?? ''
  const other = await newItem(admin)
  const { body: open } = await upload(admin, other.bundle, { name: 'open.txt', content: 'open' })
  // Names that are parts of each other's rules, and one that JSON escapes.
  await service.storage.people.ensureGroups(['Read', '"Readers"', 'group:Readers'])
  const all = new Map((await service.storage.people.listGroups()).map(one => [one.name, one.uuid]))
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
  // Rules that the item's state suspends stay as policies.
  assert.equal(
    (await change(admin, 'patch', other.path, [{ op: 'replace', path: '/withdrawn', value: true }])).status,
    200,
  )
  const address = `${policies}/search/group?uuid=${readers}`
  const objects = [item, file, other, open].map(({ uuid }) => read(admin, `${address}&resource=${uuid}`))
  // Files also have the policies that their items had when they were added.
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
  assert.equal(await statusOf(admin, `${address}&resource=x`), 400)
})

test('I12 the pages of policies are found by group, and are empty of an eperson without any', async t => {
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
