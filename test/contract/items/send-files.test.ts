import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { folderOf } from '../../../src/config/files-place.ts'
import { assertProblem, assertUnauthorized } from '../../support/clients/answers.ts'
import { anyEperson, contentOf, everybody, putItem } from '../../support/data/repository.ts'
import { test, testOnOne } from '../../support/service/engines.ts'
import { repository } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'

/**
 * Settings for files that a proxy sends (F4), seen here as the proxy does. Real proxies are tested in
 * test/products/.
 */
const nginx = { CARREL_FILES_SENT_BY: 'x-accel-redirect:/carrel-files/', CARREL_TRUSTED_PROXIES: '127.0.0.1' }
const apache = { ...nginx, CARREL_FILES_SENT_BY: 'x-sendfile' }
const content = randomBytes(10_000)

async function start(t: TestContext, env: Readonly<Record<string, string>> = nginx) {
  const service = await startService(t, { env })
  await service.addEperson('ruth@example.org')
  const { bitstreams } = await putItem(service, 'test/1', everybody, [
    { name: 'open.bin', content },
    { name: 'shared.bin', content, readers: anyEperson },
  ])
  const [open, shared] = bitstreams.map(contentOf) as [string, string]
  const sha256 = bitstreams[0]?.sha256 ?? ''
  const path = `${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`
  const ruth = await service.loggedIn('ruth@example.org')
  return { service, open, shared, sha256, path, etag: `"${sha256}"`, ruth }
}

/** Starts another service on the same store, which sends files itself. */
const sendingItself = (t: TestContext, { dataFolder }: Service) =>
  startService(t, { dataFolder, env: { CARREL_TRUSTED_PROXIES: '127.0.0.1' } })

/** Sends a request like nginx, with the address of the client. */
const ask = ({ address }: Service, path: string, headers: Readonly<Record<string, string>>, method = 'GET') =>
  fetch(address + path, {
    method,
    headers: { 'x-forwarded-for': '192.0.2.7', 'x-request-id': 'one', ...headers },
  })

/** Headers that differ between responses, or that belong to the connection. */
const incidental =
  /^(date|connection|keep-alive|set-cookie|dspace-xsrf-token|content-length|content-range|x-accel-redirect|x-sendfile)$/
const lasting = ({ headers }: Response) => [...headers].filter(([name]) => !incidental.test(name))

test('F4 a proxy gets the headers of a whole file or of one range, and the path in place of the body', async t => {
  const { service, open, path, etag } = await start(t)
  const plain = await sendingItself(t, service)
  for (const headers of [
    {},
    { range: 'bytes=0-' },
    { range: 'bytes=10-19' },
    { range: 'bytes=9000-20000' },
    { range: 'bytes=-5' },
    { range: 'bytes=10-19', 'if-range': etag },
    { 'if-range': '"another"' },
  ]) {
    const response = await ask(service, open, headers)
    assert.equal(response.headers.get('x-accel-redirect'), `/carrel-files/${path}`, JSON.stringify(headers))
    // The proxy turns the status into 206.
    assert.equal(response.status, 200)
    assert.equal(await response.text(), '')
    const own = await ask(plain, open, headers)
    await own.arrayBuffer()
    // nginx adds this header to a whole file, but not to a part.
    const isWhole = !('range' in headers)
    assert.deepEqual(
      lasting(response),
      lasting(own).filter(([name]) => !(isWhole && name === 'accept-ranges')),
    )
  }
})

test('F4 Carrel itself sends whatever proxies read differently, and refuses what it always refuses', async t => {
  const { service, open, shared, etag } = await start(t)
  const plain = await sendingItself(t, service)
  const today = new Date().toUTCString()
  const requests: readonly (readonly [number, Readonly<Record<string, string>>, string?, string?])[] = [
    [200, {}, 'HEAD'],
    [206, { range: 'bytes=0-4,10-19' }],
    [206, { range: 'bytes=5-6,20000-20001' }],
    [206, { range: 'bytes=5-6, ,' }],
    [206, { range: 'bytes=-99999999999999999999' }],
    [200, { range: 'bytes=a-b' }],
    [200, { range: 'bytes=5-4' }],
    [200, { range: 'bytes=0-,0-,0-' }],
    [416, { range: 'bytes=10000-' }],
    [304, { 'if-none-match': etag }],
    [304, { 'if-none-match': '*' }],
    [200, { 'if-none-match': '"another"' }],
    [200, { 'if-match': etag }],
    [412, { 'if-match': '"another"' }],
    [200, { 'if-modified-since': today }],
    [200, { 'if-unmodified-since': new Date(0).toUTCString() }],
    [200, { range: 'bytes=1-2', 'if-range': '"another"' }],
    [200, { range: 'bytes=1-2', 'if-range': `W/${etag}` }],
    [200, { range: 'bytes=1-2', 'if-range': today }],
    [401, {}, 'GET', shared],
    [404, {}, 'GET', contentOf({ uuid: '00000000-0000-4000-8000-000000000000' })],
  ]
  for (const [status, headers, method, of = open] of requests) {
    const what = `${method} ${JSON.stringify(headers)}`
    const [one, other] = [await ask(service, of, headers, method), await ask(plain, of, headers, method)]
    assert.equal(one.status, status, what)
    assert.ok(!one.headers.has('x-accel-redirect'), what)
    for (const name of ['content-length', 'content-range'])
      assert.equal(one.headers.get(name), other.headers.get(name), `${name} ${what}`)
    const shown = async (response: Response) => {
      const body = Buffer.from(await response.arrayBuffer()).toString('latin1')
      const text = JSON.stringify(lasting(response)) + body
      // Each answer has a different boundary.
      const [, boundary] = /boundary="?([\w-]+)/.exec(response.headers.get('content-type') ?? '') ?? []
      return boundary === undefined ? text : text.replaceAll(boundary, 'boundary')
    }
    assert.equal(await shown(one), await shown(other), what)
  }
})

testOnOne('F4 Apache gets the whole path on the disk, encoded', async t => {
  const filesFolder = join((await startService(t)).dataFolder, 'files of Zoë')
  const { service, open, path } = await start(t, { ...apache, CARREL_FILES: filesFolder })
  const response = await ask(service, open, { range: 'bytes=1-2' })
  assert.equal(response.headers.get('x-sendfile'), encodeURI(join(filesFolder, path)))
  assert.equal(response.headers.get('accept-ranges'), 'bytes')
  assert.equal(await response.text(), '')
})

testOnOne('F4 a client that is not a trusted proxy gets the file, whatever it claims', async t => {
  for (const env of [nginx, apache]) {
    const { service, open } = await start(t, { ...env, CARREL_TRUSTED_PROXIES: '192.0.2.1, 2001:db8::/32' })
    for (const headers of [{}, { 'x-forwarded-for': '192.0.2.1' }, { forwarded: 'for=192.0.2.1' }]) {
      const response = await ask(service, open, headers)
      assert.ok(!response.headers.has('x-accel-redirect') && !response.headers.has('x-sendfile'))
      assert.ok(Buffer.from(await response.arrayBuffer()).equals(content))
    }
  }
})

test('F4 F3 B4 a file that a proxy sends has its lease, resumes with it, and is in the audit trail once', async t => {
  const { service, shared, path, ruth } = await start(t)
  const first = await ruth.withShortLived(async token => {
    const answer = await ask(service, `${shared}?authentication-token=${token}`, {})
    assert.equal(answer.headers.get('x-accel-redirect'), `/carrel-files/${path}`)
    return answer
  })
  const [cookie = ''] = first.headers
    .getSetCookie()
    .filter(one => one.startsWith('CARREL-LEASE='))
    .map(one => one.split(';')[0] ?? '')
  assert.match(cookie, /^CARREL-LEASE=./)
  const rest = await ask(service, shared, { cookie, range: 'bytes=5000-' })
  assert.equal(rest.headers.get('x-accel-redirect'), `/carrel-files/${path}`)
  const events = (await (await ruth.get('/api/query/v4/audit-events')).json()) as Record<string, unknown>[]
  assert.deepEqual(
    events.filter(({ event }) => event === 'download').map(({ client_ip }) => client_ip),
    ['192.0.2.7'],
  )
  await ruth.post('/api/authn/logout')
  await assertUnauthorized(await ask(service, shared, { cookie }))
})

testOnOne(
  'F4 E2 a content that is set aside is sent by Carrel; a damaged or missing one is a fault',
  async t => {
    const { service, open, sha256, path } = await start(t)
    const filesFolder = folderOf(service.config.files)
    const place = join(filesFolder, path)
    renameSync(place, join(filesFolder, 'orphans', sha256))
    const response = await ask(service, open, {})
    assert.ok(!response.headers.has('x-accel-redirect'))
    assert.ok(Buffer.from(await response.arrayBuffer()).equals(content))
    renameSync(join(filesFolder, 'orphans', sha256), place)
    truncateSync(place, 5)
    await assertProblem(await ask(service, open, {}), 500, 'internal-error')
    rmSync(place)
    await assertProblem(await ask(service, open, {}), 500, 'internal-error')
  },
)

/** Headers that nginx passes on by itself, or writes itself. */
const passedOn =
  /^(content-type|content-disposition|content-length|cache-control|set-cookie|accept-ranges|date|connection|keep-alive|x-accel-redirect)$/

testOnOne('F4 the configuration of nginx in the guide passes on every header of a file', async t => {
  const { service, open, shared, ruth } = await start(t, {
    ...nginx,
    CARREL_BASE_URL: 'https://repo.example.edu/server',
    CARREL_ALLOWED_ORIGINS: 'https://ui.example.edu',
    CARREL_LOGIN_ON_BEHALF_OF: 'true',
  })
  const admin = await service.addLoggedIn('boss@example.org', { admin: true })
  const { uuid } = (await ruth.status())._embedded.eperson ?? { uuid: '' }
  const responses = [
    await ask(service, open, { origin: 'https://ui.example.edu', range: 'bytes=1-2' }),
    await admin.get(shared, { 'x-on-behalf-of': uuid }),
  ]
  const names = new Set(responses.flatMap(({ headers }) => [...headers.keys()]))
  assert.ok(names.has('x-acting-as') && names.has('dspace-xsrf-token') && names.has('vary'))
  const guide = readFileSync(join(repository, 'docs/how-to/send-files.md'), 'utf8')
  const added = new Set(
    [...guide.matchAll(/add_header (\S+) \$upstream_http_(\w+);/g)].map(([, name = '', variable = '']) => {
      assert.equal(name.toLowerCase().replaceAll('-', '_'), variable)
      return name.toLowerCase()
    }),
  )
  // Only files opened by a network have this header.
  assert.ok(added.has('cross-origin-resource-policy'))
  assert.deepEqual(
    [...names].filter(name => !passedOn.test(name) && !added.has(name)),
    [],
  )
})
