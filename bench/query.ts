import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../src/cli/store.ts'
import { toConfig } from '../src/config/config.ts'
import { nobody } from '../src/lib/fair-queue.ts'
import type { Page } from '../src/model/entities.ts'
import type { Aggregate, Condition, Constant, FieldRef, Plan, Rows, Scalar } from '../src/model/plan.ts'
import { startPostgres } from '../test/support/service/postgres-server.ts'
import { catalogue } from './support/catalogue.ts'
import { compare } from './support/compare.ts'
import { scratch } from './support/folder.ts'
import { head, median, quantile, run } from './support/load.ts'
import { carrel, startCarrel } from './support/processes.ts'
import { type Baseline, postgresBaseline, sqliteBaseline, type Table } from './support/query-baselines.ts'
import { addPerson, logIn } from './support/session.ts'

/**
 * Queries 1,000,000 imported records of eight fields, for page and total. The same questions go to SQLite and
 * to PostgreSQL 18 with an index on each field, by prepared statements, and Carrel is compared with the
 * faster of the two. Each round asks for different values.
 */
const records = Number(process.env.BENCH_RECORDS ?? 1_000_000)
const keys = records / 10
const rounds = 9

const folder = scratch()
const file = await catalogue(records)
const loans = join(folder, 'loans.ndjson')
writeFileSync(
  loans,
  Array.from({ length: keys }, (_, n) => `{"id":${n},"work":${n * 10},"days":${n % 1_000}}\n`).join(''),
)
addPerson(folder)
process.env.CARREL_CACHE_SIZE = '1000'
carrel(folder, ['import', file, '--entity', 'catalogue', '--key', 'id', '--read', 'anonymous'])
carrel(folder, ['import', loans, '--entity', 'loans', '--key', 'id', '--read', 'anonymous'])

const tables: readonly Table[] = [
  {
    name: 'catalogue',
    file,
    columns: [
      ['id', 'bigint'],
      ['code', 'text'],
      ['title', 'text'],
      ['artist', 'text'],
      ['year', 'bigint'],
      ['weight', 'double precision'],
      ['state', 'text'],
      ['changed', 'text'],
    ],
  },
  {
    name: 'loans',
    file: loans,
    columns: [
      ['id', 'bigint'],
      ['work', 'bigint'],
      ['days', 'bigint'],
    ],
  },
]
const server = await startPostgres({ flags: ['shared_buffers=1GB', 'work_mem=64MB', 'max_wal_size=8GB'] })
const baselines = [
  await sqliteBaseline(join(folder, 'baseline.db'), tables, [
    'CREATE VIRTUAL TABLE words USING fts5(title, content=catalogue, content_rowid=id)',
    "INSERT INTO words(words) VALUES ('rebuild')",
  ]),
  await postgresBaseline(server.url, tables, [
    "CREATE INDEX catalogue_words ON catalogue USING gin (to_tsvector('simple', title))",
  ]),
]

const storage = await openStore(toConfig({ CARREL_DATA: folder, CARREL_CACHE_SIZE: '1000' }), {
  create: false,
})
const entities = await storage.entities.all()

const field = (name: string, type: FieldRef['type']): FieldRef => ({ name, path: [], type })
const [id, code, title, artist, year, weight, state] = [
  field('id', 'integer'),
  field('code', 'text'),
  field('title', 'text'),
  field('artist', 'text'),
  field('year', 'integer'),
  field('weight', 'number'),
  field('state', 'text'),
]
const constant = (value: number | string): Constant =>
  typeof value === 'number' ? { kind: 'number', text: String(value) } : { kind: 'text', text: value }
const is = (
  of: FieldRef,
  operator: Extract<Condition, { kind: 'compare' }>['operator'],
  value: number | string,
): Condition => ({ kind: 'compare', field: of, operator, value: constant(value), negated: false })
const among = (of: FieldRef, values: readonly (number | string)[]): Condition => ({
  kind: 'in',
  field: of,
  values: values.map(constant),
  negated: false,
})
const matches = (of: FieldRef, expression: string): Condition => ({
  kind: 'matches',
  field: of,
  expression,
  negated: false,
})
const page: Page = { order: [], offset: 0, limit: 10, total: true }
function planOf(name: string, where: Condition | null, shape: Plan['shape'] = { kind: 'records' }): Plan {
  const entity = entities.get(name)
  if (!entity) throw new Error(`there is no ${name}`)
  return { entity, where, shape, page: shape.kind === 'rows' ? { ...page, limit: null } : page }
}
function groupsOf(groups: readonly FieldRef[], name: Aggregate['name'], of: FieldRef | null): Rows {
  const scalars = groups.map((one): Scalar => ({ kind: 'field', field: one }))
  return {
    kind: 'rows',
    columns: [
      ...scalars.map((value, at) => ({ name: groups[at]?.name ?? '', value, type: 'text' as const })),
      { name, value: { kind: 'aggregate', name, field: of }, type: 'number' },
    ],
    groups: scalars,
    having: null,
    distinct: false,
    order: [],
  }
}
const fieldsOf = (...fields: readonly FieldRef[]): Rows => ({
  kind: 'rows',
  columns: fields.map(one => ({ name: one.name, value: { kind: 'field', field: one }, type: one.type })),
  groups: null,
  having: null,
  distinct: false,
  order: [],
})

interface Question {
  readonly name: string
  readonly bar: number
  plan(round: number): Plan
  /** A condition in `where`, or complete statements in `whole`. */
  sql(
    round: number,
    engine: Baseline['name'],
  ): {
    readonly where?: string
    readonly whole?: string
    readonly values: readonly (number | string)[]
  }
}

const hundred = (make: (n: number) => number | string) => Array.from({ length: 100 }, (_, n) => make(n))
const marks = hundred(() => '?').join()

const questions: readonly Question[] = [
  {
    name: 'comparison, 70 % of the records',
    bar: 0.5,
    plan: n => planOf('catalogue', is(year, '>', 1600 + n)),
    sql: n => ({ where: 'year > ?', values: [1600 + n] }),
  },
  {
    name: 'comparison, 200 records',
    bar: 2,
    plan: n => planOf('catalogue', is(artist, '=', `Artist ${37 * n}`)),
    sql: n => ({ where: 'artist = ?', values: [`Artist ${37 * n}`] }),
  },
  {
    name: 'in of 100, 2 % of the records',
    bar: 0.5,
    plan: n =>
      planOf(
        'catalogue',
        among(
          artist,
          hundred(one => `Artist ${one * 40 + n}`),
        ),
      ),
    sql: n => ({ where: `artist IN (${marks})`, values: hundred(one => `Artist ${one * 40 + n}`) }),
  },
  {
    name: 'in of 100, 100 records',
    bar: 2,
    plan: n =>
      planOf(
        'catalogue',
        among(
          id,
          hundred(one => one * 77 + n),
        ),
      ),
    sql: n => ({ where: `id IN (${marks})`, values: hundred(one => one * 77 + n) }),
  },
  {
    name: 'three of them with and/or, 40 %',
    bar: 0.5,
    plan: n =>
      planOf('catalogue', {
        kind: 'and',
        of: [is(year, '>', 1600 + n), { kind: 'or', of: [is(weight, '<', 500 + n), is(state, '=', 'lent')] }],
      }),
    sql: n => ({
      where: 'year > ? AND (weight < ? OR state = ?)',
      values: [1600 + n, 500 + n, 'lent'],
    }),
  },
  {
    name: '~ over 250,000 distinct texts',
    bar: 1,
    plan: n => planOf('catalogue', matches(title, `w [0-9]*${n}1 .* 7`)),
    sql: n => ({ where: 'title REGEXP ?', values: [`w [0-9]*${n}1 .* 7`] }),
  },
  {
    name: '~ over 1,000,000 distinct texts',
    bar: 1,
    plan: n => planOf('catalogue', matches(code, `^C[01].*${n}[a-f]+$`)),
    sql: n => ({ where: 'code REGEXP ?', values: [`^C[01].*${n}[a-f]+$`] }),
  },
  {
    name: 'match of two words',
    bar: 1,
    plan: n =>
      planOf('catalogue', {
        kind: 'text',
        fields: [title],
        words: [String(100 + n), 'framed'].map(word => ({ words: [word], prefix: false })),
        negated: false,
      }),
    sql: (n, engine) =>
      engine === 'SQLite'
        ? { where: 'id IN (SELECT rowid FROM words WHERE words MATCH ?)', values: [`${100 + n} framed`] }
        : {
            where: "to_tsvector('simple', title) @@ to_tsquery('simple', ?)",
            values: [`${100 + n} & framed`],
          },
  },
  {
    name: 'count by a field of 480 values',
    bar: 0.2,
    plan: n => planOf('catalogue', is(weight, '>=', n / 100), groupsOf([year], 'count', null)),
    sql: n => ({
      whole: 'SELECT year, count(*) FROM catalogue WHERE weight >= ? GROUP BY year ORDER BY year',
      values: [n / 100],
    }),
  },
  {
    name: 'count by two fields',
    bar: 0.2,
    plan: n => planOf('catalogue', is(weight, '>=', n / 100), groupsOf([state, year], 'count', null)),
    sql: n => ({
      whole:
        'SELECT state, year, count(*) FROM catalogue WHERE weight >= ? GROUP BY state, year ORDER BY state, year',
      values: [n / 100],
    }),
  },
  {
    name: 'avg by group',
    bar: 0.2,
    plan: n => planOf('catalogue', is(weight, '>=', n / 100), groupsOf([artist], 'avg', year)),
    sql: n => ({
      whole: 'SELECT artist, avg(year) FROM catalogue WHERE weight >= ? GROUP BY artist ORDER BY artist',
      values: [n / 100],
    }),
  },
  {
    name: `in a subquery of ${keys.toLocaleString('en')} keys`,
    bar: 0.5,
    plan: n =>
      planOf('catalogue', {
        kind: 'in plan',
        fields: [id],
        negated: false,
        plan: {
          ...planOf('loans', is(field('days', 'integer'), '>=', n), fieldsOf(field('work', 'integer'))),
          page: { ...page, limit: null, total: false },
        },
      }),
    sql: n => ({ where: 'id IN (SELECT work FROM loans WHERE days >= ?)', values: [n] }),
  },
]

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  await work()
  return performance.now() - begin
}

const askCarrel = async (plan: Plan) => {
  const { body } = await storage.entities.list(plan, { kind: 'administrator' }, 'json', nobody)
  if (!(body instanceof Uint8Array)) for await (const _ of body);
}

async function askBaseline(baseline: Baseline, { where, whole, values }: ReturnType<Question['sql']>) {
  if (whole !== undefined) return baseline.ask(whole, values)
  await baseline.ask(`SELECT count(*) FROM catalogue WHERE ${where}`, values)
  return baseline.ask(`SELECT json FROM catalogue WHERE ${where} ORDER BY id LIMIT 10`, values)
}

for (const { name, bar, plan, sql } of questions) {
  const first = await timed(() => askCarrel(plan(0)))
  // JavaScript is compiled while it runs, so the first rounds are not counted.
  for (let round = 1; round <= 5; round++) await askCarrel(plan(rounds + round))
  for (const baseline of baselines) await askBaseline(baseline, sql(0, baseline.name))
  const times: number[][] = [[], [], []]
  for (let round = 1; round <= rounds; round++) {
    times[0]?.push(await timed(() => askCarrel(plan(round))))
    for (const [at, baseline] of baselines.entries())
      times[at + 1]?.push(await timed(() => askBaseline(baseline, sql(round, baseline.name))))
  }
  const [ours = 0, ...theirs] = times.map(median)
  const best = Math.min(...theirs)
  console.log(
    `${name}: ${(ours / best).toFixed(2)} of best (bar ${bar}); ${ours.toFixed(2)} ms, ` +
      `${baselines.map((one, at) => `${one.name} ${theirs[at]?.toFixed(2)}`).join(', ')}; the first time ${first.toFixed(0)} ms`,
  )
}
for (const baseline of baselines) await baseline.close()
await storage.close()
await server.remove()

const service = await startCarrel(folder, { CARREL_CACHE_SIZE: '1000' })
const { token, cookie } = await logIn(service.address)
const random = (below: number) => Math.floor(Math.random() * below)
const get = (target: string) => head('GET', `/api/query/v4/${target}`, { Cookie: cookie })
await compare({
  name: 'one record by key (bar 0.35)',
  service,
  next: () => get(`catalogue/${random(records)}`),
})

const filter = encodeURIComponent('[">","year",1800]')
const plain = () => get(`catalogue?limit=10&offset=${random(keys)}&include_total=true`)
const filtered = () => get(`catalogue?query=${filter}&limit=10&offset=${random(keys)}&include_total=true`)
const ratios: number[] = []
for (let round = 0; round < 6; round++) {
  const [one, other] = [
    await run({ address: service.address, seconds: 2, next: plain }),
    await run({ address: service.address, seconds: 2, next: filtered }),
  ]
  // The first request creates the filter.
  if (round > 0) ratios.push(other.perSecond / one.perSecond)
}
console.log(`page under a filter asked before: ${median(ratios).toFixed(2)} of the plain page (bar 0.90)`)

const status = head('GET', '/api/authn/status', { Authorization: `Bearer ${token}`, Cookie: cookie })
const latency = async () =>
  quantile(
    (await run({ address: service.address, connections: 4, seconds: 4, next: () => status })).latencies,
    0.99,
  )
// The first search reads the values of the field, which is done only once.
const firstQuery = encodeURIComponent('["~","code","^C"]')
await (await fetch(`${service.address}/api/query/v4/catalogue?query=${firstQuery}&limit=10`)).text()
const alone = await latency()
let isOver = false
let asked = 0
const asking = (async () => {
  while (!isOver) {
    const query = encodeURIComponent(`["~","code","^C[01].*${asked++}[a-f]+$"]`)
    await (await fetch(`${service.address}/api/query/v4/catalogue?query=${query}&limit=10`)).text()
  }
})()
const together = await latency()
isOver = true
await asking
console.log(
  `status while ~ runs over ${records.toLocaleString('en')} texts: p99 ${together.toFixed(1)} ms, ${(together / alone).toFixed(1)} of its own (bar 2); ${asked} queries meanwhile`,
)
await service.stop()
