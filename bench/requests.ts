import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { catalogue } from './support/catalogue.ts'
import { scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { carrel, entry, type Running, start, startBare, threadsTime } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'
import { quote, type Requests, wrkWith } from './support/wrk.ts'

/**
 * Measures what a request costs: this build beside a bare server that sends as many bytes, beside the floor of the
 * framework, and beside another build. They take turns under the same load, with one worker each. The processor time
 * is that of all threads; `filtered` is to be compared with `plain`.
 * `node bench/requests.ts [name of a request…]`; BENCH_OTHER=<another checkout, built> adds that one, and
 * BENCH_STORE=<a data folder of an earlier run> spares the imports.
 */
const chosen = process.argv.slice(2)
const other = process.env.BENCH_OTHER
const rounds = Number(process.env.BENCH_ROUNDS ?? 9)
/** Whole seconds, as wrk takes them. */
const seconds = Number(process.env.BENCH_SECONDS ?? 1)
/** Seconds of load before the rounds. */
const warmUp = Number(process.env.BENCH_WARM_UP ?? 4)
const few = 70_000
const many = Number(process.env.BENCH_RECORDS ?? 1_000_000)

const folder = process.env.BENCH_STORE ?? scratch()
if (process.env.BENCH_STORE === undefined) {
  addPerson(folder)
  for (const [name, count] of [
    ['small', few],
    ['catalogue', many],
  ] as const)
    carrel(folder, ['import', await catalogue(count), '--entity', name, '--key', 'id', '--read', 'anonymous'])
}

const builds = [
  { name: 'now', program: entry },
  ...(other === undefined ? [] : [{ name: 'other', program: resolve(other, 'dist/cli/carrel.js') }]),
]
const services: { name: string; running: Running }[] = []
for (const { name, program } of builds) {
  const env = { CARREL_DATA: folder, CARREL_PORT: '0', CARREL_WORKERS: '1', CARREL_CACHE_SIZE: '1000' }
  services.push({ name, running: await start([program, 'serve'], env) })
}
const address = services[0]?.running.address ?? ''
const { token, cookie, csrf } = await logIn(address)

const anonymous = { Cookie: cookie }
const withToken = { ...anonymous, Authorization: `Bearer ${token}` }
const records = (path: string, below: number) =>
  `${quote(`/api/query/v4/${path}`)} .. math.random(0, ${below - 1})`
const get = (path: string, headers: Requests['headers'] = anonymous) => ({ method: 'GET', headers, path })
const filter = encodeURIComponent('[">","year",1800]')
const work: Readonly<Record<string, Requests>> = {
  status: get(quote('/api/authn/status'), withToken),
  anonymous: get(quote('/api/authn/status')),
  page: get(records('small?limit=10&offset=', few - 10)),
  'page-token': get(records('small?limit=10&offset=', few - 10), withToken),
  record: get(records('catalogue/', many)),
  plain: get(records('catalogue?include_total=true&limit=10&offset=', many / 10)),
  filtered: get(records(`catalogue?query=${filter}&include_total=true&limit=10&offset=`, many / 10)),
  refresh: {
    method: 'POST',
    headers: { ...withToken, 'X-XSRF-TOKEN': csrf, 'Content-Length': '0' },
    path: quote('/api/authn/login'),
  },
}

/** Returns the headers of an answer, and the mean size of some. */
async function sample({ method, headers, path }: Requests) {
  const sizes: number[] = []
  let sent: Readonly<Record<string, string>> = {}
  for (let at = 0; at < 50; at++) {
    const target = path.replaceAll('"', '').replace(/ \.\. math\.random\(.*\)$/, String(at * 997))
    const answer = await fetch(address + target, { method, headers })
    if (!answer.ok) throw new Error(`${target}: ${answer.status} ${await answer.text()}`)
    sizes.push((await answer.arrayBuffer()).byteLength)
    const {
      date: _,
      connection: __,
      'keep-alive': ___,
      'content-length': ____,
      ...own
    } = Object.fromEntries(answer.headers)
    sent = own
  }
  return { bytes: Math.round(sizes.reduce((sum, size) => sum + size) / sizes.length), sent }
}

for (const [name, requests] of Object.entries(work)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  const { bytes, sent } = await sample(requests)
  const floor = fileURLToPath(new URL('support/floor.ts', import.meta.url))
  const servers = [
    { name: 'bare', running: await startBare(bytes) },
    { name: 'floor', running: await start([floor, String(bytes), JSON.stringify(sent)], {}) },
    ...services,
  ]
  const load = wrkWith(requests)
  // Code is compiled, and records are loaded, while it runs.
  for (const { running } of servers) await load(running.address, warmUp)
  const rates = servers.map((): number[] => [])
  const costs = servers.map((): number[] => [])
  for (let round = 0; round < rounds; round++) {
    for (const at of servers.keys()) {
      const turn = (at + round) % servers.length
      const { address: to, pid } = servers[turn]?.running ?? { address: '', pid: 0 }
      const before = threadsTime(pid)
      const { perSecond, requests: answered } = await load(to, seconds)
      costs[turn]?.push(((threadsTime(pid) - before) / answered) * 1e6)
      rates[turn]?.push(perSecond)
    }
  }
  const ratio = (one: readonly number[] | undefined, of: readonly number[] | undefined) =>
    median((one ?? []).map((value, at) => value / (of?.[at] ?? Number.NaN))).toFixed(2)
  console.log(`${name} (${bytes} bytes)`)
  for (const [at, one] of servers.entries())
    console.log(
      `  ${one.name.padEnd(6)} ${ratio(rates[at], rates[0])} of bare, ${ratio(rates[at], rates[1])} of the floor; ` +
        `${Math.round(median(rates[at] ?? []))}/s; ${median(costs[at] ?? []).toFixed(1)} µs, ${ratio(costs[0], costs[at])} of bare`,
    )
  await servers[0]?.running.stop().catch(() => {})
  await servers[1]?.running.stop().catch(() => {})
}
for (const { running } of services) await running.stop()
