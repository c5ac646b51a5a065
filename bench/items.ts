import { loadavg } from 'node:os'
import { join } from 'node:path'
import { commandEvent, openStore } from '../src/cli/store.ts'
import { toConfig } from '../src/config/config.ts'
import { startPostgres } from '../test/support/service/postgres-server.ts'
import { scratch } from './support/folder.ts'
import { head, median, run } from './support/load.ts'
import {
  fewGroup,
  fillEmbedded,
  fillPostgres,
  groups,
  restrictEmbedded,
  restrictPostgres,
} from './support/many-items.ts'
import { carrel, memory, type Running, startCarrel } from './support/processes.ts'
import { logIn, password } from './support/session.ts'

/**
 * Pages of 10 of 1,000,000 items with mixed policies for a member of 20 groups, compared with the same pages for an
 * administrator, to whom policies don't apply; then for an eperson who may read only three items.
 */
const count = Number(process.env.BENCH_ITEMS ?? 1_000_000)
const rounds = 5
const seconds = Number(process.env.BENCH_SECONDS ?? 2)

const people = { administrator: 'admin@example.org', member: 'member@example.org', few: 'few@example.org' }
const orders = {
  key: '',
  'issued, descending': `order_by=${encodeURIComponent('[{"field":"issued","order":"desc"}]')}&`,
  title: `order_by=${encodeURIComponent('[{"field":"title"}]')}&`,
}
const random = (below: number) => Math.floor(Math.random() * below)
const pick = <T>(values: readonly T[]) => values[random(values.length)] as T

interface Engine {
  readonly name: string
  /** Adds the items to the store. */
  fill(): Promise<void> | void
  /** Restricts all but three items. */
  restrict(): Promise<void> | void
}

const folder = scratch()
const file = join(folder, 'carrel.db')
await measure(folder, {
  name: 'SQLite',
  fill: () => fillEmbedded(file, count),
  restrict: () => restrictEmbedded(file),
})
const server = await startPostgres({ flags: ['shared_buffers=512MB', 'max_wal_size=4GB'] })
process.env.CARREL_DATABASE_URL = server.url
await measure(scratch(), {
  name: 'PostgreSQL',
  fill: () => fillPostgres(server.url, count),
  restrict: () => restrictPostgres(server.url),
})
await server.remove()

async function measure(folder: string, { name, fill, restrict }: Engine): Promise<void> {
  await addPeople(folder)
  await fill()
  const service = await startCarrel(folder)
  const administrator = await headersOf(service, people.administrator)
  const member = await headersOf(service, people.member)
  const [all, some] = [await totalOf(service, administrator), await totalOf(service, member)]
  console.log(
    `${name}: ${all.toLocaleString('en')} items, ${some.toLocaleString('en')} for a member of 20 groups`,
  )
  const page = (headers: Headers, offsets: number, order?: string) => () =>
    head(
      'GET',
      `/api/query/v4/items?${order ?? pick(Object.values(orders))}limit=10&offset=${random(offsets)}`,
      headers,
    )
  for (const [by, order] of Object.entries(orders))
    await compare(
      `${name}, page of 10 by ${by}, member`,
      service,
      page(administrator, 101, order),
      page(member, 101, order),
    )
  await compare(
    `${name}, page of 10, mixed orders, member`,
    service,
    page(administrator, 101),
    page(member, 101),
  )
  console.log(`${name}: ${memory(service.pid).now.toFixed(0)} MB resident`)
  await service.stop()

  await restrict()
  const restricted = await startCarrel(folder)
  const few = await headersOf(restricted, people.few)
  const administratorOfFew = await headersOf(restricted, people.administrator)
  await compare(
    `${name}, page of 10, mixed orders, an eperson who sees ${await totalOf(restricted, few)} items`,
    restricted,
    page(administratorOfFew, 101),
    page(few, 3),
  )
  await restricted.stop()
}

type Headers = Readonly<Record<string, string>>

async function compare(
  name: string,
  { address }: Running,
  baseline: () => string,
  next: () => string,
): Promise<void> {
  for (const one of [baseline, next]) await run({ address, seconds: 1, next: one })
  const ratios: number[] = []
  const rates: number[] = []
  for (let round = 0; round < rounds; round++) {
    const all = await run({ address, seconds, next: baseline })
    const some = await run({ address, seconds, next })
    ratios.push(some.perSecond / all.perSecond)
    rates.push(some.perSecond)
  }
  console.log(
    `${name}: ${median(ratios).toFixed(2)} of the administrator's rate (${Math.round(median(rates))} per second, ` +
      `${rounds} rounds ${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}, load ${loadavg()[0]?.toFixed(1)})`,
  )
}

async function addPeople(folder: string): Promise<void> {
  for (const email of Object.values(people))
    carrel(
      folder,
      ['eperson', 'add', email, '--password-stdin', ...(email === people.administrator ? ['--admin'] : [])],
      password,
    )
  const storage = await openStore(toConfig({ ...process.env, CARREL_DATA: folder }), { create: true })
  const ofMember = groups.filter((_, n) => n % 10 === 0)
  await storage.people.ensureGroups([...ofMember, fewGroup])
  for (const group of ofMember) await storage.people.join(group, people.member, commandEvent('group.join'))
  await storage.people.join(fewGroup, people.few, commandEvent('group.join'))
  await storage.close()
}

async function headersOf({ address }: Running, email: string): Promise<Headers> {
  const { token, cookie } = await logIn(address, email)
  return { Authorization: `Bearer ${token}`, Cookie: cookie }
}

async function totalOf({ address }: Running, headers: Headers): Promise<number> {
  const response = await fetch(`${address}/api/query/v4/items?limit=1&include_total=true`, { headers })
  if (response.status !== 200) throw new Error(await response.text())
  return Number(response.headers.get('x-records'))
}
