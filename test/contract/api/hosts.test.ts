import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { exchange } from '../../support/clients/raw.ts'
import { testOn } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

/** Sends a request line and headers unchanged. @returns the status */
async function statusOf(address: string, ...lines: readonly string[]): Promise<number | undefined> {
  return (await exchange(address, `${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`))?.status
}

/** @returns a function that sends a request for a host, and returns the status of the answer */
async function asking(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const { address } = await startService(t, { env: { CARREL_ALLOWED_HOSTS: '', ...env } })
  return (host: string, ...more: readonly string[]) =>
    statusOf(address, 'GET /api/authn/status HTTP/1.1', `Host: ${host}`, ...more)
}

testOn(
  'sqlite',
  'E4 a Host that is not the service’s own is 421, and the problem names the setting',
  async t => {
    const { address } = await startService(t)
    const answer = await exchange(
      address,
      'GET /api HTTP/1.1\r\nHost: evil.example:8080\r\nConnection: close\r\n\r\n',
    )
    assert.equal(answer?.status, 421)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/problem\+json\b/)
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(answer.headers.get('set-cookie'), undefined)
    const { code, detail } = JSON.parse(answer.body) as { code: string; detail: string }
    assert.equal(code, 'host-not-allowed')
    for (const word of ['evil.example:8080', 'CARREL_ALLOWED_HOSTS', 'CARREL_BASE_URL'])
      assert.ok(detail.includes(word), word)
  },
)

testOn(
  'sqlite',
  'E4 the host of the base URL and loopback are known in every spelling, on any port',
  async t => {
    const ask = await asking(t)
    const own = ['repo.example.edu', 'Repo.Example.EDU:443', 'repo.example.edu.', 'repo.example.edu.:80']
    const loopback = ['localhost', 'LOCALHOST:1', 'localhost.:2', '127.0.0.1', '127.255.0.9:65535', '[::1]']
    for (const host of [...own, ...loopback, '[0:0:0:0:0:0:0:1]:8080', '127.1']) {
      assert.equal(await ask(host), 200, host)
      assert.equal(await ask(host), 200, `${host} again`)
    }
    const others = [
      'example.edu',
      'evil-repo.example.edu',
      'repo.example.edu.evil.example',
      'localhost.evil.example',
    ]
    const addresses = ['128.0.0.1', '0.0.0.0', '[::2]', '[::]', '192.0.2.1:8080', '127.0.0.1.evil.example']
    const malformed = [
      '',
      'repo.example.edu@evil.example',
      'localhost/',
      'localhost#',
      'a b',
      'localhost,evil',
      '[::1',
    ]
    for (const host of [...others, ...addresses, ...malformed, '127.0.0.1:x', 'null'])
      assert.equal(await ask(host), 421, host)
  },
)

testOn('sqlite', 'E4 CARREL_ALLOWED_HOSTS lists further names and addresses', async t => {
  const ask = await asking(t, { CARREL_ALLOWED_HOSTS: 'carrel, Inner.example,192.0.2.1, [2001:DB8::0:1]' })
  for (const host of ['carrel:8081', 'inner.EXAMPLE', '192.0.2.1:80', '[2001:db8::1]:80', 'localhost'])
    assert.equal(await ask(host), 200, host)
  for (const host of ['carre', 'x.carrel', '192.0.2.2', '[2001:db8::2]'])
    assert.equal(await ask(host), 421, host)
})

testOn('sqlite', 'E4 nothing else of a request for another host is looked at', async t => {
  const { address } = await startService(t)
  const lines = ['Host: evil.example', 'Origin: http://evil.example', 'Authorization: Bearer x']
  for (const target of ['/api', '/nothing', '/api/query/v4/audit-events', '/%zz', '/api#x', '/'])
    for (const method of ['GET', 'OPTIONS', 'PATCH'])
      assert.equal(await statusOf(address, `${method} ${target} HTTP/1.1`, ...lines), 421, target)
  const form = ['Content-Type: application/x-www-form-urlencoded', 'Content-Length: 0']
  assert.equal(await statusOf(address, 'POST /api/authn/login HTTP/1.1', ...lines, ...form), 421)
})

testOn('sqlite', 'E4 health and metrics are answered for any host', async t => {
  const { address } = await startService(t, { env: { CARREL_BASE_URL: 'http://repo.example.edu/deep' } })
  for (const path of ['/health/live', '/health/ready', '/deep/health/ready?x=1'])
    assert.equal(await statusOf(address, `GET ${path} HTTP/1.1`, 'Host: 10.0.0.7:8080'), 200, path)
  for (const path of ['/metrics', '/metrics/', '/deep/metrics/?x=1'])
    assert.equal(await statusOf(address, `GET ${path} HTTP/1.1`, 'Host: 10.0.0.7:8080'), 401, path)
  for (const path of ['/health', '/healthy/live', '/api?x=/health/live', '/metrics/x'])
    assert.equal(await statusOf(address, `GET ${path} HTTP/1.1`, 'Host: 10.0.0.7:8080'), 421, path)
})

testOn('sqlite', 'E4 the host of a target in absolute form takes the place of the header', async t => {
  const { address } = await startService(t)
  const ask = (target: string, host: string) =>
    statusOf(address, `GET ${target}/api/authn/status HTTP/1.1`, `Host: ${host}`)
  assert.equal(await ask('http://repo.example.edu', 'evil.example'), 200)
  assert.equal(await ask('http://evil.example', 'repo.example.edu'), 421)
  assert.equal(await ask('HTTP://repo.example.edu@evil.example', 'repo.example.edu'), 421)
  assert.equal(await ask('http://', 'repo.example.edu'), 421)
})

testOn('sqlite', 'E4 two Hosts are malformed, and HTTP/1.0 needs none', async t => {
  const { address } = await startService(t)
  const line = 'GET /api/authn/status HTTP/1.1'
  assert.equal(await statusOf(address, line, 'Host: localhost', 'Host: evil.example'), 400)
  assert.equal(await statusOf(address, line, 'Host: evil.example', 'host: localhost'), 400)
  assert.equal(await statusOf(address, line), 400)
  assert.equal(await statusOf(address, 'GET /api/authn/status HTTP/1.0'), 200)
  assert.equal(await statusOf(address, 'GET /api/authn/status HTTP/1.0', 'Host: evil.example'), 421)
})

testOn('sqlite', 'E4 X-Forwarded-Host counts besides Host, and only from a trusted proxy', async t => {
  const trusting = await asking(t, { CARREL_TRUSTED_PROXIES: '127.0.0.1' })
  const forwarded = (name: string) => `X-Forwarded-Host: ${name}`
  assert.equal(await trusting('localhost', forwarded('repo.example.edu')), 200)
  assert.equal(await trusting('localhost', forwarded('evil.example')), 421)
  // A proxy appends the requested host to a header that its client sent.
  assert.equal(await trusting('localhost', forwarded('repo.example.edu, evil.example')), 421)
  // A page can send the header, but it can't choose the Host.
  assert.equal(await trusting('evil.example', forwarded('repo.example.edu')), 421)
  const careful = await asking(t, { CARREL_TRUSTED_PROXIES: '192.0.2.1' })
  assert.equal(await careful('localhost', forwarded('evil.example')), 200)
  assert.equal(await careful('evil.example', forwarded('repo.example.edu')), 421)
})
