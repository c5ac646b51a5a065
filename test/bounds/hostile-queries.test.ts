import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { listPath } from '../support/clients/listings.ts'
import { keepsAtMost, residentOf } from '../support/clients/transfers.ts'
import { repeats } from '../support/scale.ts'
import { atEnd } from '../support/service/at-end.ts'
import { test, testOn } from '../support/service/engines.ts'
import { serve } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

/** Number of records. Slow queries of all of them take several times as long as the client's timeout. */
const count = repeats(20_000, 60_000)

const letters = (length: number) => Array.from({ length }, () => (Math.random() < 0.5 ? 'a' : 'b')).join('')

/** Adds records with many distinct values, on which slow expressions take RE2 long. */
const addThings = (service: Service) =>
  service.addRecords(
    'things',
    'id',
    Array.from({ length: count }, (_, id) => ({
      id,
      name: `${id} ${letters(100)}`,
      size: id / 4,
      facts: { os: { n: id % 1_000 } },
      text: `some words about the sea and the land ${id}`,
    })),
  )

let serial = 0
const slow = () => ['~', 'name', `(a|b)*a(a|b){${10 + (serial % 10)}}[c-z]${serial++}`]

async function spentBy(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

testOn(
  'sqlite',
  'Q18 queries for clients that have gone are not run, and not in the way of others',
  async t => {
    const service = await startService(t)
    await addThings(service)
    const path = () => listPath('things', { query: slow(), limit: 10 })
    const ask = () => fetch(service.address + path()).then(response => response.text())
    await ask()
    const one = await spentBy(ask)
    const many = await spentBy(async () => {
      const socket = connect({ port: Number(new URL(service.address).port), host: '127.0.0.1' })
      let arrived = 0
      service.app.server.on('request', () => arrived++)
      for (let n = 0; n < 200; n++) socket.write(`GET ${path()} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      await until(
        '20 requests',
        () => arrived,
        count => count >= 20,
      )
      socket.destroy()
      await ask()
    })
    assert.ok(many < 20 * one, `one took ${one} µs, 200 that nobody waited for took ${many} µs`)
  },
)

testOn('sqlite', 'Q26 a query is interrupted when the time that its client gave is over', async t => {
  // The service's own limit is so long that it can't interrupt a query on a busy machine.
  const service = await startService(t, { env: { CARREL_STATEMENT_TIMEOUT: '600' } })
  await addThings(service)
  const ask = async (parameters: object, status: number) => {
    const expressions = Array.from({ length: 40 }, slow)
    const path = listPath('things', { query: ['or', ...expressions], limit: 10, ...parameters })
    const response = await fetch(service.address + path)
    assert.equal(response.status, status, await response.text())
  }
  await ask({}, 200)
  const all = await spentBy(() => ask({}, 200))
  const some = await spentBy(async () => {
    await ask({ timeout: 0.1 }, 503)
    // This query waits for those still running.
    await fetch(service.address + listPath('things', { query: ['~', 'text', '9{4}'], limit: 1 }))
  })
  assert.ok(some < 0.75 * all, `all of it took ${all} µs, until it was interrupted ${some} µs`)
})

interface Attack {
  readonly connections: number
  readonly each: number
  readonly isRead: boolean
  readonly query: () => unknown
  readonly more?: object
}

const attacks: Readonly<Record<string, Attack>> = {
  expressions: { connections: 20, each: 50, isRead: true, query: slow, more: { limit: 10 } },
  'filters without number': {
    connections: 20,
    each: 100,
    isRead: true,
    query: () => ['and', ['>', 'size', Math.random() * count], ['<', 'facts.os.n', Math.random() * 1_000]],
    more: { limit: 100 },
  },
  'groups of different values': {
    connections: 20,
    each: 50,
    isRead: true,
    query: () => ['extract', ['name', ['function', 'count']], ['>', 'size', serial++], ['group_by', 'name']],
  },
  'rows that nobody reads': {
    connections: 100,
    each: 5,
    isRead: false,
    query: () => ['extract', ['id', 'name', 'text']],
  },
  'texts that take long to check': {
    connections: 20,
    each: 50,
    isRead: true,
    query: () => [
      'or',
      ...Array.from({ length: 100 }, (_, n) => ['~', 'name', `[^${serial++}${n}\\W]{2,800}`]),
      [],
    ],
  },
}

const mebibyte = 2 ** 20
const cacheSize = 64
/** Maximum memory besides the cache, in MB: data being processed, garbage, and memory kept by the C library. */
const most = 300

/** Number of answers that another network must get during each attack. */
const wanted = repeats(5, 20)
/** Duration of each attack in ms. */
const duration = repeats(500, 8_000)

test('Q18 whatever one network asks, another is answered, and memory has a bound', async t => {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder })
  await addThings(own)
  await own.stop()
  const env = { CARREL_LOG_LEVEL: 'error', CARREL_CACHE_SIZE: `${cacheSize}` }
  const { address, pid } = await serve(t, dataFolder, { env })
  const page = listPath('things', { query: ['<', 'size', 100], limit: 10 })
  await ask(address, page)
  const before = residentOf(pid)
  for (const [name, attack] of Object.entries(attacks)) {
    const stop = begin(t, address, attack)
    const times: number[] = []
    const start = performance.now()
    // On a slow machine, the attack lasts until there are enough answers for a statement.
    await until(
      `more than ${wanted} answers during ${name}, and ${duration} ms of it`,
      async () => {
        const begun = performance.now()
        assert.equal(await ask(address, '/api/authn/status'), 200)
        times.push(performance.now() - begun)
        assert.equal(await ask(address, page), 200)
        return times.length
      },
      count => count > wanted && performance.now() - start > duration,
    )
    stop()
    const grown = (await keepsAtMost((cacheSize + most) * mebibyte, pid, before)) / mebibyte
    times.sort((one, other) => one - other)
    const p99 = times[Math.floor(times.length * 0.99)] ?? 0
    t.diagnostic(`${name}: ${times.length} answers, p99 ${p99.toFixed(0)} ms, ${grown.toFixed(0)} MiB more`)
  }
})

testOn('sqlite', 'Q17 however many orders are asked for, their memory is given back', async t => {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder })
  const names = ['a', 'b', 'c', 'd', 'e']
  const records = Array.from({ length: 250_000 }, (_, id) => ({
    id,
    ...Object.fromEntries(names.map((name, at) => [name, (id * (at + 7)) % 1_009])),
  }))
  await own.addRecords('things', 'id', records)
  await own.stop()
  const env = { CARREL_LOG_LEVEL: 'error', CARREL_CACHE_SIZE: '8', CARREL_WORKERS: '2' }
  const { address, pid } = await serve(t, dataFolder, { env })
  const orders = names.flatMap(first =>
    names.flatMap(second =>
      ['asc', 'desc'].flatMap(one =>
        ['asc', 'desc'].flatMap(other =>
          second === first
            ? []
            : ['asc', 'desc'].map(third => [
                { field: first, order: one },
                { field: second, order: other },
                { field: 'id', order: third },
              ]),
        ),
      ),
    ),
  )
  const askFor = (order: object) =>
    ask(address, listPath('things', { order_by: order, limit: 1 } as Parameters<typeof listPath>[1]))
  for (const order of orders.slice(0, 20)) assert.equal(await askFor(order), 200)
  const before = residentOf(pid)
  const rest = orders.slice(20)
  for (const order of rest) assert.equal(await askFor(order), 200)
  const grown = (await keepsAtMost(64 * mebibyte, pid, before)) / mebibyte
  const made = (rest.length * 4 * records.length) / mebibyte
  t.diagnostic(`${rest.length} orders of ${made.toFixed(0)} MiB: ${grown.toFixed(0)} MiB more`)
  assert.ok(made > 130, `${made} MiB`)
})

/** @returns the status of an answer to another network than the attacker's */
async function ask(address: string, path: string): Promise<number | undefined> {
  const request = get(address + path, { agent: false, localAddress: '127.0.0.2' })
  const [response] = await once(request, 'response')
  response.resume()
  await once(response, 'end')
  return response.statusCode
}

/** Repeats a query and hangs up every two seconds. @returns a function that ends it */
function begin(t: TestContext, address: string, { connections, each, isRead, query, more = {} }: Attack) {
  let isOn = true
  const open = new Set<Socket>()
  const connectAgain = () => {
    if (!isOn) return
    const socket = connect({ port: Number(new URL(address).port), host: '127.0.0.1' })
    open.add(socket)
    socket.on('error', () => {})
    if (isRead) socket.resume()
    else socket.pause()
    const hangUp = setTimeout(() => socket.destroy(), 2_000)
    socket.on('close', () => {
      clearTimeout(hangUp)
      open.delete(socket)
      setTimeout(connectAgain, 20)
    })
    for (let n = 0; n < each; n++)
      socket.write(
        `GET ${listPath('things', { query: query() as [], ...more })} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      )
  }
  for (let n = 0; n < connections; n++) connectAgain()
  const stop = () => {
    isOn = false
    for (const socket of open) socket.destroy()
  }
  atEnd(t, stop)
  return stop
}
