import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { readdirSync, readlinkSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { folderOf } from '../../../src/config/files-place.ts'
import { assertProblem, assertUnauthorized } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { exchange, head, openSocket } from '../../support/clients/raw.ts'
import { anyEperson, contentOf, everybody, membersOf, putItem } from '../../support/data/repository.ts'
import { from, withSpecialGroups } from '../../support/service/configuration.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const text = 'The content of a file that not everybody may read.\n'

async function start(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env })
  await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  await service.addEperson('max@example.org')
  const { bitstreams } = await putItem(service, 'test/1', everybody, [
    { name: 'open.txt', content: text },
    { name: 'shared.txt', content: text, readers: anyEperson },
    { name: 'readers.txt', content: text, readers: membersOf('Readers') },
    { name: 'closed.txt', content: text, readers: [] },
  ])
  const [open, shared, readers, closed] = bitstreams.map(contentOf) as [string, string, string, string]
  const ruth = await service.loggedIn('ruth@example.org')
  const max = await service.loggedIn('max@example.org')
  return { service, open, shared, readers, closed, ruth, max, stranger: service.client() }
}

test('F1 a file is readable by its readers, others get 401 or 403, and an unknown one is 404', async t => {
  const { open, shared, readers, closed, ruth, max, stranger } = await start(t)
  for (const method of ['GET', 'HEAD'])
    for (const [path, statuses] of [
      [open, [200, 200, 200]],
      [shared, [401, 200, 200]],
      [readers, [401, 403, 200]],
      [closed, [401, 403, 403]],
      [contentOf({ uuid: randomUUID() }), [404, 404, 404]],
      [contentOf({ uuid: 'nothing' }), [404, 404, 404]],
      [contentOf({ uuid: '%00' }), [404, 404, 404]],
      [contentOf({ uuid: "x' OR '1'='1" }), [404, 404, 404]],
    ] as const)
      for (const [n, client] of [stranger, max, ruth].entries()) {
        const response = await client.request(path, { method })
        assert.equal(response.status, statuses[n], `${method} ${path} ${n}`)
        const body = await response.text()
        if (response.status === 200) assert.equal(body, method === 'GET' ? text : '')
        else assert.ok(!body.includes('content of a file'))
      }
  await assertUnauthorized(await stranger.get(shared))
  await assertProblem(await max.get(readers), 403, 'access-denied')
  const allowed = await ruth.post(readers)
  assert.equal(allowed.headers.get('allow'), 'GET, HEAD, PUT')
  await assertProblem(allowed, 405, 'method-not-allowed')
})

test('F1 a short-lived token in the URL opens a file for any client; a login token in the URL does not count', async t => {
  const { readers, ruth, max, stranger } = await start(t)
  const by = (token: string | undefined) => `${readers}?authentication-token=${token}`
  const response = await byLink(ruth, stranger, readers)
  assert.equal(await response.text(), text)
  assert.equal(response.headers.get('cache-control'), 'private, no-store')
  assert.equal(response.headers.get('referrer-policy'), 'no-referrer')
  await max.withShortLived(async token => assertProblem(await stranger.get(by(token)), 403, 'access-denied'))
  await assertUnauthorized(await stranger.get(by(ruth.token)))
  // If there are two tokens, the one in the header counts (T10).
  const short = await ruth.shortLivedToken()
  await assertProblem(await max.get(by(short)), 403, 'access-denied')
})

test('F1 T9 a short-lived token without a scheme opens a file, as the Python client sends it, but nothing else', async t => {
  const { service, readers, ruth, stranger } = await start(t)
  await ruth.withShortLived(async token =>
    assert.equal(await (await stranger.get(readers, { authorization: token })).text(), text),
  )
  // A login token needs its scheme, and a short-lived one must not have it (T5).
  await assertUnauthorized(await stranger.get(readers, { authorization: ruth.token ?? '' }))
  await assertUnauthorized(
    await stranger.get(readers, { authorization: `Bearer ${await ruth.shortLivedToken()}` }),
  )
  const elsewhere = await stranger.get('/api/authn/status', { authorization: await ruth.shortLivedToken() })
  assert.equal(((await elsewhere.json()) as { authenticated: boolean }).authenticated, false)
  await assertProblem(
    await stranger.post('/api/authn/shortlivedtokens', undefined, {
      authorization: await ruth.shortLivedToken(),
    }),
    401,
    'authentication-required',
  )
  // Two headers are refused.
  const line = `Authorization: ${await ruth.shortLivedToken()}`
  const twice = await exchange(service.address, head(`GET ${readers} HTTP/1.1`, line, line))
  assert.equal(twice?.status, 401)
})

test('F1 Q11 an embargo ends by itself, and Campus may read from its addresses only', async t => {
  const env = withSpecialGroups(t, { ip: [{ group: 'Campus', ranges: ['10.0.0.0/8'] }] })
  const service = await startService(t, { env })
  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
  const { bitstreams } = await putItem(service, 'test/1', everybody, [
    { name: 'over.txt', content: 'over', readers: [{ reader: 'anonymous', from: day(-1) }] },
    { name: 'still.txt', content: 'still', readers: [{ reader: 'anonymous', from: day(1) }] },
    { name: 'gone.txt', content: 'gone', readers: [{ reader: 'anonymous', until: day(-1) }] },
    { name: 'campus.txt', content: 'campus', readers: membersOf('Campus') },
  ])
  const statuses = async (address: string) =>
    Promise.all(
      bitstreams.map(async one => (await service.client().get(contentOf(one), from(address))).status),
    )
  assert.deepEqual(await statuses('192.0.2.1'), [200, 401, 401, 401])
  assert.deepEqual(await statuses('10.1.2.3'), [200, 401, 401, 200])
  const [over, , , campus] = bitstreams
  assert.ok(over && campus)
  const shown = async (one: typeof over, address: string, name = 'cache-control') =>
    (await service.client().get(contentOf(one), from(address))).headers.get(name)
  assert.equal(
    await shown(over, '192.0.2.1'),
    'private, no-cache',
    'may be kept, and is checked again each time',
  )
  assert.equal(await shown(campus, '10.1.2.3'), 'private, no-store')
  // A page of another site can't read the file through a visitor's network.
  assert.equal(await shown(campus, '10.1.2.3', 'cross-origin-resource-policy'), 'same-site')
  assert.equal(await shown(over, '10.1.2.3', 'cross-origin-resource-policy'), null)
})

test('F2 a response describes the file: strong entity tag, length, type, name, and that ranges are accepted', async t => {
  const { open, stranger } = await start(t)
  const etag = `"${createHash('sha256').update(text).digest('hex')}"`
  for (const method of ['GET', 'HEAD']) {
    const response = await stranger.request(open, { method })
    const { headers } = response
    assert.equal(headers.get('etag'), etag)
    assert.equal(headers.get('content-length'), String(text.length))
    assert.equal(headers.get('accept-ranges'), 'bytes')
    assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
    assert.equal(headers.get('content-disposition'), 'inline; filename=open.txt')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    await response.arrayBuffer()
  }
  for (const [name, value, status] of [
    ['if-none-match', etag, 304],
    ['if-none-match', `W/${etag}`, 304],
    ['if-none-match', `"a,b", ${etag}`, 304],
    ['if-none-match', '*', 304],
    ['if-none-match', '"another"', 200],
    ['if-match', etag, 200],
    ['if-match', '*', 200],
    ['if-match', `W/${etag}`, 412],
    ['if-match', '"another"', 412],
  ] as const) {
    const response = await stranger.get(open, { [name]: value })
    assert.equal(response.status, status, `${name}: ${value}`)
    const body = await response.text()
    if (status === 304) assert.equal(body, '')
    if (status !== 412) assert.equal(response.headers.get('etag'), etag)
  }
})

test('F2 Range gives the named bytes in one part or several, with If-Range only if the file is the same', async t => {
  const service = await startService(t)
  const content = randomBytes(10_000)
  const { bitstreams } = await putItem(service, 'test/1', everybody, [{ name: 'a.bin', content }])
  const path = contentOf(bitstreams[0] ?? { uuid: '' })
  const ask = (headers: Record<string, string>) => fetch(service.address + path, { headers })
  const etag = (await ask({})).headers.get('etag') ?? ''
  for (const [range, start, end] of [
    ['bytes=0-0', 0, 0],
    ['bytes=0-', 0, 9_999],
    ['bytes=100-199', 100, 199],
    ['bytes=9999-', 9_999, 9_999],
    ['bytes=9000-20000', 9_000, 9_999],
    ['bytes=-1', 9_999, 9_999],
    ['bytes=-500', 9_500, 9_999],
    ['bytes=-99999999999999999999', 0, 9_999],
    ['BYTES= 5-6 ', 5, 6],
    ['bytes=5-6, ,', 5, 6],
    ['bytes=5-6,20000-20001', 5, 6],
  ] as const) {
    const response = await ask({ range })
    assert.equal(response.status, 206, range)
    assert.equal(response.headers.get('content-range'), `bytes ${start}-${end}/10000`, range)
    assert.equal(response.headers.get('content-length'), String(end - start + 1))
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), content.subarray(start, end + 1), range)
  }
  for (const range of ['bytes=10000-', 'bytes=10000-10001,20000-', 'bytes=-0']) {
    const response = await ask({ range })
    assert.equal(response.headers.get('content-range'), 'bytes */10000')
    await assertProblem(response, 416, 'range-not-satisfiable')
  }
  const many = Array.from({ length: 60 }, (_, n) => `${n}-${n}`).join()
  for (const range of [
    ...[
      'bytes=',
      'bytes=a-b',
      'bytes=5-4',
      'bytes=-',
      'lines=1-2',
      'bytes 0-1',
      'bytes=1-2-3',
      'bytes=0x1-2',
    ],
    ...[`bytes=${many}`, 'bytes=0-,0-,0-', 'bytes=0-,-1'],
  ]) {
    const response = await ask({ range })
    assert.equal(response.status, 200, range)
    assert.equal((await response.arrayBuffer()).byteLength, 10_000, range)
  }
  for (const [ifRange, status] of [
    [etag, 206],
    [`W/${etag}`, 200],
    ['"another"', 200],
    [new Date().toUTCString(), 200],
  ] as const)
    assert.equal((await ask({ range: 'bytes=1-2', 'if-range': ifRange })).status, status, ifRange)
  const whole = await fetch(service.address + path, { method: 'HEAD', headers: { range: 'bytes=1-2' } })
  assert.deepEqual([whole.status, whole.headers.get('content-length')], [200, '10000'])

  const several = await ask({ range: 'bytes=0-9, 5000-5999, -5' })
  assert.equal(several.status, 206)
  const boundary = /^multipart\/byteranges; boundary=(\S+)$/.exec(
    several.headers.get('content-type') ?? '',
  )?.[1]
  assert.ok(boundary)
  const body = Buffer.from(await several.arrayBuffer())
  assert.equal(several.headers.get('content-length'), String(body.length))
  const parts = body.toString('latin1').split(`\r\n--${boundary}`)
  assert.equal(parts.shift(), '')
  assert.equal(parts.pop(), '--\r\n')
  assert.deepEqual(
    parts.map(part => part.split('\r\n\r\n')[0]),
    ['0-9', '5000-5999', '9995-9999'].map(
      range => `\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes ${range}/10000`,
    ),
  )
  assert.equal(
    parts.map(part => part.slice(part.indexOf('\r\n\r\n') + 4)).join(''),
    [content.subarray(0, 10), content.subarray(5_000, 6_000), content.subarray(9_995)]
      .map(bytes => bytes.toString('latin1'))
      .join(''),
  )
})

test('F2 an empty file is sent, and has no ranges', async t => {
  const service = await startService(t)
  const { bitstreams } = await putItem(service, 'test/1', everybody, [{ name: 'empty', content: '' }])
  const path = service.address + contentOf(bitstreams[0] ?? { uuid: '' })
  const response = await fetch(path)
  assert.deepEqual([response.status, response.headers.get('content-length')], [200, '0'])
  assert.equal((await fetch(path, { headers: { range: 'bytes=0-' } })).status, 416)
})

test('F2 names are encoded as in RFC 8187, and active content is saved, never shown', async t => {
  const service = await startService(t)
  const files = [
    [
      'Größe – 図書館.pdf',
      'application/pdf',
      'inline; filename="Gro_e _ ___.pdf"; filename*=UTF-8\'\'Gr%C3%B6%C3%9Fe%20%E2%80%93%20%E5%9B%B3%E6%9B%B8%E9%A4%A8.pdf',
    ],
    ['a "quoted" name.png', 'image/png', 'inline; filename="a \\"quoted\\" name.png"'],
    ['../../etc/passwd', 'text/plain', 'inline; filename=passwd'],
    ['gnp.\u202eexe', 'application/octet-stream', 'attachment; filename=gnp.exe'],
    ['line\r\nSet-Cookie: a=b', 'text/plain', 'inline; filename="lineSet-Cookie: a=b"'],
    ['page.html', 'text/html', 'attachment; filename=page.html'],
    ['page.html;x', 'TEXT/HTML; charset=utf-8', 'attachment; filename="page.html;x"'],
    ['page.xhtml', 'application/xhtml+xml', 'attachment; filename=page.xhtml'],
    ['drawing.svg', 'image/svg+xml', 'attachment; filename=drawing.svg'],
    ['data.xml', 'text/xml', 'attachment; filename=data.xml'],
    ['code.js', 'text/javascript', 'attachment; filename=code.js'],
    ['odd', 'no type at all\r\nX: y', 'attachment; filename=odd'],
  ] as const
  const { bitstreams } = await putItem(
    service,
    'test/1',
    everybody,
    files.map(([name, mimeType], n) => ({ name, mimeType, content: `content ${n}` })),
  )
  for (const [n, [name, , disposition]] of files.entries()) {
    const response = await fetch(service.address + contentOf(bitstreams[n] ?? { uuid: '' }))
    assert.equal(await response.text(), `content ${n}`)
    assert.equal(response.headers.get('content-disposition'), disposition, name)
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
    const policy = response.headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'/)
    assert.ok(!/script-src|'unsafe-eval'/.test(policy))
    if (disposition.startsWith('attachment')) assert.match(policy, /sandbox/)
  }
})

/** Downloads by a link with a short-lived token of this client. */
const byLink = (client: Client, asker: Client, path: string, acting: Readonly<Record<string, string>> = {}) =>
  client.withShortLived(async token => {
    const response = await asker.get(`${path}?authentication-token=${token}`)
    assert.equal(response.status, 200)
    return response
  }, acting)

const isRefused = ({ status }: Response) => status !== 200

/** Returns the cookie that a browser would send back. */
const leaseIn = (response: Response): string => {
  const [set] = response.headers.getSetCookie().filter(one => one.startsWith('CARREL-LEASE='))
  assert.ok(set, 'the answer carries a lease')
  return set.split(';')[0] ?? ''
}

test('F3 the first response sets a cookie that resumes a broken transfer after the token has expired', async t => {
  const { service, readers, ruth, max, stranger } = await start(t)
  const { path, first } = await ruth.withShortLived(async token => {
    const path = `${readers}?authentication-token=${token}`
    const first = await stranger.get(path, { range: 'bytes=0-9' })
    assert.equal(first.status, 206)
    return { path, first }
  })
  assert.equal(await first.text(), text.slice(0, 10))
  const set = first.headers.getSetCookie().find(one => one.startsWith('CARREL-LEASE=')) ?? ''
  assert.match(
    set,
    /^CARREL-LEASE=[\w.-]+; Path=\/api\/core\/bitstreams\/[0-9a-f-]{36}\/content; Max-Age=1800; HttpOnly; SameSite=Lax$/,
  )
  const late = await until('the end of the short-lived token', () => stranger.get(path), isRefused)
  await assertUnauthorized(late)
  const cookie = leaseIn(first)
  const etag = first.headers.get('etag') ?? ''
  const rest = await stranger.get(path, { cookie, range: 'bytes=10-', 'if-range': etag })
  assert.equal(rest.status, 206)
  assert.equal(text.slice(0, 10) + (await rest.text()), text)
  assert.equal((await stranger.request(readers, { method: 'HEAD', headers: { cookie } })).status, 200)
  // A valid token takes precedence over the cookie.
  await assertProblem(await max.get(readers, { cookie }), 403, 'access-denied')
  // Under the other prefix, the cookie has the other path (P1).
  const other = await byLink(ruth, stranger, `/server${readers}`)
  assert.match(other.headers.getSetCookie().join(), /Path=\/server\/api\/core\/bitstreams\//)
  await service.storage.people.leave('Readers', 'ruth@example.org', commandEvent('group.leave'))
  await assertUnauthorized(await stranger.get(readers, { cookie }))
})

test('F3 over https the cookie is Secure', async t => {
  const { readers, ruth, stranger } = await start(t, { CARREL_BASE_URL: 'https://repo.example.edu/server' })
  const response = await byLink(ruth, stranger, readers)
  assert.match(
    response.headers.getSetCookie().join(),
    /CARREL-LEASE=[^;]+;[^,]* Secure; HttpOnly; SameSite=Lax/,
  )
})

test('F3 a lease opens its one bitstream and nothing else', async t => {
  const { service, shared, readers, ruth, stranger } = await start(t)
  const cookie = leaseIn(await ruth.get(readers))
  assert.equal((await stranger.get(readers, { cookie })).status, 200)
  await assertUnauthorized(await stranger.get(shared, { cookie }))
  for (const path of ['/api/query/v4/audit-events', '/api/eperson/epersons'])
    assert.equal((await stranger.get(path, { cookie })).status, 401, path)
  assert.equal((await stranger.status('/api/authn/status', { cookie })).authenticated, false)
  const token = cookie.slice('CARREL-LEASE='.length)
  for (const headers of [{ authorization: `Bearer ${token}` }, { authorization: token }])
    await assertUnauthorized(await stranger.get(readers, headers))
  await assertUnauthorized(await stranger.get(`${readers}?authentication-token=${token}`))
  // Other tokens don't work as a lease.
  for (const other of [ruth.token ?? '', await ruth.shortLivedToken(), `${token}x`, '', 'a.b.c'])
    await assertUnauthorized(await stranger.get(readers, { cookie: `CARREL-LEASE=${other}` }))
  // A planted cookie doesn't hide the valid one.
  assert.equal((await stranger.get(readers, { cookie: `CARREL-LEASE=x; ${cookie}` })).status, 200)
  const again = await startService(t, { dataFolder: service.dataFolder })
  assert.equal((await again.client().get(readers, { cookie })).status, 200, 'on every node')
})

test('F3 a lease ends with its session, and after its time', async t => {
  const { service, readers, ruth, stranger } = await start(t)
  const { people } = service.storage
  const email = 'ruth@example.org'
  const ends = [
    () => ruth.post('/api/authn/logout'),
    () => people.setPassword({ email }, 'x', commandEvent('eperson.password')),
  ]
  for (const end of ends) {
    const cookie = leaseIn(await ruth.get(readers))
    assert.equal((await stranger.get(readers, { cookie })).status, 200)
    await end()
    await assertUnauthorized(await stranger.get(readers, { cookie }))
    if (end === ends[0]) await ruth.login(email)
  }
  const short = await start(t, { CARREL_LEASE_LIFETIME: '1' })
  const cookie = leaseIn(await short.ruth.get(short.readers))
  const reading = () => short.stranger.get(short.readers, { cookie })
  await assertUnauthorized(await until('the end of the lease', reading, isRefused))
})

test('B4 F1 a download is in the audit trail once, with the actor, the eperson and the reason', async t => {
  const { service, open, readers, ruth, stranger } = await start(t, { CARREL_LOGIN_ON_BEHALF_OF: 'true' })
  const boss = await service.addEperson('boss@example.org', { admin: true })
  const admin = await service.loggedIn('boss@example.org')
  const { uuid } = (await ruth.status())._embedded.eperson ?? { uuid: '' }
  const acting = { 'x-on-behalf-of': uuid, 'x-on-behalf-of-reason': 'Ticket 42' }
  const bitstream = readers.split('/')[4]

  // HEAD requests, public files and refused requests cause no event.
  await ruth.request(readers, { method: 'HEAD' })
  await stranger.get(open)
  await stranger.get(readers)
  const first = await byLink(admin, stranger, readers, acting)
  assert.equal(first.headers.get('x-acting-as'), uuid)
  assert.equal(await first.text(), text)
  const cookie = leaseIn(first)
  assert.equal((await stranger.get(readers, { cookie, range: 'bytes=5-' })).status, 206)
  await ruth.get(readers)
  await admin.get(readers, { ...acting, 'x-on-behalf-of-reason': 'Ticket 43' })

  const common = { outcome: 'success', eperson: uuid, method: 'password', object: bitstream }
  const events = async (client = admin) =>
    ((await (await client.get('/api/query/v4/audit-events')).json()) as Record<string, unknown>[])
      .filter(({ event }) => event === 'download')
      .map(({ id: _id, time: _time, event: _event, request: _, ...rest }) => rest)
  const asAdmin = {
    ...common,
    actor: boss.uuid,
    actor_email: 'boss@example.org',
    client_ip: '127.0.0.1',
    reason: 'Ticket 42',
    count: 1,
    changes: null,
    repeats: null,
  }
  const asRuth = { ...asAdmin, actor: uuid, actor_email: 'ruth@example.org', reason: null }
  const again = { ...asAdmin, reason: 'Ticket 43' }
  assert.deepEqual(await events(), [asAdmin, asRuth, again])
  // Ruth sees these events about herself, but not the address of another actor.
  assert.deepEqual(await events(ruth), [
    { ...asAdmin, client_ip: null },
    asRuth,
    { ...again, client_ip: null },
  ])

  // A lease of an acting administrator ends with the administrator's session.
  await admin.post('/api/authn/logout')
  await assertUnauthorized(await stranger.get(readers, { cookie }))
})

test('B3 F1 a short-lived token made while acting ends with the session of the actor, and gives none of their rights', async t => {
  const { service, closed, readers, ruth, stranger } = await start(t, { CARREL_LOGIN_ON_BEHALF_OF: 'true' })
  const admin = await service.addLoggedIn('boss@example.org', { admin: true })
  const { uuid } = (await ruth.status())._embedded.eperson ?? { uuid: '' }
  const acting = { 'x-on-behalf-of': uuid }
  const by = (path: string, token: string) => `${path}?authentication-token=${token}`
  assert.equal((await admin.get(closed)).status, 200)
  await admin.withShortLived(
    async token => assertProblem(await stranger.get(by(closed, token)), 403, 'access-denied'),
    acting,
  )
  // The same eperson again is accepted (B5), another one is refused (B2).
  await admin.withShortLived(
    async token => assert.equal((await stranger.get(by(readers, token), acting)).status, 200),
    acting,
  )
  const { uuid: other } = await service.addEperson('other@example.org')
  await admin.withShortLived(async token => {
    const chained = await stranger.get(by(readers, token), { 'x-on-behalf-of': other })
    await assertProblem(chained, 403, 'on-behalf-of-refused')
  }, acting)
  const token = await admin.shortLivedToken(acting)
  await admin.post('/api/authn/logout')
  await assertUnauthorized(await stranger.get(by(readers, token)))
})

test('B4 Q11 epersons see and count the events about themselves, and no others', async t => {
  const { service, ruth, max, stranger } = await start(t, { CARREL_LOGIN_ON_BEHALF_OF: 'true' })
  const admin = await service.addLoggedIn('boss@example.org', { admin: true })
  const { uuid } = (await ruth.status())._embedded.eperson ?? { uuid: '' }
  await admin.get('/api/authn/status', { 'x-on-behalf-of': uuid, 'x-on-behalf-of-reason': 'Why not' })
  const path =
    '/api/query/v4/audit-events?include_total=true&order_by=[{"field":"id","order":"desc"}]&limit=2'
  const response = await ruth.get(path)
  const [last] = (await response.json()) as Record<string, unknown>[]
  assert.equal(last?.event, 'on-behalf-of')
  assert.deepEqual(
    [last.actor_email, last.reason, last.client_ip, last.eperson],
    ['boss@example.org', 'Why not', null, uuid],
  )
  const all = (await (await ruth.get('/api/query/v4/audit-events')).json()) as Record<string, unknown>[]
  assert.equal(response.headers.get('x-records'), String(all.length))
  assert.ok(all.every(({ eperson }) => eperson === uuid))
  assert.ok(all.some(({ event, client_ip }) => event === 'login' && client_ip === '127.0.0.1'))
  const others = (await (await max.get('/api/query/v4/audit-events')).json()) as Record<string, unknown>[]
  assert.ok(others.length > 0 && others.every(({ eperson }) => eperson !== uuid))
  await assertUnauthorized(await stranger.get('/api/query/v4/audit-events'))
})

test('B1 B2 a token made while acting ends when the actor is no longer an administrator, the eperson becomes one, or acting is switched off', async t => {
  const allowed = { CARREL_LOGIN_ON_BEHALF_OF: 'true' }
  const { service, readers, ruth, stranger } = await start(t, allowed)
  const { people } = service.storage
  const admin = await service.addLoggedIn('boss@example.org', { admin: true })
  const { uuid } = (await ruth.status())._embedded.eperson ?? { uuid: '' }
  const acting = { 'x-on-behalf-of': uuid }
  const made = async () => {
    const first = await byLink(admin, stranger, readers, acting)
    const another = await admin.shortLivedToken(acting)
    return { cookie: leaseIn(first), path: `/api/authn/status?authentication-token=${another}` }
  }
  const assertEnded = async ({ cookie, path }: Awaited<ReturnType<typeof made>>, asker = stranger) => {
    await assertUnauthorized(await asker.get(readers, { cookie }))
    assert.equal((await asker.status(path)).authenticated, false)
  }
  const changes = [
    ['join', 'leave', 'ruth@example.org'],
    ['leave', 'join', 'boss@example.org'],
  ] as const
  for (const [way, back, email] of changes) {
    const before = await made()
    const opened = await stranger.get(readers, { cookie: before.cookie })
    assert.equal(opened.headers.get('x-acting-as'), uuid)
    await people[way]('Administrator', email, commandEvent(`group.${way}`))
    await assertEnded(before)
    await people[back]('Administrator', email, commandEvent(`group.${back}`))
  }
  const before = await made()
  const off = await startService(t, { dataFolder: service.dataFolder })
  await assertEnded(before, off.client())
})

test('O3 a logout while acting does not log the eperson out', async t => {
  const { service, ruth, stranger } = await start(t, { CARREL_LOGIN_ON_BEHALF_OF: 'true' })
  const admin = await service.addLoggedIn('boss@example.org', { admin: true })
  const { uuid } = (await ruth.status())._embedded.eperson ?? { uuid: '' }
  const token = await admin.shortLivedToken({ 'x-on-behalf-of': uuid })
  const response = await stranger.post(`/api/authn/logout?authentication-token=${token}`)
  assert.equal(response.status, 204)
  assert.ok(await ruth.isLoggedIn())
  assert.ok(await admin.isLoggedIn())
})

test('F3 a lease is bound to the content that it began with', async t => {
  const { service, ruth, stranger } = await start(t)
  const put = async (content: string) => {
    const { bitstreams } = await putItem(service, 'test/2', anyEperson, [{ name: 'a.txt', content }])
    return contentOf(bitstreams[0] ?? { uuid: '' })
  }
  const path = await put('one')
  const cookie = leaseIn(await ruth.get(path))
  assert.equal(await (await stranger.get(path, { cookie })).text(), 'one')
  assert.equal(await put('two'), path, 'it is still the same bitstream')
  await assertUnauthorized(await stranger.get(path, { cookie }))
  assert.equal(await (await ruth.get(path, { cookie })).text(), 'two')
})

test('F1 of pipelined requests on one connection, one has its file open at a time', async t => {
  const { service } = await start(t)
  const content = randomBytes(4 * 1024 * 1024)
  const { bitstreams } = await putItem(service, 'test/2', everybody, [{ name: 'large.bin', content }])
  const path = contentOf(bitstreams[0] ?? { uuid: '' })
  const socket = openSocket(service.address)
  socket.on('error', () => {}).pause()
  socket.write(`GET ${path} HTTP/1.1\r\nHost: service.test\r\n\r\n`.repeat(300))
  const open = () => openIn(folderOf(service.config.files))
  await until('an open file', open, count => count > 0)
  // When a later request is answered, the pipelined ones have been read.
  for (let n = 0; n < 10; n++) await service.client().get('/api')
  assert.equal(open(), 1)
  socket.destroy()
  await until('no open file', open, count => count === 0)
  assert.equal((await service.client().get(path)).status, 200)
})

/** Counts the files below the folder that this process has open. */
const openIn = (folder: string): number =>
  readdirSync('/proc/self/fd').filter(name => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).startsWith(folder)
    } catch {
      return false
    }
  }).length

test('E2 a content that is missing or damaged is a fault with an id, not half a file', async t => {
  const { service, open, readers, ruth, stranger } = await start(t)
  const sha256 = createHash('sha256').update(text).digest('hex')
  const file = join(folderOf(service.config.files), sha256.slice(0, 2), sha256.slice(2, 4), sha256)
  truncateSync(file, 5)
  await assertProblem(await stranger.get(open), 500, 'internal-error')
  rmSync(file)
  const problem = await assertProblem(await ruth.get(readers), 500, 'internal-error')
  assert.ok(!JSON.stringify(problem).includes(sha256))
})
