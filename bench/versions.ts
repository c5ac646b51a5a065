import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { startPostgres } from '../test/support/service/postgres-server.ts'
import { catalogue } from './support/catalogue.ts'
import { scratch } from './support/folder.ts'
import { head, median, run } from './support/load.ts'
import { type Running, start, threadsTime } from './support/processes.ts'
import { receive } from './support/read.ts'
import { addPersonBy, logIn, password } from './support/session.ts'

/**
 * Measures the cost of a change: compares this build with that of another checkout in short turns, by the
 * processor time of a request or a command. `node bench/versions.ts <other checkout, built> [status page
 * refresh login import ingest delivery]`. With BENCH_ENGINE=postgres, each has a server of PostgreSQL, whose time
 * isn't counted.
 */
const [other, ...chosen] = process.argv.slice(2)
if (other === undefined) throw new Error('which other checkout?')
const rounds = Number(process.env.BENCH_ROUNDS ?? 41)
const seconds = Number(process.env.BENCH_SECONDS ?? 0.4)
const entries = [resolve(other), resolve(import.meta.dirname, '..')].map(root => `${root}/dist/cli/carrel.js`)
const isChosen = (name: string) => chosen.length === 0 || chosen.includes(name)

function report(name: string, before: readonly number[], now: readonly number[], unit: string): void {
  const ratios = now.map((one, at) => one / (before[at] ?? Number.NaN)).sort((a, b) => a - b)
  const quarter = (part: number) => ratios[Math.floor(ratios.length * part)]?.toFixed(3)
  console.log(
    `${name}: ${quarter(0.5)} of the other (quarters ${quarter(0.25)}–${quarter(0.75)}), ` +
      `${median(now).toFixed(2)} and ${median(before).toFixed(2)} ${unit}`,
  )
}

/** Runs both in turn, in alternating order. */
async function inTurn(
  name: string,
  unit: string,
  cost: (at: number) => number | Promise<number>,
  times = rounds,
) {
  const costs: [number[], number[]] = [[], []]
  for (const at of [0, 1]) await cost(at)
  for (let round = 0; round < times; round++)
    for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) costs[at]?.push(await cost(at))
  report(name, ...costs, unit)
}

const folders = entries.map(() => scratch())
const servers =
  process.env.BENCH_ENGINE === 'postgres' ? await Promise.all(entries.map(() => startPostgres())) : []
const storeOf = (at: number, folder: string) => ({
  CARREL_DATA: folder,
  ...(servers[at] && { CARREL_DATABASE_URL: servers[at].url }),
})
const command = (at: number, folder: string, args: readonly string[], input = '') => {
  const { status, stderr } = spawnSync(process.execPath, [entries[at] ?? '', ...args], {
    env: { ...process.env, ...storeOf(at, folder) },
    input,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
}
/** Returns the processor time in seconds of the commands that have ended. */
const childTime = () => {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[13]) + Number(fields[14])) / 100
}
function commandTime(at: number, folder: string, args: readonly string[]): number {
  const before = childTime()
  command(at, folder, args)
  return childTime() - before
}

const records = 70_000
const file = await catalogue(records)
const importing = ['import', file, '--entity', 'catalogue', '--key', 'id', '--read', 'anonymous']

const archive = join(scratch(), 'letters')
const items = 500
for (let at = 0; at < items; at++) {
  const folder = join(archive, `letter-${at}`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'dublin_core.xml'),
    `<dublin_core schema="dc"><dcvalue element="title" qualifier="none">Letter ${at}</dcvalue></dublin_core>`,
  )
  writeFileSync(join(folder, 'contents'), 'scan.bin\n')
  writeFileSync(join(folder, 'scan.bin'), `scan of ${at} `.repeat(at === 0 ? 10_000_000 : 200))
}

for (const [at, folder] of folders.entries()) {
  addPersonBy((args, input) => command(at, folder, args, input), true)
  command(at, folder, importing)
  command(at, folder, ['ingest', archive])
}
const services = await Promise.all(
  folders.map((folder, at) =>
    start([entries[at] ?? '', 'serve'], { ...storeOf(at, folder), CARREL_PORT: '0', CARREL_WORKERS: '1' }),
  ),
)
const people = await Promise.all(services.map(({ address }) => logIn(address)))

async function requests(name: string, next: (at: number) => string): Promise<void> {
  if (!isChosen(name)) return
  await inTurn(name, 'µs', async at => {
    const service = services[at] as Running
    const before = threadsTime(service.pid)
    const { latencies } = await run({ address: service.address, seconds, next: () => next(at) })
    return ((threadsTime(service.pid) - before) / latencies.length) * 1e6
  })
}

const bearer = (at: number) => ({
  Authorization: `Bearer ${people[at]?.token}`,
  Cookie: people[at]?.cookie ?? '',
})
const orders = ['', '&order_by=[{"field":"weight","order":"desc"}]', '&order_by=[{"field":"title"}]'].map(
  encodeURI,
)
let n = 0
await requests('status', at => head('GET', '/api/authn/status', bearer(at)))
await requests('page', at =>
  head(
    'GET',
    `/api/query/v4/catalogue?limit=10&offset=${(n++ * 7_919) % (records - 10)}${orders[n % orders.length]}`,
    { Cookie: people[at]?.cookie ?? '' },
  ),
)
await requests('query', at =>
  head(
    'GET',
    `/api/query/v4/catalogue?limit=10&query=${encodeURIComponent(JSON.stringify(['=', 'code', `C${n++}`]))}`,
    bearer(at),
  ),
)
await requests('refresh', at =>
  head('POST', '/api/authn/login', {
    ...bearer(at),
    'X-XSRF-TOKEN': people[at]?.csrf ?? '',
    'Content-Length': '0',
  }),
)
await requests('login', at => {
  const body = new URLSearchParams({ user: 'bench@example.org', password }).toString()
  return `${head('POST', '/api/authn/login', {
    Cookie: people[at]?.cookie ?? '',
    'X-XSRF-TOKEN': people[at]?.csrf ?? '',
    'Content-Type': 'application/x-www-form-urlencoded',
    'Content-Length': String(body.length),
  })}${body}`
})
if (isChosen('delivery')) {
  const contents = await Promise.all(services.map(largest))
  await inTurn('delivery', 'ms', async at => {
    const service = services[at] as Running
    const before = threadsTime(service.pid)
    await receive(service.address, head('GET', contents[at] ?? '', bearer(at)))
    return (threadsTime(service.pid) - before) * 1_000
  })
}
await Promise.all(services.map(service => service.stop()))

if (isChosen('import')) await inTurn('import', 's', at => commandTime(at, folders[at] ?? '', importing), 11)
const stores = scratch()
let store = 0
if (isChosen('ingest'))
  await inTurn('ingest', 's', at => commandTime(at, join(stores, `${store++}`), ['ingest', archive]), 11)

for (const server of servers) await server.remove()

/** Returns the path of the content of the largest file. */
async function largest({ address }: Running, at: number): Promise<string> {
  const order = encodeURIComponent('[{"field":"size","order":"desc"}]')
  const response = await fetch(`${address}/api/query/v4/bitstreams?limit=1&order_by=${order}`, {
    headers: bearer(at),
  })
  const [found] = (await response.json()) as { uuid: string }[]
  return `/api/core/bitstreams/${found?.uuid}/content`
}
