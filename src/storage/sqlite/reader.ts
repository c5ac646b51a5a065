import type { Field } from '../../model/entities.ts'
import type { RecordFormat } from '../../model/record-format.ts'
import { csvLines, joinPieces, separators } from '../../model/record-format.ts'
import { pieceBytes } from '../shared/page-limits.ts'
import type { RecordNumbers, SortField } from '../shared/record-listings.ts'
import { sortRecords } from '../shared/sort-records.ts'
import { lowerPriority, serveThread } from '../shared/thread.ts'
import { choosePage, type TablePlan } from './compile.ts'
import { type Database, openDatabase } from './driver.ts'
import { packRecords, recordsBetween, recordsNumbered } from './record-versions.ts'

/**
 * Reads that take long, away from the thread that answers requests: sorting, listings, everything on tables.
 * Each call does one bounded piece of work; the main thread asks for the next when the client has taken the last.
 */
lowerPriority(10)

/** A file of records that somebody is reading stays open, even when it is no longer the entity's. */
const held = new Map<string, { db: Database; holders: number }>()

const cursors = new Map<
  number,
  { db: Database; rows: IterableIterator<unknown[]>; take: (json: string[]) => Uint8Array<ArrayBuffer> }
>()
let nextCursor = 1

type Counts = { seen: number | null; all: number | null }

/** Short pages are read over one connection for each store. */
const pageConnections = new Map<string, Database>()
function forPages(file: string): Database {
  const known = pageConnections.get(file)
  if (known) return known
  const db = openDatabase(file, { mode: 'read', cache: 8_000 })
  pageConnections.set(file, db)
  return db
}

/** Inside of a transaction: how many rows are seen, and so which way leads to them. */
function begin(db: Database, plan: TablePlan) {
  const { counts } = plan
  const { seen, all } = (counts && db.get<Counts>(counts.sql, ...counts.values)) ?? { seen: 0, all: 0 }
  return {
    total: counts && (seen ?? 0),
    statement: choosePage(plan, seen ?? 0, all ?? 0),
  }
}

const handlers = {
  hold(file: string): void {
    const known = held.get(file)
    if (known) known.holders++
    else held.set(file, { db: openDatabase(file, { mode: 'immutable', cache: 2_000 }), holders: 1 })
  },

  release(file: string): void {
    const known = held.get(file)
    if (!known || --known.holders > 0) return
    held.delete(file)
    known.db.close()
  },

  sort(file: string, count: number, fields: readonly SortField[]) {
    const db = openDatabase(file, { mode: 'immutable' })
    try {
      return sortRecords(
        count,
        fields.map(([field, descending]) => {
          const row = db.get<{ ranks: Uint8Array<ArrayBuffer> }>(
            'SELECT ranks FROM rank WHERE field = ?',
            field,
          )
          if (!row) throw new Error(`field ${field} has no ranks`)
          return { ranks: new Uint32Array(row.ranks.buffer, row.ranks.byteOffset, count), descending }
        }),
      )
    } finally {
      db.close()
    }
  },

  load(file: string, count: number, bytes: number): Uint8Array {
    const db = openDatabase(file, { mode: 'immutable' })
    try {
      return packRecords(db, count, bytes)
    } finally {
      db.close()
    }
  },

  /** @param numbers of the records, in the order wanted; or the first and the one behind the last */
  records(file: string, numbers: RecordNumbers, format: RecordFormat, fields: readonly Field[]) {
    const db = held.get(file)?.db
    if (!db) throw new Error('records of a file that is not held')
    const json =
      numbers instanceof Uint32Array
        ? recordsNumbered(db, numbers, separators[format])
        : recordsBetween(db, numbers[0], numbers[1], separators[format])
    return format === 'csv' ? csvLines(new TextDecoder().decode(json), fields) : json
  },

  /** A short page at once. */
  page(file: string, plan: TablePlan, separator: string) {
    const db = forPages(file)
    db.exec('BEGIN')
    try {
      const { total, statement } = begin(db, plan)
      const rows = db.all<{ json: string }>(statement.sql, ...statement.values)
      return {
        total,
        body: joinPieces(
          rows.map(({ json }) => json),
          separator,
        ),
      }
    } finally {
      db.exec('COMMIT')
    }
  },

  /** @returns the number of the cursor, and the total if it was asked for */
  open(file: string, plan: TablePlan, format: RecordFormat, fields: readonly Field[]) {
    // A connection of its own: the cursor keeps the state that it began with, and others read the newest.
    const db = openDatabase(file, { mode: 'read', cache: 2_000 })
    db.exec('BEGIN')
    const { total, statement } = begin(db, plan)
    const rows = db.iterate(statement.sql, ...statement.values)
    const cursor = nextCursor++
    const take = (json: string[]) =>
      format === 'csv' ? csvLines(json.join(','), fields) : joinPieces(json, separators[format])
    cursors.set(cursor, { db, rows, take })
    return { cursor, total }
  },

  /** @returns the next piece; null when there is none */
  next(cursor: number): Uint8Array | null {
    const open = cursors.get(cursor)
    if (!open) throw new Error('this cursor is closed')
    const json: string[] = []
    for (let size = 0; size < pieceBytes; ) {
      const { value, done } = open.rows.next()
      if (done) break
      json.push(String(value[0]))
      size += String(value[0]).length
    }
    return json.length === 0 ? null : open.take(json)
  },

  close(cursor: number): void {
    const open = cursors.get(cursor)
    cursors.delete(cursor)
    open?.rows.return?.()
    open?.db.close()
  },
}

export type ReaderHandlers = typeof handlers

serveThread(handlers)
