import assert from 'node:assert/strict'
import { problems } from '../../../src/http/problems.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import { exchange, head } from '../../support/clients/raw.ts'
import { addItem } from '../../support/data/repository.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'

interface Hal {
  readonly type: string
  readonly _links: Readonly<Record<string, { readonly href: string; readonly templated?: boolean }>>
}

/** Returns every text in a body that is a link, such as values of `href` and of `type`, at any depth. */
function linksIn(value: unknown): string[] {
  if (typeof value === 'string') return /^(https?:)?\/\//.test(value) ? [value] : []
  if (Array.isArray(value)) return value.flatMap(linksIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) =>
    key === 'href' && typeof one === 'string' ? [one] : linksIn(one),
  )
}

const paths = ['', '/authn', '/authn/status', '/authn/status/specialGroups', '/problems', '/query/v4']

test('P1 authentication and everything else is answered under /api and, the same, under /server/api', async t => {
  const service = await startService(t)
  const client = service.client()
  for (const path of paths) {
    const plain = await client.get(`/api${path}`)
    const prefixed = await client.get(`/server/api${path}`)
    assert.equal(plain.status, 200, path)
    assert.equal(prefixed.status, 200, path)
    assert.equal(await prefixed.text(), await plain.text(), path)
  }
})

test('P1 a whole session works under /server/api', async t => {
  const service = await startService(t)
  await service.addEperson('ruth@example.org')
  const client = service.client()
  const csrf = await client.get('/server/api/security/csrf')
  assert.equal(csrf.status, 204)
  const login = await client.post(
    '/server/api/authn/login',
    new URLSearchParams({ user: 'ruth@example.org', password: 'secret of ruth@example.org' }),
  )
  assert.equal(login.status, 200)
  client.token = login.headers.get('authorization')?.slice('Bearer '.length)
  assert.equal(await client.isLoggedIn(), true)
  assert.equal((await client.post('/server/api/authn/shortlivedtokens')).status, 200)
  assert.equal((await client.post('/server/api/authn/logout')).status, 204)
  assert.equal(await client.isLoggedIn(), false)
})

test('P1 a path in the base URL is a prefix too, and ends at a slash', async t => {
  const service = await startService(t, { env: { CARREL_BASE_URL: 'https://repo.example.edu/deep/repo/' } })
  const client = service.client()
  for (const prefix of ['', '/server', '/deep/repo']) {
    const response = await client.get(`${prefix}/api/authn`)
    assert.equal(response.status, 200, prefix)
    const body = (await response.json()) as Hal
    assert.equal(body._links.self?.href, 'https://repo.example.edu/deep/repo/api/authn')
  }
  for (const wrong of ['/deep/api', '/deep/repository/api', '/serverapi', '/server/server/api', '/other/api'])
    assert.equal((await client.get(wrong)).status, 404, wrong)
})

test('P1 a request target in absolute form is the same address (RFC 9112 §3.2.2)', async t => {
  const service = await startService(t)
  for (const path of ['/api/authn', '/server/api/authn']) {
    const answer = await exchange(service.address, head(`GET http://repo.example.edu${path} HTTP/1.1`))
    assert.equal(answer?.status, 200, path)
  }
})

test('P2 the query endpoints live under /api/query/v4 unless configured', async t => {
  const service = await startService(t)
  await service.addRecords('letters', 'id', [{ id: 1 }])
  const client = service.client()
  for (const prefix of ['', '/server']) {
    const response = await client.get(`${prefix}/api/query/v4/letters`)
    assert.deepEqual(await response.json(), [{ id: 1 }])
  }
})

test('P2 the query endpoints can live under /pdb/query/v4, links included', async t => {
  const service = await startService(t, { env: { CARREL_QUERY_BASE: '/pdb/query/v4' } })
  await service.addRecords('letters', 'id', [{ id: 1 }, { id: 2 }])
  const client = service.client()
  const response = await client.get('/pdb/query/v4/letters?limit=1')
  assert.deepEqual(await response.json(), [{ id: 1 }])
  assert.match(response.headers.get('link') ?? '', /^<http:\/\/repo\.example\.edu\/pdb\/query\/v4\/letters\?/)
  assert.equal((await client.get('/api/query/v4/letters')).status, 404)
  const root = (await (await client.get('/api')).json()) as Hal
  assert.equal(root._links.query?.href, `${baseUrl}/pdb/query/v4`)
  const entities = (await (await client.get('/pdb/query/v4')).json()) as { href: string }[]
  assert.deepEqual(
    entities.map(entity => entity.href),
    ['items', 'bitstreams', 'letters'].map(name => `${baseUrl}/pdb/query/v4/${name}`),
  )
})

test('P3 every link is absolute and starts with the base URL, whatever the client says its host is', async t => {
  const service = await startService(t, {
    env: { CARREL_TRUSTED_PROXIES: '127.0.0.1', CARREL_ALLOWED_HOSTS: 'evil.example' },
  })
  const admin = await service.addEperson('admin@example.org', { admin: true })
  await service.addRecords('letters', 'id', [{ id: 1 }, { id: 2 }])
  const client = service.client()
  const token = await client.login('admin@example.org')
  const asked = [...paths, `/eperson/epersons/${admin.uuid}`, '/query/v4/letters?limit=1', '/nothing']
  for (const path of asked) {
    const answer = await exchange(
      service.address,
      [
        `GET /api${path} HTTP/1.1`,
        'Host: evil.example',
        'X-Forwarded-Host: evil.example',
        'X-Forwarded-Proto: https',
        'X-Forwarded-Port: 99',
        'Forwarded: host=evil.example;proto=https',
        `Authorization: Bearer ${token}`,
        'Connection: close',
        '\r\n',
      ].join('\r\n'),
    )
    assert.ok(answer, path)
    assert.doesNotMatch(answer.body, /evil\.example/, path)
    for (const link of linksIn(JSON.parse(answer.body)))
      assert.ok(link === baseUrl || link.startsWith(`${baseUrl}/`), `${link} in ${path}`)
    for (const [name, value] of answer.headers)
      assert.doesNotMatch(value, /evil\.example/, `${name} of ${path}`)
    for (const [, link] of (answer.headers.get('link') ?? '').matchAll(/<([^>]*)>/g))
      assert.ok(link?.startsWith(`${baseUrl}/`), `${link} in ${path}`)
  }
})

const withoutList = ['bundles', 'registrations', 'resourcepolicies']

test('P4 GET /api is a HAL root that links every collection, and every link of it answers', async t => {
  const service = await startService(t)
  const client = await service.addLoggedIn('admin@example.org', { admin: true })
  const response = await client.get('/api')
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^application\/(hal\+)?json\b/)
  const root = (await response.json()) as Hal
  assert.equal(root.type, 'root')
  assert.equal(root._links.self?.href, `${baseUrl}/api`)
  for (const name of ['authn', 'query']) assert.ok(root._links[name], `a link to ${name}`)
  const { uuid } = await addItem(service, { identifier: '1/1' })
  for (const [name, { href, templated = false }] of Object.entries(root._links)) {
    assert.ok(href.startsWith(`${baseUrl}/`), href)
    assert.equal(templated, /\{.*\}/.test(href), href)
    const expanded = href.replace('{?id}', '?id=1/1').replace('{?uuid}', `?uuid=${uuid}`)
    const answer = await client.get(expanded.slice(baseUrl.length))
    // These links have no list, as in DSpace: clients append an id, or send a POST.
    const expected = withoutList.includes(name) ? [404, 405] : [200, 204]
    assert.ok(expected.includes(answer.status), `${name} answers ${answer.status}`)
  }
})

test('P4 GET /api/authn links login, logout, status, shortlivedtokens, sessions, tokens and itself', async t => {
  const service = await startService(t)
  const client = service.client()
  const body = (await (await client.get('/api/authn')).json()) as Hal
  assert.equal(body.type, 'authn')
  const links = Object.fromEntries(Object.entries(body._links).map(([name, { href }]) => [name, href]))
  assert.deepEqual(links, {
    login: `${baseUrl}/api/authn/login`,
    logout: `${baseUrl}/api/authn/logout`,
    status: `${baseUrl}/api/authn/status`,
    shortlivedtokens: `${baseUrl}/api/authn/shortlivedtokens`,
    sessions: `${baseUrl}/api/authn/sessions`,
    tokens: `${baseUrl}/api/authn/tokens`,
    self: `${baseUrl}/api/authn`,
  })
  for (const href of Object.values(links)) {
    const answer = await client.get(href.slice(baseUrl.length))
    assert.ok([200, 401, 405].includes(answer.status), `${href} answers ${answer.status}`)
  }
})

testOn('sqlite', 'E2 an unknown path is 404 whatever body comes along', async t => {
  const service = await startService(t)
  const client = service.client()
  for (const [type, body] of [
    ['application/x-odd', 'x'],
    ['nonsense', 'x'],
    ['application/json', '{'],
    ['application/x-www-form-urlencoded', 'x'.repeat(17_000)],
  ] as const) {
    const headers = { 'content-type': type }
    for (const path of ['/nothing', '/api/nothing', '/api/authn/login/x', '/api/query/v4a/b']) {
      await assertProblem(await client.post(path, body, headers), 404, 'not-found')
      await assertProblem(await client.request(path, { method: 'PUT', body, headers }), 404, 'not-found')
    }
    await assertProblem(await client.post('/api/authn/status', body, headers), 405, 'method-not-allowed')
  }
})

testOn('sqlite', 'E1 the page of a problem shows code as code', async t => {
  const client = (await startService(t)).client()
  for (const code of Object.keys(problems)) {
    const text = await (await client.get(`/api/problems/${code}`)).text()
    assert.doesNotMatch(text, /`|\*\*|\]\(/, code)
  }
  const page = await (await client.get('/api/problems/authentication-required')).text()
  assert.match(page, /<code>Authorization: Bearer &lt;token&gt;<\/code>/)
})
