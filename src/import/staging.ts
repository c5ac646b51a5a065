import { rmSync } from 'node:fs'
import { exactText } from '../json.ts'
import { type Database, openDatabase, type Value } from '../storage/sqlite/open.ts'
import type { Field } from '../storage/storage.ts'
import type { ReadRecord } from './json-lines.ts'
import { ImportError } from './source.ts'
import { type FieldStatistics, fieldOf, instant, kindOf } from './types.ts'

/**
 * Where records wait until all of them are read: a throw-away SQLite file with a column for each field, because only
 * then are types and orders known. SQLite sorts what is larger than memory, and compares text by code point (Q6).
 * Nothing here is the storage engine's: it works out numbers and ranks for whichever engine takes the records.
 */
export interface Staging {
  add(records: readonly ReadRecord[]): void
  /** Fields that should be there even if no record has them. */
  declare(names: readonly string[]): void
  /**
   * All records are in: numbers them in the order of the key.
   * @throws ImportError when the key is missing, null, of a wrong type or not unique
   */
  finish(key: string): Staged
  close(): void
}

export interface Staged {
  readonly count: number
  readonly fields: readonly Field[]
  /** Per field, in how many records it is null or missing. */
  readonly nulls: readonly number[]
  records(): Iterable<string>
  ranks(field: number): Uint32Array
}

/** SQLite's own limit is 2,000 columns; two are ours. */
const mostFields = 1_900

export function createStaging(file: string): Staging {
  rmSync(file, { force: true })
  const db = openDatabase(file, { mode: 'write', cache: 32_000 })
  db.exec(
    'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = FILE',
  )
  db.exec('CREATE TABLE staged (at INTEGER PRIMARY KEY, line INTEGER NOT NULL, json TEXT NOT NULL)')
  db.exec('BEGIN')
  const statistics: FieldStatistics[] = []
  const places = new Map<string, number>()
  let count = 0
  let insert = insertStatement(db, 0)
  // The one order that SQLite has no words for.
  db.define('instant', text => (text === null ? null : instant(String(text))))

  function placeOf(name: string, line: number): number {
    const known = places.get(name)
    if (known !== undefined) return known
    const place = statistics.length
    if (place === mostFields) throw new ImportError(`line ${line}: more than ${mostFields} different fields`)
    // The records before this one don't have it.
    statistics.push({ name, kinds: new Set(), nulls: count })
    places.set(name, place)
    db.exec(`ALTER TABLE staged ADD COLUMN c${place}`)
    insert = insertStatement(db, statistics.length)
    return place
  }

  function addOne({ line, record }: ReadRecord): void {
    const values: Value[] = new Array(statistics.length).fill(null)
    for (const name in record) {
      const place = placeOf(name, line)
      const value = record[name]
      const kind = kindOf(value)
      if (kind === undefined) continue
      statistics[place]?.kinds.add(kind)
      values[place] = sortable(value)
    }
    for (const [place, field] of statistics.entries()) if ((values[place] ?? null) === null) field.nulls++
    for (let place = values.length; place < statistics.length; place++) values[place] = null
    insert.run(count, line, JSON.stringify(record), ...values)
    count++
  }

  return {
    add: records => {
      for (const record of records) addOne(record)
    },
    declare: names => {
      for (const name of names) placeOf(name, 1)
    },
    finish: key => {
      const fields = statistics.map(fieldOf)
      const keyPlace = checkKey(db, key, fields, places)
      const numbers = new Uint32Array(count)
      const keyOrder = sortExpression(fields[keyPlace] as Field, keyPlace)
      let number = 0
      for (const [at] of db.iterate(`SELECT at FROM staged ORDER BY ${keyOrder}`))
        numbers[at as number] = number++
      return {
        count,
        fields,
        nulls: statistics.map(field => field.nulls),
        records: function* () {
          for (const [json] of db.iterate(`SELECT json FROM staged ORDER BY ${keyOrder}`))
            yield json as string
        },
        ranks: place => {
          // The key has no equals: its ranks are the numbers.
          if (place === keyPlace) return numbers.map((_, n) => n)
          return ranksOf(db, sortExpression(fields[place] as Field, place), numbers)
        },
      }
    },
    close: () => {
      db.close()
      rmSync(file, { force: true })
    },
  }

  function insertStatement(database: Database, columns: number) {
    return database.prepare(`INSERT INTO staged VALUES (?, ?, ?${', ?'.repeat(columns)})`)
  }
}

/** What the field is sorted by, as SQL. */
const sortExpression = (field: Field, place: number) =>
  field.type === 'date-time' ? `instant(c${place})` : `c${place}`

/**
 * A value as SQLite puts it in order (https://sqlite.org/datatype3.html#sort_order): numbers by value, then text by
 * code point, then blobs, which here are false and true and behind them what is nested, by its JSON text. So a field
 * with values of several kinds has an order too.
 */
function sortable(value: unknown): Value {
  if (typeof value === 'number' || typeof value === 'string') return value
  if (typeof value === 'boolean') return Uint8Array.of(value ? 1 : 0)
  const exact = exactText(value)
  if (exact === undefined) return Buffer.from(`\u0002${JSON.stringify(value)}`)
  const whole = /^-?\d{1,19}$/.test(exact) ? BigInt(exact) : undefined
  // Integers beyond 64 bits, and decimals beyond a double, sort as the nearest double.
  return whole !== undefined && BigInt.asIntN(64, whole) === whole ? whole : Number(exact)
}

function checkKey(
  db: Database,
  key: string,
  fields: readonly Field[],
  places: ReadonlyMap<string, number>,
): number {
  const place = places.get(key)
  const field = place === undefined ? undefined : fields[place]
  if (place === undefined || !field)
    throw new ImportError(
      `no record has the key field ${JSON.stringify(key)}; there are ${fields.map(one => one.name).join(', ') || 'no fields'}`,
    )
  const missing = db.get<{ line: number }>(
    `SELECT line FROM staged WHERE c${place} IS NULL ORDER BY at LIMIT 1`,
  )
  if (missing)
    throw new ImportError(`line ${missing.line}: the key field ${JSON.stringify(key)} is missing or null`)
  if (field.type === 'json' || field.type === 'boolean')
    throw new ImportError(
      `the field ${JSON.stringify(key)} can't be the key: its values are ${field.type}, not all numbers or all text`,
    )
  const double = db.get<{ first: number; second: number; value: unknown }>(
    `SELECT min(line) first, max(line) second, CAST(c${place} AS TEXT) value FROM staged
     GROUP BY ${field.type === 'date-time' ? `instant(c${place})` : `c${place}`} HAVING count(*) > 1 ORDER BY second LIMIT 1`,
  )
  if (double)
    throw new ImportError(
      `line ${double.second}: the key ${JSON.stringify(key)} has the value ${JSON.stringify(double.value)} of line ${double.first} again; a key is unique`,
    )
  return place
}

/** @param numbers of the records, by the order they came in */
function ranksOf(db: Database, expression: string, numbers: Uint32Array): Uint32Array {
  const ranks = new Uint32Array(numbers.length)
  let last = 0
  const nulls: number[] = []
  for (const [at, rank] of db.iterate(
    `SELECT at, iif(x IS NULL, 0, dense_rank() OVER (ORDER BY x NULLS LAST)) FROM (SELECT at, ${expression} x FROM staged)`,
  ) as IterableIterator<[number, number]>) {
    const number = numbers[at] as number
    if (rank === 0) nulls.push(number)
    else {
      ranks[number] = rank - 1
      last = rank
    }
  }
  for (const number of nulls) ranks[number] = last
  return ranks
}
