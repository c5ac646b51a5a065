import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { startPostgres } from '../test/support/service/postgres-server.ts'
import { catalogue, catalogued } from './support/catalogue.ts'
import { scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { carrel, serverTime, startCarrel, threadsTime } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'

/**
 * Saves a cell in place, as a curator does: a `PATCH` of one field with the tag that was read before, one after
 * another, in an entity whose fields are all declared. The ratio is to a bare `UPDATE` of the same record, durable,
 * by a statement that is prepared; both take turns. `BENCH_POSTGRES=1` uses PostgreSQL. `BENCH_PLAIN=1` declares nothing.
 */
const records = Number(process.env.BENCH_RECORDS ?? 70_000)
const rounds = Number(process.env.BENCH_ROUNDS ?? 15)
/** Number of saves in a turn. */
const saves = Number(process.env.BENCH_SAVES ?? 100)

const server = process.env.BENCH_POSTGRES
  ? await startPostgres({ flags: ['shared_buffers=512MB', 'max_wal_size=8GB'] })
  : undefined
if (server) process.env.CARREL_DATABASE_URL = server.url
const folder = scratch()
addPerson(folder, true)
carrel(folder, [
  ...['import', await catalogue(records), '--entity', 'catalogue', '--key', 'id', '--read', 'anonymous'],
])
carrel(folder, ['entity', 'writers', 'catalogue', 'eperson'])
const fields = Object.keys(catalogued(0, records)).filter(name => name !== 'id')
if (!process.env.BENCH_PLAIN)
  for (const name of fields)
    carrel(folder, [
      ...['entity', 'field', 'catalogue', name, '--label', `The ${name}`],
      ...['--help-text', `What readers see beside the ${name} of an object, in a sentence or two.`],
    ])
const service = await startCarrel(folder)
const { token } = await logIn(service.address)
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/merge-patch+json' }
const tags = new Map<number, string>()
let n = 0

async function save(): Promise<void> {
  const id = (++n * 7_919) % records
  const address = `${service.address}/api/query/v4/catalogue/${id}`
  if (!tags.has(id)) tags.set(id, (await fetch(address)).headers.get('etag') ?? '')
  const begun = performance.now()
  const response = await fetch(address, {
    method: 'PATCH',
    headers: { ...headers, 'if-match': tags.get(id) ?? '' },
    body: JSON.stringify({ title: `Saved ${n}` }),
  })
  await response.text()
  if (response.status !== 200) throw new Error(`${response.status}`)
  tags.set(id, response.headers.get('etag') ?? '')
  carrelTimes.push(performance.now() - begun)
}

const rows = Array.from({ length: records }, (_, at) => JSON.stringify(catalogued(at, records)))
const bare = server ? await barePostgres(server.url) : bareSqlite()
const carrelTimes: number[] = []
const bareTimes: number[] = []
const ratios: number[] = []
const used: number[] = []
const processorTime = () => threadsTime(service.pid) + (server ? serverTime(server.folder) : 0)
for (let round = -1; round < rounds; round++) {
  carrelTimes.length = 0
  bareTimes.length = 0
  const before = processorTime()
  for (let at = 0; at < saves; at++) await save()
  const took = processorTime() - before
  for (let at = 0; at < saves; at++) {
    const id = (++n * 7_919) % records
    const json = JSON.stringify({ ...catalogued(id, records), title: `Saved ${n}` })
    const begun = performance.now()
    await bare(id, json)
    bareTimes.push(performance.now() - begun)
  }
  // The first turn warms up.
  if (round < 0) continue
  ratios.push(median(carrelTimes) / median(bareTimes))
  used.push((took / saves) * 1e6)
  console.log(`saved in ${median(carrelTimes).toFixed(2)} ms, bare ${median(bareTimes).toFixed(2)} ms`)
}
const from = (list: readonly number[], digits: number) =>
  `${median([...list]).toFixed(digits)} (${Math.min(...list).toFixed(digits)}–${Math.max(...list).toFixed(digits)})`
console.log(
  `${server ? 'PostgreSQL' : 'SQLite'}, ${records} records: a save takes ${from(ratios, 1)} times as long as a bare UPDATE, ` +
    `and ${from(used, 0)} µs of processor time, that of its first reading included`,
)
await service.stop()
await server?.stop()
process.exit()

function bareSqlite(): (id: number, json: string) => void {
  const db = new DatabaseSync(join(folder, 'bare.db'))
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE bare (id INTEGER PRIMARY KEY, json TEXT); BEGIN',
  )
  const insert = db.prepare('INSERT INTO bare VALUES (?, ?)')
  for (const [id, json] of rows.entries()) insert.run(id, json)
  db.exec('COMMIT')
  const update = db.prepare('UPDATE bare SET json = ? WHERE id = ?')
  return (id, json) => void update.run(json, id)
}

async function barePostgres(url: string): Promise<(id: number, json: string) => Promise<void>> {
  const db = new pg.Client({ connectionString: url })
  // The server is stopped while the connection is open.
  db.on('error', () => {})
  await db.connect()
  await db.query('CREATE TABLE public.bare (id integer PRIMARY KEY, json text)')
  await db.query(
    'INSERT INTO public.bare SELECT n - 1, json FROM unnest($1::text[]) WITH ORDINALITY AS t (json, n)',
    [rows],
  )
  return async (id, json) => {
    await db.query({
      name: 'update',
      text: 'UPDATE public.bare SET json = $1 WHERE id = $2',
      values: [json, id],
    })
  }
}
