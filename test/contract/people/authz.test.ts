import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertProblem, assertUnauthorized } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { dayIn } from '../../support/data/policies.ts'
import { addItem, membersOf } from '../../support/data/repository.ts'
import { from, withSpecialGroups } from '../../support/service/configuration.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'

const search = '/api/authz/authorizations/search'

interface Authorization {
  readonly id: string
  readonly type: string
  readonly _links: Readonly<Record<string, { readonly href: string }>>
  readonly _embedded: { readonly feature: { readonly id: string; readonly type: string } }
}
interface AuthorizationPage {
  readonly _embedded: { readonly authorizations: readonly Authorization[] }
  readonly page: { readonly totalElements: number }
}

async function started(t: TestContext, loginOnBehalfOf = 'true') {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: loginOnBehalfOf } })
  const { uuid: admin } = await service.addEperson('admin@example.org', { admin: true })
  const { uuid: ruth } = await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  const clients = { admin: service.client(), ruth: service.client(), nobody: service.client() }
  await clients.admin.login('admin@example.org')
  await clients.ruth.login('ruth@example.org')
  const sites = await (await clients.nobody.get('/api/core/sites')).json()
  const site: string = sites._embedded.sites[0]._links.self.href
  return { service, ...clients, uuids: { admin, ruth }, site }
}

/** Returns the features that are granted, as a client looks them up. */
const held = (client: Client, uri: string, more: Readonly<Record<string, string>> = {}) =>
  heldAt(client, 'object', { uri, ...more })

async function heldAt(
  client: Client,
  name: 'object' | 'objects',
  parameters: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const query = new URLSearchParams({ ...parameters, embed: 'feature' })
  const answer = await client.get(`${search}/${name}?${query}`, headers)
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  const page = JSON.parse(text) as AuthorizationPage
  assert.equal(page.page.totalElements, page._embedded.authorizations.length)
  return page._embedded.authorizations.map(one => one._embedded.feature.id)
}

testOn('sqlite', 'P4 there is one site, the same on every node and after every start', async t => {
  const { service, site, nobody } = await started(t)
  assert.match(
    site,
    new RegExp(
      `^${baseUrl}/api/core/sites/[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
    ),
  )
  const body = await (await nobody.get(site.slice(baseUrl.length))).json()
  assert.deepEqual([body.type, body.name, body._links.self.href], ['site', 'Carrel', site])
  const node = await startService(t, { dataFolder: service.dataFolder })
  assert.equal((await node.client().get(site.slice(baseUrl.length))).status, 200)
  await assertProblem(
    await nobody.get('/api/core/sites/00000000-0000-4000-8000-000000000000'),
    404,
    'not-found',
  )
})

const adminFeatures = ['administratorOf', 'canManageGroups', 'loginOnBehalfOf']

test('B1 Z1 the features of the site hold for administrators, and for nobody else', async t => {
  const { admin, ruth, nobody, uuids, site } = await started(t)
  assert.deepEqual(await held(admin, site, { eperson: uuids.admin }), adminFeatures)
  assert.deepEqual(await held(admin, site, { eperson: uuids.ruth }), [])
  assert.deepEqual(await held(ruth, site, { eperson: uuids.ruth }), [])
  assert.deepEqual(await held(nobody, site), [])
})

test('Z1 a search without eperson answers for the caller, acting included', async t => {
  const { admin, ruth, nobody, uuids, site } = await started(t)
  assert.deepEqual(await held(admin, site), adminFeatures)
  assert.deepEqual(await held(ruth, site), [])
  assert.deepEqual(await held(nobody, site), [])
  assert.deepEqual(await heldAt(admin, 'object', { uri: site }, { 'x-on-behalf-of': uuids.ruth }), [])
  const own = await (await admin.get(`${search}/object?uri=${site}&feature=administratorOf`)).json()
  const [one] = own._embedded.authorizations
  assert.equal(one._links.eperson.href, `${baseUrl}/api/eperson/epersons/${uuids.admin}`)
  const itself = await admin.get(one._links.self.href.slice(baseUrl.length))
  assert.deepEqual(await itself.json(), one)
  const ruthHerself = { uuid: uuids.ruth, type: 'eperson.eperson' }
  assert.deepEqual(await heldAt(ruth, 'objects', ruthHerself), ['canChangePassword'])
  assert.deepEqual(await heldAt(admin, 'objects', ruthHerself, { 'x-on-behalf-of': uuids.ruth }), [])
})

test('Z1 loginOnBehalfOf holds for exactly the epersons that an administrator may act as', async t => {
  const { service, admin, uuids } = await started(t)
  const { uuid: boss } = await service.addEperson('boss@example.org', { admin: true })
  const { uuid: disabled } = await service.addEperson('disabled@example.org')
  await service.storage.people.setEnabled('disabled@example.org', false, commandEvent('eperson.disable'))
  for (const uuid of [uuids.ruth, uuids.admin, boss, disabled, '00000000-0000-4000-8000-000000000000']) {
    const uri = `${baseUrl}/api/eperson/epersons/${uuid}`
    const isGranted = (await held(admin, uri, { feature: 'loginOnBehalfOf' })).length > 0
    const { status } = await admin.get('/api/authn/status', { 'x-on-behalf-of': uuid })
    assert.deepEqual([isGranted, status === 200], [uuid === uuids.ruth, uuid === uuids.ruth], uuid)
  }
})

test('Z1 canManageGroups comes with the lists of groups and of their members', async t => {
  const { admin, ruth, uuids } = await started(t)
  const groups = '/api/eperson/groups'
  const page = await (await admin.get(`${groups}/search/byMetadata?query=READ&page=0&size=5`)).json()
  assert.deepEqual(page.page, { number: 0, size: 5, totalPages: 1, totalElements: 1 })
  const [readers] = page._embedded.groups
  assert.equal(readers.name, 'Readers')
  const byUuid = await (await admin.get(`${groups}/search/byMetadata?query=${readers.uuid}`)).json()
  assert.deepEqual(byUuid._embedded.groups, [readers])
  const at = (name: string): string => readers._links[name].href.slice(baseUrl.length)
  const members = await (await admin.get(at('epersons'))).json()
  assert.deepEqual(
    members._embedded.epersons.map((one: { uuid: string }) => one.uuid),
    [uuids.ruth],
  )
  assert.equal((await admin.get(at('object'))).status, 204)
  assert.deepEqual((await (await admin.get(at('subgroups'))).json())._embedded, { groups: [] })
  const others = `/api/eperson/epersons/search/isNotMemberOf?query=&group=${readers.uuid}`
  assert.equal((await (await admin.get(others)).json())._embedded.epersons[0].uuid, uuids.admin)

  // A member may read the group, but not its other members.
  for (const name of ['self', 'subgroups']) assert.equal((await ruth.get(at(name))).status, 200)
  await assertProblem(await ruth.get(at('epersons')), 403, 'access-denied')
  for (const name of ['epersons', 'subgroups', 'object'])
    await assertProblem(await admin.get(`${groups}/${uuids.ruth}/${name}`), 404, 'not-found')
})

test('P4 pid/find and dso/find answer with what the caller may read', async t => {
  const { service, nobody, ruth } = await started(t)
  const readers = membersOf('Readers')
  const open = await addItem(service, { identifier: '123456789/1', files: [{ name: 'a.txt' }] })
  const closed = await addItem(service, { identifier: '123456789/2', readers })
  const file = open.files.get('a.txt')?.uuid ?? ''
  for (const [path, type, uuid] of [
    ['pid/find?id=hdl:123456789/1', 'item', open.uuid],
    ['pid/find?id=123456789%2F1', 'item', open.uuid],
    [`dso/find?uuid=${open.uuid}`, 'item', open.uuid],
    [`dso/find?uuid=${file.toUpperCase()}`, 'bitstream', file],
  ] as const) {
    const body = await (await nobody.get(`/api/${path}`)).json()
    assert.deepEqual([body.type, body.uuid], [type, uuid], path)
  }
  for (const path of ['pid/find?id=hdl:123456789/2', `dso/find?uuid=${closed.uuid}`]) {
    await assertUnauthorized(await nobody.get(`/api/${path}`))
    assert.equal((await ruth.get(`/api/${path}`)).status, 200)
  }
  for (const path of [
    'pid/find?id=hdl:1/1',
    'pid/find?id=%00',
    'dso/find?uuid=x',
    `dso/find?uuid=${nowhere}`,
  ])
    await assertProblem(await nobody.get(`/api/${path}`), 404, 'not-found')
  for (const path of ['pid/find', 'dso/find?uuid=', 'pid/find?id=a&id=b'])
    await assertProblem(await nobody.get(`/api/${path}`), 400, 'bad-parameter')
})
const nowhere = '00000000-0000-4000-8000-000000000000'

testOn(
  'sqlite',
  'B1 B3 loginOnBehalfOf holds only where it is switched on, and no right is kept while acting',
  async t => {
    const off = await started(t, 'false')
    const asked = { eperson: off.uuids.admin }
    assert.deepEqual(await held(off.admin, off.site, asked), ['administratorOf', 'canManageGroups'])
    const someone = `${baseUrl}/api/eperson/epersons/${off.uuids.ruth}`
    assert.deepEqual(await held(off.admin, someone, { feature: 'loginOnBehalfOf' }), [])

    const { admin, uuids, site } = await started(t)
    const acting = { 'x-on-behalf-of': uuids.ruth }
    const query = (eperson: string) => `${search}/object?uri=${site}&eperson=${eperson}`
    const own = await (await admin.get(query(uuids.ruth), acting)).json()
    assert.equal(own.page.totalElements, 0)
    await assertProblem(await admin.get(query(uuids.admin), acting), 403, 'access-denied')
  },
)

testOn('sqlite', 'P4 an authorization has the shape that clients know, and its links answer', async t => {
  const { admin, uuids, site } = await started(t)
  const query = new URLSearchParams({ uri: site, eperson: uuids.admin, feature: 'administratorOf' })
  const page = (await (await admin.get(`${search}/object?${query}`)).json()) as AuthorizationPage
  const [one] = page._embedded.authorizations
  assert.ok(one)
  const siteUuid = site.split('/').at(-1)
  assert.equal(one.id, `${uuids.admin}_administratorOf_site_${siteUuid}`)
  assert.equal(one.type, 'authorization')
  assert.equal(one._embedded.feature.type, 'feature')
  for (const name of ['eperson', 'feature', 'object']) {
    const href: string = one._links[name]?.href ?? ''
    assert.equal((await admin.get(href.slice(baseUrl.length))).status, 200, href)
  }
  const itself = await admin.get((one._links.self?.href ?? '').slice(baseUrl.length))
  assert.deepEqual(await itself.json(), one)
  const features = await (await admin.get('/api/authz/features?size=1&page=3')).json()
  assert.deepEqual(features.page, { number: 3, size: 1, totalPages: 21, totalElements: 21 })
  assert.equal(features._embedded.features[0].id, 'canDelete')
  await assertProblem(await admin.get('/api/authz/features/nothing'), 404, 'not-found')
})

testOn(
  'sqlite',
  'P4 what nobody knows has no authorization; several things and features are asked about at once',
  async t => {
    const { admin, ruth, uuids, site } = await started(t)
    const eperson = uuids.admin
    for (const uri of [
      `${site}x`,
      `${baseUrl}/api/core/items/${uuids.ruth}`,
      'https://elsewhere.example/',
      'x',
    ])
      assert.deepEqual(await held(admin, uri, { eperson }), [], uri)
    assert.deepEqual(await held(admin, site, { eperson, feature: 'canDance' }), [])
    assert.deepEqual(await held(admin, site, { eperson, feature: 'administratorOf' }), ['administratorOf'])

    const someone = `${baseUrl}/api/eperson/epersons/${uuids.ruth}`
    const query = new URLSearchParams([
      ['uri', site],
      ['uri', someone],
      ['type', 'eperson'],
      ['feature', 'loginOnBehalfOf'],
      ['feature', 'canDownload'],
      ['eperson', eperson],
    ])
    const page = (await (await admin.get(`${search}/objects?${query}`)).json()) as AuthorizationPage
    assert.deepEqual(
      page._embedded.authorizations.map(one => one._links.object?.href),
      [site, someone],
    )
    await assertProblem(await admin.get(`${search}/object`), 400, 'bad-parameter')
    // The other form of the search: a type and UUIDs.
    for (const type of ['eperson.eperson', 'eperson.epersons', 'EPERSON'])
      assert.deepEqual(
        await heldAt(admin, 'objects', { uuid: uuids.ruth, type, feature: 'loginOnBehalfOf', eperson }),
        ['loginOnBehalfOf'],
      )
    for (const [uuid, type] of [
      ['x', 'eperson.eperson'],
      [uuids.ruth, 'core.nothing'],
      [uuids.ruth, ''],
    ] as const)
      assert.deepEqual(await heldAt(admin, 'objects', { uuid, type, eperson }), [])
    assert.deepEqual(await heldAt(admin, 'objects', { uuid: uuids.ruth, eperson }), [])
    await assertProblem(await admin.get(`${search}/objects`), 400, 'bad-parameter')
    await assertProblem(await admin.get(`${search}/object?uri=${site}&uri=${site}`), 400, 'bad-parameter')
    await assertProblem(await ruth.get(`${search}/object?uri=${site}&size=0`), 400, 'bad-parameter')
  },
)

test('Q11 an eperson asks about its own rights and groups only, an administrator about anybody’s', async t => {
  const { service, admin, ruth, nobody, uuids, site } = await started(t)
  const about = `${search}/object?uri=${site}&eperson=${uuids.admin}`
  await assertUnauthorized(await nobody.get(about))
  await assertProblem(await ruth.get(about), 403, 'access-denied')

  const path = `/api/eperson/epersons/${uuids.ruth}/groups`
  for (const client of [ruth, admin]) {
    const page = await (await client.get(path)).json()
    assert.deepEqual(
      page._embedded.groups.map((group: { name: string }) => group.name),
      ['Readers'],
    )
    assert.equal(page._links.self.href, `${baseUrl}${path}`)
    const { href } = page._embedded.groups[0]._links.self
    const group = await client.get(href.slice(baseUrl.length))
    assert.equal(group.status, 200)
    assert.equal(((await group.json()) as { type: string }).type, 'group')
  }
  await assertUnauthorized(await nobody.get(path))
  await service.addEperson('max@example.org', { groups: ['Others'] })
  const [others] = await service.storage.people.ensureGroups(['Others'])
  for (const uuid of [others?.uuid, '00000000-0000-4000-8000-000000000000'])
    await assertProblem(await ruth.get(`/api/eperson/groups/${uuid}`), 403, 'access-denied')
  assert.equal((await admin.get(`/api/eperson/groups/${others?.uuid}`)).status, 200)
  await assertProblem(await admin.get(`/api/eperson/groups/${uuids.ruth}`), 404, 'not-found')
  await assertUnauthorized(await nobody.get(`/api/eperson/groups/${others?.uuid}`))
})

testOn(
  'sqlite',
  'P4 the root links what DSpace’s interface looks for, and every link of it leads to an answer',
  async t => {
    const { admin, ruth, nobody } = await started(t)
    const root = await (await nobody.get('/api')).json()
    const wanted = [
      'authn',
      'sites',
      'authorizations',
      'features',
      'epersons',
      'groups',
      'communities',
      'collections',
    ]
    const more = ['browses', 'properties', 'discover', 'statistics', 'scripts']
    const pages = ['processes', 'subscriptions', 'edititems', 'correctiontypes', 'notifyrequests']
    const content = ['items', 'bitstreams', 'bitstreamformats', 'profiles']
    for (const name of [...wanted, ...more, ...pages, 'qualityassurancesources', ...content]) {
      const path = (root._links[name]?.href ?? '').slice(baseUrl.length)
      const isForAdministrators = ['epersons', 'groups', 'scripts', 'processes'].includes(name)
      assert.equal((await nobody.get(path)).status, isForAdministrators ? 401 : 200, name)
      assert.equal((await ruth.get(path)).status, isForAdministrators ? 403 : 200, name)
      assert.equal((await admin.get(path)).status, 200, name)
    }
    const epersons = await (await admin.get('/api/eperson/epersons?size=1')).json()
    assert.deepEqual(epersons.page, { number: 0, size: 1, totalPages: 2, totalElements: 2 })
    assert.equal(epersons._embedded.epersons[0].email, 'admin@example.org')
  },
)

testOn(
  'sqlite',
  'P4 lists that Carrel does not have are empty, a search finds nothing, and a view is taken note of',
  async t => {
    const { ruth, nobody } = await started(t)
    for (const [path, name] of [
      ['/api/discover/browses?size=0', undefined],
      ['/api/discover/browses?size=9999', 'browses'],
      ['/api/discover/browses?embed=x&embed=y&sort=name,ASC', 'browses'],
      ['/api/core/communities/search/top?page=0&size=5', 'communities'],
      ['/api/system/systemwidealerts/search/active', 'systemwidealerts'],
    ] as const) {
      const answer = await nobody.get(path)
      if (name === undefined) await assertProblem(answer, 400, 'bad-parameter')
      else {
        const body = await answer.json()
        assert.deepEqual(body._embedded, { [name]: [] })
        assert.equal(body.page.totalElements, 0)
        assert.ok(body._links.self.href.startsWith(`${baseUrl}/api/`))
      }
    }
    const search = await (await nobody.get('/api/discover/search')).json()
    const signposting = await nobody.get(`/signposting/links/${nowhere}`)
    assert.deepEqual([signposting.status, await signposting.json()], [200, []])
    await assertProblem(await nobody.get('/api/ldn/notifyrequests/x'), 404, 'not-found')
    const found = await nobody.get(
      `${search._links.objects.href.slice(baseUrl.length)}?query=maps&page=0&size=10`,
    )
    const body = await found.json()
    assert.equal(body.query, 'maps')
    assert.deepEqual(body._embedded.searchResult._embedded, { objects: [] })
    assert.equal(body._embedded.searchResult.page.size, 10)

    const view = JSON.stringify({ targetId: 'x', targetType: 'item' })
    const json = { 'content-type': 'application/json; charset=utf-8' }
    for (const client of [nobody, ruth])
      for (const events of ['viewevents', 'searchevents'])
        assert.equal((await client.post(`/api/statistics/${events}`, view, json)).status, 201)
    await assertProblem(
      await nobody.request('/api/statistics/viewevents', { method: 'POST', body: view, headers: json }),
      403,
      'csrf-header-missing',
    )
    await assertProblem(await nobody.get('/api/config/properties/google.analytics.key'), 404, 'not-found')
  },
)

test('F1 Z1 canDownload holds for exactly those who may read the file today: by group, by day, by address', async t => {
  const campus = { ip: [{ group: 'Campus', ranges: ['10.0.0.0/8'] }] }
  const service = await startService(t, {
    env: { ...withSpecialGroups(t, campus), CARREL_LOGIN_ON_BEHALF_OF: 'true' },
  })
  const { uuid: adminId } = await service.addEperson('admin@example.org', { admin: true })
  const { uuid: ruthId } = await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  const { uuid: maxId } = await service.addEperson('max@example.org')
  const clients = { admin: service.client(), ruth: service.client(), max: service.client() }
  for (const name of ['admin', 'ruth', 'max'] as const) await clients[name].login(`${name}@example.org`)
  const { admin, ruth, max } = clients
  const nobody = service.client()
  const { files } = await addItem(service, {
    identifier: 'x/1',
    files: [
      { name: 'open' },
      { name: 'group', readers: membersOf('Readers') },
      { name: 'campus', readers: membersOf('Campus') },
      { name: 'later', readers: [{ reader: 'anonymous', from: dayIn(1) }] },
      { name: 'any eperson', readers: [{ reader: 'eperson' }] },
      { name: 'nobody', readers: [] },
    ],
  })
  const downloads = async (client: Client, eperson: string | null, headers = {}) => {
    const can: string[] = []
    for (const [name, { uuid }] of files) {
      const uri = `${baseUrl}/api/core/bitstreams/${uuid}`
      const asked = { feature: 'canDownload', ...(eperson === null ? {} : { eperson }) }
      const found = await heldAt(client, 'object', { uri, ...asked }, headers)
      const query = { uuid, type: 'core.bitstream', ...asked }
      assert.deepEqual(await heldAt(client, 'objects', query, headers), found)
      // A granted feature must work.
      if (found.length > 0) can.push(name)
      if (client !== admin || Object.keys(headers).length > 0)
        assert.equal(
          (await client.get(`/api/core/bitstreams/${uuid}`, headers)).status === 200,
          found.length > 0,
        )
    }
    return can
  }
  const inside = from('10.1.2.3')
  assert.deepEqual(await downloads(nobody, null), ['open'])
  assert.deepEqual(await downloads(nobody, null, inside), ['open', 'campus'])
  assert.deepEqual(await downloads(ruth, ruthId), ['open', 'group', 'any eperson'])
  assert.deepEqual(await downloads(max, maxId), ['open', 'any eperson'])
  assert.deepEqual(await downloads(max, maxId, inside), ['open', 'campus', 'any eperson'])
  assert.deepEqual(await downloads(admin, adminId), [...files.keys()])
  // Without an eperson the search is about the caller (Z1), with the groups of their address.
  assert.deepEqual(await downloads(ruth, null), ['open', 'group', 'any eperson'])
  assert.deepEqual(await downloads(max, null, inside), ['open', 'campus', 'any eperson'])
  assert.deepEqual(await downloads(admin, null), [...files.keys()])
  assert.deepEqual(await downloads(admin, null, { 'x-on-behalf-of': maxId }), ['open', 'any eperson'])
  // About another eperson, whose address is unknown, and on behalf of that eperson.
  assert.deepEqual(await downloads(admin, ruthId), ['open', 'group', 'any eperson'])
  assert.deepEqual(await downloads(admin, ruthId, { 'x-on-behalf-of': ruthId }), [
    'open',
    'group',
    'any eperson',
  ])
  assert.deepEqual(
    await held(admin, `${baseUrl}/api/core/bitstreams/${maxId}`, { feature: 'canDownload' }),
    [],
    'a file that there is not',
  )
})

test('T6 M2 canChangePassword holds for the own account, where it has a password, for administrators, and for nobody acting as it', async t => {
  const { service, admin, ruth, nobody, uuids, site } = await started(t)
  const { uuid: noPassword } = await service.addEperson('none@example.org', { password: null })
  const address = (uuid: string) => `${baseUrl}/api/eperson/epersons/${uuid}`
  const canChange = async (client: Client, of: string, eperson?: string, headers = {}) => {
    const who = eperson === undefined ? {} : { eperson }
    const asked = { uri: address(of), feature: 'canChangePassword', ...who }
    return (await heldAt(client, 'object', asked, headers)).length > 0
  }
  assert.equal(await canChange(ruth, uuids.ruth, uuids.ruth), true)
  assert.equal(await canChange(admin, uuids.admin, uuids.admin), true)
  assert.equal(await canChange(ruth, uuids.ruth), true)
  assert.equal(await canChange(admin, uuids.ruth, uuids.ruth), true, 'as she may, an administrator is told')
  // An administrator sets the passwords of others (M2).
  assert.equal(await canChange(admin, uuids.ruth, uuids.admin), true)
  assert.equal(await canChange(admin, noPassword, uuids.admin), true)
  for (const [client, of, eperson] of [
    [ruth, uuids.admin, uuids.ruth],
    [admin, noPassword, noPassword],
    [admin, '00000000-0000-4000-8000-000000000000', uuids.admin],
    [nobody, uuids.ruth, undefined],
  ] as const)
    assert.equal(await canChange(client, of, eperson), false, `${of} by ${eperson}`)
  assert.equal(await canChange(admin, uuids.ruth, uuids.ruth, { 'x-on-behalf-of': uuids.ruth }), false)
  assert.deepEqual(await held(ruth, site, { eperson: uuids.ruth, feature: 'canChangePassword' }), [])
  const feature = await (await ruth.get('/api/authz/features/canChangePassword')).json()
  assert.deepEqual(feature.resourcetypes, ['eperson'])
})

testOn(
  'sqlite',
  'P4 an authorization that does not hold is not there, and one of someone else is not told',
  async t => {
    const { admin, ruth, nobody, uuids, site } = await started(t)
    const path = (id: string) => `/api/authz/authorizations/${id}`
    const siteId = site.split('/').at(-1)
    const own = `${uuids.admin}_administratorOf_site_${siteId}`
    assert.equal((await admin.get(path(own))).status, 200)
    await assertUnauthorized(await nobody.get(path(own)))
    await assertProblem(await ruth.get(path(own)), 403, 'access-denied')
    for (const id of [
      `${uuids.ruth}_administratorOf_site_${siteId}`,
      `administratorOf_site_${siteId}`,
      `${uuids.admin}_canDance_site_${siteId}`,
      `${uuids.admin}_administratorOf_nothing_${siteId}`,
      `${uuids.admin}_administratorOf_constructor_${siteId}`,
      'x',
      '%00',
      '____',
    ])
      await assertProblem(await admin.get(path(id)), 404, 'not-found')
  },
)

test('S4 an administrator finds epersons by what they are called', async t => {
  const { admin, uuids } = await started(t)
  const found = async (path: string) => {
    const answer = await admin.get(`/api/eperson/epersons/search/${path}`)
    assert.equal(answer.status, 200, path)
    const page = await answer.json()
    return page._embedded.epersons.map((one: { email: string }) => one.email).toSorted()
  }
  const both = ['admin@example.org', 'ruth@example.org']
  assert.deepEqual(await found('byMetadata?query='), both)
  assert.deepEqual(await found('byMetadata?query=TEST%20pers&page=0&size=5&embed=groups'), both)
  assert.deepEqual(await found('byMetadata?query=%20RUTH@'), ['ruth@example.org'])
  assert.deepEqual(await found(`byMetadata?query=${uuids.admin}`), ['admin@example.org'])
  assert.deepEqual(await found('byMetadata?query=nobody&size=1'), [])
  const second = await (await admin.get('/api/eperson/epersons/search/byMetadata?query=test&size=1')).json()
  const next: string = second._links.next.href
  assert.deepEqual((await found(next.slice(`${baseUrl}/api/eperson/epersons/search/`.length))).length, 1)

  const byEmail = '/api/eperson/epersons/search/byEmail?email='
  assert.equal((await (await admin.get(`${byEmail}RUTH@example.org`)).json()).uuid, uuids.ruth)
  for (const email of ['ruth', '']) assert.equal((await admin.get(byEmail + email)).status, 204)
})
