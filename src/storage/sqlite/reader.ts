import { basename, dirname, join } from 'node:path'
import { shareNumbers } from '../../lib/memory.ts'
import { lowerPriority, serveThread } from '../../lib/threads/thread.ts'
import type { Field } from '../../model/entities.ts'
import { csvLines, joinPieces, type RecordFormat, separators } from '../../model/record-format.ts'
import { recordWork } from '../columns/work.ts'
import type { RecordEntity } from '../entities.ts'
import { type Steps, stepsFrom } from '../plans/explain.ts'
import type { Among, OpenRecords, RecordWork } from '../records/record-source.ts'
import { findKeys, searchIn } from '../records/search.ts'
import { limited, limitStatements, mayGoOn, type Stop } from '../runtime/limits.ts'
import { type Parts, statementsNamed } from '../statements/offered.ts'
import { ownParts } from '../statements/parts.ts'
import { highlightRows } from '../tables/plan-shape.ts'
import type { TablePlan } from './compile.ts'
import { type Cursor, choose, openCursor, type StoreFile } from './cursor.ts'
import { type Database, openDatabase } from './driver.ts'
import { queryFunctions } from './functions.ts'
import { perform } from './perform.ts'
import {
  openRecords,
  ranksIn,
  recordReader,
  recordsBetween,
  recordsNumbered,
  slotsIn,
} from './record-versions.ts'

/**
 * Long-running reads, off the thread that answers requests: sorting, listings, and everything on tables. Each call does
 * one bounded piece of work. The main thread asks for the next piece when the client has taken the last one.
 */
lowerPriority(10)

/** Connections for short pages, one for each store. */
const pageConnections = new Map<string, Database>()
function pageConnection(file: string): Database {
  const open = pageConnections.get(file)
  if (open) return open
  const db = openDatabase(file, { mode: 'read', cache: 8_000, mayGoOn, ...queryFunctions })
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

function pageOf(
  db: Database,
  { total, page }: ReturnType<typeof choose>,
  { highlights }: TablePlan,
  separator: string,
) {
  const rows = db.all<{ json: string }>(page.sql, ...page.values)
  return {
    total: total(),
    body: joinPieces(
      rows.map(({ json }) => highlightRows(json, highlights)),
      separator,
    ),
  }
}

/** Explains the statement of a page (https://sqlite.org/eqp.html). @param runs true to run it, too */
function explainPage(db: Database, plan: TablePlan, runs: boolean): Steps & { readonly sql: string } {
  const { page } = choose(db, plan)
  const steps = db
    .all<{ detail: string }>(`EXPLAIN QUERY PLAN ${page.sql}`, ...page.values)
    .map(({ detail }) => detail)
  const index = /\bUSING (?:COVERING )?(?:INDEX (\S+)|(INTEGER PRIMARY KEY))/
  const scan = /^SCAN (?!json_each|\(subquery|[ders]\b)/
  const explained = { sql: page.sql, ...stepsFrom(steps, index, scan) }
  if (!runs) return explained
  const begun = performance.now()
  const rows = db.all(page.sql, ...page.values).length
  return { ...explained, ran: { rows, milliseconds: Math.round(performance.now() - begun) } }
}

function openFile(file: string, options: Parameters<typeof openRecords>[2] = {}): Database {
  const folder = dirname(file)
  return openRecords(version => join(folder, `${version}.db`), basename(file, '.db'), options)
}

/** The records in these slots, ascending. If most are wanted, it reads all, in a third of the time for each. */
function* recordsAt(db: Database, slots: Uint32Array, slotCount: number): Iterable<string> {
  if (slotsIn(db) || slots.length < slotCount / 2) {
    const read = recordReader(db)
    for (const slot of slots) yield read(slot)
    return
  }
  let at = 0
  for (const [n, json] of db.iterate('SELECT n, json FROM record ORDER BY n'))
    if (n === slots[at]) {
      at++
      yield json as string
    }
}

/** Reads that leave nothing open. */
const pageWork = {
  /** Reads a whole short page. @returns null if it would read more rows than that */
  page: (file: string, plan: TablePlan, separator: string, maxRows: number, stop: Stop) =>
    inSnapshot(file, stop, db => {
      const chosen = choose(db, plan)
      return chosen.reads > maxRows ? null : pageOf(db, chosen, plan, separator)
    }),

  explain: (file: string, plan: TablePlan, runs: boolean, stop: Stop) =>
    inSnapshot(file, stop, db => explainPage(db, plan, runs)),
}

/** Runs searches of parts of the storage. */
const searchWork = (parts: Parts) => ({
  find: (file: string, part: string, method: string, args: readonly unknown[], stop: Stop) =>
    inSnapshot(file, stop, db => perform(db, statementsNamed(parts, 'searches', part, method)(...args))),
})

function createCursors() {
  const cursors = new Map<number, Cursor>()
  let nextCursor = 1

  const handlers = {
    /** @returns the number of the cursor, and the total if it was requested */
    open(store: StoreFile, plan: TablePlan, format: RecordFormat, fields: readonly Field[], stop: Stop) {
      const toPiece = (rows: string[]) => {
        const json = rows.map(row => highlightRows(row, plan.highlights))
        return format === 'csv' ? csvLines(json.join(','), fields) : joinPieces(json, separators[format])
      }
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
  const closeAll = () => {
    for (const cursor of [...cursors.keys()]) handlers.close(cursor)
  }
  return { handlers, closeAll }
}

/** Handles the reads of one event loop. Its files and cursors are closed when the loop ends, even by a crash. */
function createReader(parts: Parts) {
  /** Files of records that listings are reading. They stay open even after a new version replaces theirs. */
  const openFiles = new Map<string, { db: Database; listings: number }>()
  const cursors = createCursors()

  /** Uses the open file of a listing if there is one, even if a new version has replaced it. */
  function withFile<T>(file: string, work: (db: Database) => T): T {
    const acquired = openFiles.get(file)?.db
    const db = acquired ?? openFile(file)
    try {
      return work(db)
    } finally {
      if (!acquired) db.close()
    }
  }

  const handlers = {
    ...recordWork,
    ...pageWork,
    ...searchWork(parts),
    ...cursors.handlers,

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

    columnIn: (file: string, field: number, nullable: boolean) =>
      withFile(file, db => recordWork.column(ranksIn(db, field), nullable)),

    slotsIn: (file: string) => withFile(file, db => shareNumbers(slotsIn(db) ?? new Uint32Array())),

    /** @param slots ascending */
    valuesIn: (
      file: string,
      slots: Uint32Array,
      slotCount: number,
      field: Parameters<RecordWork['values']>[2],
      stop: Stop,
    ) => withFile(file, db => recordWork.extract(recordsAt(db, slots, slotCount), slots.length, field, stop)),

    search: (file: string, entity: RecordEntity, field: number, keys: readonly string[], among: Among) =>
      withFile(file, db => findKeys(searchIn(entity, field, among), keys, recordReader(db))),

    /** @param file of records, which must have been acquired @param columns of rows; null: whole records */
    records(file: string, ...wanted: Parameters<OpenRecords['piece']>) {
      const [numbers, format, fields, columns] = wanted
      const db = openFiles.get(file)?.db
      if (!db) throw new Error('the file of records is not open')
      const isAsStored = columns === null && format !== 'csv'
      const separator = isAsStored ? separators[format] : ','
      const json =
        numbers instanceof Uint32Array
          ? recordsNumbered(db, numbers, separator)
          : recordsBetween(db, numbers[0], numbers[1], separator)
      return isAsStored ? json : recordWork.piece(new TextDecoder().decode(json), format, fields, columns)
    },
  }

  function close(): void {
    cursors.closeAll()
    for (const { db } of openFiles.values()) db.close()
    openFiles.clear()
  }
  return { handlers, close }
}

export type ReaderHandlers = ReturnType<typeof createReader>['handlers']

/** Serves as a thread for reading, which also runs the searches of these features. */
export function serveReader(features: Parts): void {
  const create = () => createReader({ ...ownParts, ...features })
  serveThread(({ statementTimeout }: { readonly statementTimeout: number }) => {
    limitStatements(statementTimeout)
    const { handlers, close } = create()
    return {
      handlers,
      connect: create,
      close: () => {
        close()
        for (const db of pageConnections.values()) db.close()
        pageConnections.clear()
      },
    }
  })
}
