import { basename, dirname, join } from 'node:path'
import type { Field } from '../../model/entities.ts'
import type { RecordFormat } from '../../model/record-format.ts'
import { csvLines, joinPieces, separators } from '../../model/record-format.ts'
import { lowerPriority, serveThread } from '../../threads/thread.ts'
import type { RecordNumbers, SortField } from '../shared/record-listings.ts'
import { sortRecords, toSlots } from '../shared/sort-records.ts'
import type { TablePlan } from './compile.ts'
import { type Cursor, choose, openCursor, type StoreFile } from './cursor.ts'
import { type Database, openDatabase } from './driver.ts'
import {
  openRecords,
  packRecords,
  ranksIn,
  recordsBetween,
  recordsNumbered,
  slotsIn,
} from './record-versions.ts'
import { limited, limitStatements, mayGoOn, type Stop } from '../shared/statement-limits.ts'

/**
 * Long-running reads, off the thread that answers requests: sorting, listings, and everything on tables. Each call does
 * one bounded piece of work. The main thread asks for the next piece when the client has taken the last one.
 */
lowerPriority(10)

/** Short pages share one connection for each store. */
const pageConnections = new Map<string, Database>()
function pageConnection(file: string): Database {
  const open = pageConnections.get(file)
  if (open) return open
  const db = openDatabase(file, { mode: 'read', cache: 8_000, mayGoOn })
  pageConnections.set(file, db)
  return db
}

function inSnapshot<T>(file: string, stop: Stop, work: (db: Database) => T): T {
  const db = pageConnection(file)
  db.exec('BEGIN')
  try {
    return limited(stop, () => work(db))
  } finally {
    db.exec('COMMIT')
  }
}

function pageOf(db: Database, { total, statement }: ReturnType<typeof choose>, separator: string) {
  const rows = db.all<{ json: string }>(statement.sql, ...statement.values)
  return {
    total,
    body: joinPieces(
      rows.map(({ json }) => json),
      separator,
    ),
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

  const cursors = new Map<number, Cursor>()
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
      // A listing may have to sort again what has been replaced since it began.
      const acquired = openFiles.get(file)?.db
      const db = acquired ?? openFile(file)
      try {
        const sorted = sortRecords(
          count,
          fields.map(([field, descending]) => ({ ranks: ranksIn(db, field), descending })),
        )
        const slots = slotsIn(db)
        if (slots) toSlots(sorted, slots)
        return sorted
      } finally {
        if (!acquired) db.close()
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
    page: (file: string, plan: TablePlan, separator: string, stop: Stop) =>
      inSnapshot(file, stop, db => pageOf(db, choose(db, plan), separator)),

    /** The same. @returns null if it would read more rows than that */
    quickPage: (file: string, plan: TablePlan, separator: string, maxRows: number, stop: Stop) =>
      inSnapshot(file, stop, db => {
        const chosen = choose(db, plan)
        return chosen.reads > maxRows ? null : pageOf(db, chosen, separator)
      }),

    /** @returns the number of the cursor, and the total if it was requested */
    open(store: StoreFile, plan: TablePlan, format: RecordFormat, fields: readonly Field[], stop: Stop) {
      const toPiece = (json: string[]) =>
        format === 'csv' ? csvLines(json.join(','), fields) : joinPieces(json, separators[format])
      const opened = openCursor(store, plan, toPiece, stop)
      const cursor = nextCursor++
      cursors.set(cursor, opened)
      return { cursor, total: opened.total }
    },

    /** @returns the next piece; null after the last one */
    next(cursor: number, stop: Stop): Uint8Array | null {
      const open = cursors.get(cursor)
      if (!open) throw new Error('this cursor is closed')
      return open.next(stop)
    },

    close(cursor: number): void {
      cursors.get(cursor)?.close()
      cursors.delete(cursor)
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

serveThread(({ statementTimeout }: { readonly statementTimeout: number }) => {
  limitStatements(statementTimeout)
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
