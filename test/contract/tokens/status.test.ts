import assert from 'node:assert/strict'
import { assertProblem, assertUnauthorized } from '../../support/clients/answers.ts'
import { from, withSpecialGroups } from '../../support/service/configuration.ts'
import { test } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'

const email = 'ruth@example.org'
const status = '/api/authn/status'
const self = `${baseUrl}${status}`
const page = '/api/authn/status/specialGroups'

const emptyPage = {
  _embedded: { specialGroups: [] },
  page: { number: 0, size: 20, totalPages: 0, totalElements: 0 },
  _links: { self: { href: `${self}/specialGroups` } },
}

const anonymous = {
  okay: true,
  authenticated: false,
  authenticationMethod: null,
  type: 'status',
  _links: { specialGroups: { href: `${self}/specialGroups` }, self: { href: self } },
  _embedded: { specialGroups: emptyPage },
}

interface GroupPage {
  readonly _embedded: { readonly specialGroups: readonly { readonly name: string }[] }
  readonly page: object
  readonly _links: { readonly self: { readonly href: string } }
}

const names = (body: GroupPage) => body._embedded.specialGroups.map(group => group.name)

test('S1 the status of a logged-in eperson is exactly this', async t => {
  const service = await startService(t)
  const { uuid } = await service.addEperson(email)
  const client = await service.loggedIn(email)
  const answer = await client.get(status)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/json')
  assert.equal(answer.headers.get('www-authenticate'), null)
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/)
  const eperson = `${baseUrl}/api/eperson/epersons/${uuid}`
  const name = (value: string) => [{ value, language: null, authority: null, confidence: -1, place: 0 }]
  assert.deepEqual(await answer.json(), {
    ...anonymous,
    authenticated: true,
    authenticationMethod: 'password',
    _links: { eperson: { href: eperson }, ...anonymous._links },
    _embedded: {
      eperson: {
        id: uuid,
        uuid,
        name: email,
        email,
        canLogIn: true,
        requireCertificate: false,
        netid: null,
        metadata: {
          'eperson.firstname': name('Test'),
          'eperson.lastname': name('Person'),
          'dspace.agreements.end-user': name('true'),
        },
        type: 'eperson',
        _links: { groups: { href: `${eperson}/groups` }, self: { href: eperson } },
      },
      specialGroups: emptyPage,
    },
  })
})

test('S1 an invalid token gets the same 200 as no token', async t => {
  const service = await startService(t)
  for (const headers of [
    {},
    { authorization: 'Bearer x' },
    { authorization: 'Bearer a.b.c' },
    { authorization: 'Bearer' },
    { authorization: 'Basic eA==' },
  ]) {
    const answer = await service.client().get(status, headers)
    assert.equal(answer.status, 200)
    assert.deepEqual(await answer.json(), anonymous)
  }
  assert.equal((await service.client().get(`${status}?authentication-token=x`)).status, 200)
})

test('S1 the status is the same under /server/api, and HEAD is GET without the body', async t => {
  const service = await startService(t)
  assert.deepEqual(await service.client().status(`/server${status}`), anonymous)
  const head = await service.client().request(status, { method: 'HEAD' })
  assert.equal(head.status, 200)
  assert.equal(await head.text(), '')
  assert.equal(head.headers.get('content-length'), String(JSON.stringify(anonymous).length))
})

test('S1 the status shows the eperson as it stands now', async t => {
  const service = await startService(t)
  const client = await service.addLoggedIn(email)
  const before = await client.status()
  await client.login(email)
  assert.deepEqual(await client.status(), before)
  await client.post('/api/authn/logout')
  assert.deepEqual(await client.status(), anonymous)
})

test('S2 anonymous gets WWW-Authenticate, no eperson, and no method', async t => {
  const service = await startService(t)
  const answer = await service.client().get(status)
  assert.equal(answer.headers.get('www-authenticate'), 'password realm="Carrel"')
  assert.deepEqual(await answer.json(), anonymous)
})

test('S2 authenticationMethod stays what it was through a refresh and a short-lived token', async t => {
  const service = await startService(t)
  const client = await service.addLoggedIn(email)
  client.token = await client.refresh()
  const methodIn = (body: object) => (body as { authenticationMethod?: unknown }).authenticationMethod
  assert.equal(methodIn(await client.status()), 'password')
  await client.withShortLived(async short => {
    const body = await service.client().status(`${status}?authentication-token=${short}`)
    assert.equal(methodIn(body), 'password')
  })
})

test('S3 special groups are there without an authenticated user', async t => {
  const env = withSpecialGroups(t, { ip: [{ group: 'Campus', ranges: ['10.0.0.0/8'] }] })
  const service = await startService(t, { env })
  const [group] = await service.storage.people.ensureGroups(['Campus'])
  assert.ok(group)
  const self = `${baseUrl}/api/eperson/groups/${group.uuid}`
  const body = await service.client().status(status, from('10.1.2.3'))
  assert.deepEqual(body, {
    ...anonymous,
    _embedded: {
      specialGroups: {
        ...emptyPage,
        _embedded: {
          specialGroups: [
            {
              id: group.uuid,
              uuid: group.uuid,
              name: 'Campus',
              permanent: false,
              special: true,
              metadata: {},
              type: 'group',
              _links: {
                epersons: { href: `${self}/epersons` },
                object: { href: `${self}/object` },
                self: { href: self },
                subgroups: { href: `${self}/subgroups` },
              },
            },
          ],
        },
        page: { number: 0, size: 20, totalPages: 1, totalElements: 1 },
      },
    },
  })
})

test('S4 the special groups are paged, 20 at a time by default', async t => {
  const all = Array.from({ length: 45 }, (_, at) => `Group ${String(at).padStart(2, '0')}`)
  const env = withSpecialGroups(t, { ip: all.map(group => ({ group, ranges: ['127.0.0.1'] })) })
  const service = await startService(t, { env })
  const client = service.client()
  const get = async (query: string) => {
    const answer = await client.get(page + query)
    assert.equal(answer.status, 200, query)
    return (await answer.json()) as GroupPage
  }
  const first = await get('')
  assert.deepEqual(first, (await client.status())._embedded.specialGroups)
  assert.deepEqual(first.page, { number: 0, size: 20, totalPages: 3, totalElements: 45 })
  assert.deepEqual(names(first), all.slice(0, 20))
  assert.deepEqual(names(await get('?page=2')), all.slice(40))
  const self = { href: `${first._links.self.href}?page=0&size=20` }
  assert.deepEqual(await get('?page=0&size=20'), { ...first, _links: { ...first._links, self } })

  const third = await get('?page=3&size=7')
  assert.deepEqual(third.page, { number: 3, size: 7, totalPages: 7, totalElements: 45 })
  assert.deepEqual(names(third), all.slice(21, 28))
  const past = await get('?page=9&size=7')
  assert.deepEqual([names(past), past.page], [[], { number: 9, size: 7, totalPages: 7, totalElements: 45 }])
  assert.deepEqual((await get('?size=45')).page, { number: 0, size: 45, totalPages: 1, totalElements: 45 })
  // A size above the limit, such as that of DSpace's interface, is reduced to it.
  assert.deepEqual((await get('?size=9999')).page, {
    number: 0,
    size: 1000,
    totalPages: 1,
    totalElements: 45,
  })
})

test('S4 a page that makes no sense is 400', async t => {
  const service = await startService(t)
  const client = service.client()
  for (const query of [
    'page=-1',
    'page=x',
    'page=1.5',
    'page=',
    'page=99999999999999999999',
    'size=0',
    'size=-1',
    'size=1e1',
    'size=',
    'size=99999999999999999999',
    'page=0&page=1',
    'sise=1',
  ])
    await assertProblem(await client.get(`${page}?${query}`), 400, 'bad-parameter')
})

test('S4 the page of special groups is there for anonymous and for an invalid token', async t => {
  const service = await startService(t)
  const client = service.client()
  for (const headers of [{}, { authorization: 'Bearer x' }]) {
    const answer = await client.get(page, headers)
    assert.equal(answer.status, 200)
    assert.deepEqual(await answer.json(), emptyPage)
  }
})

test('S4 the link of the eperson answers its owner and administrators', async t => {
  const service = await startService(t)
  const ruth = await service.addEperson(email)
  const max = await service.addEperson('max@example.org')
  await service.addEperson('admin@example.org', { admin: true })
  const link = (uuid: string) => `/api/eperson/epersons/${uuid}`
  const client = await service.loggedIn(email)
  const own = await client.get(link(ruth.uuid))
  assert.equal(own.status, 200)
  assert.deepEqual(await own.json(), (await client.status())._embedded.eperson)

  await assertProblem(await client.get(link(max.uuid)), 403, 'access-denied')
  const nobody = '00000000-0000-4000-8000-000000000000'
  await assertProblem(await client.get(link(nobody)), 403, 'access-denied')
  await assertUnauthorized(await service.client().get(link(ruth.uuid)))

  const admin = await service.loggedIn('admin@example.org')
  const foreign = await admin.get(link(max.uuid))
  assert.equal(foreign.status, 200)
  assert.equal(((await foreign.json()) as { email: string }).email, 'max@example.org')
  await assertProblem(await admin.get(link(nobody)), 404, 'not-found')
  await assertProblem(await admin.get(link('nonsense')), 404, 'not-found')
})

test('S1 status and its page take GET and HEAD only', async t => {
  const service = await startService(t)
  for (const path of [status, page])
    for (const method of ['PUT', 'PATCH', 'DELETE', 'POST']) {
      const client = service.client()
      const answer = method === 'POST' ? await client.post(path) : await client.request(path, { method })
      assert.equal(answer.headers.get('allow'), 'GET, HEAD')
      await assertProblem(answer, 405, 'method-not-allowed')
    }
})
