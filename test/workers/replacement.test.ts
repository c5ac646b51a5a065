import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { toConfig } from '../../src/config/config.ts'
import { Client } from '../support/clients/client.ts'
import { openSocket } from '../support/clients/raw.ts'
import { isLong } from '../support/scale.ts'
import {
  isReadByNobody,
  test,
  testOn,
  testWithoutStore,
  untilReadByNobody,
} from '../support/service/engines.ts'
import { fragilePostgres } from '../support/service/faults.ts'
import {
  adminOf,
  answerOf,
  bearer,
  isAuthenticated,
  open,
  quickLogin,
  times,
} from '../support/service/nodes.ts'
import { type Served, serve } from '../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../support/service/service.ts'
import { inTime, until } from '../support/service/waiting.ts'
import { connectionsTo, endings } from '../support/service/workers.ts'

const graceToFinish = toConfig({}).stop.grace

/** Settings with three workers, one of which ends by an uncaught error, or for lack of memory. */
const three = { CARREL_WORKERS: '3', CARREL_LOG_LEVEL: 'error' }
const ruth = 'ruth@example.org'

for (const how of ['throw', 'run out of memory'] as const)
  test(`D10 a worker that ends (${how}) is replaced, the log and ready say so, and the others go on`, async t => {
    const dataFolder = temporaryFolder(t)
    const own = await startService(t, { dataFolder })
    await own.addEperson(ruth)
    const token = await quickLogin(own, ruth)
    const ends = endings(t)
    const served = await serve(t, dataFolder, { env: { ...three, ...ends.env } })
    const ready = async () => (await (await fetch(`${served.address}/health/ready`)).json()) as object
    assert.deepEqual(await ready(), { status: 'ready' })

    const connections = connectionsTo(t, served.address)
    const status = { headers: bearer(token) }
    const answers = await Promise.allSettled(connections.map(one => one.ask('/api/authn/status', status)))
    assert.ok(answers.every(one => one.status === 'fulfilled'))
    await ends.begin(how)
    await served.said(/a worker has ended and is replaced/)
    // Connections of the other workers remain; those of the ended one are opened again, or break off once.
    const later = await Promise.allSettled(connections.map(one => one.ask('/api/authn/status', status)))
    const good = later.filter(one => one.status === 'fulfilled')
    assert.ok(good.length >= connections.length / 3, `${good.length} of ${connections.length} go on`)
    for (const one of good) assert.equal(isAuthenticated(one.value), true)

    await until('all workers', ready, answer => !('workers' in answer))
    const again = await times(24, () => fetch(`${served.address}/api/authn/status`, status))
    for (const one of again) assert.equal(one.status, 200)
    assert.equal(await served.stop(), 0)
    assert.match(served.output.stdout, how === 'throw' ? /ended by a test/ : /memory/)
  })

testOn('sqlite', 'D10 ready says how many workers run while one is being replaced', async t => {
  const ends = endings(t)
  const served = await serve(t, temporaryFolder(t), { env: { ...three, ...ends.env } })
  const ready = async () => (await (await fetch(`${served.address}/health/ready`)).json()) as object
  const release = ends.holdStarts()
  await ends.begin('throw')
  const missing = await until('a worker that is missing', ready, answer => 'workers' in answer)
  assert.deepEqual(missing, { status: 'ready', workers: { running: 2, wanted: 3 } })
  release()
  await until('all workers', ready, answer => !('workers' in answer))
})

testWithoutStore(
  'D10 E2 a worker that ends while PostgreSQL hangs is replaced when it goes on, and the service stays',
  async t => {
    const postgres = await fragilePostgres(t)
    const ends = endings(t)
    const env = { CARREL_DATABASE_URL: postgres.url, ...three, ...ends.env }
    const served = await serve(t, temporaryFolder(t, 'sqlite'), { env, hasRealLimits: true })
    await postgres.hang()
    await ends.begin('throw')
    // More often than a service tolerates from workers that end by their own fault.
    await until(
      'four workers that were replaced',
      () => served.output.stdout,
      log => (log.match(/a worker has ended and is replaced/g)?.length ?? 0) >= 4,
    )
    const isLive = async () => (await fetch(`${served.address}/health/live`)).status === 200
    assert.equal(await isLive(), true)
    postgres.goOn()
    await until(
      'a service that is ready, with all workers',
      async () => {
        const ready = await fetch(`${served.address}/health/ready`)
        return { status: ready.status, text: await ready.text() }
      },
      ({ status, text }) => status === 200 && !text.includes('workers'),
    )
    assert.doesNotMatch(served.output.stdout, /the service ends/)
    assert.equal(await served.stop(), 0)
  },
)

testOn('sqlite', 'D4 D10 a service that is stopped while workers start ends as usual', async t => {
  const served = await serve(t, temporaryFolder(t), { env: three, waitsForWorkers: false })
  assert.equal((await fetch(`${served.address}/api/authn/status`)).status, 200)
  assert.equal(await served.stop(), 0)
  assert.equal(served.output.stderr, '')
})

testOn('sqlite', 'D10 three workers that end within a minute end the service, which says why', async t => {
  const ends = endings(t)
  const served = await serve(t, temporaryFolder(t), { env: { ...three, ...ends.env } })
  for (let end = 0; end < 3; end++) await ends.begin('throw')
  const { code } = await served.ended
  assert.equal(code, 1)
  assert.match(served.output.stdout, /3 workers have ended within a minute; the service ends/)
})

testOn('sqlite', 'D10 what a worker held when it ended is given back', async t => {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder })
  await own.addEperson(ruth)
  const ends = endings(t)
  const env = { ...three, ...ends.env, CARREL_PASSWORD_CONCURRENCY: '1', CARREL_PASSWORD_QUEUE: '1000' }
  const served = await serve(t, dataFolder, { env })
  // Each login holds the only place for a while, and the others wait for it, when their worker ends.
  const logins = Promise.allSettled(
    Array.from({ length: 30 }, () => new Client(served.address).tryLogin(ruth, passwordOf(ruth))),
  )
  await ends.begin('throw')
  await ends.begin('throw')
  await logins
  // A kept connection may belong to the ended worker.
  await until(
    'a login',
    async () => {
      const { status } = await new Client(served.address).tryLogin(ruth, passwordOf(ruth))
      return { status, log: served.output.stdout }
    },
    ({ status }) => status === 200,
  )
})

testOn('sqlite', 'D10 when a worker ends, the store closes its listings, and only those', async t => {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder })
  const token = await adminOf(own)
  const event = { ...commandEvent('login'), reason: 'x'.repeat(100_000) }
  await times(150, () => own.storage.trail.record(event))
  const ends = endings(t)
  // One network may have a quarter of each worker's listings, and all may come to one worker.
  const listings = { CARREL_LISTINGS: '128', CARREL_LISTING_PATIENCE: '3600' }
  const env = { ...three, CARREL_WORKERS: '2', ...listings, ...ends.env }
  const served = await serve(t, dataFolder, { env })
  const address = { ...own, address: served.address }
  // The listings are unread, so they last.
  const sent = Array.from({ length: 16 }, () => open(address, '/api/query/v4/audit-events', token))
  await Promise.all(sent.map(answerOf))
  await own.storage.trail.record(event)
  assert.equal(await isReadByNobody(own), false)
  await ends.begin('throw')
  await served.said(/a worker has ended and is replaced/)
  // The other worker's listings still have their snapshot, even as seen by other processes.
  assert.equal(await isReadByNobody(own), false)
  for (const one of sent) one.destroy()
  await untilReadByNobody(own)
})

testOn('sqlite', 'D10 one port is for one service, also when several start at once', async t => {
  const port = '0'
  const first = await serve(t, temporaryFolder(t), { env: { ...three, CARREL_PORT: port } })
  const taken = new URL(first.address).port
  const others = await Promise.allSettled(
    (isLong ? ['1', '2', '3'] : ['2']).map(CARREL_WORKERS =>
      serve(t, temporaryFolder(t), { env: { CARREL_WORKERS, CARREL_PORT: taken } }),
    ),
  )
  for (const one of others)
    assert.match(
      one.status === 'rejected' ? String(one.reason) : 'it listens',
      new RegExp(`carrel: port ${taken} on 127.0.0.1 is in use; set CARREL_PORT`),
    )
  assert.equal(await first.stop(), 0)

  const race = await Promise.allSettled(
    (isLong ? ['2', '3', '2', '3'] : ['2', '3']).map(CARREL_WORKERS =>
      serve(t, temporaryFolder(t), { env: { CARREL_WORKERS, CARREL_PORT: taken } }),
    ),
  )
  assert.equal(race.filter(({ status }) => status === 'fulfilled').length, 1)
})

test('D4 D10 SIGTERM lets every worker finish what is under way', async t => {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder })
  await own.addRecords(
    'letters',
    'id',
    Array.from({ length: 1_000 }, (_, id) => ({ id, text: 'x'.repeat(10_000) })),
    'anonymous',
  )
  // One network may have a quarter of each worker's listings, and all may come to one worker.
  const env = { ...three, CARREL_LISTINGS: '108' }
  await inTime(graceToFinish, async () => assertFinishes(t, await serve(t, dataFolder, { env })))
})

async function assertFinishes(t: TestContext, served: Served): Promise<void> {
  const listings = await times(9, async () => {
    const socket = openSocket(served.address)
    t.after(() => socket.destroy())
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.write('GET /api/query/v4/letters HTTP/1.1\r\nHost: service.test\r\n\r\n')
    const closed = once(socket, 'close')
    await once(socket, 'data')
    socket.pause()
    return { socket, chunks, closed }
  })
  served.signal('SIGTERM')
  await new Promise(resolve => setTimeout(resolve, 200))
  for (const { socket } of listings) socket.resume()
  await Promise.all(listings.map(({ closed }) => closed))
  for (const { chunks } of listings)
    assert.ok(Buffer.concat(chunks).length > 10_000_000, 'all of the listing has come')
  assert.equal((await served.ended).code, 0)
}
