import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { carrel, startCarrel } from './support/processes.ts'

/**
 * Imports generated records of six fields, ten million unless BENCH_RECORDS says otherwise, and asks questions
 * about them: each one first in a process that has just started, then again, and then with other values.
 * BENCH_DATA is a data folder that already has them. Beside each time is the processor time of the service, the
 * bytes that it read, and at the end its memory. DUCKDB is a folder in which `npm install @duckdb/node-api` was run: then DuckDB answers
 * the same questions in turn, each in a process of its own, from a table that is made once. Arguments choose
 * questions by parts of their names.
 */
const records = Number(process.env.BENCH_RECORDS ?? 10_000_000)
const rounds = Number(process.env.BENCH_ROUNDS ?? 3)

/** A generator of numbers that are the same in every run (mulberry32). */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b_79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const syllables = 'ba ce di fo gu ha ki lo ma ne pi ra se tu va xo ya zé'.split(' ')
const wordOf = (n: number): string => {
  let word = n === 7 ? 'sea' : ''
  for (let rest = n; word === '' || rest > 0; rest = Math.floor(rest / syllables.length))
    word += syllables[rest % syllables.length]
  return word
}

async function writeRecords(path: string): Promise<void> {
  const random = generator(1)
  const below = (end: number) => Math.floor(random() * end)
  const words = Array.from({ length: 20_000 }, (_, n) => wordOf(n))
  const file = createWriteStream(path)
  let lines = ''
  for (let n = 0; n < records; n++) {
    const title = Array.from({ length: 3 + below(4) }, () => words[below(words.length)]).join(' ')
    lines += `${JSON.stringify({
      id: Math.imul(n, 2_654_435_761) >>> 0,
      title,
      maker: `Maker ${below(300)}`,
      year: below(20) === 0 ? null : 1_500 + below(526),
      price: below(100_000_000) / 100,
      changed: new Date(1.6e12 + below(1e9) * 100).toISOString().replace('.000Z', 'Z'),
    })}\n`
    if (lines.length < 1_000_000) continue
    if (!file.write(lines)) await once(file, 'drain')
    lines = ''
  }
  file.end(lines)
  await once(file, 'finish')
}

/** Texts that are asked one after the other. */
type Question = (round: number, ids: readonly string[]) => string | readonly string[]

/** Columns and clauses of five facets: the most frequent values of two fields and of their pairs, a range, and months. */
const facets = [
  ['maker, count()', 'group by maker order by count desc limit 10'],
  ['year, count()', 'group by year order by count desc limit 10'],
  ['maker, year, count()', 'group by maker, year order by count desc limit 10'],
  ['min(price), max(price), avg(price), count(price)', ''],
  ['to_string(changed, "YYYY-MM"), count()', 'group by to_string(changed, "YYYY-MM")'],
] as const

const questions: Readonly<Record<string, Question>> = {
  'record by key': (round, ids) => `works { id = ${ids[round]} }`,
  'filter on two fields': round =>
    `works { maker = "Maker ${17 + round}" and year > ${1_900 + round} order by id limit 10 }`,
  'count by 300 values under a filter': round =>
    `works[maker, count()] { year > ${1_900 + round} group by maker }`,
  'avg(price) by 300 values': round => `works[maker, avg(price)] { year > ${1_000 + round} group by maker }`,
  'avg(price) by 300 values, all records': () => 'works[maker, avg(price)] { group by maker }',
  'match of a beginning': round => `works { title match "${['se', 'dix', 'lopi', 'vat'][round]}*" limit 10 }`,
  'match of a word': round => `works { title match "${wordOf(7_000 + round)}" limit 10 }`,
  '~ of a word in titles': round => `works { title ~ "^${wordOf(5_000 + round)} " limit 10 }`,
  '~ with a class': round => `works { title ~ "[xyz]o${'abcd'[round]}?.*ki$" limit 10 }`,
  'comparison that finds few': round => `works { price > ${999_990 - round} limit 10 }`,
  'five facets under a filter': round =>
    facets.map(
      ([columns, rest]) =>
        `works[${columns}] { year > ${1_900 + round} and price < ${500_000 + round} ${rest} }`,
    ),
}

/** The statements of DuckDB for the questions. A page also has the number of all rows. */
const page = (where: string, order = '') => [
  `SELECT count(*) FROM works WHERE ${where}`,
  `SELECT * FROM works WHERE ${where} ${order} LIMIT 10`,
]
const duckdbMonth = "strftime(changed, '%Y-%m')"
const statements: Readonly<Record<string, (round: number, ids: readonly string[]) => readonly string[]>> = {
  'record by key': (round, ids) => [`SELECT * FROM works WHERE id = ${ids[round]}`],
  'filter on two fields': round =>
    page(`maker = 'Maker ${17 + round}' AND year > ${1_900 + round}`, 'ORDER BY id'),
  'count by 300 values under a filter': round => [
    `SELECT maker, count(*) FROM works WHERE year > ${1_900 + round} GROUP BY maker ORDER BY maker`,
  ],
  'avg(price) by 300 values': round => [
    `SELECT maker, avg(price) FROM works WHERE year > ${1_000 + round} GROUP BY maker ORDER BY maker`,
  ],
  'avg(price) by 300 values, all records': () => [
    'SELECT maker, avg(price) FROM works GROUP BY maker ORDER BY maker',
  ],
  'match of a beginning': round =>
    page(`regexp_matches(title, '(^| )${['se', 'dix', 'lopi', 'vat'][round]}')`),
  'match of a word': round => page(`regexp_matches(title, '(^| )${wordOf(7_000 + round)}( |$)')`),
  '~ of a word in titles': round => page(`regexp_matches(title, '^${wordOf(5_000 + round)} ')`),
  '~ with a class': round => page(`regexp_matches(title, '[xyz]o${'abcd'[round]}?.*ki$')`),
  'comparison that finds few': round => page(`price > ${999_990 - round}`),
  'five facets under a filter': round =>
    facets.map(
      ([columns, rest]) =>
        `SELECT ${columns.replace('count()', 'count(*) AS count').replace(/to_string.*?\)/, duckdbMonth)} FROM works WHERE year > ${1_900 + round} AND price < ${500_000 + round} ${rest.replace(/to_string.*?\)/, duckdbMonth)}`,
    ),
}

const folder = process.env.BENCH_DATA ?? scratch()
const file = join(folder, 'works.ndjson')
if (!process.env.BENCH_DATA) {
  await writeRecords(file)
  const begun = performance.now()
  carrel(folder, ['import', file, '--entity', 'works', '--key', 'id', '--read', 'anonymous'])
  const seconds = (performance.now() - begun) / 1_000
  console.log(`import: ${seconds.toFixed(1)} s, ${Math.round(records / seconds).toLocaleString('en')}/s`)
}

/** Processor time of a process in ms (proc(5), fields 14 and 15 of `stat`, in hundredths of a second). */
function processorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
  return 10 * (Number(fields[11]) + Number(fields[12]))
}
/** Bytes that a process has read, from disk or from the cache of the system (proc(5), `rchar` of `io`). */
const bytesRead = (pid: number): number =>
  Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1])
const memoryOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1_024

/** Asks DuckDB in a new process. @returns ms of the first question, the same again, and other values */
function askDuckdb(name: string, ids: readonly string[]): readonly number[] {
  const asked = [0, 0, 1, 2, 3].map(round => statements[name]?.(round, ids) ?? [])
  const script = fileURLToPath(new URL('support/duckdb.ts', import.meta.url))
  const input = JSON.stringify({ file, database: join(folder, 'works.duckdb'), asked })
  const output = execFileSync(process.execPath, [script], { input, encoding: 'utf8' })
  return JSON.parse(output) as number[]
}

const figure = (value: number): string => value.toFixed(value < 10 ? 1 : 0)

const chosen = process.argv.slice(2)
for (const [name, query] of Object.entries(questions)) {
  if (chosen.length > 0 && !chosen.some(part => name.includes(part))) continue
  const first: number[] = []
  const work: number[] = []
  const read: number[] = []
  const same: number[] = []
  const other: number[] = []
  const duckdb: (readonly number[])[] = []
  let memory = 0
  for (let round = 0; round < rounds; round++) {
    const service = await startCarrel(folder, { CARREL_WORKERS: process.env.BENCH_WORKERS ?? '1' })
    const ask = async (texts: string | readonly string[]) => {
      const begun = performance.now()
      for (const text of [texts].flat()) {
        const response = await fetch(`${service.address}/api/query/v4?query=${encodeURIComponent(text)}`)
        const body = await response.text()
        if (response.status !== 200) throw new Error(`${response.status} for ${text}: ${body}`)
      }
      return performance.now() - begun
    }
    const ids: string[] = []
    for (const offset of [0.31, 0.52, 0.73, 0.94].map(share => Math.floor(share * records))) {
      const page = await fetch(`${service.address}/api/query/v4/works?offset=${offset}&limit=1`)
      ids.push(JSON.stringify(((await page.json()) as { id: unknown }[])[0]?.id))
    }
    // A service that has just started collects garbage after a second.
    await delay(2_000)
    const [before, readBefore] = [processorTime(service.pid), bytesRead(service.pid)]
    first.push(await ask(query(0, ids)))
    work.push(processorTime(service.pid) - before)
    read.push((bytesRead(service.pid) - readBefore) / 1e6)
    same.push(await ask(query(0, ids)))
    for (const next of [1, 2, 3]) other.push(await ask(query(next, ids)))
    memory = Math.max(memory, memoryOf(service.pid))
    await service.stop()
    if (process.env.DUCKDB) duckdb.push(askDuckdb(name, ids))
  }
  console.log(
    `${name}: first ${figure(median(first))} ms (processor ${figure(median(work))}, ${figure(median(read))} MB read), again ${figure(median(same))} ms, other values ${figure(median(other))} ms; ${Math.round(memory)} MB`,
  )
  if (duckdb.length === 0) continue
  const of = (places: readonly number[]) =>
    figure(median(duckdb.flatMap(times => places.map(place => times[place] as number))))
  console.log(`  DuckDB: first ${of([0])} ms, again ${of([1])} ms, other values ${of([2, 3, 4])} ms`)
}
