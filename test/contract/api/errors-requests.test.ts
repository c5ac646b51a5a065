import assert from 'node:assert/strict'
import { problems } from '../../../src/http/problems.ts'
import { assertProblem, assertRawProblem, type Body } from '../../support/clients/problem-shape.ts'
import { exchange, head } from '../../support/clients/raw.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

test('E2 an unknown path is 404, with every method and under every prefix', async t => {
  const service = await startService(t)
  const client = service.client()
  for (const path of [
    '/nothing',
    '/api/nothing',
    '/server/api/authn/nothing',
    '/health',
    '/api/authn/login/x',
  ])
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      const response = method === 'POST' ? await client.post(path) : await client.request(path, { method })
      await assertProblem(response, { code: 'not-found', path })
    }
  assert.equal((await client.request('/api/nothing', { method: 'HEAD' })).status, 404)
})

test('E2 a segment longer than any name is an unknown path, too', async t => {
  const service = await startService(t)
  for (const path of ['/api/query/v4/', '/api/problems/', '/api/nothing/']) {
    const response = await service.client().get(path + 'x'.repeat(300))
    assert.equal(response.status, 404, path)
    await response.arrayBuffer()
  }
})

const routes = [
  ['/api', 'GET, HEAD'],
  ['/api/authn', 'GET, HEAD'],
  ['/api/authn/login', 'POST'],
  ['/api/authn/logout', 'POST'],
  ['/api/authn/status', 'GET, HEAD'],
  ['/api/authn/status/specialGroups', 'GET, HEAD'],
  ['/api/authn/shortlivedtokens', 'POST'],
  ['/api/authn/sessions', 'GET, HEAD, DELETE'],
  ['/api/security/csrf', 'GET, HEAD'],
  ['/api/problems', 'GET, HEAD'],
  ['/api/problems/not-found', 'GET, HEAD'],
  [`/api/eperson/epersons/${nobody}`, 'GET, HEAD, PATCH, DELETE'],
  ['/api/query/v4', 'GET, HEAD, POST'],
  ['/api/query/v4/letters', 'GET, HEAD, POST, PATCH, DELETE'],
  ['/health/live', 'GET, HEAD'],
  ['/health/ready', 'GET, HEAD'],
] as const

test('E2 a method that a route does not have is 405 with Allow', async t => {
  const service = await startService(t)
  const client = service.client()
  for (const [path, allow] of routes)
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      if (allow.split(', ').includes(method)) continue
      const response = method === 'POST' ? await client.post(path) : await client.request(path, { method })
      assert.equal(response.headers.get('allow'), allow, `${method} ${path}`)
      await assertProblem(response, { code: 'method-not-allowed', path })
    }
  const answer = await client.request('/api/authn/login', { method: 'HEAD' })
  assert.equal(answer.status, 405)
  assert.equal(answer.headers.get('allow'), 'POST')
  assert.equal(await answer.text(), '')
})

for (const method of ['TRACE', 'PROPFIND', 'LOCK', 'SEARCH', 'REPORT', 'QUERY'])
  testOn('sqlite', `E2 ${method}, which no route has, is 405 with Allow`, async t => {
    const service = await startService(t)
    for (const [path, allow] of routes.slice(0, 4)) {
      const answer = await exchange(service.address, head(`${method} ${path} HTTP/1.1`))
      assertRawProblem(answer, { code: 'method-not-allowed', path })
      assert.equal(answer?.headers.get('allow'), allow)
    }
  })

test('E2 bad percent-encoding in the path is 400, not 500', async t => {
  const service = await startService(t)
  for (const path of ['/api/%zz', '/%', '/api/query/v4/%ff', '/api/problems/%c3%28', '/server/api/%e0%a4%a'])
    assertRawProblem(await exchange(service.address, head(`GET ${path} HTTP/1.1`)), {
      code: 'bad-request',
      path,
    })
})

test('E2 bad percent-encoding in the query is 400 where parameters are read', async t => {
  const service = await startService(t)
  await service.addRecords('letters', 'id', [{ id: 1 }])
  for (const path of ['/api/query/v4', '/api/query/v4/letters', '/api/authn/status/specialGroups'])
    for (const query of ['limit=%zz', '%=1', 'limit=%ff', 'x=%c3%28&limit=1', 'limit=%4'])
      assertRawProblem(await exchange(service.address, head(`GET ${path}?${query} HTTP/1.1`)), {
        code: 'bad-request',
        path,
      })
})

test('E2 bad percent-encoding in the query is 400 on every other endpoint, too', async t => {
  const service = await startService(t)
  for (const path of ['/api', '/api/authn', '/api/authn/status', '/api/problems', '/health/live'])
    assertRawProblem(await exchange(service.address, head(`GET ${path}?x=%zz HTTP/1.1`)), {
      code: 'bad-request',
      path,
    })
})

test('E2 bad percent-encoding in a form is 400, and a field given twice too', async t => {
  const service = await startService(t)
  for (const body of [
    'user=%zz&password=verysecret',
    'user=a&password=verysecret%',
    'user=a&password=%f',
    '%x=1',
    'user=a&user=b&password=verysecret',
  ]) {
    const response = await service.client().post('/api/authn/login', body, {
      'content-type': 'application/x-www-form-urlencoded',
    })
    await assertProblem(response, { code: 'bad-request', path: '/api/authn/login', never: ['verysecret'] })
  }
})

test('E2 nothing acceptable is 406 and lists what there is', async t => {
  const service = await startService(t)
  await service.addRecords('letters', 'id', [{ id: 1 }])
  for (const accept of ['image/png', 'text/html;q=1', 'application/json;q=0', 'text/*;q=0, image/*']) {
    const response = await service.client().get('/api/query/v4/letters', { accept })
    const body = await assertProblem(response, { code: 'not-acceptable', path: '/api/query/v4/letters' })
    assert.match(JSON.stringify(body), /"legal":\["application\/json","application\/x-ndjson","text\/csv"\]/)
  }
})

test('E2 a body over 16 kB is 413, with a length and in chunks', async t => {
  const service = await startService(t)
  const { cookie, value } = await service.client().csrfPair()
  const lines = [
    'POST /api/authn/login HTTP/1.1',
    `Cookie: ${cookie}`,
    `X-XSRF-TOKEN: ${value}`,
    'Content-Type: application/x-www-form-urlencoded',
  ]
  const body = `user=a&password=${'x'.repeat(20_000)}`
  const expected = { code: 'body-too-large', path: '/api/authn/login' } as const
  const withLength = head(...lines, `Content-Length: ${body.length}`) + body
  assertRawProblem(await exchange(service.address, withLength), expected)
  const chunked = `${head(...lines, 'Transfer-Encoding: chunked')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  assertRawProblem(await exchange(service.address, chunked), expected)
})

test('E2 a body of a media type that is not read is 415', async t => {
  const service = await startService(t)
  for (const type of [
    'application/json',
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/xml',
    'nonsense',
    'application/x-www-form-urlencoded-not',
  ]) {
    const response = await service.client().post('/api/authn/login', 'user=a&password=verysecret', {
      'content-type': type,
    })
    await assertProblem(response, {
      code: 'unsupported-media-type',
      path: '/api/authn/login',
      never: ['verysecret'],
    })
  }
})

/** Requests that Node refuses before a route is known, so the answer may lack the path. */
for (const [what, code, request] of [
  ['that is no HTTP', 'bad-request', 'GARBAGE\r\n\r\n'],
  ['with a space in a header name', 'bad-request', head('GET /api HTTP/1.1', 'bad header: x')],
  ['with NUL in a header', 'bad-request', head('GET /api HTTP/1.1', 'X-Bad: a\0b')],
  ['with two lengths', 'bad-request', head('POST /api HTTP/1.1', 'Content-Length: 1', 'Content-Length: 2')],
  [
    'with a length and chunks',
    'bad-request',
    head('POST /api HTTP/1.1', 'Content-Length: 1', 'Transfer-Encoding: chunked'),
  ],
  ['without Host', 'bad-request', 'GET /api HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ['with two Hosts (RFC 9112 §3.2)', 'bad-request', head('GET /api HTTP/1.1', 'Host: other.test')],
  [
    'with headers too large',
    'headers-too-large',
    head('GET /api HTTP/1.1', `X-Large: ${'x'.repeat(70_000)}`),
  ],
] as const)
  testOn('sqlite', `E2 a request ${what} is ${problems[code].status}, in the one shape`, async t => {
    const service = await startService(t)
    const answer = await exchange(service.address, request)
    assert.equal(answer?.status, problems[code].status)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/problem\+json\b/)
    const body = JSON.parse(answer.body) as Body
    assert.equal(body.type, `${baseUrl}/api/problems/${code}`)
    assert.equal(body.title, problems[code].title)
    assert.equal(body.status, problems[code].status)
    assert.equal(body.message, body.detail)
    assert.equal(typeof body.path, 'string')
  })

test('E1 an expectation that cannot be met is refused in the one shape', async t => {
  const service = await startService(t)
  const answer = await exchange(service.address, head('GET /api HTTP/1.1', 'Expect: nonsense'))
  assert.ok(answer && answer.status >= 400 && answer.status < 500)
  assert.match(answer.headers.get('content-type') ?? '', /^application\/problem\+json\b/)
})

test('E1 a problem has no body when HEAD asks, and the same headers', async t => {
  const service = await startService(t)
  const got = await service.client().get('/api/query/v4/nothing')
  const headed = await service.client().request('/api/query/v4/nothing', { method: 'HEAD' })
  assert.equal(headed.status, got.status)
  for (const name of ['content-type', 'content-length', 'x-content-type-options'])
    assert.equal(headed.headers.get(name), got.headers.get(name), name)
  assert.equal(await headed.text(), '')
})

test('E1 the path of a problem is the one that was asked, without its query', async t => {
  const service = await startService(t)
  const response = await service
    .client()
    .get('/server/api/query/v4/nothing?authentication-token=eyJhbGciOiJIUzI1NiJ9.e30.c2ln&x=verysecret')
  await assertProblem(response, {
    code: 'unknown-entity',
    path: '/server/api/query/v4/nothing',
    never: ['eyJ', 'verysecret'],
  })
})

test('E2 an address with a fragment is malformed, and nothing of the fragment is in the answer', async t => {
  const service = await startService(t)
  for (const line of [
    'GET /api/nothing#%ZZ HTTP/1.1',
    'PUT /api/authn/login#%ZZ HTTP/1.1',
    'GET /api/authn/status#authentication-token=verysecret HTTP/1.1',
    'GET /api#;Domain=evil HTTP/1.1',
  ]) {
    const answer = await exchange(service.address, head(line))
    assert.equal(answer?.status, 400, line)
    assert.doesNotMatch(answer.body, /%ZZ|verysecret|evil/)
  }
})

test('E1 a browser at an address of which there is nothing gets a page that leads on, and a program its problem', async t => {
  const service = await startService(t)
  // Not by `fetch`, which sets headers of Fetch Metadata itself.
  const get = async (path: string, headers: Readonly<Record<string, string>>) => {
    const lines = Object.entries({ host: 'localhost', connection: 'close', ...headers })
    const all = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    return exchange(service.address, `GET ${path} HTTP/1.1\r\n${all}\r\n`)
  }
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  for (const [path, headers] of [
    ['/items', { accept }],
    ['/%3Cb%3E', { accept, 'sec-fetch-mode': 'navigate' }],
    ['/api/nothing', { accept: '*/*', 'sec-fetch-mode': 'navigate' }],
  ] as const) {
    const page = await get(path, headers)
    assert.equal(page?.status, 404)
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8', path)
    assert.match(page.headers.get('content-security-policy') ?? '', /^default-src 'none'/)
    assert.equal(page.headers.get('vary'), 'Origin, Accept, Sec-Fetch-Mode')
    assert.ok(page.body.includes(`<a class="choice" href="${baseUrl}/">`))
    assert.doesNotMatch(page.body, /<b>/)
  }
  for (const headers of [
    {},
    { accept: '*/*' },
    { accept: 'application/json, text/html' },
    // Java's default.
    { accept: 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2' },
    { accept, 'sec-fetch-mode': 'cors' },
  ]) {
    const answer = await get('/items', headers)
    assert.equal(answer?.status, 404)
    assert.equal(answer.headers.get('content-type'), 'application/problem+json', JSON.stringify(headers))
    assert.equal(answer.headers.get('vary'), 'Origin, Accept, Sec-Fetch-Mode')
  }
})
