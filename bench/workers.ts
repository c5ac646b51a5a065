import { setTimeout as sleep } from 'node:timers/promises'
import { artworks, scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { artworkOrders } from './support/orders.ts'
import { carrel, memory, processorTime, startBare, startCarrel } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'
import { quote, type Requests, wrkWith } from './support/wrk.ts'

/**
 * Compares one and two workers with a bare server that has one event loop and sends bodies of the same size.
 * They take turns under the same load. Processor time is that of the whole process.
 */
const rounds = 5
const seconds = 3

const folder = scratch()
addPerson(folder)
carrel(folder, ['import', artworks(), '--entity', 'artworks', '--key', 'id', '--read', 'anonymous'])
const services = [
  { workers: 1, running: await startCarrel(folder, { CARREL_WORKERS: '1' }) },
  { workers: 2, running: await startCarrel(folder, { CARREL_WORKERS: '2' }) },
]
// Garbage of the start is collected a second later.
await sleep(2_000)
for (const { workers, running } of services)
  console.log(`idle with ${workers} workers: ${memory(running.pid).now.toFixed(0)} MB`)

const address = services[0]?.running.address ?? ''
const { token, cookie, csrf } = await logIn(address)
const withToken = { Cookie: cookie, Authorization: `Bearer ${token}` }
const page = (order: string, offset: string | number) =>
  `/api/query/v4/artworks?include_total=true&limit=10&order_by=${order}&offset=${offset}`
const randomPage =
  `"/api/query/v4/artworks?include_total=true&limit=10&order_by=" .. ({${artworkOrders.map(quote).join(', ')}})` +
  `[math.random(${artworkOrders.length})] .. "&offset=" .. math.random(0, 69191)`

const work: readonly (Requests & { readonly name: string; readonly sample: readonly string[] })[] = [
  {
    name: 'status with a token',
    method: 'GET',
    headers: withToken,
    path: quote('/api/authn/status'),
    sample: ['/api/authn/status'],
  },
  {
    name: 'pages of 10, five orders, all offsets, with total',
    method: 'GET',
    headers: { Cookie: cookie },
    path: randomPage,
    sample: artworkOrders.flatMap(order => [0, 20_000, 69_000].map(offset => page(order, offset))),
  },
  {
    name: 'the same with a token',
    method: 'GET',
    headers: withToken,
    path: randomPage,
    sample: artworkOrders.flatMap(order => [0, 20_000, 69_000].map(offset => page(order, offset))),
  },
  {
    name: 'refresh',
    method: 'POST',
    headers: { ...withToken, 'X-XSRF-TOKEN': csrf, 'Content-Length': '0' },
    path: quote('/api/authn/login'),
    sample: [],
  },
]

for (const { name, sample, ...requests } of work) {
  const load = wrkWith(requests)
  const bare = await startBare(await meanBytes(sample))
  const measured = services.map(({ workers, running }) => ({
    workers,
    running,
    ratios: [] as number[],
    used: [] as number[],
  }))
  await load(bare.address, 1)
  for (const { running } of measured) await load(running.address, 1)
  for (let round = 0; round < rounds; round++) {
    const { perSecond } = await load(bare.address, seconds)
    for (const { running, ratios, used } of measured) {
      const before = processorTime(running.pid)
      const result = await load(running.address, seconds)
      used.push(((processorTime(running.pid) - before) / result.requests) * 1e6)
      ratios.push(result.perSecond / perSecond)
    }
  }
  await bare.stop().catch(() => {})
  for (const { workers, ratios, used } of measured)
    console.log(
      `${name}, ${workers} ${workers === 1 ? 'worker' : 'workers'}: ${median(ratios).toFixed(2)} of bare ` +
        `(${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}), ${median(used).toFixed(0)} µs of processor time each`,
    )
}
for (const { running } of services) await running.stop()

/** Returns the average size of a response body, which the bare server sends too. */
async function meanBytes(paths: readonly string[]): Promise<number> {
  let bytes = 0
  for (const path of paths)
    bytes += (await (await fetch(address + path, { headers: withToken })).arrayBuffer()).byteLength
  return Math.round(bytes / Math.max(1, paths.length))
}
