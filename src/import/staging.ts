import { rmSync } from 'node:fs'
import { parseExact } from '../lib/json.ts'
import { type Database, openSqlite } from '../lib/sqlite.ts'
import type { Field } from '../model/entities.ts'
import { StoreUnavailable } from '../model/errors.ts'
import type { ReadRecord } from './json-lines.ts'
import { needsBytes, type SortKey, sortable, sortableBytes } from './sort-keys.ts'
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

function openStaging(file: string): Database {
  forget(file)
  const unavailable = (why: string, cause: unknown) => new StoreUnavailable(why, { cause })
  const db = openSqlite(file, { mode: 'write', cache: 32_000 }, unavailable)
  try {
    db.exec(
      'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = FILE',
    )
    db.exec('CREATE TABLE staged (at INTEGER PRIMARY KEY, line INTEGER NOT NULL, json TEXT NOT NULL)')
    db.exec('BEGIN')
    return db
  } catch (error) {
    db.close()
    throw error
  } finally {
    // Nobody else opens it: without a name it is gone with this process, however that ends.
    forget(file)
  }
}

/** Where an open file can't be removed, it is removed when it is closed. */
function forget(file: string): void {
  for (const name of [file, `${file}-journal`])
    try {
      rmSync(name, { force: true })
    } catch {}
}

/** SQLite's own limit is 2,000 columns; two are ours. */
const maxFields = 1_900

export function createStaging(file: string): Staging {
  const db = openStaging(file)
  const statistics: FieldStatistics[] = []
  const places = new Map<string, number>()
  let count = 0
  let insert = insertStatement(db, 0)
  // Orders that SQLite has no words for.
  db.define('instant', text => (text === null ? null : instant(String(text))))

  db.define('bytes', (json, place) => {
    const record = parseExact(String(json)) as Record<string, unknown>
    return sortableBytes(record[statistics[Number(place)]?.name ?? ''])
  })
  /** What a field is sorted by, as SQL. */
  function sortExpression({ type }: Field, place: number): string {
    if (statistics[place]?.needsBytes) return `iif(c${place} IS NULL, NULL, bytes(json, ${place}))`
    return type === 'date-time' ? `instant(c${place})` : `c${place}`
  }

  function placeOf(name: string, line: number): number {
    const known = places.get(name)
    if (known !== undefined) return known
    const place = statistics.length
    if (place === maxFields) throw new ImportError(`line ${line}: more than ${maxFields} different fields`)
    // The records before this one don't have it.
    statistics.push({ name, kinds: new Set(), nulls: count, needsBytes: false })
    places.set(name, place)
    db.exec(`ALTER TABLE staged ADD COLUMN c${place}`)
    insert = insertStatement(db, statistics.length)
    return place
  }

  function placeOfKey(key: string): number {
    const place = places.get(key)
    if (place !== undefined) return place
    const known = statistics.map(field => field.name).join(', ') || 'no fields'
    throw new ImportError(`no record has the key field ${JSON.stringify(key)}; there are ${known}`)
  }

  function addOne({ line, record }: ReadRecord): void {
    const values: SortKey[] = new Array(statistics.length).fill(null)
    for (const name in record) {
      const place = placeOf(name, line)
      const value = record[name]
      const kind = kindOf(value)
      if (kind === undefined) continue
      const field = statistics[place] as FieldStatistics
      field.kinds.add(kind)
      field.needsBytes ||= needsBytes(value)
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
      const keyPlace = placeOfKey(key)
      const numbers = new Uint32Array(count)
      const keyOrder = sortExpression(fields[keyPlace] as Field, keyPlace)
      checkKey(db, fields[keyPlace] as Field, keyPlace, keyOrder)
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
      forget(file)
    },
  }

  function insertStatement(database: Database, columns: number) {
    return database.prepare(`INSERT INTO staged VALUES (?, ?, ?${', ?'.repeat(columns)})`)
  }
}

/** @throws ImportError naming the line of a key that is null, there twice, or no key at all */
function checkKey(db: Database, { name, type }: Field, place: number, order: string): void {
  const missing = db.get<{ line: number }>(
    `SELECT line FROM staged WHERE c${place} IS NULL ORDER BY at LIMIT 1`,
  )
  if (missing)
    throw new ImportError(`line ${missing.line}: the key field ${JSON.stringify(name)} is missing or null`)
  if (type === 'json' || type === 'boolean')
    throw new ImportError(
      `the field ${JSON.stringify(name)} can't be the key: its values are ${type}, not all numbers or all text`,
    )
  const double = db.get<{ first: number; second: number; json: string }>(
    `SELECT d.*, s.json FROM (SELECT min(line) first, max(line) second FROM staged GROUP BY ${order}
     HAVING count(*) > 1 ORDER BY second LIMIT 1) d JOIN staged s ON s.line = d.second`,
  )
  if (!double) return
  const value = JSON.stringify((parseExact(double.json) as Record<string, unknown>)[name])
  throw new ImportError(
    `line ${double.second}: the key ${JSON.stringify(name)} has the value ${value} of line ${double.first} again; a key is unique`,
  )
}

/** @param numbers of the records, by the order they came in */
function ranksOf(db: Database, expression: string, numbers: Uint32Array): Uint32Array {
  const ranks = new Uint32Array(numbers.length).fill(noRank)
  let rank = -1
  let last: unknown
  // Comparing neighbours here takes half of the time of SQLite's dense_rank().
  for (const [at, value] of db.iterate(
    `SELECT at, x FROM (SELECT at, ${expression} x FROM staged) WHERE x IS NOT NULL ORDER BY x`,
  ) as IterableIterator<[number, unknown]>) {
    if (rank < 0 || !isSame(value, last)) rank++
    ranks[numbers[at] as number] = rank
    last = value
  }
  // Nulls come last.
  return ranks.map(known => (known === noRank ? rank + 1 : known))
}

/** A record that has none yet; there are fewer records than that. */
const noRank = 0xffff_ffff

const isSame = (one: unknown, other: unknown): boolean =>
  one === other ||
  (one instanceof Uint8Array && other instanceof Uint8Array && Buffer.compare(one, other) === 0)
