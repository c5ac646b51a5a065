import assert from 'node:assert/strict'
import fc from 'fast-check'
import { exchange, head, openSocket, type RawAnswer } from '../support/clients/raw.ts'
import { anyString } from '../support/data/arbitrary-records.ts'
import { runs } from '../support/scale.ts'
import { test } from '../support/service/engines.ts'
import { type Service, startService } from '../support/service/service.ts'

/** Any bytes, as Latin-1, so that they are sent unchanged. */
const anyBytes = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map(bytes => Buffer.from(bytes).toString('latin1'))

/** Bytes without line breaks. */
const inLine = (maxLength: number) => anyBytes(maxLength).map(text => text.replace(/[\r\n]/g, ' '))

const base64url = fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes).toString('base64url'))
const json = fc.json({ maxDepth: 2 }).map(text => Buffer.from(text).toString('base64url'))
const part = fc.oneof(base64url, json, fc.constantFrom('', '=', 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9'))

/** Texts that are nearly tokens, and any others. */
const tokenLike = fc.oneof(
  fc.tuple(part, part, part).map(parts => parts.join('.')),
  fc.array(part, { maxLength: 6 }).map(parts => parts.join('.')),
  inLine(300),
  fc.integer({ min: 1, max: 20_000 }).map(length => 'a.'.repeat(length)),
)

const bytesOf = (text: string) => Buffer.from(text, 'latin1')

function assertNoFault(answer: RawAnswer | undefined, request: string): void {
  if (answer === undefined) return
  assert.ok(answer.status >= 200 && answer.status < 500, `${answer.status} for ${JSON.stringify(request)}`)
  assert.doesNotMatch(answer.body, /\n\s+at |\.ts:\d|node:internal/)
}

/** Sends every generated request, then checks that the service still answers. */
async function assertWell(
  service: Service,
  requests: fc.Arbitrary<string>,
  { numRuns = 120, method = 'GET' } = {},
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(requests, async request => {
      assertNoFault(await exchange(service.address, bytesOf(request), method), request)
    }),
    runs(numRuns / 4, numRuns),
  )
  const client = service.client()
  assert.equal((await client.get('/health/ready')).status, 200)
  await client.login('ruth@example.org')
  assert.equal(await client.isLoggedIn(), true)
}

async function start(t: Parameters<typeof startService>[0]): Promise<Service> {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' } })
  await service.addEperson('ruth@example.org')
  await service.addRecords('letters', 'id', [{ id: 1, title: 'a' }])
  return service
}

test('T8 E2 any bytes as a bearer token are no valid token, never a fault', async t => {
  const service = await start(t)
  const schemes = fc.constantFrom('Bearer ', 'bearer\t', 'Bearer', '', 'Basic ', 'Bearer  ')
  const requests = fc
    .tuple(schemes, tokenLike)
    .map(([scheme, token]) => head('GET /api/authn/status HTTP/1.1', `Authorization: ${scheme}${token}`))
  await assertWell(service, requests)
})

test('T8 E2 any bytes as authentication-token are no valid token, never a fault', async t => {
  const service = await start(t)
  const encoded = tokenLike.map(token => [...bytesOf(token.slice(0, 5_000))].map(toHex).join(''))
  const raw = tokenLike.map(token => token.replace(/[\0- \x7f-\xff#]/g, ''))
  const requests = fc
    .tuple(fc.constantFrom('/api/authn/status', '/api/query/v4/letters'), fc.oneof(encoded, raw))
    .map(([path, token]) => head(`GET ${path}?authentication-token=${token} HTTP/1.1`))
  await assertWell(service, requests)
})

const toHex = (byte: number) => `%${byte.toString(16).padStart(2, '0')}`

test('E2 any bytes as the value of a header that is read are never a fault', async t => {
  const service = await start(t)
  const names = fc.constantFrom(
    'Accept',
    'Cookie',
    'Origin',
    'X-On-Behalf-Of',
    'X-On-Behalf-Of-Reason',
    'X-Forwarded-For',
    'X-XSRF-TOKEN',
    'If-None-Match',
    'Range',
    'Content-Type',
    'Accept-Language',
    'X-Correlation-Id',
    'Connection',
  )
  const paths = fc.constantFrom('/api/authn/status', '/api/query/v4/letters', '/api/security/csrf', '/api')
  const cookies = fc.oneof(
    inLine(200),
    fc.string().map(text => `DSPACE-XSRF-COOKIE=${text.replace(/[^ -~]/g, '')}`),
  )
  const requests = fc
    .tuple(paths, fc.array(fc.tuple(names, cookies), { minLength: 1, maxLength: 5 }))
    .map(([path, headers]) =>
      head(`GET ${path} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`)),
    )
  await assertWell(service, requests, { numRuns: 200 })
})

test('C4 E2 any bytes as CSRF cookie and header are refused, never a fault', async t => {
  const service = await start(t)
  const requests = fc
    .tuple(inLine(200), inLine(200), fc.boolean())
    .map(([cookie, header, same]) =>
      head(
        'POST /api/authn/logout HTTP/1.1',
        `Cookie: DSPACE-XSRF-COOKIE=${cookie}`,
        `X-XSRF-TOKEN: ${same ? cookie : header}`,
        'Content-Length: 0',
      ),
    )
  await assertWell(service, requests, { method: 'POST' })
})

test('Q7 E2 any parameters of a listing are answered or refused, never a fault', async t => {
  const service = await start(t)
  const names = fc.oneof(
    fc.constantFrom('order_by', 'limit', 'offset', 'include_total', 'page', 'size'),
    fc.string({ maxLength: 20 }),
  )
  const values = fc.oneof(
    fc.json({ maxDepth: 3 }),
    anyString(100),
    fc.bigInt().map(String),
    fc.double().map(String),
    fc.constantFrom('', '[]', '[{"field":"title"}]', '[{"field":"id","order":"DESC"}]', '['.repeat(2_000)),
  )
  const pair = fc.tuple(names, values).map(([name, value]) => {
    // Unpaired surrogates can't be encoded, so they can't be sent.
    const encode = (text: string) => encodeURIComponent(text.toWellFormed())
    return `${encode(name)}=${encode(value)}`
  })
  const requests = fc
    .array(pair, { maxLength: 5 })
    .map(pairs => head(`GET /api/query/v4/letters?${pairs.join('&')} HTTP/1.1`))
  await assertWell(service, requests, { numRuns: 200 })
})

test('E2 any bytes as a path or a query are never a fault', async t => {
  const service = await start(t)
  const targets = fc
    .tuple(
      fc.constantFrom(
        '/',
        '/api/',
        '/api/query/v4/',
        '/server/api/authn/',
        '/api/eperson/epersons/',
        '*',
        '//',
      ),
      fc.oneof(inLine(100), fc.webPath(), fc.string().map(encodeURI)),
    )
    .map(([start, rest]) => start + rest)
  await assertWell(
    service,
    targets.map(target => head(`GET ${target} HTTP/1.1`)),
    { numRuns: 200 },
  )
})

test('L7 E2 any bytes as a form are a failed login or a malformed request, never a fault', async t => {
  const service = await start(t)
  const { cookie, value } = await service.client().csrfPair()
  const field = fc.oneof(
    anyBytes(100),
    fc.uint8Array({ maxLength: 50 }).map(bytes => [...bytes].map(toHex).join('')),
  )
  const bodies = fc.oneof(
    anyBytes(2_000),
    fc.tuple(field, field).map(([user, password]) => `user=${user}&password=${password}`),
    fc.integer({ min: 16_000, max: 17_000 }).map(length => `user=a&password=${'x'.repeat(length)}`),
  )
  const types = fc.constantFrom(
    'application/x-www-form-urlencoded',
    'application/x-www-form-urlencoded; charset=utf-16',
    'application/json',
  )
  const requests = fc
    .tuple(bodies, types)
    .map(
      ([body, type]) =>
        head(
          'POST /api/authn/login HTTP/1.1',
          `Cookie: ${cookie}`,
          `X-XSRF-TOKEN: ${value}`,
          `Content-Type: ${type}`,
          `Content-Length: ${body.length}`,
        ) + body,
    )
  await assertWell(service, requests, { method: 'POST', numRuns: 80 })
})

test('E2 any bytes at all on the socket are never a fault, and the service goes on', async t => {
  const service = await start(t)
  // An end behind which no request can wait.
  const requests = fc
    .tuple(fc.oneof(anyBytes(400), fc.constantFrom('GET ', 'POST /api', 'PRI * HTTP/2.0')), fc.boolean())
    .map(([bytes, line]) => `${bytes}${line ? ' HTTP/1.1\r\n' : ''}\r\n\r\n\0\r\n\r\n`)
  await assertWell(service, requests)
})

test('E2 two hundred connections that say nothing do not keep others out', async t => {
  const service = await start(t)
  const silent = Array.from({ length: 200 }, () => openSocket(service.address))
  t.after(() => {
    for (const socket of silent) socket.destroy()
  })
  await Promise.all(silent.map(socket => new Promise(resolve => socket.once('connect', resolve))))
  for (const socket of silent) socket.on('error', () => {}).write('GET /api HTTP/1.1\r\nX-Slow: ')
  assert.equal((await service.client().get('/api')).status, 200)
})
