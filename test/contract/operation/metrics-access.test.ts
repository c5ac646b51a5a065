import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scraper } from '../../support/clients/metrics.ts'
import { exchange } from '../../support/clients/raw.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { serve } from '../../support/service/process.ts'
import { startService, temporaryFolder } from '../../support/service/service.ts'

/** The secret for metrics. Some requests are sent byte by byte, because `fetch` sets headers of its own. */
const secret = scraper.env.CARREL_METRICS_SECRET
/** Settings of `carrel serve` by default, without a proxy in front of it. */
const local = { CARREL_BASE_URL: 'http://localhost:8080' }

async function statusOf(address: string, ...lines: readonly string[]): Promise<number | undefined> {
  const host = lines.some(line => /^host:/i.test(line)) ? [] : [`Host: ${new URL(address).host}`]
  const all = ['GET /metrics HTTP/1.1', ...host, 'Connection: close', ...lines]
  return (await exchange(address, `${all.join('\r\n')}\r\n\r\n`))?.status
}

test('D5 a program on the same machine needs no secret where there is no proxy', async t => {
  const { address } = await startService(t, { env: local })
  assert.equal(await statusOf(address), 200)
  assert.equal(await statusOf(address, 'Host: localhost:8080'), 200)
  assert.equal(await statusOf(address, 'Host: [::1]:8080'), 200)
})

test('D5 a scrape without the secret through a proxy is refused', async t => {
  const { address } = await startService(t, { env: local })
  for (const line of [
    'X-Forwarded-For: 127.0.0.1',
    'x-forwarded-for:',
    'X-Forwarded-Host: localhost',
    'X-Forwarded-Proto: https',
    'Forwarded: for=127.0.0.1',
    'Via: 1.1 proxy',
    'X-Real-IP: 127.0.0.1',
    'CF-Connecting-IP: 127.0.0.1',
    // The host name of the service, as a proxy passes it on, and names of pages that were made to resolve
    // here (DNS rebinding).
    'Host: repo.example.edu',
    'Host: localhost.attacker.example',
    'Host: 127.0.0.1.attacker.example',
    'Host:',
  ])
    assert.equal(await statusOf(address, line), 401, line)
})

test('D5 where a proxy is configured, or the service has a public address, loopback may be a proxy that says nothing', async t => {
  for (const env of [
    { ...local, CARREL_TRUSTED_PROXIES: '127.0.0.1' },
    { ...local, CARREL_TRUSTED_PROXIES: '10.0.0.0/8' },
    { CARREL_BASE_URL: 'https://repo.example.edu/server' },
  ]) {
    const { address } = await startService(t, { env })
    assert.equal(await statusOf(address), 401, JSON.stringify(env))
    const withSecret = await startService(t, { env: { ...env, ...scraper.env } })
    assert.equal(await statusOf(withSecret.address), 401)
    assert.equal(await statusOf(withSecret.address, `Authorization: Bearer ${secret}`), 200)
    const forwarded = 'X-Forwarded-For: 192.0.2.1'
    assert.equal(await statusOf(withSecret.address, forwarded, `Authorization: Bearer ${secret}`), 200)
  }
})

test('D5 a wrong secret is refused, also from the same machine', async t => {
  const { address } = await startService(t, { env: { ...local, ...scraper.env } })
  const right = `Authorization: Bearer ${secret}`
  assert.equal(await statusOf(address, right), 200)
  assert.equal(await statusOf(address, `authorization: bearer ${secret}`), 200)
  for (const line of [
    'Authorization: Bearer wrong',
    'Authorization: Bearer',
    'Authorization:',
    `Authorization: ${secret}`,
    `Authorization: Basic ${btoa(`:${secret}`)}`,
    `Authorization: Bearer ${secret}x`,
    `Authorization: Bearer ${secret.slice(0, -1)}`,
    `Authorization: Bearer ${secret.toUpperCase()}`,
    `${right}\r\n${right}`,
    `Authorization: Bearer wrong\r\n${right}`,
  ])
    assert.equal(await statusOf(address, line), 401, line)
  const without = await startService(t, { env: local })
  for (const line of [right, 'Authorization: Bearer null', 'Authorization: Bearer'])
    assert.equal(await statusOf(without.address, line), 401, 'there is no secret that could be right')
})

test('D5 a token of an administrator does not open the metrics, and the secret opens nothing else', async t => {
  const service = await startService(t, { env: scraper.env })
  await service.addEperson('root@example.org', { admin: true })
  const client = service.client()
  const token = await client.login('root@example.org')
  assert.equal(await statusOf(service.address, `Authorization: Bearer ${token}`), 401)
  assert.equal(await client.isLoggedIn(secret), false)
})

test('D5 the refusal says what would be right, and nothing of the secret', async t => {
  const { address } = await startService(t, { env: scraper.env })
  const answer = await fetch(`${address}/metrics`, { headers: { authorization: 'Bearer wrong' } })
  assert.equal(answer.status, 401)
  assert.equal(answer.headers.get('www-authenticate'), 'Bearer realm="metrics"')
  const text = await answer.text()
  assert.match(text, /CARREL_METRICS_SECRET/)
  assert.ok(!text.includes(secret))
})

testOn(
  'sqlite',
  'D3 D5 the secret may be in the configuration file; one that is too short stops the start and is not shown',
  async t => {
    const folder = temporaryFolder(t)
    const file = join(folder, 'carrel.json')
    writeFileSync(file, JSON.stringify({ CARREL_METRICS_SECRET: secret }))
    const served = await serve(t, temporaryFolder(t), { env: { CARREL_CONFIG: file } })
    assert.equal(await statusOf(served.address, `Authorization: Bearer ${secret}`), 200)
    writeFileSync(file, JSON.stringify({ CARREL_METRICS_SECRET: 'much too short' }))
    const failed = await serve(t, temporaryFolder(t), { env: { CARREL_CONFIG: file } }).catch(String)
    assert.match(
      String(failed),
      /CARREL_METRICS_SECRET: Its value is not valid; it takes a secret of at least 32/,
    )
    assert.doesNotMatch(String(failed), /much too short/)
  },
)
