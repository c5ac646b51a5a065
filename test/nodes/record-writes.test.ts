import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { createPool } from '../../src/storage/postgres/driver.ts'
import { perform } from '../../src/storage/postgres/perform.ts'
import { lockRecords } from '../../src/storage/statements/statements.ts'
import { administrator } from '../support/clients/administrator.ts'
import { Client } from '../support/clients/client.ts'
import { list } from '../support/clients/listings.ts'
import { putRecord, recordPath } from '../support/data/record-writes.ts'
import { repeats } from '../support/scale.ts'
import { runSql } from '../support/service/databases.ts'
import { newDatabase, quickLogin, startNodes, times } from '../support/service/nodes.ts'
import { serve } from '../support/service/process.ts'
import { type Service, startService } from '../support/service/service.ts'

/** Nodes that write records on one PostgreSQL at the same time (docs/decisions/0041). */

const writer = 'writer@example.org'

/** Adds entities that a client writes. */
async function addEntities({ storage, ...node }: Service, names: readonly string[]): Promise<string> {
  await node.addEperson(writer, { admin: true, password: null })
  for (const name of names) {
    await node.addRecords(name, 'id', [{ id: 0, n: 0, other_id: 0 }])
    await storage.entities.changeWriteRule(name, 'admin', commandEvent('entity.writers'))
  }
  return await quickLogin({ storage, ...node }, writer)
}

const clientOf = (address: string, token: string): Client => Object.assign(new Client(address), { token })

/** Starts nodes with two entities, and a client of each. */
async function start(t: TestContext, count = 2, isolation = 'read committed') {
  const { nodes, url } = await startNodes(t, count, { isolation })
  const token = await addEntities(nodes[0] as Service, ['artists', 'works'])
  return { nodes, url, clients: nodes.map(({ address }) => clientOf(address, token)) }
}

/** Holds the records of an entity as a write does that doesn't end. @returns a function that ends it */
async function hold(t: TestContext, url: string, name: string): Promise<() => Promise<void>> {
  const pool = createPool({ url, statementTimeout: 0, queryTimeout: 0, setup: '', size: 1, queue: 1 })
  const [isHeld, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = pool.transaction(async db => {
    await perform(db, lockRecords({ own: [name] }, 1))
    isHeld.resolve()
    await mayEnd.promise
  })
  const end = async () => {
    mayEnd.resolve()
    await holding
  }
  t.after(async () => {
    await end()
    await pool.close()
  })
  await isHeld.promise
  return end
}

test('R9 a write waits for one of the same entity on another node, and for none of another entity', async t => {
  const { url, clients } = await start(t)
  const end = await hold(t, url, 'artists')
  let written = 0
  const writing = clients.map(async (client, at) => {
    await putRecord(client, 'artists', at + 1, { n: 1 })
    written++
  })
  for (const [at, client] of clients.entries()) {
    await putRecord(client, 'works', at + 1, { n: 1 })
    await putRecord(client, 'works', at + 1, { n: 2 })
  }
  assert.equal(written, 0)
  await end()
  await Promise.all(writing)
  for (const client of clients) {
    assert.equal((await list(client, 'artists')).length, 3)
    assert.equal((await list(client, 'works')).length, 3)
  }
})

test('R9 writes that arrive together wait for none of another entity, however many are held by other nodes', async t => {
  const { nodes, url, clients } = await start(t)
  const names = ['artists', 'letters', 'places', 'ships']
  for (const name of names.slice(1)) {
    await nodes[0]?.addRecords(name, 'id', [{ id: 0, n: 0 }])
    await nodes[0]?.storage.entities.changeWriteRule(name, 'admin', commandEvent('entity.writers'))
  }
  const ends = await Promise.all(names.map(name => hold(t, url, name)))
  let written = 0
  const writing: Promise<unknown>[] = []
  for (const [at, client] of clients.entries()) {
    writing.push(...names.map(name => putRecord(client, name, at + 1, { n: 1 }).then(() => written++)))
    // They arrive in one turn with those that wait.
    await Promise.all([1, 2, 3].map(n => putRecord(client, 'works', 10 * at + n, { n })))
    await putRecord(client, 'works', 10 * at + 4, { n: 4 })
  }
  assert.equal(written, 0)
  await Promise.all(ends.map(end => end()))
  await Promise.all(writing)
  assert.equal(written, 8)
})

test('R14 a declaration waits for the writes of its entity, and for none of another entity', async t => {
  const { nodes, url } = await start(t, 1)
  const root = await administrator(nodes[0] as Service)
  const declare = (name: string) =>
    root.send('PATCH', `/${name}`, { fields: { other_id: { references: name } } })
  const end = await hold(t, url, 'artists')
  let isDeclared = false
  const declaring = declare('artists').then(({ status }) => {
    isDeclared = true
    return status
  })
  for (let n = 0; n < 3; n++) assert.equal((await root.send('GET', '/works')).status, 200)
  assert.equal(isDeclared, false)
  await end()
  assert.equal(await declaring, 200)
  assert.equal((await declare('works')).status, 200)
})

for (const isolation of ['read committed', 'repeatable read', 'serializable'])
  test(`R14 entities that reference each other are written at once on several nodes, and no reference is left without its record (${isolation})`, async t => {
    const { nodes, url, clients } = await start(t, 2, isolation)
    const names = ['artists', 'works'] as const
    const root = await administrator(nodes[0] as Service)
    for (const [name, other] of [names, names.toReversed()]) {
      const answer = await root.send('PATCH', `/${name}`, { fields: { other_id: { references: other } } })
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    }
    for (let round = 1; round <= repeats(8, 40); round++) {
      for (const name of names) await putRecord(clients[0] as Client, name, round, {})
      // Each refers to what the other one deletes.
      const answers = await Promise.all(
        clients.flatMap((client, at) => {
          const [own, other] = at === 0 ? names : ([names[1], names[0]] as const)
          const send = (entity: string, id: number, method: string, body?: object) =>
            client.request(recordPath(entity, id), {
              method,
              headers: { 'content-type': 'application/json' },
              ...(body && { body: JSON.stringify(body) }),
            })
          return [
            send(own, 1_000 + round, 'PUT', { other_id: round }),
            send(other, round, 'DELETE'),
            send(own, 2_000 + round, 'PUT', { other_id: 0 }),
          ]
        }),
      )
      for (const { status } of answers) assert.ok([201, 204, 409, 422].includes(status), String(status))
    }
    const lists = await Promise.all(
      names.map(name => list<{ id: number; other_id?: number | null }>(clients[0] as Client, name)),
    )
    for (const [at, records] of lists.entries()) {
      const others = new Set(lists[1 - at]?.map(({ id }) => id))
      for (const { other_id: id } of records) assert.ok(id === undefined || id === null || others.has(id))
      assert.equal(records.filter(({ id }) => id > 2_000).length, repeats(8, 40))
    }
    const [found] = await runSql<{ deadlocks: string }>(
      url,
      'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
    )
    assert.equal(Number(found?.deadlocks), 0)
  })

test('R1 R8 changes of an entity become visible in the order of their numbers, and none is overlooked, whatever other entities are written', async t => {
  const { nodes, url, clients } = await start(t, 3)
  const end = await hold(t, url, 'artists')
  // They wait, and get their numbers after those of the other entity.
  const writing = clients.map((client, at) => putRecord(client, 'artists', at + 1, { n: 1 }))
  await Promise.all(clients.map((client, at) => putRecord(client, 'works', at + 1, { n: 1 })))
  await end()
  const rounds = repeats(20, 100)
  const more = clients.map(async (client, at) => {
    for (let n = 0; n < rounds; n++) await putRecord(client, n % 2 ? 'artists' : 'works', 10 + at, { n })
  })
  await Promise.all([...writing, ...more])
  for (const [name, n] of [
    ['artists', rounds - 1],
    ['works', rounds - 2],
  ] as const)
    for (const client of clients) {
      const records = await list<{ id: number; n?: number }>(client, name)
      assert.deepEqual(
        records.filter(({ id }) => id >= 10).map(record => record.n),
        nodes.map(() => n),
      )
      assert.equal(records.length, 7)
    }
})

test('R9 a node that is killed while three write to two entities loses nothing that it acknowledged', async t => {
  const { dataFolder } = await newDatabase(t, {})
  const node = await startService(t, { dataFolder })
  const names = ['artists', 'works']
  const token = await addEntities(node, names)
  const [killed, other] = await times(2, () => serve(t, dataFolder))
  assert.ok(killed && other)
  const told = new Map<string, number>()
  let [next, left] = [1, 80]
  const write = async (address: string, writer: number) => {
    const client = clientOf(address, token)
    for (let id = 1; left > 0 || address !== killed.address; id = (id % 5) + 1) {
      if (left <= -40) return
      const [name, n, key] = [names[writer % 2] as string, next++, writer * 10 + id]
      await putRecord(client, name, key, { n })
      told.set(`${name} ${key}`, n)
      if (--left === 0) killed.signal('SIGKILL')
    }
  }
  const addresses = [killed.address, killed.address, other.address, other.address, node.address, node.address]
  await Promise.all(
    addresses.map((address, writer) =>
      write(address, writer).catch(error => {
        if (address !== killed.address || !(error instanceof TypeError)) throw error
      }),
    ),
  )
  await killed.ended
  for (const address of [other.address, node.address])
    for (const name of names) {
      const found = await list<{ id: number; n: number }>(clientOf(address, token), name)
      const known = new Map(found.map(({ id, n }) => [`${name} ${id}`, n]))
      // Writes that were on their way may have been carried out, too.
      for (const [key, n] of told)
        if (key.startsWith(name)) assert.ok((known.get(key) ?? 0) >= n, `${key}: ${known.get(key)}, not ${n}`)
    }
})
