import { startPostgres } from '../test/support/service/postgres-server.ts'
import { catalogue } from './support/catalogue.ts'
import { scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { carrel, startCarrel } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'

/**
 * Undoes an import of 1,000,000 records, again and again: the time of the request, and until a reader has a page
 * of the restored records with their number, and a filter on them. `BENCH_POSTGRES=1` uses PostgreSQL.
 */
const records = Number(process.env.BENCH_RECORDS ?? 1_000_000)
const rounds = Number(process.env.BENCH_ROUNDS ?? 15)

const server = process.env.BENCH_POSTGRES
  ? await startPostgres({ flags: ['shared_buffers=512MB', 'max_wal_size=8GB'] })
  : undefined
if (server) process.env.CARREL_DATABASE_URL = server.url
const folder = scratch()
addPerson(folder, true)
for (const count of [records, records - 1])
  carrel(folder, [
    ...['import', await catalogue(count), '--entity', 'catalogue', '--key', 'id', '--read', 'anonymous'],
    ...['--replace'],
  ])
const service = await startCarrel(folder)
const { token, csrf, cookie } = await logIn(service.address)
const headers = { authorization: `Bearer ${token}`, 'x-xsrf-token': csrf, cookie }

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(service.address + path, init)
  if (response.status >= 300) throw new Error(await response.text())
  return response
}
const versions = '/api/admin/entities/catalogue/versions'
const list = '/api/query/v4/catalogue?limit=10&include_total=true'
const filter = encodeURIComponent('["and", ["=", "code", "C7"], [">", "weight", 1]]')

const [restores, pages, filters]: [number[], number[], number[]] = [[], [], []]
for (let round = 0; round < rounds; round++) {
  const kept = (await (await ask(versions, { headers })).json()) as {
    readonly _embedded: { readonly versions: readonly { readonly id: number; readonly records: number }[] }
  }
  const [version] = kept._embedded.versions
  const begun = performance.now()
  await ask(`${versions}/${version?.id}/restore`, { method: 'POST', headers })
  restores.push(performance.now() - begun)
  const page = await ask(list)
  await page.arrayBuffer()
  pages.push(performance.now() - begun)
  if (page.headers.get('x-records') !== String(version?.records)) throw new Error('other records were listed')
  await (await ask(`${list}&query=${filter}`)).arrayBuffer()
  filters.push(performance.now() - begun)
}
const said = (times: number[]) =>
  `${Math.round(median(times))} ms (at most ${Math.round(Math.max(...times))})`
console.log(
  `${server ? 'PostgreSQL' : 'SQLite'}, ${records} records: restored in ${said(restores)}, ` +
    `first page with the total ${said(pages)} after the click, filter on two fields ${said(filters)}`,
)
await service.stop()
await server?.stop?.()
process.exit(0)
