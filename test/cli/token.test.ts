import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandEvent } from '../../src/cli/store.ts'
import { toConfig } from '../../src/config/config.ts'
import { claimsOf } from '../support/clients/jwt.ts'
import { eventsOf } from '../support/data/events.ts'
import { withSpecialGroups } from '../support/service/configuration.ts'
import { test, testOn, testWithoutStore } from '../support/service/engines.ts'
import { carrel, type Finished } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'

const ruth = 'ruth@example.org'

const tokenIn = ({ code, stdout, stderr }: Finished): string => {
  assert.equal(code, 0, stdout + stderr)
  assert.equal(stderr, '')
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/, 'the token and nothing else')
  return stdout.trim()
}

function assertRefused({ code, stdout, stderr }: Finished, says: RegExp): void {
  assert.equal(code, 1, stdout + stderr)
  assert.equal(stdout, '')
  assert.match(stderr, /^carrel: [^\n]+\n$/)
  assert.match(stderr, says)
}

const tokenOf = async ({ dataFolder }: Service, env: Readonly<Record<string, string>> = {}) =>
  tokenIn(await carrel(dataFolder, ['token', 'RUTH@example.org'], { env }))

test('D8 carrel token prints a login token that lives as long as any, refreshes, and ends with a logout', async t => {
  const service = await startService(t)
  const { uuid } = await service.addEperson(ruth, { password: null })
  const before = Date.now()
  const token = await tokenOf(service, { CARREL_TOKEN_LIFETIME: '90' })
  const { eid, sg, exp } = claimsOf(token)
  assert.equal(eid, uuid)
  assert.deepEqual(sg, [])
  assert.ok(exp * 1000 > before + 89_000 && exp * 1000 <= Date.now() + 90_000, String(exp))

  const client = service.client()
  client.token = token
  const status = (await (await client.get('/api/authn/status')).json()) as Record<string, unknown>
  assert.equal(status.authenticated, true)
  assert.equal(status.authenticationMethod, 'command-line')
  const refreshed = await client.refresh()
  assert.equal(await client.isLoggedIn(refreshed), true)
  await client.shortLivedToken()
  assert.equal((await client.post('/api/authn/logout')).status, 204)
  for (const ended of [token, refreshed]) assert.equal(await client.isLoggedIn(ended), false)
})

test('D8 carrel token is in the audit trail as a login without an actor, and counts as the last login', async t => {
  const service = await startService(t)
  await service.addEperson('root@example.org', { admin: true })
  const { uuid } = await service.addEperson(ruth)
  const admin = service.client()
  await admin.login('root@example.org')
  await tokenOf(service)
  const common = { eperson: uuid, actor: null, client_ip: null, method: 'command-line', object: null }
  assert.deepEqual((await eventsOf(admin, 'login')).slice(1), [
    { ...common, outcome: 'success', reason: null },
  ])
  const list = await admin.get('/api/query/v4/epersons')
  const found = ((await list.json()) as { email: string; last_login: string | null }[]).find(
    one => one.email === ruth,
  )
  assert.ok(found?.last_login)
})

test('D8 carrel token refuses unknown and disabled epersons', async t => {
  const service = await startService(t)
  await service.addEperson('root@example.org', { admin: true })
  await service.addEperson(ruth)
  await service.storage.people.setEnabled(ruth, false, commandEvent('eperson.disable'))
  const { dataFolder } = service
  assertRefused(await carrel(dataFolder, ['token', 'no@example.org']), /no@example\.org.*carrel eperson list/)
  assertRefused(
    await carrel(dataFolder, ['token', ruth]),
    /disabled.*carrel eperson enable ruth@example\.org/,
  )
  const admin = service.client()
  await admin.login('root@example.org')
  assert.deepEqual(
    (await eventsOf(admin, 'login'))
      .filter(({ method }) => method === 'command-line')
      .map(one => one.outcome),
    ['failure'],
  )
})

testOn('sqlite', 'D8 carrel token signs with CARREL_TOKEN_SECRET where it is set', async t => {
  const CARREL_TOKEN_SECRET = 'a configured secret of thirty-two bytes'
  const service = await startService(t, { env: { CARREL_TOKEN_SECRET } })
  await service.addEperson(ruth)
  const client = service.client()
  assert.equal(await client.isLoggedIn(await tokenOf(service, { CARREL_TOKEN_SECRET })), true)
  assert.equal(await client.isLoggedIn(await tokenOf(service)), false)
})

testOn(
  'sqlite',
  'D8 carrel token works where passwords are switched off, and gives no special groups',
  async t => {
    const groups = withSpecialGroups(t, { method: [{ group: 'By password', method: 'password' }] })
    const service = await startService(t, { env: groups })
    await service.addEperson(ruth)
    const token = await tokenOf(service, groups)
    assert.deepEqual(claimsOf(token).sg, [])
    await service.stop()

    const file = join(temporaryFolder(t), 'carrel.json')
    const providers = [{ id: 'company', kind: 'oidc', issuer: 'https://id.example.org', clientId: 'carrel' }]
    writeFileSync(file, JSON.stringify({ singleSignOn: { methods: ['oidc'], providers } }))
    const without = await startService(t, { dataFolder: service.dataFolder, env: { CARREL_CONFIG: file } })
    assert.equal(await without.client().isLoggedIn(token), true)
  },
)

testOn('sqlite', 'D8 carrel token --json prints the token and when it expires', async t => {
  const service = await startService(t)
  await service.addEperson(ruth)
  const { code, stdout } = await carrel(service.dataFolder, ['token', ruth, '--json'])
  assert.equal(code, 0)
  const { token, expires } = JSON.parse(stdout) as Record<string, string>
  assert.equal(await service.client().isLoggedIn(token), true)
  assert.equal(Date.parse(expires ?? ''), claimsOf(token ?? '').exp * 1000)
})

testWithoutStore(
  'X2 no provider can take the scheme command-line, which names tokens of `carrel token`',
  t => {
    const file = join(temporaryFolder(t), 'carrel.json')
    const provider = { id: 'company', kind: 'oidc', issuer: 'https://id.example.org', clientId: 'carrel' }
    const write = (scheme: string) =>
      writeFileSync(file, JSON.stringify({ singleSignOn: { providers: [{ ...provider, scheme }] } }))
    write('company')
    assert.deepEqual(toConfig({ CARREL_CONFIG: file }).loginMethods, ['password', 'company'])
    write('command-line')
    assert.throws(() => toConfig({ CARREL_CONFIG: file }), /scheme/)
  },
)
