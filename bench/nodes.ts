import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../test/support/service/postgres-server.ts'
import { catalogued } from './support/catalogue.ts'
import { scratch } from './support/folder.ts'
import { head, median, quantile, run } from './support/load.ts'
import { type Running, startCarrel } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'

/**
 * Writes single records to one and to ten entities, at one node and at three on the same PostgreSQL, while pages are read
 * beside. Prints the number of durable writes per second, and the ratios.
 */
const records = Number(process.env.BENCH_RECORDS ?? 5_000)
const [seconds, rounds] = [Number(process.env.BENCH_SECONDS ?? 8), Number(process.env.BENCH_ROUNDS ?? 3)]
/** Number of clients that write, shared by the nodes, and of pages that each node is asked for in a second. */
const [writers, pagesPerSecond] = [Number(process.env.BENCH_WRITERS ?? 48), 20]
const names = Array.from({ length: 10 }, (_, n) => `catalogue${n}`)

const server = await startPostgres({ flags: ['shared_buffers=512MB', 'max_wal_size=8GB'] })
process.env.CARREL_DATABASE_URL = server.url
process.env.CARREL_WORKERS = '1'
const folders = Array.from({ length: 3 }, scratch)
const [first = ''] = folders
addPerson(first, true)
const nodes = await Promise.all(folders.map(folder => startCarrel(folder)))
const address = nodes[0]?.address ?? ''
const { token, cookie, csrf } = await logIn(address)
for (const name of names) await addEntity(name)

async function addEntity(name: string): Promise<void> {
  const send = (method: string, path: string, type: string, body: string) =>
    fetch(`${address}/api/admin/entities/${name}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, cookie, 'x-xsrf-token': csrf, 'content-type': type },
      body,
    })
  const lines = Array.from({ length: records }, (_, at) => `${JSON.stringify(catalogued(at, records))}\n`)
  const imported = await send('POST', '/import?key=id', 'application/x-ndjson', lines.join(''))
  if (imported.status !== 202) throw new Error(await imported.text())
  const rules = JSON.stringify({ read: 'anonymous', write: 'eperson' })
  for (;;) {
    const changed = await send('PATCH', '', 'application/json', rules)
    if (changed.status === 200) return
    if (changed.status !== 404) throw new Error(await changed.text())
    await sleep(100)
  }
}

let n = 0
function put(of: readonly string[]): string {
  const at = n++
  const id = (at * 7_919) % records
  const record = { ...catalogued(id, records), id, title: `Written ${at}`, weight: at / 7 }
  const body = JSON.stringify(record)
  return (
    head('PUT', `/api/query/v4/${of[at % of.length]}/${id}`, {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': String(body.length),
    }) + body
  )
}

/** The first write to an entity makes a node read what it needs, which takes longer than a write may wait. */
async function firstWrite({ address }: Running, name: string): Promise<void> {
  for (let status = 0; status !== 200; )
    status = (
      await fetch(`${address}/api/query/v4/${name}/1`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/merge-patch+json' },
        body: JSON.stringify({ weight: n++ }),
      })
    ).status
}

async function measure(on: readonly Running[], of: readonly string[]): Promise<number> {
  const pages: number[] = []
  const paging = on.flatMap(({ address }) => {
    const read = async () => {
      const begun = performance.now()
      const response = await fetch(
        `${address}/api/query/v4/${of[pages.length % of.length]}?limit=10&offset=100`,
      )
      await response.arrayBuffer()
      pages.push(performance.now() - begun)
    }
    // A page that is under way at the end is not counted.
    return setInterval(() => void read().catch(() => {}), 1_000 / pagesPerSecond)
  })
  const connections = writers / on.length
  const measured = await Promise.all(
    on.map(({ address }) => run({ address, connections, seconds, next: () => put(of) })),
  ).finally(() => paging.map(clearInterval))
  const perSecond = measured.reduce((sum, one) => sum + one.perSecond, 0)
  const latencies = Float64Array.from(measured.flatMap(one => [...one.latencies])).sort()
  const p = (share: number) => quantile(latencies, share).toFixed(0)
  console.log(
    `${on.length} nodes, ${of.length} entities: ${Math.round(perSecond)} writes a second, median ${p(0.5)} ms, 99 % in ${p(0.99)} ms; ` +
      `a page in ${median(pages).toFixed(1)} ms`,
  )
  return perSecond
}

const found = new Map<string, number[]>()
try {
  for (const node of nodes) for (const name of names) await firstWrite(node, name)
  for (let round = 0; round < rounds; round++)
    for (const some of [names.slice(0, 1), names])
      for (const on of [nodes.slice(0, 1), nodes]) {
        const name = `${on.length} × ${some.length}`
        found.set(name, [...(found.get(name) ?? []), await measure(on, some)])
      }
} finally {
  for (const node of nodes) await node.stop()
  await server.stop()
}
const ratio = (one: string, other: string) =>
  (median(found.get(one) ?? []) / median(found.get(other) ?? [])).toFixed(2)
console.log(`To one entity, three nodes write ${ratio('3 × 1', '1 × 1')} × what one does.`)
console.log(`To ten entities, three nodes write ${ratio('3 × 10', '1 × 10')} × what one does.`)
console.log(`One node writes ${ratio('1 × 10', '1 × 1')} × as much to ten entities as to one.`)
