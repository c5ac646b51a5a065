import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { assertUnauthorized } from '../../support/clients/answers.ts'
import { bearerOf, type Client } from '../../support/clients/client.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { eventsOf } from '../../support/data/events.ts'
import { ruthEmail, startWithRuth } from '../../support/data/ruth.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'

const local = { CARREL_BASE_URL: 'http://localhost:8080' }

/** Starts a service for this machine only, with Ruth. */
const start = (t: TestContext) => startWithRuth(t, local)

/** @returns the secret of a new link */
async function linkFor(dataFolder: string, email: string): Promise<string> {
  const { code, stdout, stderr } = await carrel(dataFolder, ['open', email, '--json'], { env: local })
  assert.equal(code, 0, stderr)
  const { address } = JSON.parse(stdout) as { address: string }
  const [, secret] = /^http:\/\/localhost:8080\/console\/login#link=([\w-]{43})$/.exec(address) ?? []
  assert.ok(secret, address)
  return secret
}

const redeem = (client: Client, link: string, headers = {}) =>
  client.postForm('/api/authn/login', `link=${encodeURIComponent(link)}`, headers)

test('L11 a login link gives a session once, whoever of many is first', async t => {
  const { service, uuid, client } = await start(t)
  const link = await linkFor(service.dataFolder, ruthEmail)
  const answers = await Promise.all(Array.from({ length: 8 }, () => redeem(client, link)))
  const [first, ...more] = answers.filter(({ status }) => status === 200)
  assert.ok(first)
  assert.equal(more.length, 0)
  const token = bearerOf(first)
  assert.equal(claimsOf(token).eid, uuid)
  assert.equal(await client.isLoggedIn(token), true)
  for (const answer of answers) if (answer !== first) await assertUnauthorized(answer, 'login-failed')
  const admin = await service.addLoggedIn('admin@example.org', { admin: true })
  const logins = (await eventsOf(admin, 'login')).filter(({ method }) => method === 'command-line')
  assert.equal(logins.filter(({ outcome }) => outcome === 'success').length, 1)
  assert.ok(!JSON.stringify(logins).includes(link))
})

test('L11 a login link is of no use after a change of password, or for a disabled eperson', async t => {
  const { service, client } = await start(t)
  const before = await linkFor(service.dataFolder, ruthEmail)
  await carrel(service.dataFolder, ['eperson', 'password', ruthEmail, '--password-stdin'], {
    input: 'a new one, and long\n',
  })
  await assertUnauthorized(await redeem(client, before), 'login-failed')
  const disabled = await linkFor(service.dataFolder, ruthEmail)
  await carrel(service.dataFolder, ['eperson', 'disable', ruthEmail])
  await assertUnauthorized(await redeem(client, disabled), 'login-failed')
  const refused = await carrel(service.dataFolder, ['open', ruthEmail], { env: local })
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /is disabled/)
})

test('L11 a request that may come from another machine uses no login link up', async t => {
  const { service, client } = await start(t)
  const link = await linkFor(service.dataFolder, ruthEmail)
  for (const headers of [
    { 'x-forwarded-for': '127.0.0.1' },
    { forwarded: 'for=127.0.0.1' },
    { via: '1.1 proxy' },
  ])
    await assertUnauthorized(await redeem(client, link, headers), 'login-failed')
  assert.equal((await redeem(client, link)).status, 200)
  for (const wrong of ['', 'x', 'ä'.repeat(500), `${link}'--`, '\0'])
    await assertUnauthorized(await redeem(client, wrong), 'login-failed')
})

testOn('sqlite', 'L11 a service with a public address makes and takes no login links', async t => {
  const { service, client } = await startWithRuth(t)
  const refused = await carrel(service.dataFolder, ['open', ruthEmail], {
    env: { CARREL_BASE_URL: 'https://repo.example.edu' },
  })
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /CARREL_BASE_URL/)
  const link = await linkFor(service.dataFolder, ruthEmail)
  await assertUnauthorized(await redeem(client, link), 'login-failed')
})

testOn('sqlite', 'L11 D2 carrel open prints the address of the console', async t => {
  const { service } = await start(t)
  const { stdout, code } = await carrel(service.dataFolder, ['open'], { env: local })
  assert.deepEqual([code, stdout], [0, 'http://localhost:8080/\n'])
  const off = await carrel(service.dataFolder, ['open'], { env: { ...local, CARREL_CONSOLE: 'false' } })
  assert.equal(off.code, 1)
  assert.match(off.stderr, /switched off/)
})
