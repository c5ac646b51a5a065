import assert from 'node:assert/strict'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { commandEvent } from '../../../src/cli/store.ts'
import type { Client } from '../../support/clients/client.ts'
import { secretsOf, spellingsOf } from '../../support/clients/jwt.ts'
import { list, listPath, queryPath } from '../../support/clients/listings.ts'
import { anyText, rawEntity } from '../../support/data/arbitrary-records.ts'
import {
  assertDone,
  assertRefused,
  assertSame,
  copy,
  isEmpty,
  startOn,
  tricky,
  usedStore,
  withoutPassword,
} from '../../support/data/copies.ts'
import { importText } from '../../support/data/imports.ts'
import { leaveProcess } from '../../support/data/processes.ts'
import { beginsNow } from '../../support/data/sessions.ts'
import { repeats, runs } from '../../support/scale.ts'
import { withSpecialGroups } from '../../support/service/configuration.ts'
import { createDatabase, runSql } from '../../support/service/databases.ts'
import { carrel } from '../../support/service/process.ts'
import {
  hashOf,
  passwordOf,
  type Service,
  startService,
  temporaryFolder,
} from '../../support/service/service.ts'

test('T7 a copied store accepts every token, CSRF pair and password that the old one does, and no other', async t => {
  const groups = withSpecialGroups(t, { method: [{ group: 'By password', method: 'password' }] })
  const old = await usedStore(t, groups)
  await old.addRecords('local', 'id', [{ id: 1 }], 'group:By password')
  const clients = { ruth: old.client(), root: old.client(), carl: old.client() }
  for (const [name, client] of Object.entries(clients)) await client.login(`${name}@example.org`)
  await clients.carl.post('/api/authn/logout')
  await old.storage.secrets.rotate(commandEvent('secret.rotate'))
  const pair = await clients.ruth.csrfPair()
  const hash = await hashOf('gone')
  const late = await old.addLoggedIn('late@example.org')
  await old.storage.people.setPassword({ email: 'late@example.org' }, hash, commandEvent('eperson.password'))

  const url = await createDatabase(t)
  // A service started on the empty database has its own secret and group, and learns of the others.
  const early = await startOn(t, url)
  assertDone(await copy(old.dataFolder, url))
  const fresh = await startOn(t, url, groups)
  const kept = await runSql<{ secret: Buffer }>(url, 'SELECT secret FROM carrel.secret ORDER BY id DESC')
  assert.deepEqual(
    kept.map(({ secret }) => secret.toString('hex')),
    (await secretsOf(old.dataFolder)).map(secret => secret.toString('hex')),
    'the same secrets, newest first, and no other',
  )
  assert.equal(kept.length, 2)

  for (const service of [early, fresh]) {
    const anyone = service.client()
    for (const name of ['ruth', 'root'] as const)
      assert.equal(await anyone.isLoggedIn(clients[name].token), true, name)
    assert.equal(await anyone.isLoggedIn(clients.carl.token), false, 'logged out')
    assert.equal(await anyone.isLoggedIn(late.token), false, 'the password was changed')
    const status = async (user: string, password: string) =>
      (await service.client().tryLogin(`${user}@example.org`, password)).status
    for (const name of ['ruth', 'root', 'carl'])
      assert.equal(await status(name, passwordOf(`${name}@example.org`)), 200, name)
    assert.equal(await status('late', 'gone'), 200)
    assert.equal(await status('RUTH', passwordOf('ruth@example.org')), 200, 'in any case')
    for (const name of ['gone', 'none', 'late'])
      assert.equal(await status(name, passwordOf(`${name}@example.org`)), 401, name)
    await clients.ruth.withShortLived(async short => {
      const { authenticated } = await anyone.status(`/api/authn/status?authentication-token=${short}`)
      assert.equal(authenticated, true, 'a short-lived token of the old one')
    })
    const refreshed = await fetch(`${service.address}/api/authn/login`, {
      method: 'POST',
      headers: {
        cookie: pair.cookie,
        'x-xsrf-token': pair.value,
        authorization: `Bearer ${clients.ruth.token}`,
      },
    })
    assert.equal(refreshed.status, 200, await refreshed.text())
    // The token contains the UUID of the special group.
    const reader = service.client()
    reader.token = clients.ruth.token
    assert.deepEqual(await list(reader, 'local'), [{ id: 1 }])
    assert.ok((await reader.specialGroups()).includes('By password'))
  }
  const ruth = fresh.client()
  ruth.token = clients.ruth.token
  await ruth.post('/api/authn/logout')
  assert.equal(await early.client().isLoggedIn(ruth.token), false, 'logged out on the copy')
  assert.equal(await fresh.client().isLoggedIn(clients.root.token), true)
})

test('D2 Q6 every listing and every order of a copied store is the same to the byte', async t => {
  const old = await usedStore(t)
  const samples = fc.sample(rawEntity(anyText, { least: 12, most: 30 }), runs(2, 4))
  for (const [n, { ndjson, key }] of samples.entries())
    await importText(old, ndjson, { entity: `sample-${n}`, key, read: 'admin' })
  await old.addRecords(
    'letters',
    'id',
    Array.from({ length: repeats(500, 10_000) }, (_, id) => ({
      id,
      from: tricky[id % tricky.length],
      n: (id * 7) % 101,
    })),
  )
  await importText(old, '{"a":"ö","b":2}\n{"a":"z","b":1}\n{"a":"ö","b":1}', {
    entity: 'several',
    key: ['a', 'b'],
    collations: new Map([['a', 'sv']]),
  })
  const before = await old.loggedIn('root@example.org')
  const url = await createDatabase(t)
  assertDone(await copy(old.dataFolder, url))
  const now = (await startOn(t, url)).client()
  now.token = before.token

  const entities = await list<{ name: string; fields: { name: string }[] }>(before, '')
  assert.equal(entities.length, 5 + samples.length + 2)
  assert.ok((await list(before, 'items')).length > 20)
  const accepts = ['application/json', 'application/x-ndjson', 'text/csv']
  for (const { name, fields } of entities) {
    // The audit trail continues, so it no longer is the same.
    if (name === 'audit-events') continue
    for (const accept of accepts) await assertSame(before, now, listPath(name), accept)
    for (const [n, { name: field }] of fields.entries())
      for (const order of ['asc', 'desc']) {
        const order_by = [{ field, order }, { field: fields[(n + 1) % fields.length]?.name }]
        await assertSame(before, now, listPath(name, { order_by }), 'application/x-ndjson')
        const page = { order_by, limit: 7, offset: 5, include_total: true }
        await assertSame(before, now, listPath(name, page), accepts[n % 3] ?? '')
      }
  }
  // The entities with their fields are the same, too (Q12).
  await assertSame(before, now, queryPath, 'application/json')
})

test('D2 entities with the longest names are copied too, and can be imported again', async t => {
  const old = await startService(t, { engine: 'sqlite' })
  // Names of maximum length that differ only at the end.
  const names = ['a', 'b'].map(end => end.padStart(63, 'n'))
  for (const [id, name] of names.entries()) await old.addRecords(name, 'id', [{ id }])
  const url = await createDatabase(t)
  assertDone(await copy(old.dataFolder, url))
  const service = await startOn(t, url)
  const anyone = service.client()
  for (const [id, name] of names.entries()) {
    assert.deepEqual(await list(anyone, name), [{ id }])
    await service.addRecords(name, 'id', [{ id: id + 10 }])
    assert.deepEqual(await list(anyone, name), [{ id: id + 10 }])
  }
})

test('D2 the audit trail goes on behind what was copied, and says that it was', async t => {
  const old = await usedStore(t)
  const before = await old.loggedIn('root@example.org')
  const url = await createDatabase(t)
  assertDone(await copy(old.dataFolder, url))
  const service = await startOn(t, url)
  const now = service.client()
  now.token = before.token
  const path = listPath('audit-events')
  const eventsOn = async (client: Client) =>
    (await (await client.get(path, { accept: 'application/x-ndjson' })).text()).split('\n').slice(0, -1)
  const copied = await eventsOn(before)
  const all = await eventsOn(now)
  assert.ok(copied.length > 2 * tricky.length)
  assert.deepEqual(all.slice(0, copied.length), copied, 'ids, times and texts')
  assert.deepEqual(
    all.slice(copied.length).map(line => JSON.parse(line).event),
    ['store.copy'],
  )
  await now.post('/api/authn/logout')
  await service.addEperson('new@example.org', { admin: true })
  await now.login('new@example.org')
  const ids = (await eventsOn(now)).map(line => (JSON.parse(line) as { id: number }).id)
  assert.deepEqual(
    ids,
    ids.toSorted((a, b) => a - b),
  )
  assert.equal(new Set(ids).size, all.length + 4, 'logout, eperson.add, group.join, login')
  // Copied epersons can be changed as before, because their stamps continue.
  const { setEnabled } = service.storage.people
  assert.equal(await setEnabled('gone@example.org', true, commandEvent('eperson.enable')), 'changed')
  const gone = await service.loggedIn('gone@example.org')
  assert.equal(await gone.isLoggedIn(), true)
  await setEnabled('gone@example.org', false, commandEvent('eperson.disable'))
  assert.equal(await gone.isLoggedIn(), false)
})

/** A person who has logged in at a provider, and is identified by the subject there. */
const subject = {
  provider: 'uni',
  subject: 'a1b2',
  email: 'ruth@example.org',
  firstName: null,
  lastName: null,
}
const matching = { byEmail: true, create: false }

/** Records a login at the provider with its session. */
async function logInAtProvider({ storage }: Service): Promise<void> {
  const { eperson } = await storage.identities.recognize(subject, matching, commandEvent('login', 'uni'))
  const session = eperson && (await storage.sessions.of(eperson.uuid))
  assert.ok(session)
  const { sessionKey } = session
  const login = {
    uuid: session.eperson.uuid,
    sessionKey,
    session: { provider: 'uni', name: 'n', sid: null, detail: {} },
    begins: beginsNow(),
  }
  assert.ok(await storage.identities.begin(login, commandEvent('login', 'uni')))
}

test('X3 D2 who is who at a provider is copied, and what its logout ends', async t => {
  const old = await usedStore(t)
  const before = await old.loggedIn('ruth@example.org')
  await logInAtProvider(old)
  const url = await createDatabase(t)
  assertDone(await copy(old.dataFolder, url))
  const service = await startOn(t, url)
  const { identities } = service.storage
  assert.deepEqual(await identities.listIdentities(), await old.storage.identities.listIdentities())
  assert.equal((await identities.whoIs(subject, { byEmail: false, create: false })).kind, 'known')
  const now = service.client()
  now.token = before.token
  assert.equal(await now.isLoggedIn(), true)
  const event = commandEvent('logout', 'uni')
  assert.equal(await identities.endAtProvider({ provider: 'uni', name: 'n', sid: null }, event), 1)
  assert.equal(await now.isLoggedIn(), false)
  await logInAtProvider(service)
})

test('D2 copying prints of each part the rows and the checksum that arrived, as a table and as JSON', async t => {
  const old = await usedStore(t)
  await old.addRecords('letters', 'id', [{ id: 1 }, { id: 2 }, { id: 3 }])
  await logInAtProvider(old)
  const [first, second] = [await createDatabase(t), await createDatabase(t)]
  await leaveProcess(old)
  await old.storage.trail.checkpoint()
  const json = assertDone(await copy(old.dataFolder, first, '--json'))
  const { parts } = JSON.parse(json) as { parts: { part: string; rows: number; sha256: string }[] }
  const [events] = await runSql<{ count: number }>(
    first,
    "SELECT count(*)::integer AS count FROM carrel.event WHERE event <> 'store.copy'",
  )
  const groups = (await old.storage.people.listGroups()).length
  assert.deepEqual(Object.fromEntries(parts.map(one => [one.part, one.rows])), {
    eperson: 6 + tricky.length,
    epersongroup: groups,
    subgroup: 1,
    membership: 4,
    identity: 1,
    provider_session: 1,
    ...{ session: 1, access_token: 0 },
    ...{ factor: 0, recovery_code: 0 },
    familiar_network: 0,
    event: events?.count,
    trail_key: 1,
    trail_checkpoint: 2,
    trail_head: 1,
    // One audience for everyone, one for every other text, and one for epersons.
    audience: 2 + Math.floor(tricky.length / 2) + 1,
    item: tricky.length,
    bitstream: 2 * tricky.length,
    bundle: tricky.length,
    policy: 0,
    record_change: 0,
    process: 1,
    process_line: 1,
    alert: 1,
    site: 1,
    metadata_schema: 1,
    metadata_field: 42,
    letters: 3,
  })
  for (const { sha256 } of parts) assert.match(sha256, /^[0-9a-f]{64}$/)
  // These tables have no rows to copy here.
  const empty = parts.filter(({ rows }) => rows === 0).length
  assert.equal(new Set(parts.map(one => one.sha256)).size, parts.length - empty + 1)

  // Unchanged tables have the same checksum in every copy; changed ones have another.
  await old.storage.people.addGroup('one more', commandEvent('group.add'))
  await old.storage.trail.checkpoint()
  const table = assertDone(await copy(old.dataFolder, second))
  const changed = new Set(['epersongroup', 'event', 'trail_checkpoint', 'trail_head'])
  for (const { part, rows, sha256 } of parts) {
    const isChanged = changed.has(part)
    assert.match(table, new RegExp(`^${part} +${rows + Number(isChanged)} +[0-9a-f]{64}$`, 'm'))
    assert.equal(table.includes(sha256), !isChanged, part)
  }
  assertRefused(await copy(old.dataFolder, second), 1, /not empty.*new database/)
})

test('D2 neither the secrets of the store nor the password of the database are printed', async t => {
  const old = await usedStore(t)
  await old.storage.secrets.rotate(commandEvent('secret.rotate'))
  await old.loggedIn('ruth@example.org')
  const url = await createDatabase(t)
  const CARREL_TOKEN_SECRET = 'verysecret-verysecret-verysecret-1'
  const { password } = new URL(url)
  const wrong = Object.assign(new URL(url), { password: 'verysecret' }).href
  const nowhere = Object.assign(new URL(wrong), { port: '1' }).href
  const finished = [
    await carrel(old.dataFolder, ['copy', '--to', withoutPassword(url).to], {
      env: { ...withoutPassword(url).env, CARREL_TOKEN_SECRET },
    }),
    await copy(old.dataFolder, wrong),
    await copy(old.dataFolder, nowhere),
    await copy(old.dataFolder, wrong.replace('postgres:', 'mysql:')),
  ]
  assert.deepEqual(
    finished.map(({ code }) => code),
    [0, 1, 1, 2],
  )
  const [done, ...refused] = finished
  assert.match(done?.stdout ?? '', /CARREL_TOKEN_SECRET/, 'it must be kept')
  for (const one of refused)
    assertRefused(one, one.code === 2 ? 2 : 1, one.code === 2 ? /--to takes postgres:/ : /PostgreSQL/)
  const { session_key } = (
    await runSql<{ session_key: Buffer }>(url, 'SELECT session_key FROM carrel.eperson LIMIT 1')
  )[0] ?? { session_key: Buffer.alloc(0) }
  assert.equal(session_key.length, 32)
  const secrets = [...(await secretsOf(old.dataFolder)), session_key].flatMap(spellingsOf)
  for (const { stdout, stderr } of finished)
    for (const secret of [...secrets, 'verysecret', `:${password}@`, '$argon2'])
      assert.ok(!(stdout + stderr).includes(secret), stdout + stderr)
})

test('D2 a database in use is refused and stays as it is', async t => {
  const old = await usedStore(t)
  await old.addRecords('letters', 'id', [{ id: 1 }])
  const url = await createDatabase(t)
  const service = await startOn(t, url)
  // Any row that a new store lacks is enough.
  await runSql(url, "INSERT INTO carrel.site (id, metadata, revision) VALUES (1, '{}', 1)")
  assertRefused(await copy(old.dataFolder, url), 1, /not empty: .* table site;.*new database/)
  assert.equal((await runSql(url, 'DELETE FROM carrel.site RETURNING id')).length, 1)
  await service.storage.trail.record(commandEvent('group.add'))
  assertRefused(await copy(old.dataFolder, url), 1, /not empty.*new database/)
  await service.addEperson('root@example.org', { admin: true })
  await service.addRecords('own', 'id', [{ id: 7 }])
  assertRefused(await copy(old.dataFolder, url), 1, /not empty.*new database/)
  const root = await service.loggedIn('root@example.org')
  assert.deepEqual(
    (await list(root, 'epersons')).map(({ email }) => email),
    ['root@example.org'],
  )
  assert.deepEqual(
    (await list(root, 'groups')).map(({ name }) => name),
    ['Administrator'],
  )
  assert.deepEqual(await list(root, 'own'), [{ id: 7 }])
  assert.ok(
    !(await list<{ event: string }>(root, 'audit-events')).some(({ event }) => event === 'store.copy'),
  )
})

test('D2 without an embedded store there is nothing to copy, and nothing comes into being', async t => {
  const url = await createDatabase(t)
  const folder = temporaryFolder(t)
  const missing = join(folder, 'not', 'there')
  assertRefused(await copy(missing, url), 1, /no store in .*; set CARREL_DATA/)
  assert.equal(existsSync(join(folder, 'not')), false)
  assertRefused(await copy(folder, url), 1, /no store in .*; set CARREL_DATA/)
  assert.deepEqual(readdirSync(folder), [])
  assert.deepEqual(await runSql(url, "SELECT 1 FROM pg_namespace WHERE nspname = 'carrel'"), [])
})

test('D2 copying asked for the wrong way is refused', async t => {
  const old = await startService(t, { engine: 'sqlite' })
  const url = await createDatabase(t)
  assertRefused(await carrel(old.dataFolder, ['copy']), 2, /--to/)
  const env = { CARREL_DATABASE_URL: url }
  const { to } = withoutPassword(url)
  const onPostgres = await carrel(old.dataFolder, ['copy', '--to', to], { env })
  assertRefused(onPostgres, 1, /unset CARREL_DATABASE_URL/)
  assert.equal(await isEmpty(url), true)
})

test('D2 a store that is damaged, or that PostgreSQL can not hold, is refused in one line, and nothing is kept', async t => {
  const url = await createDatabase(t)
  const old = await startService(t, { engine: 'sqlite' })
  await old.addRecords('letters', 'id', [{ id: 1 }])
  await old.storage.people.addEperson(
    {
      email: 'nul@example.org',
      firstName: 'with\0NUL',
      lastName: null,
      passwordHash: null,
      administrator: false,
    },
    commandEvent('eperson.add'),
  )
  assertRefused(await copy(old.dataFolder, url), 1, /NUL/)
  assert.equal(await isEmpty(url), true)
  await old.storage.people.deleteEperson('nul@example.org', commandEvent('eperson.delete'))
  await old.stop()
  const secret = join(old.dataFolder, 'secret')
  rmSync(secret)
  assertRefused(await copy(old.dataFolder, url), 1, /secret/)
  writeFileSync(secret, `${Buffer.alloc(32, 1).toString('base64url')} 2026-01-01T00:00:00.000Z\n`)
  const [version] = readdirSync(join(old.dataFolder, 'entities')).filter(name => name.startsWith('letters.'))
  assert.ok(version)
  rmSync(join(old.dataFolder, 'entities', version))
  assertRefused(await copy(old.dataFolder, url), 1, /letters|file/)
  assert.equal(await isEmpty(url), true)
})
