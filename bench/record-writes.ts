import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../test/support/service/postgres-server.ts'
import { catalogue, catalogued } from './support/catalogue.ts'
import { scratch } from './support/folder.ts'
import { median, quantile } from './support/load.ts'
import { carrel, startCarrel } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'

/**
 * Writes single records among 1,000,000 of eight fields. Measures the time until the next reader sees a
 * change, and the number of durable writes per second. `BENCH_POSTGRES=1` uses PostgreSQL.
 */
const records = Number(process.env.BENCH_RECORDS ?? 1_000_000)
const rounds = Number(process.env.BENCH_ROUNDS ?? 15)
const [writers, seconds] = [32, 15]

const server = process.env.BENCH_POSTGRES
  ? await startPostgres({ flags: ['shared_buffers=512MB', 'max_wal_size=8GB'] })
  : undefined
if (server) process.env.CARREL_DATABASE_URL = server.url
process.env.CARREL_CACHE_SIZE = '1000'
const folder = scratch()
addPerson(folder, true)
carrel(folder, [
  'import',
  await catalogue(records),
  '--entity',
  'catalogue',
  '--key',
  'id',
  '--read',
  'anonymous',
])
carrel(folder, ['entity', 'writers', 'catalogue', 'eperson'])
const service = await startCarrel(folder)
const { token } = await logIn(service.address)
const base = `${service.address}/api/query/v4/catalogue`

async function put(id: number, n: number): Promise<void> {
  const record = {
    ...catalogued(n % records, records),
    id,
    title: `Written ${n}`,
    weight: n / 7,
    code: `W${n}`,
  }
  const response = await fetch(`${base}/${id}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(record),
  })
  if (response.status >= 300) throw new Error(await response.text())
  await response.arrayBuffer()
}

const get = async (path: string): Promise<string> => {
  const response = await fetch(base + path)
  const text = await response.text()
  if (response.status !== 200) throw new Error(text)
  return text
}
const asked = (query: unknown, more = '') => `?query=${encodeURIComponent(JSON.stringify(query))}${more}`

const questions: readonly (readonly [name: string, path: (id: number, n: number) => string])[] = [
  ['the record', id => `/${id}`],
  ['a page in the order of the key', (_, n) => `?limit=10&offset=${n * 1_000}&include_total=true`],
  [
    'a page in another order',
    (_, n) => `?limit=10&offset=${n * 1_000}&order_by=[{"field":"weight","order":"desc"}]`,
  ],
  ['a condition on one field', (_, n) => asked(['=', 'title', `Written ${n}`])],
  [
    'a condition on two fields',
    () => asked(['and', ['=', 'state', 'lent'], ['>', 'year', 1990]], '&limit=10&include_total=true'),
  ],
  ['groups', () => asked(['extract', ['state', ['function', 'count']], ['group_by', 'state']])],
]
// The first page makes the service read the records into memory. The wait keeps those seconds out of the
// measurement.
await get('?limit=10')
await sleep(Number(process.env.BENCH_WAIT ?? 10) * 1_000)
let n = 1
for (const [name, path] of questions) {
  await get(path(1, 1))
  const [writes, reads]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    const id = (n * 7_919) % records
    const begun = performance.now()
    await put(id, n)
    const written = performance.now()
    await get(path(id, n))
    reads.push(performance.now() - begun)
    writes.push(written - begun)
    n++
  }
  const sum = (list: number[]) => `${median(list).toFixed(1)} ms, at most ${Math.max(...list).toFixed(1)} ms`
  console.log(`${name}: written in ${sum(writes)}; written and seen in ${sum(reads)}`)
}

const latencies: number[] = []
const begun = performance.now()
await Promise.all(
  Array.from({ length: writers }, async () => {
    while (performance.now() - begun < seconds * 1_000) {
      const start = performance.now()
      const at = n++
      await put((at * 7_919) % records, at)
      latencies.push(performance.now() - start)
    }
  }),
)
const sorted = Float64Array.from(latencies).sort()
console.log(
  `${Math.round(latencies.length / ((performance.now() - begun) / 1_000))} writes a second by ${writers} clients, median ${median(latencies).toFixed(1)} ms, 99 % in ${quantile(sorted, 0.99).toFixed(1)} ms`,
)
await service.stop()
await server?.stop()
