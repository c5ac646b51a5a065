import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../test/support/service/postgres-server.ts'
import { catalogue, catalogued } from './support/catalogue.ts'
import { compare } from './support/compare.ts'
import { scratch } from './support/folder.ts'
import { head } from './support/load.ts'
import { carrel, memory, startCarrel } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'

/**
 * Reads all records of an entity by pages of 10 with a snapshot, while a writer changes 500 records a second, and
 * compares the keys with those at the start. Without a snapshot, the same traversal shows what it is for. Then compares
 * pages with snapshots switched on with those where they are switched off. `BENCH_POSTGRES=1` uses PostgreSQL,
 * `BENCH_NODES=3` as many nodes, which are asked in turn.
 */
const records = Number(process.env.BENCH_RECORDS ?? 20_000)
const nodes = Number(process.env.BENCH_NODES ?? 1)
const [pageSize, perSecond] = [10, 500]

const server = process.env.BENCH_POSTGRES
  ? await startPostgres({ flags: ['shared_buffers=512MB', 'max_wal_size=8GB'] })
  : undefined
if (server) process.env.CARREL_DATABASE_URL = server.url
const folder = scratch()
addPerson(folder, true)
const file = await catalogue(records)
const imported = (into: string, name: string) =>
  carrel(into, ['import', file, '--entity', name, '--key', 'id', '--read', 'anonymous'])
imported(folder, 'catalogue')
carrel(folder, ['entity', 'writers', 'catalogue', 'eperson'])
const services = [await startCarrel(folder)]
while (services.length < nodes) services.push(await startCarrel(scratch()))
const addressOf = (n: number) => services[n % services.length]?.address ?? ''
const { token } = await logIn(addressOf(0))

/** Changes, adds and deletes records in turn, as evenly as it can. */
function startWriting() {
  const stop = new AbortController()
  const failures = new Set<string>()
  let written = 0
  const write = async (n: number) => {
    const isNew = n % 4 === 1
    const id = isNew ? 10 * records + n : (n * 7_919) % records
    const response = await fetch(`${addressOf(n)}/api/query/v4/catalogue/${id}`, {
      method: n % 4 === 3 ? 'DELETE' : 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(n % 4 !== 3 && {
        body: JSON.stringify({ ...catalogued(n % records, records), id, title: `Written ${n}` }),
      }),
    })
    await response.arrayBuffer()
    if (response.status < 300) written++
    else if (response.status !== 404) failures.add(`${response.status}`)
  }
  const begun = performance.now()
  const running = Promise.all(
    Array.from({ length: 32 }, async (_, first) => {
      for (let n = first; !stop.signal.aborted; n += 32) {
        await sleep(Math.max(0, (n / perSecond) * 1_000 - (performance.now() - begun)))
        if (!stop.signal.aborted) await write(n)
      }
    }),
  )
  return async () => {
    stop.abort()
    await running
    return { perSecond: written / ((performance.now() - begun) / 1_000), failures: [...failures] }
  }
}

/** The keys in the order in which pages have them. */
async function traverse(first: string): Promise<readonly number[]> {
  const keys: number[] = []
  let path: string | undefined = first
  for (let n = 0; path !== undefined; n++) {
    const response: Response = await fetch(addressOf(n) + path)
    if (response.status !== 200) throw new Error(await response.text())
    keys.push(...((await response.json()) as { id: number }[]).map(({ id }) => id))
    const next: string | undefined = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
    path = next && new URL(next, 'http://localhost').pathname + new URL(next, 'http://localhost').search
  }
  return keys
}

const base = '/api/query/v4/catalogue'
const allKeys = async (more = '') =>
  ((await (await fetch(`${addressOf(0)}${base}${more}`)).json()) as { id: number }[]).map(({ id }) => id)

const order = `order_by=${encodeURIComponent('[{"field":"weight","order":"desc"}]')}`
await allKeys(`?${order}`)
const stop = startWriting()
await sleep(2_000)
const response = await fetch(`${addressOf(0)}${base}?${order}`)
const snapshot = response.headers.get('x-snapshot')
const start = ((await response.json()) as { id: number }[]).map(({ id }) => id)
const begun = performance.now()
const pinned = await traverse(`${base}?${order}&limit=${pageSize}&snapshot=${snapshot}`)
const seconds = (performance.now() - begun) / 1_000
const written = await stop()
const isSame = JSON.stringify(pinned) === JSON.stringify(start)
console.log(
  `${pinned.length} records by pages of ${pageSize} with a snapshot in ${seconds.toFixed(1)} s (${Math.round(pinned.length / pageSize / seconds)} pages a second), beside ${Math.round(written.perSecond)} changes a second${written.failures.length > 0 ? ` (refused: ${written.failures})` : ''}, on ${nodes} nodes: ${isSame ? 'the same records in the same order as at the start' : `DIFFERENT from the start (${start.length} records)`}; ${Math.round(memory(services[0]?.pid ?? 0).peak)} MB`,
)
const begunAgain = startWriting()
await sleep(500)
const atStart = new Set(await allKeys())
const plain: number[] = []
for (let offset = 0; ; offset += pageSize) {
  const page = await allKeys(`?limit=${pageSize}&offset=${offset}`)
  plain.push(...page)
  if (page.length < pageSize) break
}
await begunAgain()
const seen = new Set(plain)
console.log(
  `Without one: ${plain.length - seen.size} records twice, ${[...atStart].filter(id => !seen.has(id)).length} of the start not at all`,
)
for (const one of services) await one.stop()
if (!isSame) process.exitCode = 1

if (!server) {
  const [on, off] = [scratch(), scratch()]
  for (const one of [on, off]) imported(one, 'catalogue')
  const service = await startCarrel(on)
  const baseline = await startCarrel(off, { CARREL_SNAPSHOT_TIME: '0' })
  const next = () =>
    head('GET', `${base}?${order}&limit=10&offset=${Math.floor(Math.random() * (records - 10))}`)
  await compare({ name: 'pages with snapshots, and without', service, baseline, next, rounds: 9 })
  await service.stop()
  await baseline.stop()
}
await server?.stop()
