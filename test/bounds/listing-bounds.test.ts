import assert from 'node:assert/strict'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { listPath } from '../support/clients/listings.ts'
import { isLong } from '../support/scale.ts'
import { isReadByNobody, test, testOn, untilReadByNobody } from '../support/service/engines.ts'
import { type Service, startService } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

const largeEvents = 1_500
const padding = 'x'.repeat(16_000)
const events = listPath('audit-events')

test('Q18 the listings of one connection are sent one at a time', async t => {
  const { service, token } = await withEvents(t)
  let arrived = 0
  service.app.server.on('request', () => arrived++)
  const socket = connect({ port: portOf(service), host: '127.0.0.1' })
  const target = `${events}?include_total=true`
  socket.write(
    `GET ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`.repeat(3),
  )
  await once(socket, 'readable')
  await until(
    'two requests',
    () => arrived,
    count => count > 1,
  )
  // Listings that begin later contain the new event.
  await service.storage.trail.record(commandEvent('login'))
  const totals: number[] = []
  let line = ''
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    // An incomplete line is examined with the next chunk.
    const text = line + chunk.toString('latin1')
    for (const [, total] of text.matchAll(/x-records: (\d+)\r\n/gi)) totals.push(Number(total))
    line = text.slice(text.lastIndexOf('\n') + 1).slice(-100)
    if (totals.length === 3) break
  }
  assert.deepEqual(
    totals.map(total => total - (totals[0] ?? 0)),
    [0, 1, 1],
  )
})

test('Q18 a client that accepts none of a listing is disconnected', async t => {
  const { service, token } = await withEvents(t, { CARREL_LISTING_PATIENCE: '1' })
  const connected = once(service.app.server, 'connection')
  const response = await open(service, token)
  const [connection] = (await connected) as [Socket]
  assert.equal(connection.timeout, 1_000)
  await service.storage.trail.record(commandEvent('login'))
  await untilReadByNobody(service)
  await assert.rejects(text(response))
})

test('Q18 a listing that takes too long altogether breaks off, however steadily it is read', async t => {
  const { service, token } = await withEvents(t, { CARREL_LISTING_TIME_LIMIT: '1' })
  const response = await open(service, token)
  const reading = setInterval(() => response.read(1_000), 10)
  t.after(() => clearInterval(reading))
  await closed(response)
  await untilReadByNobody(service)
})

test('Q18 listings of one network that nobody reads leave room for another', async t => {
  const { service, token } = await withEvents(t, { CARREL_LISTINGS: '4', CARREL_DATABASE_POOL_SIZE: '4' })
  const stalled = Array.from({ length: 12 }, () => request(service, token))
  await Promise.race(stalled.map(one => once(one, 'response')))
  const response = await open(service, token, '127.0.0.2')
  const listed = JSON.parse(await text(response)) as unknown[]
  assert.ok(listed.length > largeEvents)
  for (const one of stalled) one.destroy()
  await untilReadByNobody(service)
})

/** Keeps clients connected that read nothing, however long a test takes. */
const neverStalled = { CARREL_LISTING_PATIENCE: '3600' }

/** Starts four listings that are not read, on a store whose log has been restarted. */
async function withUnread(t: TestContext) {
  const { service, token } = await withEvents(t, neverStalled)
  const log = join(service.dataFolder, 'carrel.db-wal')
  await until(
    'a log that has begun again',
    async () => {
      await addEvents(service, 1, 'begins the log again')
      return statSync(log).size
    },
    size => size < 6 * 1024 * 1024,
  )
  const responses = await Promise.all(
    [1, 2, 3, 4].map(at => open(service, token, `127.0.0.${at}`, `${events}?include_total=true`)),
  )
  return { service, responses, log }
}

testOn(
  'sqlite',
  'Q18 Q10 listings that nobody reads let the log begin again, and still show their state',
  async t => {
    const { service, responses, log } = await withUnread(t)
    await service.storage.trail.record(commandEvent('login'))
    assert.equal(await isReadByNobody(service), false)
    while (statSync(log).size < 6.5 * 1024 * 1024) await addEvents(service, 5, 'refreshed')
    await untilReadByNobody(service)
    for (const response of responses) {
      const listed = JSON.parse(await text(response)) as { id: number }[]
      assert.equal(listed.length, Number(response.headers['x-records']))
      assert.equal(new Set(listed.map(({ id }) => id)).size, listed.length)
    }
  },
)

testOn('sqlite', 'Q18 Q10 a listing that nobody reads breaks off before the log becomes large', async t => {
  const { service, token } = await withEvents(t, neverStalled)
  // The listing is longer than the part that may be copied.
  if (isLong) await addEvents(service, 18_000)
  const response = await open(service, token)
  // One large event fills the log before any of it has been copied.
  if (!isLong) await addEvents(service, 1, 'x'.repeat(13 * 1024 * 1024))
  await until('a store that is read by nobody', async () => {
    await addEvents(service, 50, 'refreshed')
    return isReadByNobody(service)
  })
  await assert.rejects(text(response))
})

testOn(
  'sqlite',
  'Q18 a statement that takes too long is ended, with a word on what would be quicker',
  async t => {
    const { service, token } = await withEvents(t, { CARREL_STATEMENT_TIMEOUT: '0.1' })
    await addEvents(service, 20_000, '')
    const order = Array.from(['reason', 'object', 'client_ip', 'method'], field => ({ field }))
    const path = listPath('audit-events', { order_by: order, limit: 1, offset: 19_000 })
    const response = await fetch(service.address + path, { headers: { authorization: `Bearer ${token}` } })
    assert.equal(response.status, 503)
    assert.match(response.headers.get('retry-after') ?? '', /^\d+$/)
    const problem = (await response.json()) as { code: string; detail: string }
    assert.equal(problem.code, 'busy')
    assert.match(problem.detail, /longer than 0.1 seconds.*order.*offset/)
  },
)

testOn(
  'sqlite',
  'Q18 a page in the order of the key does not wait for those that have to be sorted',
  async t => {
    const { service, token } = await withEvents(t)
    await addEvents(service, 20_000, '')
    let arrived = 0
    service.app.server.on('request', () => arrived++)
    const gone = new AbortController()
    t.after(() => gone.abort())
    const headers = { authorization: `Bearer ${token}` }
    const ask = (parameters: Parameters<typeof listPath>[1], signal?: AbortSignal) =>
      fetch(service.address + listPath('audit-events', parameters), { headers, signal: signal ?? null })
    const order_by = [{ field: 'reason' }, { field: 'object' }]
    const wanted = 20
    let sorted = 0
    for (let offset = 0; offset < wanted; offset++)
      ask({ order_by, limit: 1, offset }, gone.signal).then(
        () => sorted++,
        () => {},
      )
    await until(
      'the requests for sorted pages',
      () => arrived,
      count => count === wanted,
    )
    const before = sorted
    assert.equal((await ask({ limit: 1 })).status, 200)
    assert.ok(sorted - before < wanted / 2, `${sorted - before} sorted pages were answered first`)
  },
)

testOn(
  'sqlite',
  'Q18 sorts for clients that have gone are not done, and not in the way of others',
  async t => {
    const { service, token } = await withEvents(t)
    await addEvents(service, 20_000, '')
    const sorted = (offset: number) =>
      listPath('audit-events', { order_by: [{ field: 'reason' }, { field: 'object' }], limit: 1, offset })
    const headers = { authorization: `Bearer ${token}` }
    const spent = async (work: () => Promise<unknown>) => {
      const before = process.cpuUsage()
      await work()
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    const one = await spent(() => fetch(service.address + sorted(0), { headers }).then(one => one.text()))
    const many = await spent(async () => {
      const socket = connect({ port: portOf(service), host: '127.0.0.1' })
      let arrived = 0
      service.app.server.on('request', () => arrived++)
      for (let at = 0; at < 200; at++)
        socket.write(
          `GET ${sorted(at)} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`,
        )
      await until(
        '20 requests',
        () => arrived,
        count => count >= 20,
      )
      socket.destroy()
      await fetch(service.address + sorted(1_000), { headers }).then(one => one.text())
    })
    assert.ok(many < 40 * one, `one took ${one} µs, 200 that nobody waited for took ${many} µs`)
  },
)

/** Waits for the end of a connection that broke before the end of the answer. */
async function closed(response: IncomingMessage): Promise<void> {
  await new Promise(resolve => response.once('close', resolve))
  assert.equal(response.complete, false)
}

const portOf = ({ address }: Service) => Number(new URL(address).port)

async function addEvents({ storage }: Service, count: number, reason = padding): Promise<void> {
  for (let left = count; left > 0; left -= 100)
    await Promise.all(
      Array.from({ length: Math.min(left, 100) }, () =>
        storage.trail.record({ ...commandEvent('login'), reason: reason || String(Math.random()) }),
      ),
    )
}

/** Starts a service with more events than the sockets can buffer, and creates a token to read them. */
async function withEvents(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env })
  await service.addEperson('root@example.org', { admin: true })
  const token = await service.client().login('root@example.org')
  await addEvents(service, largeEvents)
  return { service, token }
}

/** @param localAddress of the client, in a network of its own */
function request({ address }: Service, token: string, localAddress = '127.0.0.1', path = events) {
  const sent = get(address + path, {
    agent: false,
    localAddress,
    headers: { authorization: `Bearer ${token}` },
  })
  sent.on('error', () => {})
  return sent
}

/** Starts an answer without reading it. */
async function open(service: Service, token: string, localAddress?: string, path?: string) {
  const [response] = (await once(request(service, token, localAddress, path), 'response')) as [
    IncomingMessage,
  ]
  response.on('error', () => {})
  assert.equal(response.statusCode, 200)
  return response
}
