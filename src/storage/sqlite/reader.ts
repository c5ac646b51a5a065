import { basename, dirname, join } from 'node:path'
import type { Field } from '../../model/entities.ts'
import type { RecordFormat } from '../../model/record-format.ts'
import { csvLines, joinPieces, separators } from '../../model/record-format.ts'
import { lowerPriority, serveThread } from '../../threads/thread.ts'
import { pieceBytes } from '../shared/page-limits.ts'
import type { RecordNumbers, SortField } from '../shared/record-listings.ts'
import { sortRecords, toSlots } from '../shared/sort-records.ts'
import { choosePage, type TablePlan } from './compile.ts'
import { type Database, openDatabase } from './driver.ts'
import {
  openRecords,
  packRecords,
  ranksIn,
  recordsBetween,
  recordsNumbered,
  slotsIn,
} from './record-versions.ts'

/**
 * Long-running reads, off the thread that answers requests: sorting, listings, and everything on tables. Each call does
 * one bounded piece of work. The main thread asks for the next piece when the client has taken the last one.
 */
lowerPriority(10)

type Counts = { seen: number | null; all: number | null }

/** Short pages share one connection for each store. */
const pageConnections = new Map<string, Database>()
function pageConnection(file: string): Database {
  const open = pageConnections.get(file)
  if (open) return open
  const db = openDatabase(file, { mode: 'read', cache: 8_000 })
  pageConnections.set(file, db)
  return db
}

/** Counts the visible rows, and chooses the cheaper statement. It runs in the transaction that reads the page. */
function choose(db: Database, plan: TablePlan) {
  const { counts } = plan
  const { seen, all } = (counts && db.get<Counts>(counts.sql, ...counts.values)) ?? { seen: 0, all: 0 }
  return {
    total: counts && (seen ?? 0),
    statement: choosePage(plan, seen ?? 0, all ?? 0),
  }
}

/** Opens the file of a version. */
function openFile(file: string, options: Parameters<typeof openRecords>[2] = {}): Database {
  const folder = dirname(file)
  return openRecords(version => join(folder, `${version}.db`), basename(file, '.db'), options)
}

/** What one event loop reads. It is closed when the loop ends, as after a crash. */
function createReader() {
  /** Files of records that listings are reading. They stay open even after a new version replaces theirs. */
  const openFiles = new Map<string, { db: Database; listings: number }>()

  const cursors = new Map<
    number,
    { db: Database; rows: IterableIterator<unknown[]>; take: (json: string[]) => Uint8Array<ArrayBuffer> }
  >()
  let nextCursor = 1

  const handlers = {
    acquire(file: string): void {
      const open = openFiles.get(file)
      if (open) open.listings++
      else openFiles.set(file, { db: openFile(file, { cache: 2_000 }), listings: 1 })
    },

    release(file: string): void {
      const open = openFiles.get(file)
      if (!open || --open.listings > 0) return
      openFiles.delete(file)
      open.db.close()
    },

    sort(file: string, count: number, fields: readonly SortField[]) {
      const db = openFile(file)
      try {
        const sorted = sortRecords(
          count,
          fields.map(([field, descending]) => ({ ranks: ranksIn(db, field), descending })),
        )
        const slots = slotsIn(db)
        if (slots) toSlots(sorted, slots)
        return sorted
      } finally {
        db.close()
      }
    },

    load(file: string, slots: number, bytes: number): Uint8Array<SharedArrayBuffer> {
      const db = openFile(file)
      try {
        return packRecords(db, slots, bytes)
      } finally {
        db.close()
      }
    },

    /** @param file which must have been acquired */
    records(file: string, numbers: RecordNumbers, format: RecordFormat, fields: readonly Field[]) {
      const db = openFiles.get(file)?.db
      if (!db) throw new Error('the file of records is not open')
      const json =
        numbers instanceof Uint32Array
          ? recordsNumbered(db, numbers, separators[format])
          : recordsBetween(db, numbers[0], numbers[1], separators[format])
      return format === 'csv' ? csvLines(new TextDecoder().decode(json), fields) : json
    },

    /** Reads a whole short page. */
    page(file: string, plan: TablePlan, separator: string) {
      const db = pageConnection(file)
      db.exec('BEGIN')
      try {
        const { total, statement } = choose(db, plan)
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

    /** @returns the number of the cursor, and the total if it was requested */
    open(file: string, plan: TablePlan, format: RecordFormat, fields: readonly Field[]) {
      // The cursor has its own connection: it keeps reading its snapshot while other reads see the newest state.
      const db = openDatabase(file, { mode: 'read', cache: 2_000 })
      db.exec('BEGIN')
      const { total, statement } = choose(db, plan)
      const rows = db.iterate(statement.sql, ...statement.values)
      const cursor = nextCursor++
      const take = (json: string[]) =>
        format === 'csv' ? csvLines(json.join(','), fields) : joinPieces(json, separators[format])
      cursors.set(cursor, { db, rows, take })
      return { cursor, total }
    },

    /** @returns the next piece; null after the last one */
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

  function close(): void {
    for (const cursor of [...cursors.keys()]) handlers.close(cursor)
    for (const { db } of openFiles.values()) db.close()
    openFiles.clear()
  }
  return { handlers, close }
}

export type ReaderHandlers = ReturnType<typeof createReader>['handlers']

serveThread(() => {
  const { handlers, close } = createReader()
  return {
    handlers,
    connect: createReader,
    close: () => {
      close()
      for (const db of pageConnections.values()) db.close()
      pageConnections.clear()
    },
  }
})
