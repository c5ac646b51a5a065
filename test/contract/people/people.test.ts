import assert from 'node:assert/strict'
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
import { passwordOf, startService } from '../../support/service/service.ts'

/** The UUID of no eperson. Epersons are changed over HTTP here, by administrators and by themselves. */
const nobody = '00000000-0000-4000-8000-000000000000'
const value = (text: string) => [{ value: text, language: null, authority: null, confidence: -1 }]

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true', ...env } })
  const { uuid: adminId } = await service.addEperson('admin@example.org', { admin: true })
  const { uuid: ruthId } = await service.addEperson('ruth@example.org')
  const admin = await service.loggedIn('admin@example.org')
  const ruth = await service.loggedIn('ruth@example.org')
  return { service, admin, ruth, adminId, ruthId, at: (uuid: string) => `${epersonsPath}/${uuid}` }
}

test('M2 M4 a patch that changes nothing is no event', async t => {
  const { service, admin, ruth, ruthId, at } = await started(t)
  const group = await newGroup(admin, 'Letters')
  const before = await bodyWith(await ruth.get(at(ruthId)), 200)
  const patches = [
    [ruth, at(ruthId), [{ op: 'replace', path: '/metadata/eperson.firstname/0/value', value: 'Test' }]],
    [admin, at(ruthId), [{ op: 'replace', path: '/canLogIn', value: true }]],
    [admin, at(ruthId), [{ op: 'replace', path: '/email', value: 'ruth@example.org' }]],
    [admin, `${groupsPath}/${group}`, [{ op: 'replace', path: '/name', value: 'Letters' }]],
  ] as const
  const stamp = await service.storage.sessions.stampOf(ruthId)
  for (const [client, path, operations] of patches)
    assert.equal((await patchJson(client, path, operations)).status, 200)
  for (const event of ['eperson.change', 'eperson.enable', 'group.change'])
    assert.deepEqual(await eventsOf(admin, event), [])
  assert.equal(await service.storage.sessions.stampOf(ruthId), stamp)
  assert.deepEqual(await bodyWith(await ruth.get(at(ruthId)), 200), before)
})

test('M1 an administrator adds an eperson as DSpace’s clients write one, and it is there at once', async t => {
  const { admin, at } = await started(t)
  const answer = await postJson(admin, epersonsPath, {
    id: null,
    name: null,
    netid: null,
    lastActive: null,
    selfRegistered: false,
    requireCertificate: false,
    canLogIn: true,
    email: ' Eva@Example.org ',
    metadata: {
      'eperson.firstname': value('Eva'),
      'eperson.lastname': [{ value: 'Löwe' }],
      'eperson.phone': [],
    },
    type: 'eperson',
  })
  const location = answer.headers.get('location')
  const added = await bodyWith(answer, 201)
  assert.equal(location?.endsWith(at(added.uuid)), true)
  assert.equal(added.email, 'Eva@Example.org')
  assert.deepEqual(valuesOf(added), {
    'eperson.firstname': 'Eva',
    'eperson.lastname': 'Löwe',
    'dspace.agreements.end-user': 'true',
  })
  assert.deepEqual(await bodyWith(await admin.get(at(added.uuid)), 200), added)
  assert.deepEqual(await listed(admin, `${epersonsPath}/search/byMetadata?query=eva%20l%C3%B6`), [
    'Eva@Example.org',
  ])
  assert.equal((await admin.get(`${epersonsPath}/search/byEmail?email=eva@example.ORG`)).status, 200)
  assert.deepEqual(await changesOf(admin, 'eperson.add'), [
    ...(await changesOf(admin, 'eperson.add')).slice(0, -1),
    {
      before: null,
      after: {
        email: 'Eva@Example.org',
        canLogIn: true,
        'eperson.firstname': 'Eva',
        'eperson.lastname': 'Löwe',
      },
    },
  ])
  await assertProblem(
    await postJson(admin, epersonsPath, { email: 'EVA@example.org' }),
    422,
    'change-refused',
  )
})

test('M1 a new eperson has the password that came with them, and logs in with it', async t => {
  const { service, admin } = await started(t)
  const password = 'quite a secret'
  const added = await bodyWith(await postJson(admin, epersonsPath, { email: 'eva@intranet', password }), 201)
  assert.equal(added.email, 'eva@intranet', 'an address of a local network is one')
  assert.equal((await service.client().tryLogin('eva@intranet', password)).status, 200)
  assert.equal(JSON.stringify(await eventsOf(admin, 'eperson.add')).includes(password), false)
})

/** A page of epersons. */
interface Page {
  readonly _embedded: { readonly epersons: readonly Readonly<Record<string, unknown>>[] }
}

test('S4 lists for administrators say who is one, which factors there are, and who has no password', async t => {
  const { admin, ruth, ruthId, at } = await started(t)
  await postJson(admin, epersonsPath, { email: 'eva@example.org' })
  const body = await bodyWith(await admin.get(`${epersonsPath}/search/byMetadata?query=`), 200)
  const standings = (body as unknown as Page)._embedded.epersons.map(
    ({ email, administrator, hasPassword, factors }) => [email, administrator, hasPassword, factors],
  )
  assert.deepEqual(standings, [
    ['admin@example.org', true, true, []],
    ['eva@example.org', false, false, []],
    ['ruth@example.org', false, true, []],
  ])
  const own = await bodyWith(await ruth.get(at(ruthId)), 200)
  assert.deepEqual(
    ['administrator', 'hasPassword', 'factors'].filter(name => Object.hasOwn(own, name)),
    [],
  )
})

test('M1 what is wrong about a new eperson is refused, and nothing is added', async t => {
  const { service, admin, ruth } = await started(t)
  const before = (await service.storage.people.listEpersons()).length
  for (const wrong of [
    {},
    { email: 1 },
    { email: 'no address' },
    { email: 'a\0@b' },
    { email: `${'a'.repeat(320)}@b` },
    { email: 'a@b', canLogIn: 'maybe' },
    { email: 'a@b', requireCertificate: true },
    { email: 'a@b', netid: 'ruth' },
    { email: 'a@b', metadata: [] },
    { email: 'a@b', metadata: { 'dc.title': value('x') } },
    { email: 'a@b', metadata: { 'eperson.firstname': [{ value: 1 }] } },
    { email: 'a@b', metadata: { 'eperson.firstname': value('x'.repeat(201)) } },
    { email: 'a@b', metadata: { 'eperson.firstname': value('x\0') } },
    { email: 'a@b', metadata: { 'eperson.firstname': [...value('x'), ...value('y')] } },
    { email: 'a@b', metadata: { 'dspace.agreements.end-user': value('yes') } },
    { email: 'a@b', metadata: JSON.parse('{"__proto__":[{"value":"x"}]}') },
  ])
    await assertProblem(await postJson(admin, epersonsPath, wrong), 422, 'change-refused')
  for (const password of ['short', 'password1', 'eva@example.org', 'x'.repeat(5_001)])
    await assertProblem(
      await postJson(admin, epersonsPath, { email: 'eva@example.org', password }),
      422,
      'password-refused',
    )
  for (const password of [1, {}, '\uD800 a lone surrogate'])
    await assertProblem(
      await postJson(admin, epersonsPath, { email: 'eva@example.org', password }),
      422,
      'patch-refused',
    )
  await assertProblem(await postJson(admin, epersonsPath, '{'), 400, 'bad-request')
  await assertProblem(await postJson(admin, epersonsPath, '[]'), 400, 'bad-request')
  await assertProblem(
    await admin.post(epersonsPath, 'a=b', { 'content-type': 'text/plain' }),
    415,
    'unsupported-media-type',
  )
  await assertProblem(await postJson(ruth, epersonsPath, 'not looked at'), 403, 'access-denied')
  assert.equal((await service.storage.people.listEpersons()).length, before)
})

test('M2 an administrator changes everything of an eperson, as DSpace’s interface writes it', async t => {
  const { service, admin, ruth, ruthId, at } = await started(t)
  const changed = await bodyWith(
    await patchJson(admin, at(ruthId), [
      { op: 'replace', path: '/metadata/eperson.firstname/0/value', value: 'Ruth' },
      { op: 'add', path: '/metadata/eperson.phone', value: [{ value: '030 1', language: null }] },
      { op: 'replace', path: '/metadata/eperson.lastname/0/language', value: 'de' },
      { op: 'add', path: '/metadata/eperson.language/', value: { value: 'de' } },
      { op: 'replace', path: '/email', value: 'ruth@example.com' },
      { op: 'replace', path: '/certificate', value: false },
    ]),
    200,
  )
  assert.equal(changed.email, 'ruth@example.com')
  assert.deepEqual(valuesOf(changed), {
    'eperson.firstname': 'Ruth',
    'eperson.lastname': 'Person',
    'eperson.phone': '030 1',
    'eperson.language': 'de',
    'dspace.agreements.end-user': 'true',
  })
  assert.equal(await ruth.isLoggedIn(), true, 'only what says so ends sessions')
  assert.equal((await ruth.status())._embedded.eperson?.email, 'ruth@example.com')
  assert.deepEqual(await changesOf(admin, 'eperson.change'), [
    {
      before: {
        email: 'ruth@example.org',
        'eperson.firstname': 'Test',
        'eperson.phone': null,
        'eperson.language': null,
      },
      after: {
        email: 'ruth@example.com',
        'eperson.firstname': 'Ruth',
        'eperson.phone': '030 1',
        'eperson.language': 'de',
      },
    },
  ])
  const disabled = await patchJson(admin, at(ruthId), [{ op: 'replace', path: '/canLogIn', value: false }])
  assert.equal((await bodyWith(disabled, 200)).canLogIn, false)
  assert.equal(await ruth.isLoggedIn(), false)
  assert.equal(
    (await service.client().tryLogin('ruth@example.com', passwordOf('ruth@example.org'))).status,
    401,
  )
  assert.equal((await eventsOf(admin, 'eperson.disable')).length, 1)
  await bodyWith(
    await patchJson(admin, at(ruthId), [{ op: 'replace', path: '/canLogIn', value: 'true' }]),
    200,
  )
  assert.equal(await ruth.isLoggedIn(), false, 'a token from before revives with nothing')
  await assertProblem(
    await patchJson(admin, at(ruthId), [{ op: 'replace', path: '/email', value: 'ADMIN@example.org' }]),
    422,
    'change-refused',
  )
  await assertProblem(
    await patchJson(admin, at(nobody), [{ op: 'remove', path: '/metadata/eperson.phone' }]),
    404,
    'not-found',
  )
  await assertProblem(
    await patchJson(admin, at('x'), [{ op: 'remove', path: '/metadata/eperson.phone' }]),
    404,
    'not-found',
  )
})

test('M2 epersons change their own profile, and the session goes on', async t => {
  const { service, admin, ruth, ruthId, adminId, at } = await started(t)
  const change = (operations: unknown, uuid = ruthId, headers = {}) =>
    patchJson(ruth, at(uuid), operations, headers)
  const body = await bodyWith(
    await change([
      { op: 'replace', path: '/metadata/eperson.firstname/0/value', value: 'Ruth' },
      { op: 'remove', path: '/metadata/eperson.lastname/0' },
      { op: 'add', path: '/metadata/eperson.language', value: [{ value: 'de' }] },
    ]),
    200,
  )
  assert.deepEqual(valuesOf(body), {
    'eperson.firstname': 'Ruth',
    'eperson.language': 'de',
    'dspace.agreements.end-user': 'true',
  })
  assert.equal(await ruth.isLoggedIn(), true)
  assert.deepEqual(await bodyWith(await ruth.get(at(ruthId)), 200), body)
  for (const path of ['/email', '/canLogIn', '/certificate', '/netid'])
    await assertProblem(await change([{ op: 'replace', path, value: 'x@y' }]), 403, 'access-denied')
  await assertProblem(
    await change([{ op: 'add', path: '/metadata/eperson.phone', value: '1' }], adminId),
    403,
    'access-denied',
  )
  await assertProblem(
    await change([{ op: 'add', path: '/metadata/eperson.phone', value: '1' }], nobody),
    403,
    'access-denied',
  )
  for (const operation of [
    { op: 'add', path: '/uuid', value: nobody },
    { op: 'add', path: '', value: {} },
    { op: 'remove', path: '/metadata' },
    { op: 'add', path: '/metadata/dc.title', value: 'x' },
    { op: 'add', path: '/metadata/eperson.phone/1', value: { value: 'x' } },
    { op: 'add', path: '/metadata/eperson.phone', value: ['x', 'y'] },
    { op: 'add', path: '/metadata/eperson.phone', value: { value: { value: 'x' } } },
    { op: 'add', path: '/metadata/eperson.phone/0/value/x', value: 'x' },
    { op: 'add', path: '/metadata/eperson.phone/0/secret', value: 'x' },
    { op: 'add', path: '/metadata/eperson.phone', value: 'x'.repeat(101) },
    { op: 'test', path: '/metadata/eperson.phone', value: 'x' },
    { op: 'move', from: '/metadata/eperson.phone', path: '/metadata/eperson.language' },
    { op: 'add', path: '/metadata/dspace.agreements.end-user', value: 'yes' },
    { op: 'add', path: 'email', value: 'x' },
  ])
    await assertProblem(await change([operation]), 422, 'patch-refused')
  const many = Array.from({ length: 101 }, () => ({ op: 'remove', path: '/metadata/eperson.phone' }))
  await assertProblem(await change(many), 422, 'patch-refused')
  assert.deepEqual(await bodyWith(await ruth.get(at(ruthId)), 200), body, 'all or nothing')
  await assertProblem(
    await change([
      { op: 'remove', path: '/metadata/eperson.language' },
      { op: 'replace', path: '/email', value: 'x@y' },
    ]),
    403,
    'access-denied',
  )
  assert.deepEqual(await bodyWith(await ruth.get(at(ruthId)), 200), body, 'all or nothing')

  const acting = { 'x-on-behalf-of': ruthId, 'x-on-behalf-of-reason': 'a call' }
  await bodyWith(
    await patchJson(admin, at(ruthId), [{ op: 'add', path: '/metadata/eperson.phone', value: '7' }], acting),
    200,
  )
  await assertProblem(
    await patchJson(admin, at(ruthId), [{ op: 'replace', path: '/email', value: 'x@y' }], acting),
    403,
    'access-denied',
  )
  const [, byAdmin] = await eventsOf(admin, 'eperson.change')
  assert.deepEqual([byAdmin?.eperson, byAdmin?.actor, byAdmin?.reason], [ruthId, adminId, 'a call'])
  await service.stop()
})

test('M2 T6 an administrator sets someone’s password, which ends all their sessions', async t => {
  const { service, admin, ruth, ruthId, adminId, at } = await started(t)
  const set = (uuid: string, given: unknown, op = 'add') =>
    patchJson(admin, at(uuid), [{ op, path: '/password', value: given }])
  for (const wrong of [null, 1, {}, { new_password: 1 }, ['a secret of ten']])
    await assertProblem(await set(ruthId, wrong), 422, 'patch-refused')
  for (const weak of ['short', 'password1', 'ruth@example.org'])
    await assertProblem(await set(ruthId, { new_password: weak }), 422, 'password-refused')
  await assertProblem(await set(nobody, { new_password: 'quite another one' }), 404, 'not-found')
  await assertProblem(
    await patchJson(admin, at(ruthId), [
      { op: 'add', path: '/password', value: { new_password: 'quite another one' } },
      { op: 'remove', path: '/metadata/eperson.phone' },
    ]),
    422,
    'patch-refused',
  )
  assert.equal(await ruth.isLoggedIn(), true)
  await bodyWith(await set(ruthId, { new_password: 'quite another one' }), 200)
  assert.equal(await ruth.isLoggedIn(), false)
  assert.equal((await service.client().tryLogin('ruth@example.org', 'quite another one')).status, 200)
  // Older clients send the password as a text.
  await bodyWith(await set(ruthId, 'and one more again', 'replace'), 200)
  assert.equal((await service.client().tryLogin('ruth@example.org', 'and one more again')).status, 200)
  await assertProblem(await set(adminId, { new_password: 'quite another one' }), 422, 'patch-refused')
  const all = JSON.stringify(await eventsOf(admin, 'eperson.password'))
  assert.ok(!all.includes('another') && all.includes(adminId))
})

test('M3 an administrator deletes epersons, but never the last administrator', async t => {
  const { service, admin, ruth, adminId, ruthId, at } = await started(t)
  await assertProblem(await admin.delete(at(nobody)), 404, 'not-found')
  for (const attempt of [
    () => admin.delete(at(adminId)),
    () => patchJson(admin, at(adminId), [{ op: 'replace', path: '/canLogIn', value: false }]),
  ])
    await assertProblem(await attempt(), 422, 'change-refused')
  assert.equal(await admin.isLoggedIn(), true)
  assert.deepEqual(await eventsOf(admin, 'eperson.delete'), [])
  assert.equal((await admin.delete(at(ruthId))).status, 204)
  assert.equal(await ruth.isLoggedIn(), false)
  await assertProblem(await admin.delete(at(ruthId)), 404, 'not-found')
  assert.deepEqual((await changesOf(admin, 'eperson.delete')).at(-1), {
    before: {
      email: 'ruth@example.org',
      canLogIn: true,
      'eperson.firstname': 'Test',
      'eperson.lastname': 'Person',
    },
    after: null,
  })
  // Once there is another administrator, this one may be deleted.
  const { uuid } = await service.addEperson('second@example.org', { admin: true })
  assert.equal((await admin.delete(at(adminId))).status, 204)
  const second = await service.loggedIn('second@example.org')
  await assertProblem(await second.delete(at(uuid)), 422, 'change-refused')
})

test('M9 the end user agreement is stored; unless the operator asks for it, nobody is asked', async t => {
  const agreement = 'dspace.agreements.end-user'
  for (const env of [{}, { CARREL_END_USER_AGREEMENT: 'true' }]) {
    const { ruth, ruthId, at } = await started(t, env)
    const shown = async () => valuesOf(await bodyWith(await ruth.get(at(ruthId)), 200))[agreement]
    assert.equal(await shown(), 'CARREL_END_USER_AGREEMENT' in env ? undefined : 'true')
    await bodyWith(
      await patchJson(ruth, at(ruthId), [
        { op: 'add', path: `/metadata/${agreement}`, value: [{ value: 'true' }] },
      ]),
      200,
    )
    assert.equal(await shown(), 'true')
    const status = await ruth.status()
    assert.ok(JSON.stringify(status).includes(agreement))
    await bodyWith(
      await patchJson(ruth, at(ruthId), [
        { op: 'replace', path: `/metadata/${agreement}/0`, value: { value: 'false' } },
      ]),
      200,
    )
    assert.equal(await shown(), 'false')
    for (const field of ['dspace.agreements.cookies', 'dspace.accessibility.settings']) {
      const settings = JSON.stringify({ authentication: true, timeOut: '25' })
      const path = `/metadata/${field}`
      const added = await patchJson(ruth, at(ruthId), [{ op: 'add', path, value: [{ value: settings }] }])
      assert.equal(valuesOf(await bodyWith(added, 200))[field], settings)
      assert.ok(JSON.stringify(await ruth.status()).includes(field), 'the interface reads it after a login')
      const removed = await patchJson(ruth, at(ruthId), [{ op: 'remove', path }])
      assert.equal(valuesOf(await bodyWith(removed, 200))[field], undefined)
    }
  }
})

test('M6 epersons are searched within a group and outside of it, by direct membership', async t => {
  const { admin, ruth, ruthId, at } = await started(t)
  const [outer, inner] = [await newGroup(admin, 'Outer'), await newGroup(admin, 'Inner')]
  assert.equal((await addTo(admin, `${groupsPath}/${inner}/epersons`, at(ruthId))).status, 204)
  assert.equal((await addTo(admin, `${groupsPath}/${outer}/subgroups`, `${groupsPath}/${inner}`)).status, 204)
  const search = (name: string, group: string, query = '') =>
    listed(admin, `${epersonsPath}/search/${name}?group=${group}&query=${query}`)
  assert.deepEqual(await search('isMemberOf', inner), ['ruth@example.org'])
  assert.deepEqual(await search('isMemberOf', inner, 'TEST%20per'), ['ruth@example.org'])
  assert.deepEqual(await search('isMemberOf', inner, 'nobody'), [])
  assert.deepEqual(await search('isMemberOf', outer), [])
  assert.deepEqual(await search('isNotMemberOf', outer), ['admin@example.org', 'ruth@example.org'])
  assert.deepEqual(await search('isNotMemberOf', inner, 'example'), ['admin@example.org'])
  for (const path of ['isMemberOf', 'isNotMemberOf', 'isMemberOf?group=x'])
    await assertProblem(await admin.get(`${epersonsPath}/search/${path}`), 400, 'bad-parameter')
  assert.deepEqual(await listed(ruth, `${at(ruthId)}/groups`), ['Inner', 'Outer'])
})
