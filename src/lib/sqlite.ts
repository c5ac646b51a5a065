import { chmodSync, closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import type { AggregateOptions, DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { RecentlyUsed } from './memo.ts'
import { systemReason } from './system-errors.ts'

/** The SQLite driver, which only this file uses. A connection keeps its most recently used statements. */
type Value = SQLInputValue
export type Row = Record<string, unknown>

export interface Database {
  /** Runs statements that return no rows. */
  exec(sql: string): void
  /** @returns the number of changed rows */
  run(sql: string, ...values: Value[]): number
  get<T extends Row>(sql: string, ...values: Value[]): T | undefined
  all<T extends Row>(sql: string, ...values: Value[]): T[]
  /** Prepares a statement for hot paths, where even looking it up takes too long. */
  prepare(sql: string): Prepared
  /** Iterates over rows as arrays. Each call prepares its own statement, so several can be open at once. */
  iterate(sql: string, ...values: Value[]): IterableIterator<unknown[]>
  /** Iterates over rows as objects, and otherwise like `iterate`. */
  iterateObjects(sql: string, ...values: Value[]): IterableIterator<Row>
  close(): void
}

export interface Prepared {
  /** @returns the number of changed rows */
  run(...values: Value[]): number
  /** Returns the first row as an array. */
  get(...values: Value[]): unknown[] | undefined
}

/** @param why the reason, which may be temporary, such as a full disk */
export type Unavailable = (why: string, cause: unknown) => Error

export interface OpenOptions {
  /**
   * Access to the file. `inspect` reads like `read`, but leaves the write-ahead log as it is when
   * the last connection closes.
   */
  readonly mode: 'write' | 'read' | 'inspect' | 'immutable'
  /** Size of the page cache in KiB. */
  readonly cache?: number
  /**
   * Called now and then by statements that contain `tick`.
   * @returns true if the statement may go on. It may throw, which ends the statement.
   */
  readonly mayGoOn?: () => boolean
  /**
   * Functions that statements can call, by name. They depend on nothing but their arguments.
   * Integer arguments are bigints.
   */
  readonly functions?: Readonly<Record<string, (...values: SqlValue[]) => SqlResult>>
  readonly aggregates?: Readonly<Record<string, () => SqlAggregate>>
}

export type SqlValue = string | bigint | number | Uint8Array | null
type SqlResult = string | number | null

/** The state of an aggregate function for one group of rows. */
interface SqlAggregate {
  /** @param more further arguments of the function */
  add(value: SqlValue, ...more: SqlValue[]): void
  result(): SqlResult
}

/**
 * A condition that is always true, and calls `mayGoOn` for about every 256th row. The driver can't interrupt
 * a statement, and a function call for each row would make it twice as slow.
 */
export const tick = '(random() & 255 OR may_go_on())'

/**
 * Loads the driver without its warning. Node 24 warns on standard error that SQLite is experimental, and a
 * command would print that before its only line (D1).
 */
function loadDriver() {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return process.getBuiltinModule('node:sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}

const sqlite = loadDriver()

/**
 * Maximum number of statements that a connection keeps. It exceeds the number of Carrel's own statements. The
 * number of those made for clients' orders is unlimited, and each takes about 30 kB.
 */
const maxStatements = 100

/** Frees a statement's memory at once. Before Node 26, that happens only when the object is collected. */
const finalize = (statement: StatementSync & { close?(): void }): void => statement.close?.()

/**
 * Returns a URI for a file that is never changed, so that it is read without locks
 * (https://sqlite.org/uri.html#uriimmutable).
 */
export const immutableUri = (path: string): string => `${pathToFileURL(path).href}?immutable=1`

/** @param unavailable makes the error for a file that can't be opened, is locked, or has no space left */
export function openSqlite(path: string, options: OpenOptions, unavailable: Unavailable): Database {
  const guard = <T>(work: () => T) => translateErrors(work, unavailable)
  const db = guard(() => {
    const location = options.mode === 'immutable' ? immutableUri(path) : path
    const opened = new sqlite.DatabaseSync(location, {
      readOnly: options.mode === 'immutable' || options.mode === 'inspect',
      timeout: 5_000,
    })
    if (options.mode === 'read') opened.exec('PRAGMA query_only = 1')
    if (options.cache !== undefined) opened.exec(`PRAGMA cache_size = -${options.cache}`)
    const { mayGoOn } = options
    if (mayGoOn) opened.function('may_go_on', () => Number(mayGoOn()))
    register(opened, options)
    return opened
  })
  if (options.mode === 'write') chmodSync(path, 0o600)
  const statements = new RecentlyUsed<string, StatementSync>(maxStatements, finalize)
  const statement = (sql: string) => {
    let prepared = statements.get(sql)
    if (prepared === undefined) {
      prepared = db.prepare(sql)
      statements.add(sql, prepared)
    }
    return prepared
  }
  return {
    exec: sql => guard(() => db.exec(sql)),
    run: (sql, ...values) => guard(() => Number(statement(sql).run(...values.map(bindable)).changes)),
    get: <T extends Row>(sql: string, ...values: Value[]) =>
      guard(() => statement(sql).get(...values) as T | undefined),
    all: <T extends Row>(sql: string, ...values: Value[]) =>
      guard(() => statement(sql).all(...values) as T[]),
    prepare: sql => {
      const prepared = guard(() => db.prepare(sql))
      prepared.setReturnArrays(true)
      return {
        run: (...values) => guard(() => Number(prepared.run(...values.map(bindable)).changes)),
        get: (...values) => guard(() => prepared.get(...values) as unknown as unknown[] | undefined),
      }
    },
    iterate: (sql, ...values) => {
      const prepared = guard(() => db.prepare(sql))
      prepared.setReturnArrays(true)
      return rowsOnce(guard(() => prepared.iterate(...values) as unknown as Iterable<unknown[]>))
    },
    iterateObjects: (sql, ...values) =>
      rowsOnce(guard(() => db.prepare(sql).iterate(...values) as Iterable<Row>)),
    close: () => db.close(),
  }
}

function register(db: DatabaseSync, { functions = {}, aggregates = {} }: OpenOptions): void {
  for (const [name, call] of Object.entries(functions))
    db.function(name, { deterministic: true, useBigIntArguments: true, varargs: true }, call)
  for (const [name, start] of Object.entries(aggregates)) db.aggregate(name, aggregateOptions(start))
}

/** The cast is needed because the driver's types allow only SQL values as state. */
const aggregateOptions = (start: () => SqlAggregate) =>
  ({
    deterministic: true,
    useBigIntArguments: true,
    start,
    varargs: true,
    step: (state: SqlAggregate, value: SqlValue, ...more: SqlValue[]) => {
      state.add(value, ...more)
      return state
    },
    result: (state: SqlAggregate) => state.result(),
  }) as unknown as AggregateOptions

const emptyBlob = new Uint8Array(1).subarray(1)

/** Works around Node 24.7, which binds an empty byte array as NULL if its buffer is empty too. */
const bindable = (value: Value): Value =>
  ArrayBuffer.isView(value) && value.byteLength === 0 ? emptyBlob : value

/**
 * Works around Node 24.7, whose iterator runs the statement again if `next` is called after the last
 * row. A generator stays done.
 */
function* rowsOnce<T>(rows: Iterable<T>): IterableIterator<T> {
  yield* rows
}

/** SQLite result codes (https://sqlite.org/rescode.html) for failures of the environment, not of the statement. */
const reasons = new Map([
  [5, 'the database is locked by another process'],
  [6, 'the database is locked'],
  [8, "the database can't be written to"],
  [10, 'the disk reports an I/O error'],
  [11, 'the database is damaged; restore it from a backup'],
  [13, 'the disk is full'],
  // SQLITE_IOERR_SHMSIZE means that there is no space for the index of the write-ahead log.
  [4874, 'the disk is full'],
  [14, "the database file can't be opened"],
  [26, 'the file is not a database; restore it from a backup'],
])

const cantOpen = 14

/** SQLite doesn't say why it can't open a file. @returns the system's error if no file can be opened */
function lackOfDescriptors(): unknown {
  try {
    closeSync(openSync(devNull, 'r'))
    return undefined
  } catch (error) {
    return error
  }
}

/** Translates the driver's errors. No other code does so. */
function translateErrors<T>(work: () => T, unavailable: Unavailable): T {
  try {
    return work()
  } catch (error) {
    const { code, errcode } = error as { code?: unknown; errcode?: unknown }
    const reason =
      code === 'ERR_INVALID_STATE'
        ? 'the store is closed'
        : (reasons.get(Number(errcode)) ?? reasons.get(Number(errcode) & 0xff))
    const lack = (Number(errcode) & 0xff) === cantOpen ? lackOfDescriptors() : undefined
    if (lack !== undefined) throw unavailable(systemReason(lack) ?? String(lack), lack)
    if (reason !== undefined) throw unavailable(reason, error)
    throw error
  }
}

/** Runs `work` in one transaction that holds the write lock from the start. */
export function transaction<T>(db: Database, work: () => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    // SQLite rolls back by itself when the disk is full. A failing second rollback must
    // not hide the first error.
    try {
      db.exec('ROLLBACK')
    } catch {}
    throw error
  }
}
