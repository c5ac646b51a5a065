import assert from 'node:assert/strict'
import { once } from 'node:events'
import { closeSync, fstatSync, openSync, readdirSync, readlinkSync, writeSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { commandEvent } from '../../../src/cli/store.ts'
import { bodyOf, list, listPath, readCsv } from '../../support/clients/listings.ts'
import { isLong, repeats } from '../../support/scale.ts'
import {
  databaseOf,
  hideDatabase,
  isReadByNobody,
  runSqlIn,
  test,
  testOn,
  untilReadByNobody,
} from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

/** Number of records whose listing is much larger than the buffers of both sockets. */
const largeRecords = 1_500
const padding = 'x'.repeat(16_000)

test('Q3 Q10 a long listing comes whole, in every format and order', async t => {
  const service = await startService(t)
  const count = repeats(5_000, 50_000)
  const records = Array.from({ length: count }, (_, id) => ({
    id,
    name: `Name of ${id % 977}`,
    n: count - id,
  }))
  await service.addRecords('many', 'id', records)
  assert.deepEqual(await list(service.client(), 'many'), records)
  assert.deepEqual(await list(service.client(), 'many', { order_by: [{ field: 'n' }] }), records.toReversed())
  const ndjson = await bodyOf(service, listPath('many'), 'application/x-ndjson')
  assert.equal(ndjson, records.map(record => `${JSON.stringify(record)}\n`).join(''))
  const rows = readCsv(await bodyOf(service, listPath('many'), 'text/csv'))
  assert.deepEqual(
    rows.slice(1).map(row => row.map(cell => cell.text)),
    records.map(record => Object.values(record).map(String)),
  )
})

test('Q10 the service reads no further ahead than the client takes', async t => {
  const service = await withLarge(t)
  const sockets = connectionsOf(service)
  for (const query of ['', `?order_by=${JSON.stringify([{ field: 'n', order: 'desc' }])}`]) {
    const response = await open(service, `${listPath('large')}${query}`)
    const socket = sockets.at(-1)
    assert.ok(socket)
    await stalled(socket)
    assert.ok(socket.bytesWritten < (largeRecords * padding.length) / 2, 'most of it was not read yet')
    assert.ok(socket.writableLength < 4 * 1024 * 1024, 'little waits in the memory of the service')
    // Other clients get answers meanwhile.
    assert.equal((await list(service.client(), 'large', { limit: 3 })).length, 3)
    const records = JSON.parse(await text(response)) as { id: number; text: string }[]
    assert.equal(records.length, largeRecords)
    assert.ok(records.every(record => record.text === padding))
  }
})

test('Q10 a client that goes away ends the query, and the service goes on', async t => {
  const service = await withLarge(t)
  const sockets = connectionsOf(service)
  const paths = [
    listPath('large'),
    listPath('large', { order_by: [{ field: 'n' }] }),
    listPath('large', { limit: largeRecords - 1 }),
  ]
  for (const path of paths) {
    const responses = await Promise.all([open(service, path), open(service, path), open(service, path)])
    const theirs = sockets.splice(0)
    await Promise.all(theirs.map(stalled))
    for (const response of responses) response.destroy()
    await untilDestroyed(theirs)
    assert.equal((await list(service.client(), 'large', { limit: 200 })).length, 200)
    sockets.splice(0)
  }
  await allClosed(t, service)
})

test('Q10 clients that go away before the answer begins leave nothing open', async t => {
  const service = await withLarge(t)
  const sockets = connectionsOf(service)
  await Promise.all(
    Array.from({ length: 30 }, async (_, n) => {
      const request = get(service.address + listPath('large', { order_by: [{ field: 'n' }] }), {
        agent: false,
      })
      request.on('error', () => {})
      request.on('response', response => response.on('error', () => {}))
      await once(request, 'socket')
      await sleep(n)
      request.destroy()
    }),
  )
  await untilDestroyed(sockets)
  assert.equal((await list(service.client(), 'large', { limit: 3 })).length, 3)
  await allClosed(t, service)
})

test('Q10 Q13 a client that goes away from an entity that is always there ends the query, too', async t => {
  const { service, client, token } = await withEvents(t)
  const { response, socket } = await openStalled(service, listPath('audit-events'), token)
  // Later changes are not part of the running answer, and don't wait for it.
  await service.storage.trail.record(commandEvent('login', 'meanwhile'))
  assert.equal(await isReadByNobody(service), false)
  response.destroy()
  await untilDestroyed([socket])
  await untilReadByNobody(service)
  const [last] = await list(client, 'audit-events', { order_by: [{ field: 'id', order: 'desc' }], limit: 1 })
  assert.equal(last?.object, 'meanwhile')
})

/** The order of the key, and another one. */
const twoOrders = ['', `?order_by=${encodeURIComponent('[{"field":"n"}]')}`]

testOn(
  'sqlite',
  'Q10 a disk that fails in the middle breaks the answer off, and the service goes on',
  async t => {
    for (const query of twoOrders)
      await assertBreaksOff(t, query, (service, response) => {
        damage(recordFile(service, 'large'))
        return assertCutOff(response)
      })
  },
)

testOn(
  'postgres',
  'Q10 a table that is gone in the middle breaks the answer off, and the service goes on',
  async t => {
    for (const query of twoOrders)
      await assertBreaksOff(t, query, async ({ dataFolder }, response) => {
        const [table] = await runSqlIn<{ name: string }>(
          dataFolder,
          "SELECT format('carrel.%I', 'records.' || version) AS name FROM carrel.entity WHERE name = 'large'",
        )
        assert.ok(table)
        await runSqlIn(dataFolder, `DROP TABLE ${table.name}`)
        await assertCutOff(response)
      })
  },
)

testOn(
  'postgres',
  'Q10 a database that ends in the middle breaks the answer off, and the service goes on',
  async t => {
    for (const query of isLong ? twoOrders : [''])
      await assertBreaksOff(t, query, async ({ dataFolder }, response) => {
        const restoreOrphan = await hideDatabase(t, dataFolder)
        await assertCutOff(response)
        await restoreOrphan()
      })
  },
)

testOn(
  'postgres',
  'Q10 Q13 a query of a table that is ended in the middle breaks the answer off',
  async t => {
    const { service, client, token } = await withEvents(t)
    const { response } = await openStalled(service, listPath('audit-events'), token)
    await runSqlIn(
      service.dataFolder,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in %'`,
    )
    await assertCutOff(response)
    assert.equal((await list(client, 'audit-events', { limit: 3 })).length, 3)
  },
)

test('Q10 an entity that is dropped or replaced while it is read is read to its end', async t => {
  const service = await withLarge(t)
  const sockets = connectionsOf(service)
  const responses = await Promise.all([
    open(service, listPath('large')),
    open(service, listPath('large', { order_by: [{ field: 'n' }] })),
  ])
  await Promise.all(sockets.slice(-2).map(stalled))
  await service.addRecords('large', 'id', [{ id: 'new' }])
  assert.deepEqual(await list(service.client(), 'large'), [{ id: 'new' }])
  assert.equal(await service.storage.entities.drop('large', commandEvent('entity.drop')), true)
  assert.equal((await service.client().get(listPath('large'))).status, 404)
  for (const response of responses) {
    const records = JSON.parse(await text(response)) as { text: string }[]
    assert.equal(records.length, largeRecords)
    assert.ok(records.every(record => record.text === padding))
  }
})

async function withLarge(t: TestContext): Promise<Service> {
  const service = await startService(t)
  const records = Array.from({ length: largeRecords }, (_, id) => ({ id, n: (id * 7) % 13, text: padding }))
  await service.addRecords('large', 'id', records)
  return service
}

/**
 * Starts a service with long events, whose listing is larger than the buffers of the sockets, and logs in a
 * client who may read it.
 */
async function withEvents(t: TestContext) {
  const service = await startService(t)
  await service.addEperson('root@example.org', { admin: true })
  const client = service.client()
  const token = await client.login('root@example.org')
  for (let batch = 0; batch < 15; batch++)
    await Promise.all(
      Array.from({ length: 100 }, () => service.storage.trail.record(commandEvent('login', padding))),
    )
  return { service, client, token }
}

/** Asserts that a listing ends abnormally when its store fails, and that later requests are answered. */
async function assertBreaksOff(
  t: TestContext,
  query: string,
  fail: (service: Service, response: IncomingMessage) => Promise<void>,
): Promise<void> {
  const service = await withLarge(t)
  await service.addRecords('other', 'id', [{ id: 1 }])
  const { response } = await openStalled(service, `${listPath('large')}${query}`)
  await fail(service, response)
  assert.deepEqual(await list(service.client(), 'other'), [{ id: 1 }])
}

async function assertCutOff(response: IncomingMessage): Promise<void> {
  await assert.rejects(text(response), { code: 'ECONNRESET' })
  assert.equal(response.complete, false)
}

/** Starts an answer without reading it. @returns it with the service's side of its connection */
async function openStalled(service: Service, path: string, token?: string) {
  const sockets = connectionsOf(service)
  const response = await open(service, path, token ? { authorization: `Bearer ${token}` } : {})
  assert.equal(response.statusCode, 200)
  const socket = sockets.at(-1)
  assert.ok(socket)
  await stalled(socket)
  return { response, socket }
}

/** Returns a list that collects the service's side of all new connections, newest last. */
function connectionsOf(service: Service): Socket[] {
  const sockets: Socket[] = []
  service.app.server.on('connection', socket => sockets.push(socket))
  return sockets
}

/** Starts an answer on a connection of its own without reading it. */
async function open(
  service: Service,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<IncomingMessage> {
  const request = get(service.address + path, { agent: false, headers })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  // An error of the connection appears in the body, too, where it is expected.
  request.on('error', () => {})
  response.on('error', () => {})
  return response
}

/** Waits until the client takes nothing and the service has stopped sending, because all buffers are full. */
async function stalled(socket: Socket): Promise<void> {
  let last = -1
  let same = 0
  await until(
    'a connection that is held up',
    () => {
      same = socket.bytesWritten === last ? same + 1 : 0
      last = socket.bytesWritten
      return { last, same, waiting: socket.writableLength }
    },
    seen => seen.same > 20 && seen.waiting > 0,
  )
}

const untilDestroyed = (sockets: readonly Socket[]) =>
  until(
    'the end of the connections',
    () => sockets.filter(socket => !socket.destroyed).length,
    left => left === 0,
  )

/** Waits until no query has the entity's file open or is running in the database. */
async function allClosed(t: TestContext, service: Service): Promise<void> {
  if ((await databaseOf(service.dataFolder)) !== undefined) await untilReadByNobody(service)
  else if (process.platform === 'linux') {
    // The file for short pages stays open.
    await until(
      'at most one open file of an entity',
      () => openFiles(service).filter(path => path.includes('/entities/')),
      paths => paths.length <= 1,
    )
  } else t.diagnostic('files that stay open can be seen on Linux only')
}

function openFiles(service: Service): string[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(service.dataFolder) ? [path] : []
    } catch {
      // This descriptor belonged to the listing of the folder itself.
      return []
    }
  })
}

function recordFile(service: Service, entity: string): string {
  const folder = join(service.dataFolder, 'entities')
  const [name] = readdirSync(folder).filter(file => file.startsWith(`${entity}.`))
  assert.ok(name)
  return join(folder, name)
}

/** Damages a file like a broken disk: everything after the first half megabyte is overwritten. */
function damage(file: string): void {
  const handle = openSync(file, 'r+')
  const junk = Buffer.alloc(1024 * 1024, 0xff)
  const { size } = fstatSync(handle)
  for (let at = 512 * 1024; at < size; at += junk.length)
    writeSync(handle, junk, 0, Math.min(junk.length, size - at), at)
  closeSync(handle)
}
