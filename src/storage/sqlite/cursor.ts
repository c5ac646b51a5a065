import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readSync, statSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { StoreUnavailable } from '../../lib/errors.ts'
import { Overloaded } from '../../lib/fair-queue.ts'
import { limited, mayGoOn, pieceBytes, type Stop } from '../runtime/limits.ts'
import { choosePage, type TablePlan } from './compile.ts'
import { type Database, openDatabase } from './driver.ts'
import { queryFunctions } from './functions.ts'

/** Page cache in KiB. A cursor reads each page of the file once. */
const cursorCache = 64
/**
 * Size of the write-ahead log in bytes from which cursors read the rest of their rows into files of their
 * own. While a cursor reads its snapshot, SQLite can't restart the log, which grows with each change.
 */
const largeLog = 6 * 1024 * 1024
/** Size of the log in bytes from which unread cursors break off, because copying their rows takes too long. */
const tooLargeLog = 10 * 1024 * 1024
/** Size of the log in bytes from which cursors break off even while they are read, the longest idle one first. */
const fullLog = 12 * 1024 * 1024
/** Time in ms without a request after which a cursor counts as unread. */
const unreadAfter = 2_000
/** Interval in ms at which the size of the log is checked. */
const watchInterval = 200
/** Maximum size in bytes of all files of spilled rows together. */
const maxSpilled = 256 * 1024 * 1024

/** The store, and the folder for files of its listings. */
export interface StoreFile {
  readonly file: string
  readonly folder: string
}

type Counts = { seen: number | null; all: number | null }

/** Counts the visible rows, and chooses the cheaper statement. It runs in the transaction that reads the page. */
export function choose(db: Database, plan: TablePlan) {
  const { counts } = plan
  const { seen, all } = (counts && db.get<Counts>(counts.sql, ...counts.values)) ?? { seen: 0, all: 0 }
  const { access, reads } = choosePage(plan, seen ?? 0, all ?? 0)
  const total = () => {
    if (access.total === null) return plan.isFiltered ? null : counts && (seen ?? 0)
    return db.get<{ count: number }>(access.total.sql, ...access.total.values)?.count ?? 0
  }
  return { page: access.page, reads, total }
}

/** Cursors of this thread that read a snapshot. */
const reading = new Set<{ readonly file: string; asked: number; spill(): void; breakOff(): void }>()
let spilled = 0
const tooMuchChange = 'The store changes too much to keep the state of so long a listing.'
let isWatching = false

/**
 * Opens a listing of a table in pieces, which all show the state in which it began.
 * @param toPiece makes a piece of the JSON of some rows
 * @returns the listing, with the number of rows that the viewer sees; null if it was not requested
 */
export function openCursor(
  { file, folder }: StoreFile,
  plan: TablePlan,
  toPiece: (json: string[]) => Uint8Array<ArrayBuffer>,
  stop: Stop,
) {
  // A cursor has its own connection: it keeps reading its snapshot while other reads see the newest state.
  const db = openDatabase(file, { mode: 'read', cache: cursorCache, mayGoOn, ...queryFunctions })
  try {
    db.exec('BEGIN')
    const { total, page } = limited(stop, () => {
      const chosen = choose(db, plan)
      return { ...chosen, total: chosen.total() }
    })
    const rows = db.iterate(page.sql, ...page.values)
    return { total, ...cursorOver(file, folder, db, rows, toPiece) }
  } catch (error) {
    db.close()
    throw error
  }
}

function cursorOver(
  file: string,
  folder: string,
  db: Database,
  rows: IterableIterator<unknown[]>,
  toPiece: (json: string[]) => Uint8Array<ArrayBuffer>,
) {
  let rest: ReturnType<typeof createSpillFile> | undefined
  let failure: unknown

  function readRows(stop: Stop | null): Uint8Array<ArrayBuffer> | null {
    const json: string[] = []
    limited(stop, () => {
      for (let size = 0; size < pieceBytes; ) {
        const { value, done } = rows.next()
        if (done) break
        json.push(String(value[0]))
        size += String(value[0]).length
      }
    })
    return json.length === 0 ? null : toPiece(json)
  }

  const snapshot = {
    file,
    asked: performance.now(),
    /** Reads one more piece into the file, and ends the snapshot after the last one. */
    spill: () => {
      try {
        const piece = readRows(null)
        if (piece === null) return leave()
        rest ??= createSpillFile(folder)
        rest.add(piece)
      } catch (error) {
        failure = error
        leave()
      }
    },
    breakOff: () => {
      failure = new Overloaded(tooMuchChange)
      leave()
    },
  }
  function leave(): void {
    if (!reading.delete(snapshot)) return
    rows.return?.()
    db.close()
  }
  reading.add(snapshot)
  if (!isWatching) {
    isWatching = true
    setTimeout(relieve, watchInterval).unref()
  }

  return {
    /** @returns the next piece; null after the last one */
    next: (stop: Stop): Uint8Array<ArrayBuffer> | null => {
      snapshot.asked = performance.now()
      const piece = rest?.next()
      if (piece) return piece
      if (failure !== undefined) throw failure
      return reading.has(snapshot) ? readRows(stop) : null
    },
    close: () => {
      leave()
      rest?.close()
    },
  }
}

export type Cursor = ReturnType<typeof openCursor>

/** Relieves the log by one piece of each cursor in turn, so that other calls are answered in between. */
function relieve(): void {
  let isLarge = false
  for (const cursor of [...reading].sort((a, b) => a.asked - b.asked)) {
    const size = sizeOf(`${cursor.file}-wal`)
    if (size < largeLog) continue
    isLarge = true
    if (size >= fullLog) {
      cursor.breakOff()
      // By the turn of the next cursor, SQLite may have restarted the log.
      break
    }
    if (size >= tooLargeLog && performance.now() - cursor.asked > unreadAfter) cursor.breakOff()
    else cursor.spill()
  }
  if (reading.size === 0) isWatching = false
  else if (isLarge) setImmediate(relieve)
  else setTimeout(relieve, watchInterval).unref()
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** Creates a file without a name, which disappears with the process. */
function createSpillFile(folder: string) {
  const path = join(folder, `listing.${randomUUID()}`)
  const descriptor = openSync(path, 'wx+', 0o600)
  unlinkSync(path)
  const lengths: number[] = []
  let read = 0
  let written = 0
  return {
    add: (piece: Uint8Array): void => {
      if (spilled + piece.length > maxSpilled) throw new Overloaded(tooMuchChange)
      if (writeSync(descriptor, piece, 0, piece.length, written) < piece.length)
        throw new StoreUnavailable(`${folder}: the disk is full`)
      lengths.push(piece.length)
      written += piece.length
      spilled += piece.length
    },
    /** @returns the oldest piece that is still there */
    next: (): Uint8Array<ArrayBuffer> | undefined => {
      const length = lengths.shift()
      if (length === undefined) return undefined
      const piece = new Uint8Array(length)
      if (readSync(descriptor, piece, 0, length, read) < length)
        throw new StoreUnavailable(`${folder}: a file of a listing can't be read`)
      read += length
      return piece
    },
    close: () => {
      spilled -= written
      closeSync(descriptor)
    },
  }
}
