import { rmSync } from 'node:fs'
import { parseExact } from '../lib/json.ts'
import { type Database, openSqlite } from '../lib/sqlite.ts'
import type { Field, FieldType } from '../model/entities.ts'
import { StoreUnavailable } from '../model/errors.ts'
import { checkKey } from './check-key.ts'
import { collatedPlaces, noPlace } from './collation.ts'
import type { ReadRecord } from './json-lines.ts'
import { ranksOf } from './ranks.ts'
import { needsBytes, type SortKey, sortable, sortableBytes } from './sort-keys.ts'
import { ImportError } from './source.ts'
import { type FieldStatistics, fieldOf, fits, instant, kindOf, type Mix, mixOf, textForm } from './types.ts'

/**
 * Holds the records until all of them are read, because types and orders aren't known before. It is a temporary SQLite
 * file with a column for each field: SQLite can sort more than fits into memory, and compares text by code point (Q6). It is
 * not part of a storage engine; it computes record numbers and ranks for any of them.
 */
export interface Staging {
  /** @throws ImportError naming the line of a value that its field may not hold */
  add(records: readonly ReadRecord[]): void
  /** Adds fields that the entity has even if no record does. */
  declare(names: readonly string[]): void
  /**
   * Numbers the records in the order of the key, once all of them are added.
   * @throws ImportError if the key is missing, null, of a wrong type or not unique, or if a declaration doesn't fit
   */
  finish(key: readonly string[]): Staged
  close(): void
}

export interface Staged {
  readonly count: number
  readonly fields: readonly Field[]
  /** Per field. */
  readonly findings: readonly Findings[]
  records(): Iterable<string>
  ranks(field: number): Uint32Array
}

/** What an import reports of a field. */
export interface Findings {
  /** In how many records it is null or missing. */
  readonly nulls: number
  /** Why it is JSON, where its values have no type in common. */
  readonly mix?: Mix
}

/** What the operator declares, by the names of the fields. */
export interface Declarations {
  readonly types: ReadonlyMap<string, FieldType>
  readonly collations: ReadonlyMap<string, string>
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
    // A file without a name disappears with the process, however that ends.
    forget(file)
  }
}

/** Some systems can't remove an open file; there it is removed after it is closed. */
function forget(file: string): void {
  for (const name of [file, `${file}-journal`])
    try {
      rmSync(name, { force: true })
    } catch {}
}

/** SQLite's own limit is 2,000 columns, and the table has some besides those of the fields. */
const maxFields = 1_900
/** Names that a message lists. */
const maxNames = 50

export function createStaging(file: string, { types, collations }: Declarations): Staging {
  const db = openStaging(file)
  const statistics: FieldStatistics[] = []
  const places = new Map<string, number>()
  /** For fields with a collation: the place of each record's text, in the order of the file. */
  const collated = new Map<number, Uint32Array>()
  let count = 0
  let insert = insertStatement(0)
  // Orders that SQL alone can't express.
  db.define('instant', text => (text === null ? null : instant(String(text))))
  db.define('bytes', (json, place) => sortableBytes(sortedValue(String(json), Number(place))))
  db.define('collated', (place, at) => {
    const found = collated.get(Number(place))?.[Number(at)] ?? noPlace
    return found === noPlace ? null : found
  })

  /** The value that a record is sorted by, as JavaScript. */
  function sortedValue(json: string, place: number): unknown {
    const field = statistics[place]
    const value = (parseExact(json) as Record<string, unknown>)[field?.name ?? '']
    return field?.declared === 'text' && value !== null && value !== undefined ? textForm(value) : value
  }

  /** The value that a field is sorted by, as SQL. */
  function sortExpression(place: number): string {
    const field = statistics[place]
    if (collated.has(place)) return `collated(${place}, at)`
    if (field?.needsBytes) return `iif(c${place} IS NULL, NULL, bytes(json, ${place}))`
    return field && fieldOf(field).type === 'date-time' ? `instant(c${place})` : `c${place}`
  }

  function placeOf(name: string, line: number): number {
    const known = places.get(name)
    if (known !== undefined) return known
    const place = statistics.length
    if (place === maxFields)
      throw new ImportError(
        `line ${line}: more than ${maxFields} different fields; put those that vary into one field, as an object`,
      )
    // The field is missing in all records so far.
    statistics.push({
      name,
      declared: types.get(name),
      collation: collations.get(name),
      kinds: new Map(),
      nulls: count,
      needsBytes: false,
    })
    places.set(name, place)
    db.exec(`ALTER TABLE staged ADD COLUMN c${place}`)
    insert = insertStatement(statistics.length)
    return place
  }

  /** @param what such as `the key field` */
  function knownPlace(name: string, what: string): number {
    const place = places.get(name)
    if (place !== undefined) return place
    const names = statistics
      .slice(0, maxNames)
      .map(field =>
        /[\p{Cc}\p{Bidi_Control},"]/u.test(field.name) ? JSON.stringify(field.name) : field.name,
      )
    const more = statistics.length - names.length
    const known = `${names.join(', ') || 'no fields'}${more > 0 ? ` and ${more} more` : ''}`
    throw new ImportError(`no record has ${what} ${JSON.stringify(name)}; there are ${known}`)
  }

  function addOne({ line, record }: ReadRecord): void {
    const values: SortKey[] = new Array(statistics.length).fill(null)
    for (const name in record) {
      const place = placeOf(name, line)
      // A new field's place is the next one, so none is left undefined, which Node 24.7 can't bind.
      values[place] = null
      const value = record[name]
      const kind = kindOf(value)
      if (kind === undefined) continue
      const field = statistics[place] as FieldStatistics
      if (field.declared !== undefined && !fits(kind, field.declared))
        throw new ImportError(
          `line ${line}: the field ${JSON.stringify(name)} is declared as ${field.declared} and has the value ${JSON.stringify(value).slice(0, 60)}; correct the value, or declare the field as text`,
        )
      if (!field.kinds.has(kind)) field.kinds.set(kind, line)
      const sorted = field.declared === 'text' ? textForm(value) : value
      field.needsBytes ||= needsBytes(sorted)
      values[place] = sortable(sorted)
    }
    for (const [place, field] of statistics.entries()) if (values[place] === null) field.nulls++
    insert.run(count, line, JSON.stringify(record), ...values)
    count++
  }

  /** @throws ImportError if the field isn't text */
  function collate(name: string, collation: string): void {
    const place = knownPlace(name, 'the field')
    const field = statistics[place] as FieldStatistics
    const { type } = fieldOf(field)
    if (type !== 'text')
      throw new ImportError(
        `the field ${JSON.stringify(name)} is ${type}, and only text has a collation; declare it as text with --type, or leave out --collation`,
      )
    collated.set(place, collatedPlaces(textsOf(place, field), count, { name, collation }))
  }

  /** The texts of a field in the order of their code points, each with the position of its record in the file. */
  function* textsOf(place: number, { needsBytes: fromJson }: FieldStatistics): Iterable<[number, string]> {
    const sql = `SELECT at, ${fromJson ? 'json' : `c${place}`} FROM staged WHERE c${place} IS NOT NULL
      ORDER BY ${sortExpression(place)}`
    for (const [at, text] of db.iterate(sql) as IterableIterator<[number, string]>)
      yield [at, fromJson ? String(sortedValue(text, place)) : text]
  }

  return {
    add: records => {
      for (const record of records) addOne(record)
    },
    declare: names => {
      for (const name of names) placeOf(name, 1)
    },
    finish: names => {
      const keyPlaces = names.map(name => knownPlace(name, 'the key field'))
      for (const name of types.keys()) knownPlace(name, 'the field')
      for (const [name, collation] of collations) collate(name, collation)
      const key = keyPlaces.map(place => ({
        field: fieldOf(statistics[place] as FieldStatistics),
        column: `c${place}`,
        order: sortExpression(place),
      }))
      checkKey(db, key)
      const keyOrder = key.map(({ order }) => order).join(', ')
      const numbers = new Uint32Array(count)
      let number = 0
      for (const [at] of db.iterate(`SELECT at FROM staged ORDER BY ${keyOrder}`))
        numbers[at as number] = number++
      return {
        count,
        fields: statistics.map(fieldOf),
        findings: statistics.map(field => {
          const mix = mixOf(field)
          return mix ? { nulls: field.nulls, mix } : { nulls: field.nulls }
        }),
        records: function* () {
          for (const [json] of db.iterate(`SELECT json FROM staged ORDER BY ${keyOrder}`))
            yield json as string
        },
        ranks: place => {
          // The values of a single key field are unique: their ranks are the record numbers.
          if (keyPlaces.length === 1 && place === keyPlaces[0]) return numbers.map((_, n) => n)
          return ranksOf(db, sortExpression(place), numbers)
        },
      }
    },
    close: () => {
      db.close()
      forget(file)
    },
  }

  function insertStatement(columns: number) {
    return db.prepare(`INSERT INTO staged VALUES (?, ?, ?${', ?'.repeat(columns)})`)
  }
}
