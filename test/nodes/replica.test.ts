import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, type TestContext, test } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { inspectStore } from '../../src/storage/postgres/inspect.ts'
import type { Client } from '../support/clients/client.ts'
import { list, listPath, problemOf } from '../support/clients/listings.ts'
import { atEnd } from '../support/service/at-end.ts'
import { runSql } from '../support/service/databases.ts'
import {
  caughtUp,
  pauseReplay,
  type ReplicatedPostgres,
  startReplicated,
} from '../support/service/replica.ts'
import { type Service, startService } from '../support/service/service.ts'

let servers: Promise<ReplicatedPostgres> | undefined
after(async () => (await servers)?.remove())

interface Replicated {
  readonly service: Service
  readonly admin: Client
  readonly servers: ReplicatedPostgres
  /** The addresses of this test's database on both servers. */
  readonly url: { readonly primary: string; readonly replica: string }
}

interface Options {
  readonly env?: Readonly<Record<string, string>>
  /** True if the replica has received nothing, not even the creation of the database. */
  readonly unheard?: boolean
}

/** Starts a service that reads from the replica, with a logged-in administrator. */
async function withReplica(t: TestContext, { env = {}, unheard = false }: Options = {}): Promise<Replicated> {
  servers ??= startReplicated()
  const { primary, replica } = await servers
  if (unheard) await pauseReplay(t, await servers)
  const name = `carrel_test_${randomBytes(6).toString('hex')}`
  const at = (server: string) => Object.assign(new URL(server), { pathname: `/${name}` }).href
  const url = { primary: at(primary.url), replica: at(replica.url) }
  await runSql(primary.url, `CREATE DATABASE ${name}`)
  // The service has disconnected by then; the replica ends remaining connections.
  atEnd(t, () => runSql(primary.url, `DROP DATABASE ${name} WITH (FORCE)`))
  const service = await startService(t, {
    env: { CARREL_DATABASE_URL: url.primary, CARREL_DATABASE_REPLICA_URL: url.replica, ...env },
  })
  await service.addEperson('root@example.org', { admin: true })
  const admin = service.client()
  await admin.login('root@example.org')
  if (!unheard) await caughtUp(await servers)
  return { service, admin, servers: await servers, url }
}

const emailsOf = async (admin: Client, parameters = {}) =>
  (await list<{ email: string }>(admin, 'epersons', parameters)).map(({ email }) => email)

/** Counts the service's connections to a database. */
async function connections(url: string): Promise<number> {
  const [row] = await runSql<{ count: number }>(
    url,
    `SELECT count(*)::integer AS count FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'carrel'`,
  )
  return row?.count ?? 0
}

/** Parameters of a short page, and of a listing with a cursor. */
const bothWays = [{ limit: 50 }, {}] as const

test('D3 query endpoints read from the replica, and what it does not know yet comes when it has caught up', async t => {
  const { service, admin, servers, url } = await withReplica(t)
  const resume = await pauseReplay(t, servers)
  await service.addEperson('new@example.org')
  await service.storage.people.addGroup('New', commandEvent('group.add'))
  for (const parameters of bothWays) {
    assert.deepEqual(await emailsOf(admin, parameters), ['root@example.org'])
    const response = await admin.get(listPath('epersons', { ...parameters, include_total: true }))
    assert.equal(response.headers.get('x-records'), '1')
    await response.arrayBuffer()
    const groups = await list(admin, 'groups', parameters)
    assert.deepEqual(
      groups.map(({ name }) => name),
      ['Administrator'],
    )
    const events = (await list(admin, 'audit-events', parameters)).map(({ event }) => event)
    assert.ok(events.includes('login') && !events.includes('group.add'))
  }
  assert.ok((await connections(url.replica)) > 0)
  await resume()
  await caughtUp(servers)
  for (const parameters of bothWays) {
    assert.deepEqual((await emailsOf(admin, parameters)).toSorted(), ['new@example.org', 'root@example.org'])
    assert.ok((await list(admin, 'audit-events', parameters)).some(({ event }) => event === 'group.add'))
  }
})

test('T4 T6 D3 logging in, logout and rights never wait for the replica', async t => {
  const { service, admin, servers } = await withReplica(t)
  await service.storage.people.addGroup('Readers', commandEvent('group.add'))
  await service.addRecords('shared', 'id', [{ id: 1 }], 'group:Readers')
  await pauseReplay(t, servers)
  const { people, secrets } = service.storage
  await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  const ruth = service.client()
  const token = await ruth.login('ruth@example.org')
  assert.equal(await ruth.isLoggedIn(), true)
  await ruth.withShortLived(async short => {
    const status = await service.client().status(`/api/authn/status?authentication-token=${short}`)
    assert.equal(status.authenticated, true)
  })
  // The current membership decides about reading, whatever the replica has.
  assert.deepEqual(await list(ruth, 'shared'), [{ id: 1 }])
  await people.leave('Readers', 'ruth@example.org', commandEvent('group.leave'))
  await problemOf(await ruth.get(listPath('shared')), 403)
  await people.join('Readers', 'ruth@example.org', commandEvent('group.join'))
  assert.deepEqual(await list(ruth, 'shared'), [{ id: 1 }])

  await ruth.post('/api/authn/logout')
  assert.equal(await service.client().isLoggedIn(token), false)
  await problemOf(await ruth.get(listPath('shared')), 401)
  const again = await ruth.login('ruth@example.org')
  await secrets.rotate(commandEvent('secret.rotate'))
  assert.equal(await ruth.isLoggedIn(), true)
  await people.setEnabled('ruth@example.org', false, commandEvent('eperson.disable'))
  assert.equal(await service.client().isLoggedIn(again), false)
  assert.equal((await service.client().tryLogin('ruth@example.org', 'x')).status, 401)
  // Acknowledged changes are read from the primary.
  await people.setEnabled('ruth@example.org', true, commandEvent('eperson.enable'))
  await ruth.login('ruth@example.org')
  assert.equal(await admin.isLoggedIn(), true)
})

/** Returns enough records for a listing in pieces, with more than one record of each word. */
const records = (word: string, count = 3_000) =>
  Array.from({ length: count }, (_, id) => ({ id, word: `${word} ${(id * 7) % 1_001}` }))

test('D3 Q10 imported entities are never missing and never stale, however far behind the replica is', async t => {
  // With little memory, records are fetched for each answer.
  const { service, servers, url } = await withReplica(t, { env: { CARREL_CACHE_SIZE: '1' } })
  const anyone = service.client()
  await service.addRecords('letters', 'id', records('old'))
  await caughtUp(servers)
  assert.deepEqual(await list(anyone, 'letters'), records('old'))
  const resume = await pauseReplay(t, servers)
  await service.addRecords('letters', 'id', records('new', 2_500))
  await service.addRecords('notes', 'id', records('note'))
  const assertCurrent = async (client: Client) => {
    for (const [entity, expected] of [
      ['letters', records('new', 2_500)],
      ['notes', records('note')],
    ] as const) {
      assert.deepEqual(await list(client, entity), expected)
      assert.deepEqual(await list(client, entity, { offset: 20, limit: 30 }), expected.slice(20, 50))
      const order_by = [{ field: 'word', order: 'desc' }]
      const byWord = expected.toSorted((a, b) => (a.word < b.word ? 1 : a.word > b.word ? -1 : a.id - b.id))
      assert.deepEqual(await list(client, entity, { order_by }), byWord)
      assert.deepEqual(await list(client, entity, { order_by, limit: 10 }), byWord.slice(0, 10))
    }
  }
  await assertCurrent(anyone)
  // A service that starts meanwhile has never seen the entity.
  const env = { CARREL_DATABASE_URL: url.primary, CARREL_DATABASE_REPLICA_URL: url.replica }
  await assertCurrent((await startService(t, { env })).client())
  await service.storage.entities.drop('notes', commandEvent('entity.drop'))
  await problemOf(await anyone.get(listPath('notes')), 404)
  await resume()
  await caughtUp(servers)
  assert.deepEqual(await list(anyone, 'letters'), records('new', 2_500))
  await problemOf(await anyone.get(listPath('notes')), 404)
})

test('D3 imported records are read from the replica once it has them', async t => {
  const { service, servers, url } = await withReplica(t, { env: { CARREL_CACHE_SIZE: '1' } })
  await service.addRecords('letters', 'id', records('old'))
  await pauseReplay(t, servers)
  // Now a query to the primary would find nothing.
  const [entity] = await runSql<{ version: string }>(url.primary, 'SELECT version FROM carrel.entity')
  await runSql(
    url.primary,
    `ALTER TABLE carrel."records.${entity?.version}" RENAME TO taken_away; DELETE FROM carrel.rank`,
  )
  const anyone = service.client()
  const order_by = [{ field: 'id', order: 'desc' }]
  assert.deepEqual(await list(anyone, 'letters', { order_by }), records('old').toReversed())
  assert.deepEqual(await list(anyone, 'letters', { offset: 11, limit: 5 }), records('old').slice(11, 16))
})

const openTables = `CREATE TABLE things (id integer PRIMARY KEY, name text); INSERT INTO things VALUES (1, 'a')`

test('D3 exposed tables are answered from the first moment, too, and may be behind like the replica', async t => {
  const { service, servers, url } = await withReplica(t)
  const anyone = service.client()
  const resume = await pauseReplay(t, servers)
  // The replica has neither the table nor the role to read it with.
  await runSql(url.primary, openTables)
  const { expose } = service.storage.entities
  assert.ok(expose)
  const request = { schema: 'public', table: 'things', key: null, read: 'anonymous', fields: null } as const
  await expose({ ...request, name: 'things' }, commandEvent('entity.expose'))
  for (const parameters of bothWays)
    assert.deepEqual(await list(anyone, 'things', parameters), [{ id: 1, name: 'a' }])
  await resume()
  await caughtUp(servers)
  const resumeAgain = await pauseReplay(t, servers)
  await runSql(url.primary, "INSERT INTO things VALUES (2, 'b')")
  for (const parameters of bothWays)
    assert.deepEqual(await list(anyone, 'things', parameters), [{ id: 1, name: 'a' }], 'behind')
  // After a column is added, the primary answers until the replica has it.
  await runSql(url.primary, "ALTER TABLE things ADD more text DEFAULT 'm'")
  await expose({ ...request, name: 'things' }, commandEvent('entity.expose'))
  for (const parameters of bothWays)
    assert.deepEqual((await list(anyone, 'things', parameters)).at(0), { id: 1, name: 'a', more: 'm' })
  await resumeAgain()
  await caughtUp(servers)
  for (const parameters of bothWays) assert.equal((await list(anyone, 'things', parameters)).length, 2)
})

test('D3 a replica that is down is not missed, and is asked again when it is back', async t => {
  const { service, admin, servers, url } = await withReplica(t)
  await service.addRecords('letters', 'id', records('old'))
  assert.deepEqual(await emailsOf(admin), ['root@example.org'])
  await servers.replica.stop()
  try {
    const assertGoesOn = async () => {
      for (const parameters of bothWays) {
        assert.ok((await emailsOf(admin, parameters)).includes('root@example.org'))
        assert.ok((await list(admin, 'letters', parameters)).length > 0)
        assert.ok((await list(admin, 'audit-events', parameters)).length > 0)
      }
      assert.equal((await admin.get('/health/ready')).status, 200)
    }
    await assertGoesOn()
    await service.addEperson('new@example.org')
    assert.deepEqual((await emailsOf(admin)).toSorted(), ['new@example.org', 'root@example.org'], 'at once')
    await service.client().login('new@example.org')
    await service.addRecords('letters', 'id', records('new'))
    assert.deepEqual(await list(admin, 'letters'), records('new'))
    // A service can also start without the replica.
    const env = { CARREL_DATABASE_URL: url.primary, CARREL_DATABASE_REPLICA_URL: url.replica }
    const other = await startService(t, { env })
    assert.deepEqual(await list(other.client(), 'letters'), records('new'))
    await other.stop()
  } finally {
    await servers.replica.start()
  }
  await caughtUp(servers)
  assert.deepEqual((await emailsOf(admin)).toSorted(), ['new@example.org', 'root@example.org'])
  const resume = await pauseReplay(t, servers)
  await service.addEperson('last@example.org')
  for (const parameters of bothWays)
    assert.ok(!(await emailsOf(admin, parameters)).includes('last@example.org'), 'the replica is asked again')
  await resume()
})

test('D3 a database that the replica has never heard of is read from the primary', async t => {
  const { service, admin } = await withReplica(t, { unheard: true })
  await service.addRecords('letters', 'id', records('old', 10))
  for (const parameters of bothWays) {
    assert.deepEqual(await emailsOf(admin, parameters), ['root@example.org'])
    assert.deepEqual(await list(admin, 'letters', parameters), records('old', 10))
  }
})

test('D8 doctor says how far the replica is behind, and when it is none', async t => {
  const { service, servers: both, url } = await withReplica(t)
  const found = async (replicaUrl: string) => {
    const { server } = await inspectStore(url.primary, replicaUrl)
    return server?.replica
  }
  await caughtUp(both)
  const current = await found(url.replica)
  assert.ok(current?.kind === 'replica' && current.bytesBehind === 0, JSON.stringify(current))
  const resume = await pauseReplay(t, both)
  await service.addEperson('ruth@example.org')
  const behind = await found(url.replica)
  assert.ok(behind?.kind === 'replica' && behind.bytesBehind > 0, JSON.stringify(behind))
  await resume()
  assert.equal((await found(url.primary))?.kind, 'no-replica')
  assert.equal((await found('postgres://127.0.0.1:1/none'))?.kind, 'unreachable')
})
