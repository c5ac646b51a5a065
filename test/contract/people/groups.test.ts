import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import {
  addTo,
  bodyWith,
  epersonsPath,
  groupsPath,
  listed,
  newGroup,
  patchJson,
  postJson,
  valuesOf,
} from '../../support/clients/people.ts'
import { changesOf, eventsOf } from '../../support/data/events.ts'
import { test } from '../../support/service/engines.ts'
import { startService, temporaryFolder } from '../../support/service/service.ts'

/** The UUID of no group. Administrators change groups over HTTP in these tests. */
const nobody = '00000000-0000-4000-8000-000000000000'
const at = (uuid: string) => `${groupsPath}/${uuid}`

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true', ...env } })
  const { uuid: adminId } = await service.addEperson('admin@example.org', { admin: true })
  const { uuid: ruthId } = await service.addEperson('ruth@example.org')
  const admin = await service.loggedIn('admin@example.org')
  const ruth = await service.loggedIn('ruth@example.org')
  return {
    service,
    admin,
    ruth,
    adminPath: `${epersonsPath}/${adminId}`,
    ruthPath: `${epersonsPath}/${ruthId}`,
    ruthId,
  }
}

const uuidOf = async (admin: { get(path: string): Promise<Response> }, name: string): Promise<string> => {
  const found = await (await admin.get(`${groupsPath}/search/byMetadata?query=${name}`)).json()
  return found._embedded.groups[0].uuid
}

test('M4 an administrator adds, describes, renames and deletes a group', async t => {
  const { admin } = await started(t)
  const answer = await postJson(admin, groupsPath, {
    name: ' Readers of letters ',
    permanent: false,
    metadata: { 'dc.description': [{ value: 'Line 1\nLine 2', language: null }] },
    type: 'group',
  })
  const added = await bodyWith(answer, 201)
  assert.equal(added.name, 'Readers of letters')
  assert.deepEqual(valuesOf(added), { 'dc.description': 'Line 1\nLine 2' })
  assert.deepEqual(await bodyWith(await admin.get(at(added.uuid)), 200), added)
  assert.deepEqual(await listed(admin, `${groupsPath}/search/byMetadata?query=OF%20LET`), [added.name])
  await assertProblem(await postJson(admin, groupsPath, { name: added.name }), 422, 'change-refused')
  // The operations that the form of DSpace's interface sends.
  const changed = await patchJson(admin, at(added.uuid), [
    { op: 'add', path: '/metadata/dc.description', value: 'short' },
    { op: 'replace', path: '/name', value: 'Letters' },
  ])
  assert.deepEqual(valuesOf(await bodyWith(changed, 200)), { 'dc.description': 'short' })
  assert.deepEqual(await listed(admin, `${groupsPath}/search/byMetadata?query=${added.uuid}`), ['Letters'])
  assert.deepEqual(await changesOf(admin, 'group.change'), [
    {
      before: { name: 'Readers of letters', 'dc.description': 'Line 1\nLine 2' },
      after: { name: 'Letters', 'dc.description': 'short' },
    },
  ])
  const rows = await (await admin.get('/api/query/v4/groups')).json()
  assert.deepEqual(
    rows
      .map((one: Record<string, unknown>) => [one.name, one.description, one.members, one.subgroups])
      .sort(),
    [
      ['Administrator', null, 1, 0],
      ['Letters', 'short', 0, 0],
    ],
  )
  assert.equal((await admin.delete(at(added.uuid))).status, 204)
  await assertProblem(await admin.delete(at(added.uuid)), 404, 'not-found')
  assert.deepEqual(
    (await eventsOf(admin, 'group.delete')).map(({ object }) => object),
    ['Letters'],
  )
})

test('M4 M5 what is wrong about groups is refused', async t => {
  const { admin, ruthPath } = await started(t)
  const uuid = await newGroup(admin, 'Letters')
  for (const wrong of [
    {},
    { name: 1 },
    { name: '  ' },
    { name: 'a\nb' },
    { name: 'a\0' },
    { name: 'x'.repeat(251) },
    { name: 'A', permanent: true },
    { name: 'A', metadata: { 'dc.title': [{ value: 'x' }] } },
    { name: 'A', metadata: { 'dc.description': [{ value: 'x'.repeat(4_001) }] } },
  ])
    await assertProblem(await postJson(admin, groupsPath, wrong), 422, 'change-refused')
  for (const operation of [
    { op: 'remove', path: '/name' },
    { op: 'replace', path: '/permanent', value: true },
    { op: 'replace', path: '/name/x', value: 'x' },
    { op: 'replace', path: '/name', value: '' },
    { op: 'add', path: '/metadata/dc.title', value: 'x' },
  ])
    await assertProblem(await patchJson(admin, at(uuid), [operation]), 422, 'patch-refused')
  await assertProblem(await patchJson(admin, at(uuid), []), 422, 'patch-refused')
  await assertProblem(
    await patchJson(admin, at(nobody), [{ op: 'replace', path: '/name', value: 'x' }]),
    404,
    'not-found',
  )
  for (const body of ['', '# nothing', 'nothing', `${groupsPath}/${uuid}`, `${epersonsPath}/x`])
    await assertProblem(
      await admin.post(`${at(uuid)}/epersons`, body, { 'content-type': 'text/uri-list' }),
      422,
      'change-refused',
    )
  await assertProblem(
    await addTo(admin, `${at(uuid)}/epersons`, `${epersonsPath}/${nobody}`),
    422,
    'change-refused',
  )
  await assertProblem(await addTo(admin, `${at(uuid)}/subgroups`, at(nobody)), 422, 'change-refused')
  await assertProblem(await addTo(admin, `${at(nobody)}/epersons`, ruthPath), 404, 'not-found')
  await assertProblem(await postJson(admin, `${at(uuid)}/epersons`, '{}'), 415, 'unsupported-media-type')
  for (const path of [`${at(uuid)}/epersons/${nobody}`, `${at(uuid)}/subgroups/x`])
    await assertProblem(await admin.delete(path), 422, 'change-refused')
  assert.deepEqual(await listed(admin, groupsPath), ['Administrator', 'Letters'])
})

test('M5 epersons join and leave groups at once, and doing it twice changes nothing', async t => {
  const { service, admin, ruth, ruthPath, ruthId } = await started(t)
  const uuid = await newGroup(admin, 'Letters')
  await service.addRecords('letters', 'id', [{ id: 1 }], 'group:Letters')
  const mayRead = async () => (await ruth.get('/api/query/v4/letters')).status
  assert.equal(await mayRead(), 403)
  for (let twice = 0; twice < 2; twice++)
    assert.equal((await addTo(admin, `${at(uuid)}/epersons`, ruthPath)).status, 204)
  assert.equal(await mayRead(), 200)
  assert.deepEqual(await listed(admin, `${at(uuid)}/epersons`), ['ruth@example.org'])
  for (let twice = 0; twice < 2; twice++)
    assert.equal((await admin.delete(`${at(uuid)}/epersons/${ruthId}`)).status, 204)
  assert.equal(await mayRead(), 403)
  assert.equal((await eventsOf(admin, 'group.join')).filter(({ object }) => object === 'Letters').length, 1)
  assert.deepEqual(
    (await eventsOf(admin, 'group.leave')).map(({ eperson, object }) => [eperson, object]),
    [[ruthId, 'Letters']],
  )
})

test('M7 a group that access rules name is neither renamed nor deleted, and the administrators’ group never', async t => {
  const { service, admin, adminPath } = await started(t)
  const uuid = await newGroup(admin, 'Letters')
  await service.addRecords('letters', 'id', [{ id: 1 }], 'group:Letters')
  const rename = (group: string, name: string) =>
    patchJson(admin, at(group), [{ op: 'replace', path: '/name', value: name }])
  const { detail } = await assertProblem(await rename(uuid, 'Others'), 422, 'change-refused')
  assert.match(detail, /the entity letters/)
  await assertProblem(await admin.delete(at(uuid)), 422, 'change-refused')
  // The operations that the form of DSpace's interface sends with a new description.
  await bodyWith(
    await patchJson(admin, at(uuid), [
      { op: 'add', path: '/metadata/dc.description', value: 'x' },
      { op: 'replace', path: '/name', value: 'Letters' },
    ]),
    200,
  )
  const administrators = await uuidOf(admin, 'Administrator')
  assert.equal((await bodyWith(await admin.get(at(administrators)), 200)).permanent, true)
  await assertProblem(await rename(administrators, 'Others'), 422, 'change-refused')
  await assertProblem(await admin.delete(at(administrators)), 422, 'change-refused')
  await assertProblem(
    await admin.delete(`${at(administrators)}/epersons/${adminPath.split('/').at(-1)}`),
    422,
    'change-refused',
  )
  assert.equal(await admin.isLoggedIn(), true)
})

test('M7 the last administrator keeps the rights also where a group gives them', async t => {
  const { admin, ruth, ruthPath, ruthId, adminPath } = await started(t)
  const administrators = await uuidOf(admin, 'Administrator')
  const chiefs = await newGroup(admin, 'Chiefs')
  await addTo(admin, `${at(administrators)}/subgroups`, at(chiefs))
  await addTo(admin, `${at(chiefs)}/epersons`, ruthPath)
  // Ruth is now an administrator through the group, and removes the other one.
  assert.equal((await ruth.get(groupsPath)).status, 200)
  assert.equal(
    (await ruth.delete(`${at(administrators)}/epersons/${adminPath.split('/').at(-1)}`)).status,
    204,
  )
  assert.equal((await admin.get(groupsPath)).status, 403)
  for (const attempt of [
    () => ruth.delete(`${at(administrators)}/subgroups/${chiefs}`),
    () => ruth.delete(`${at(chiefs)}/epersons/${ruthId}`),
    () => ruth.delete(at(chiefs)),
    () => ruth.delete(ruthPath),
    () => patchJson(ruth, ruthPath, [{ op: 'replace', path: '/canLogIn', value: false }]),
  ])
    await assertProblem(await attempt(), 422, 'change-refused')
  assert.equal((await ruth.get(groupsPath)).status, 200)
  assert.deepEqual((await eventsOf(ruth, 'group.exclude')).length, 0)
})

test('M8 special groups have no members by hand, but may be in groups, and their members are in those at once', async t => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'carrel.json')
  writeFileSync(
    file,
    JSON.stringify({
      specialGroups: {
        ip: [{ group: 'Campus', ranges: ['127.0.0.0/8'] }],
        method: [{ group: 'Members', method: 'password' }],
      },
    }),
  )
  const { service, admin, ruth, ruthPath } = await started(t, { CARREL_CONFIG: file })
  const [campus, members] = [await uuidOf(admin, 'Campus'), await uuidOf(admin, 'Members')]
  const [outer, outest] = [await newGroup(admin, 'Outer'), await newGroup(admin, 'Outest')]
  for (const special of [campus, members]) {
    await assertProblem(await addTo(admin, `${at(special)}/epersons`, ruthPath), 422, 'change-refused')
    await assertProblem(await addTo(admin, `${at(special)}/subgroups`, at(outer)), 422, 'change-refused')
    await assertProblem(await admin.delete(at(special)), 422, 'change-refused')
    await assertProblem(
      await patchJson(admin, at(special), [{ op: 'replace', path: '/name', value: 'X' }]),
      422,
      'change-refused',
    )
  }
  await service.addRecords('letters', 'id', [{ id: 1 }], 'group:Outest')
  const stranger = service.client()
  const mayRead = async () => [
    (await ruth.get('/api/query/v4/letters')).status,
    (await stranger.get('/api/query/v4/letters')).status,
  ]
  await addTo(admin, `${at(outest)}/subgroups`, at(outer))
  assert.deepEqual(await mayRead(), [403, 401])
  await addTo(admin, `${at(outer)}/subgroups`, at(campus))
  assert.deepEqual(await mayRead(), [200, 200])
  assert.deepEqual(await stranger.specialGroups(), ['Campus', 'Outer', 'Outest'])
  await admin.delete(`${at(outer)}/subgroups/${campus}`)
  assert.deepEqual(await mayRead(), [403, 401])
  // The special groups of the token apply.
  await addTo(admin, `${at(outer)}/subgroups`, at(members))
  assert.deepEqual(await mayRead(), [200, 401])
  await admin.delete(`${at(outest)}/subgroups/${outer}`)
  assert.deepEqual(await mayRead(), [403, 401])
  await addTo(admin, `${at(outest)}/subgroups`, at(outer))
  assert.deepEqual(await mayRead(), [200, 401])
  assert.equal((await admin.delete(at(outer))).status, 204)
  assert.deepEqual(await mayRead(), [403, 401])
  // Special groups never make administrators.
  const administrators = await uuidOf(admin, 'Administrator')
  await addTo(admin, `${at(administrators)}/subgroups`, at(members))
  assert.equal((await ruth.get(groupsPath)).status, 403)
})

test('M5 the addresses of a list are one change: all or none', async t => {
  const { service, admin } = await started(t)
  const group = await newGroup(admin, 'Many')
  const people = await Promise.all(
    Array.from({ length: 50 }, (_, at) => service.addEperson(`person${at}@example.org`)),
  )
  const send = (path: string, addresses: readonly string[]) =>
    admin.post(`${at(group)}/${path}`, addresses.join('\r\n'), { 'content-type': 'text/uri-list' })
  const epersons = people.map(({ uuid }) => `${epersonsPath}/${uuid}`)
  const joins = async () => (await eventsOf(admin, 'group.join')).filter(({ object }) => object === 'Many')
  await assertProblem(
    await send('epersons', [...epersons, `${epersonsPath}/${nobody}`]),
    422,
    'change-refused',
  )
  assert.deepEqual(await listed(admin, `${at(group)}/epersons?size=100`), [])
  assert.deepEqual(await joins(), [])
  assert.equal((await send('epersons', epersons)).status, 204)
  assert.equal((await listed(admin, `${at(group)}/epersons?size=100`)).length, 50)
  assert.equal((await joins()).length, 50)
  assert.equal((await send('epersons', epersons)).status, 204, 'once more changes nothing')
  assert.equal((await joins()).length, 50)

  const inner = [await newGroup(admin, 'Inner'), await newGroup(admin, 'Other')]
  for (const wrong of [nobody, group]) {
    const { detail } = await assertProblem(
      await send('subgroups', [...inner.map(at), at(wrong)]),
      422,
      'change-refused',
    )
    assert.ok(detail.includes(wrong), detail)
    assert.deepEqual(await listed(admin, `${at(group)}/subgroups`), [])
  }
  assert.deepEqual(await eventsOf(admin, 'group.include'), [])
  assert.equal((await send('subgroups', inner.map(at))).status, 204)
  assert.deepEqual(await listed(admin, `${at(group)}/subgroups`), ['Inner', 'Other'])
  await assertProblem(await addTo(admin, `${at(inner[0] ?? '')}/subgroups`, at(group)), 422, 'change-refused')
})
