import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { startPostgres } from '../test/support/service/postgres-server.ts'
import { compare } from './support/compare.ts'
import { scratch } from './support/folder.ts'
import { importGenerated } from './support/generated.ts'
import { head, median } from './support/load.ts'
import { memory, start, startCarrel } from './support/processes.ts'
import { type Read, read } from './support/read.ts'
import { addPerson, logIn } from './support/session.ts'

/**
 * Measures an import, pages, status and listings on PostgreSQL. Pages and status are compared with bare
 * servers that run one statement per request.
 */
const server = await startPostgres({ flags: ['shared_buffers=512MB', 'max_wal_size=4GB'] })
process.env.CARREL_DATABASE_URL = server.url
const records = 1_000_000
const folder = scratch()
addPerson(folder)
const seconds = await importGenerated(folder, records)
console.log(`import of ${records.toLocaleString('en')} records: ${seconds.toFixed(1)} s`)

const client = new pg.Client({ connectionString: server.url })
await client.connect()
const { rows } = await client.query("SELECT version FROM carrel.entity WHERE name = 'generated'")
const uuid = (await client.query('SELECT uuid FROM carrel.eperson')).rows[0]?.uuid
await client.query('VACUUM ANALYZE')
await client.end()

const bareFile = fileURLToPath(new URL('support/bare-postgres.ts', import.meta.url))
const bare = await start([bareFile, server.url, `carrel."records.${rows[0]?.version}"`], {})
const service = await startCarrel(folder)
const { token, cookie } = await logIn(service.address)

const random = (below: number) => Math.floor(Math.random() * below)
const page = (order: string) => () =>
  head('GET', `/api/query/v4/generated?${order}limit=10&offset=${random(records - 10)}`, { Cookie: cookie })
await compare({ name: 'page of 10 of 1,000,000, by key', service, baseline: bare, next: page('') })
const orders = ['[{"field":"year","order":"desc"}]', '[{"field":"place"},{"field":"title"}]'].map(
  order => `order_by=${encodeURIComponent(order)}&`,
)
await compare({
  name: 'page of 10 of 1,000,000, two other orders',
  service,
  baseline: bare,
  next: () => page(orders[random(orders.length)] ?? '')(),
})

const status = head('GET', '/api/authn/status', { Authorization: `Bearer ${token}`, Cookie: cookie })
const keyed = await start([bareFile, server.url, 'carrel.eperson'], { BENCH_KEY: uuid })
await compare({ name: 'status', service, baseline: keyed, next: () => status })
await keyed.stop()
await bare.stop()

for (const [name, query] of [
  ['in the order of the key', ''],
  ['in another order', `?${orders[1]}`],
] as const) {
  const before = memory(service.pid).now
  let peak = 0
  const watch = setInterval(() => {
    peak = Math.max(peak, memory(service.pid).now)
  }, 20)
  const runs: Read[] = []
  for (let round = 0; round < 3; round++)
    runs.push(await read(service.address, `/api/query/v4/generated${query}`))
  clearInterval(watch)
  console.log(
    `${records.toLocaleString('en')} records ${name}: ${median(runs.map(one => one.bytes / 1e6 / one.seconds)).toFixed(0)} MB/s, ` +
      `first byte ${runs.map(one => one.firstByte.toFixed(0)).join(', ')} ms, memory grew by ${(peak - before).toFixed(0)} MB`,
  )
}
await service.stop()
await server.remove()
