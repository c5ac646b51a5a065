import { writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { commandEvent, openStore } from '../src/cli/store.ts'
import { toConfig } from '../src/config/config.ts'
import { folderOf } from '../src/config/files-place.ts'
import { createFileStore } from '../src/files/file-store.ts'
import { startPostgres } from '../test/support/service/postgres-server.ts'
import { scratch } from './support/folder.ts'
import { importGenerated } from './support/generated.ts'
import { head, median, run } from './support/load.ts'
import { serverTime, startCarrel, threadsTime } from './support/processes.ts'
import { addPerson, email, logIn, type Person, password } from './support/session.ts'

/**
 * Measures what a request costs a node and PostgreSQL, and writes it to `bench/request-costs.json`, which
 * `bench/scaling.ts` reads. One node with one event loop, a durable database on the same machine, many
 * connections for requests that share statements, one for those that share none; medians of the rounds.
 */

/** The cost of one request; the mean of many. */
export interface RequestCost {
  readonly perSecond: number
  /** Processor time in µs of the node and of PostgreSQL. */
  readonly nodeMicros: number
  readonly databaseMicros: number
  /** Statements that read and that write. Requests that arrive together share some. */
  readonly reads: number
  readonly writes: number
  readonly walBytes: number
  readonly latencyMs: number
}

export interface Costs {
  readonly machine: string
  /** Load average at the end. */
  readonly load: number
  readonly day: string
  /**
   * `together`: 32 connections, or 8 for logins; `alone`: one connection, so that no statement is shared; `first`: one
   * connection, each request from a session of its own, so that its event is the first of the minute and is written
   * (docs/decisions/0069).
   */
  readonly requests: Readonly<
    Record<
      'status' | 'page' | 'refresh' | 'shortLived' | 'download' | 'login',
      { readonly together: RequestCost; readonly alone: RequestCost; readonly first?: RequestCost }
    >
  >
}

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const seconds = Number(process.env.BENCH_SECONDS ?? 2)
const records = 100_000
/** Number of sessions whose first requests are measured. */
const sessions = 600
/** Size in bytes of the file that is downloaded. */
const fileSize = 1_000_000

const server = await startPostgres({
  flags: ['shared_buffers=512MB', 'max_wal_size=4GB', 'shared_preload_libraries=pg_stat_statements'],
})
process.env.CARREL_DATABASE_URL = server.url
const folder = scratch()
addPerson(folder)
await importGenerated(folder, records)
const bitstream = await addFile()
const database = new pg.Client({ connectionString: server.url })
await database.connect()
await database.query('CREATE EXTENSION pg_stat_statements')
await database.query('VACUUM ANALYZE')

const service = await startCarrel(folder, { CARREL_WORKERS: '1' })
const person = await logIn(service.address)
const others: Person[] = []
for (let one = 0; one < sessions; one++) others.push(await logIn(service.address))
const bearerOf = ({ token, cookie }: Person) => ({ Authorization: `Bearer ${token}`, Cookie: cookie })
const postOf = (one: Person) => ({ ...bearerOf(one), 'X-XSRF-TOKEN': one.csrf, 'Content-Length': '0' })
const form = new URLSearchParams({ user: email, password }).toString()
const random = (below: number) => Math.floor(Math.random() * below)
const work: Readonly<Record<keyof Costs['requests'], Work>> = {
  status: { ask: one => head('GET', '/api/authn/status', bearerOf(one)) },
  page: {
    ask: one => head('GET', `/api/query/v4/generated?limit=10&offset=${random(records - 10)}`, bearerOf(one)),
  },
  refresh: { ask: one => head('POST', '/api/authn/login', postOf(one)), leavesEvent: true },
  shortLived: { ask: one => head('POST', '/api/authn/shortlivedtokens', postOf(one)), leavesEvent: true },
  download: {
    ask: one => head('GET', `/api/core/bitstreams/${bitstream}/content`, bearerOf(one)),
    leavesEvent: true,
  },
  // An account may begin some twenty logins at once from one network.
  login: {
    most: 8,
    ask: ({ cookie, csrf }) =>
      head('POST', '/api/authn/login', {
        Cookie: cookie,
        'X-XSRF-TOKEN': csrf,
        'Content-Type': 'application/x-www-form-urlencoded',
        'Content-Length': String(form.length),
      }) + form,
  },
}

interface Work {
  ask(session: Person): string
  /** Maximum number of connections; 32 by default. */
  readonly most?: number
  /** True if the first of a session in a minute is written to the audit trail. */
  readonly leavesEvent?: true
}

const requests = {} as { -readonly [name in keyof Costs['requests']]: Costs['requests'][name] }
for (const name of Object.keys(work) as (keyof typeof requests)[]) {
  const { ask, most = 32, leavesEvent } = work[name]
  const load = (connections: number, next: () => string | undefined = () => ask(person)) =>
    run({ address: service.address, connections, seconds, next })
  const measured = async (connections: number) => {
    const all: RequestCost[] = []
    for (let round = 0; round < rounds; round++) all.push(await costOf(() => load(connections)))
    return medianOf(all)
  }
  const fresh = others.map(one => () => ask(one))
  const first = leavesEvent && (await costOf(() => load(1, () => fresh.pop()?.())))
  await load(most)
  requests[name] = {
    ...{ together: await measured(most), alone: await measured(1) },
    ...(first && { first }),
  }
  for (const [how, one] of Object.entries(requests[name]))
    console.log(
      `${name}, ${how}: ${one.perSecond.toFixed(0)}/s, ${one.latencyMs.toFixed(2)} ms; node ${one.nodeMicros.toFixed(0)} µs, database ${one.databaseMicros.toFixed(0)} µs, ` +
        `${one.reads.toFixed(2)} reads, ${one.writes.toFixed(3)} writes, ${one.walBytes.toFixed(0)} bytes of WAL`,
    )
}
const costs: Costs = {
  machine: `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} processors`,
  load: loadavg()[0] ?? 0,
  day: new Date().toISOString().slice(0, 10),
  requests,
}
writeFileSync(new URL('request-costs.json', import.meta.url), `${JSON.stringify(costs, undefined, 2)}\n`)
await service.stop()
await database.end()
await server.remove()

async function costOf(load: () => ReturnType<typeof run>): Promise<RequestCost> {
  await database.query('SELECT pg_stat_statements_reset()')
  const [node, ofDatabase] = [threadsTime(service.pid), serverTime(server.folder)]
  const { latencies, perSecond } = await load()
  const each = (value: number) => value / latencies.length
  const nodeMicros = each((threadsTime(service.pid) - node) * 1e6)
  const databaseMicros = each((serverTime(server.folder) - ofDatabase) * 1e6)
  const { rows } = await database.query<{ reads: string; writes: string; wal: string }>(
    `SELECT coalesce(sum(calls) FILTER (WHERE query ~* '^\\s*SELECT'), 0) AS reads,
       coalesce(sum(calls) FILTER (WHERE query ~* '^\\s*(INSERT|UPDATE|DELETE|WITH)'), 0) AS writes,
       coalesce(sum(wal_bytes), 0) AS wal
     FROM pg_stat_statements WHERE query !~ 'pg_stat_statements'`,
  )
  const [{ reads, writes, wal } = { reads: '0', writes: '0', wal: '0' }] = rows
  return {
    perSecond,
    ...{ nodeMicros, databaseMicros },
    ...{ reads: each(Number(reads)), writes: each(Number(writes)), walBytes: each(Number(wal)) },
    latencyMs: latencies[latencies.length >> 1] ?? Number.NaN,
  }
}

function medianOf(all: readonly RequestCost[]): RequestCost {
  const of = (name: keyof RequestCost) => median(all.map(one => one[name]))
  return {
    ...{ perSecond: of('perSecond'), nodeMicros: of('nodeMicros'), databaseMicros: of('databaseMicros') },
    ...{ reads: of('reads'), writes: of('writes'), walBytes: of('walBytes'), latencyMs: of('latencyMs') },
  }
}

async function addFile(): Promise<string> {
  const config = toConfig({ ...process.env, CARREL_DATA: folder })
  const path = join(folder, 'source')
  writeFileSync(path, Buffer.alloc(fileSize, 'a letter '))
  const content = await createFileStore(folderOf(config.files)).keep(path)
  const storage = await openStore(config, { create: true })
  const item = { identifier: 'bench', metadata: {}, collections: [], fingerprint: '' }
  const shown = {
    bundle: 'ORIGINAL',
    name: 'a.txt',
    description: null,
    mimeType: 'text/plain',
    readers: null,
  }
  await storage.repository.putItems(
    [{ ...item, readers: [{ reader: 'eperson' }], bitstreams: [{ ...shown, ...content }] }],
    commandEvent('item.add'),
    [],
  )
  await storage.close()
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  const { rows } = await client.query<{ uuid: string }>('SELECT uuid FROM carrel.bitstream')
  await client.end()
  return rows[0]?.uuid ?? ''
}
