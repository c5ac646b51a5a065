import assert from 'node:assert/strict'
import { commandEvent } from '../../src/cli/store.ts'
import type { Client } from '../support/clients/client.ts'
import { eventsOf } from '../support/data/events.ts'
import { beginsNow } from '../support/data/sessions.ts'
import { test, testOn } from '../support/service/engines.ts'
import { startNodes } from '../support/service/nodes.ts'
import { carrel } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'

const emails = ['ruth@example.org', 'max@example.org', 'admin@example.org']

/** Returns a client of an administrator who has just logged in. */
async function adminOf(service: Service): Promise<Client> {
  await service.addEperson('root@example.org', { admin: true })
  const client = service.client()
  await client.login('root@example.org')
  return client
}

test('T4 D1 carrel eperson logout ends every token of one eperson, and of nobody else', async t => {
  const service = await startService(t)
  for (const email of emails) await service.addEperson(email)
  const [ruth, ruthElsewhere, max] = [service.client(), service.client(), service.client()]
  await ruth.login('ruth@example.org')
  await ruthElsewhere.login('ruth@example.org')
  await max.login('max@example.org')
  const short = await ruth.shortLivedToken()

  const done = await carrel(service.dataFolder, ['eperson', 'logout', 'Ruth@Example.org'])
  assert.deepEqual(done, { code: 0, stdout: 'Ended all tokens of Ruth@Example.org.\n', stderr: '' })
  for (const client of [ruth, ruthElsewhere]) assert.equal(await client.isLoggedIn(), false)
  const status = await service.client().status(`/api/authn/status?authentication-token=${short}`)
  assert.equal(status.authenticated, false)
  assert.equal(await max.isLoggedIn(), true)
  await ruth.login('ruth@example.org')
  assert.equal(await ruth.isLoggedIn(), true)

  const { stdout } = await carrel(service.dataFolder, ['eperson', 'logout', 'ruth@example.org', '--json'])
  assert.deepEqual(JSON.parse(stdout), { email: 'ruth@example.org', loggedOut: true })
  assert.equal(await ruth.isLoggedIn(), false)
  const events = await eventsOf(await adminOf(service), 'logout')
  assert.equal(events.length, 2)
  for (const { eperson, actor, method } of events) {
    assert.equal(eperson, (await service.storage.people.credentials('ruth@example.org'))?.uuid)
    assert.deepEqual([actor, method], [null, null])
  }
})

test('T4 D1 carrel eperson logout --all ends the tokens of everybody in one step', async t => {
  const service = await startService(t)
  for (const email of emails) await service.addEperson(email, { admin: email.startsWith('admin') })
  const clients = emails.map(() => service.client())
  for (const [n, client] of clients.entries()) await client.login(emails[n] ?? '')
  const { people, sessions, identities } = service.storage
  const known = await people.credentials('max@example.org')
  const session = { provider: 'company', name: 'max', sid: null, detail: {} }
  const { sessionKey = new Uint8Array() } = (await sessions.of(known?.uuid ?? '')) ?? {}
  assert.ok(
    await identities.begin(
      { uuid: known?.uuid ?? '', sessionKey, session, begins: beginsNow() },
      commandEvent('login'),
    ),
  )

  const done = await carrel(service.dataFolder, ['eperson', 'logout', '--all', '--json'])
  assert.deepEqual(JSON.parse(done.stdout), { epersons: 3, loggedOut: true })
  for (const client of clients) assert.equal(await client.isLoggedIn(), false)
  assert.equal(await identities.endAtProvider(session, commandEvent('logout')), 0)
  const keys = new Set<string>()
  for (const email of emails) {
    const { uuid = '' } = (await people.credentials(email)) ?? {}
    keys.add(Buffer.from((await sessions.of(uuid))?.sessionKey ?? '').toString('hex'))
  }
  assert.equal(keys.size, emails.length, 'each has another key')
  for (const key of keys) assert.match(key, /^[0-9a-f]{64}$/)
  const events = await eventsOf(await adminOf(service), 'logout')
  assert.deepEqual(
    events.map(({ eperson, object }) => [eperson, object]),
    [[null, 'everybody']],
  )
  for (const [n, client] of clients.entries()) await client.login(emails[n] ?? '')
  for (const client of clients) assert.equal(await client.isLoggedIn(), true)
})

test('D1 carrel eperson logout takes one eperson or --all, and says who is unknown', async t => {
  const folder = temporaryFolder(t)
  await carrel(folder, ['eperson', 'add', 'ruth@example.org'])
  for (const args of [[], ['ruth@example.org', '--all']]) {
    const { code, stderr } = await carrel(folder, ['eperson', 'logout', ...args])
    assert.equal(code, 2)
    assert.equal(stderr, 'carrel: name one eperson, or give --all\n')
  }
  const { code, stderr } = await carrel(folder, ['eperson', 'logout', 'nobody@example.org'])
  assert.equal(code, 1)
  assert.match(stderr, /^carrel: there is no eperson nobody@example\.org; `carrel eperson list` shows all\n$/)
})

testOn('postgres', 'T4 a logout of everybody holds on every node at once', async t => {
  const { nodes } = await startNodes(t, 2)
  const [one, other] = nodes
  assert.ok(one && other)
  await one.addEperson('ruth@example.org')
  const client = one.client()
  const token = await client.login('ruth@example.org')
  assert.equal(await other.client().isLoggedIn(token), true)
  const refreshed = await other
    .client()
    .post('/api/authn/login', undefined, { authorization: `Bearer ${token}` })
  assert.equal(refreshed.status, 200)
  const { code } = await carrel(one.dataFolder, ['eperson', 'logout', '--all'])
  assert.equal(code, 0)
  for (const node of nodes) assert.equal(await node.client().isLoggedIn(token), false)
})
