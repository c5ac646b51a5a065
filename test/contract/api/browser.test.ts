import assert from 'node:assert/strict'
import { exchange, head } from '../../support/clients/raw.ts'
import { test } from '../../support/service/engines.ts'
import { passwordOf, type Service, startService } from '../../support/service/service.ts'

const ui = 'https://ui.example.edu'

const namesIn = (header: string | null): Set<string> =>
  new Set((header ?? '').split(',').map(name => name.trim().toLowerCase()))

const preflight = (service: Service, path: string, headers: Readonly<Record<string, string>>) =>
  fetch(service.address + path, { method: 'OPTIONS', headers })

test('W1 a listed origin is named, with credentials, and may read the headers that clients need', async t => {
  const service = await startService(t, { env: { CARREL_ALLOWED_ORIGINS: `https://other.example, ${ui}` } })
  for (const path of [
    '/api',
    '/api/authn/status',
    '/api/query/v4',
    '/api/nothing',
    '/api/query/v4/nothing',
  ]) {
    const response = await service.client().get(path, { origin: ui })
    await response.arrayBuffer()
    assert.equal(response.headers.get('access-control-allow-origin'), ui, path)
    assert.equal(response.headers.get('access-control-allow-credentials'), 'true', path)
    assert.ok(namesIn(response.headers.get('vary')).has('origin'), path)
    const exposed = namesIn(response.headers.get('access-control-expose-headers'))
    for (const name of [
      'authorization',
      'dspace-xsrf-token',
      'www-authenticate',
      'x-records',
      'link',
      'location',
      'retry-after',
      'x-acting-as',
      'etag',
      'content-disposition',
      'content-range',
      'upload-offset',
    ])
      assert.ok(exposed.has(name), `${name} of ${path}`)
  }
})

test('W1 a preflight allows every method and header of the API, for listed origins', async t => {
  const service = await startService(t, { env: { CARREL_ALLOWED_ORIGINS: ui } })
  for (const [path, method] of [
    ['/api/authn/login', 'POST'],
    ['/api/authn/logout', 'POST'],
    ['/server/api/authn/shortlivedtokens', 'POST'],
    ['/api/eperson/epersons/00000000-0000-4000-8000-000000000000', 'PATCH'],
    ['/api/authn/status', 'GET'],
    ['/api/query/v4/letters', 'GET'],
  ] as const) {
    const response = await preflight(service, path, {
      origin: ui,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,x-xsrf-token',
    })
    assert.ok(response.ok, `${path} answers ${response.status}`)
    assert.equal(await response.text(), '')
    assert.equal(response.headers.get('access-control-allow-origin'), ui)
    assert.equal(response.headers.get('access-control-allow-credentials'), 'true')
    assert.ok(namesIn(response.headers.get('access-control-allow-methods')).has(method.toLowerCase()))
    const allowed = namesIn(response.headers.get('access-control-allow-headers'))
    for (const name of [
      'authorization',
      'content-type',
      'x-xsrf-token',
      'x-on-behalf-of',
      'x-on-behalf-of-reason',
      'x-requested-with',
      'x-referrer',
      'x-correlation-id',
      'accept-language',
      'if-match',
      'if-none-match',
      'if-range',
      'range',
      'last-event-id',
      'tus-resumable',
      'upload-length',
      'upload-metadata',
      'upload-offset',
    ])
      assert.ok(allowed.has(name), name)
  }
})

test('W1 an origin that is not exactly on the list is 403, in preflights and in requests', async t => {
  const service = await startService(t, { env: { CARREL_ALLOWED_ORIGINS: ui } })
  await service.addEperson('ruth@example.org')
  for (const origin of [
    'https://evil.example',
    'http://ui.example.edu',
    `${ui}:8443`,
    `${ui}.evil.example`,
    'https://sub.ui.example.edu',
    'null',
    `${ui}/`,
    '*',
    '',
  ]) {
    const answers = [
      await preflight(service, '/api/authn/login', { origin, 'access-control-request-method': 'POST' }),
      await service.client().get('/api/authn/status', { origin }),
      await service
        .client()
        .post('/api/authn/login', new URLSearchParams({ user: 'ruth@example.org', password: 'x' }), {
          origin,
        }),
    ]
    for (const response of answers) {
      assert.equal(response.status, 403, JSON.stringify(origin))
      const { code, detail } = (await response.json()) as { code: string; detail: string }
      assert.equal(code, 'origin-not-allowed')
      assert.match(detail, /CARREL_ALLOWED_ORIGINS/)
      assert.equal(response.headers.get('access-control-allow-origin'), null)
      assert.equal(response.headers.get('authorization'), null)
    }
  }
})

test('W1 without a list no other origin is allowed, but pages of the service itself are', async t => {
  const service = await startService(t)
  assert.equal((await service.client().get('/api', { origin: ui })).status, 403)
  assert.equal((await service.client().get('/api', { origin: 'http://repo.example.edu' })).status, 200)
  const plain = await service.client().get('/api')
  assert.equal(plain.status, 200)
  assert.equal(plain.headers.get('access-control-allow-origin'), null)
})

test('W1 a configured CSRF header is the one that is exposed', async t => {
  const service = await startService(t, {
    env: { CARREL_ALLOWED_ORIGINS: ui, CARREL_CSRF_HEADER: 'Other-XSRF' },
  })
  const response = await service.client().get('/api', { origin: ui })
  assert.ok(namesIn(response.headers.get('access-control-expose-headers')).has('other-xsrf'))
})

test('W1 a browser on a listed origin can log in from start to end', async t => {
  const service = await startService(t, { env: { CARREL_ALLOWED_ORIGINS: ui } })
  await service.addEperson('ruth@example.org')
  const client = service.client()
  const form = new URLSearchParams({ user: 'ruth@example.org', password: passwordOf('ruth@example.org') })
  const response = await client.post('/api/authn/login', form, { origin: ui })
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('access-control-allow-origin'), ui)
  assert.match(response.headers.get('authorization') ?? '', /^Bearer /)
})

type Headers = ReadonlyMap<string, string>

function assertSecurityHeaders(headers: Headers, what: string, { https = false } = {}): void {
  assert.equal(headers.get('x-content-type-options'), 'nosniff', what)
  const csp = headers.get('content-security-policy') ?? ''
  assert.match(csp, /default-src 'none'/, what)
  // base-uri doesn't fall back to default-src.
  assert.match(csp, /base-uri 'none'/, what)
  assert.ok(headers.get('x-frame-options') === 'DENY' || /frame-ancestors 'none'/.test(csp), what)
  assert.ok(headers.has('referrer-policy'), what)
  if (https) assert.match(headers.get('strict-transport-security') ?? '', /^max-age=\d{6,}/, what)
  else assert.equal(headers.has('strict-transport-security'), false, what)
}

const requests: readonly (readonly [what: string, request: string])[] = [
  ['the root', head('GET /api HTTP/1.1')],
  ['HEAD', head('HEAD /api HTTP/1.1')],
  ['status', head('GET /api/authn/status HTTP/1.1')],
  ['a CSRF pair', head('GET /api/security/csrf HTTP/1.1')],
  ['health', head('GET /health/live HTTP/1.1')],
  ['a problem page', head('GET /api/problems/not-found HTTP/1.1')],
  ['400 for a parameter', head('GET /api/query/v4?frob=1 HTTP/1.1')],
  ['400 for an encoding', head('GET /api/%zz HTTP/1.1')],
  ['401', head('GET /api/query/v4/epersons HTTP/1.1')],
  ['403 without CSRF', head('POST /api/authn/login HTTP/1.1', 'Content-Length: 0')],
  ['403 for an origin', head('GET /api HTTP/1.1', 'Origin: https://evil.example')],
  ['a preflight', head('OPTIONS /api HTTP/1.1', `Origin: ${ui}`, 'Access-Control-Request-Method: GET')],
  ['404', head('GET /nothing HTTP/1.1')],
  ['405', head('DELETE /api HTTP/1.1')],
  ['406', head('GET /api/query/v4/letters HTTP/1.1', 'Accept: image/png')],
]

const methodOf = (request: string) => request.split(' ', 1)[0] ?? ''

test('W2 security headers are on every answer, errors included', async t => {
  const service = await startService(t, { env: { CARREL_ALLOWED_ORIGINS: ui } })
  await service.addRecords('letters', 'id', [{ id: 1 }])
  for (const [what, request] of [
    ...requests,
    ['letters', head('GET /api/query/v4/letters HTTP/1.1')] as const,
  ]) {
    const answer = await exchange(service.address, request, methodOf(request))
    assert.ok(answer, what)
    assertSecurityHeaders(answer.headers, what)
  }
})

test('W2 a service on https also sends HSTS, errors included', async t => {
  const service = await startService(t, {
    env: { CARREL_BASE_URL: 'https://repo.example.edu', CARREL_ALLOWED_ORIGINS: ui },
  })
  for (const [what, request] of requests) {
    const answer = await exchange(service.address, request, methodOf(request))
    assert.ok(answer, what)
    assertSecurityHeaders(answer.headers, what, { https: true })
  }
})

test('W2 security headers are on the answers to malformed HTTP too', async t => {
  const service = await startService(t)
  for (const [what, request] of [
    ['no HTTP', 'GARBAGE\r\n\r\n'],
    ['no Host', 'GET /api HTTP/1.1\r\n\r\n'],
    ['a header too large', head('GET /api HTTP/1.1', `X-Large: ${'x'.repeat(70_000)}`)],
    ['an expectation', head('GET /api HTTP/1.1', 'Expect: nonsense')],
  ] as const) {
    const answer = await exchange(service.address, request)
    assert.ok(answer, what)
    assertSecurityHeaders(answer.headers, what)
  }
})

test('W2 answers with a token or personal data are not stored by anyone', async t => {
  const service = await startService(t)
  const ruth = await service.addEperson('ruth@example.org', { admin: true })
  const client = service.client()
  const login = await client.tryLogin('ruth@example.org', passwordOf('ruth@example.org'))
  client.token = login.headers.get('authorization')?.slice('Bearer '.length)
  const answers = [
    ['login', login],
    ['a failed login', await client.tryLogin('ruth@example.org', 'wrong')],
    ['status', await client.get('/api/authn/status')],
    ['special groups', await client.get('/api/authn/status/specialGroups')],
    ['an eperson', await client.get(`/api/eperson/epersons/${ruth.uuid}`)],
    ['a short-lived token', await client.post('/api/authn/shortlivedtokens')],
    ['epersons', await client.get('/api/query/v4/epersons')],
    ['a CSRF pair', await client.get('/api/security/csrf')],
    ['logout', await client.post('/api/authn/logout')],
  ] as const
  for (const [what, response] of answers) {
    await response.arrayBuffer()
    assert.match(response.headers.get('cache-control') ?? '', /\bno-store\b/, what)
  }
})
