import type { Awaitable } from '../../lib/awaitable.ts'
import { RightsChanged } from '../../lib/errors.ts'
import type { Client } from '../../lib/fair-queue.ts'
import { msNow } from '../../lib/ms-now.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Viewer } from '../../model/readers.ts'
import type { TrailKey } from '../../model/trail.ts'
import type { NewRow, RowOf, Table } from '../schema/table.ts'
import type { Part } from '../storage.ts'

/**
 * Work of a store, written once for both engines (docs/decisions/0066): a generator whose steps an engine
 * runs, those of a change in one transaction. SQL is PostgreSQL's, in words that SQLite also knows;
 * `forSqlite` translates the rest.
 */
export type Statements<T> = Generator<Step, T, unknown>
/** Runs in a transaction, which may be repeated after a conflict. */
export type Change<T> = Statements<T>
export type Read<T> = Statements<T>

/**
 * The statements of an interface: methods that return promises change the store, all others read it. Searches
 * get the client that asks, because they may take long.
 */
export type StatementsOf<I> = {
  readonly reads: {
    readonly [K in keyof I as I[K] extends Changing | Searching<I[K]> ? never : K]: Written<I[K]>
  }
  /** Each runs in a transaction. */
  readonly changes: { readonly [K in keyof I as I[K] extends Changing ? K : never]: Written<I[K]> }
  /** Each runs in one snapshot of an embedded store. Their last argument, the client, is left out. */
  readonly searches?: { readonly [K in keyof I as I[K] extends Searching<I[K]> ? K : never]: Written<I[K]> }
}
type Changing = (...args: never) => Promise<unknown>
type Searching<F> = F extends Work ? (Parameters<F> extends [...unknown[], Client] ? F : never) : never
type Written<F> = F extends Work
  ? (...args: Asked<Parameters<F>>) => Statements<Awaited<ReturnType<F>>>
  : never
type Asked<A> = A extends [...infer Rest, Client] ? Rest : A extends unknown[] ? A : never
type Work = (...args: never) => unknown

/** A part as an engine offers it. */
export type Offered<P extends { readonly reads: object; readonly changes: object }> = {
  readonly [K in keyof P['reads']]: Running<P['reads'][K], 'read'>
} & { readonly [K in keyof P['changes']]: Running<P['changes'][K], 'change'> } & {
  readonly [K in keyof Searches<P>]: Running<Searches<P>[K], 'search'>
}
type Running<F, Way> = F extends (...args: infer A) => Statements<infer R>
  ? Way extends 'change'
    ? (...args: A) => Promise<R>
    : (...args: Way extends 'search' ? [...A, Client] : A) => Awaitable<R>
  : never
type Searches<P> = P extends { readonly searches: infer S } ? S : unknown

export type Step =
  | { readonly kind: 'rows' | 'run'; readonly sql: Sql; readonly values: readonly Value[] }
  /** Reads that run concurrently if there are several connections. */
  | { readonly kind: 'together'; readonly reads: readonly Read<unknown>[] }
  /** A statement for PostgreSQL alone, where several transactions write: mostly a lock. */
  | { readonly kind: 'lock'; readonly sql: string; readonly values: readonly Value[] }
  | { readonly kind: 'stamp' }
  | { readonly kind: 'records'; readonly lock: RecordLock; readonly count: number; readonly waits: boolean }
  | { readonly kind: 'clock' }
  /** The audiences that admit a viewer, which event loops hold in memory. */
  | { readonly kind: 'audiences'; readonly viewer: Viewer }
  | { readonly kind: 'rights'; readonly events: readonly Relying[]; readonly lock: SessionLock }
  | { readonly kind: 'event'; readonly event: AuditEvent }
  /** Events of one kind of chain, for which few statements are sent. */
  | { readonly kind: 'events'; readonly events: readonly AuditEvent[] }
  /** Reads the key that events are sealed with, or sets it to `to`. */
  | { readonly kind: 'key'; readonly to?: TrailKey | undefined }

/** A list is for `= ANY($n)`. */
export type Value = string | number | null | Uint8Array | readonly string[] | readonly number[]
/** One text for both engines, or one for each. */
type Sql = string | { readonly sqlite: string; readonly postgres: string }

/** Entities of which a change writes records, and those whose records it relies on. */
export interface RecordLock {
  readonly own: readonly string[]
  readonly relied?: readonly string[]
}

export interface LockedRecords {
  /** New numbers for changes of records, ascending, greater than any number given before. */
  readonly numbers: readonly number[]
  /** The entities that aren't locked, because another change holds them. */
  readonly held: readonly string[]
}

export type Relying = Pick<AuditEvent, 'reliesOn'>
/**
 * The lock on the sessions that a change relies on, so that none of them ends before it is committed.
 * `shared`: for changes that touch no eperson, of which several may be under way. `own`: for those that may
 * change the caller, too.
 */
export type SessionLock = 'shared' | 'own'

export function* rows<T>(sql: Sql, ...values: readonly Value[]): Statements<readonly T[]> {
  return (yield { kind: 'rows', sql, values }) as readonly T[]
}

export function* row<T>(sql: Sql, ...values: readonly Value[]): Statements<T | undefined> {
  return (yield* rows<T>(sql, ...values))[0]
}

/** Reads the only column of some rows. */
export function* column<T>(sql: Sql, ...values: readonly Value[]): Statements<readonly T[]> {
  return (yield* rows<Record<string, T>>(sql, ...values)).map(one => Object.values(one)[0] as T)
}

/** Reads the only column of a row. @returns undefined if there is no row */
export function* value<T>(sql: Sql, ...values: readonly Value[]): Statements<T | undefined> {
  return (yield* column<T>(sql, ...values))[0]
}

/** @param from what follows FROM */
export function* count(from: string, ...values: readonly Value[]): Read<number> {
  return (yield* value<number>(`SELECT count(*) AS count FROM ${from}`, ...values)) ?? 0
}

/** A part of a list, and how many elements the whole list has. */
export function* partOf<T>(found: Read<readonly T[]>, all: Read<number>): Read<Part<T>> {
  const [rows, total] = (yield { kind: 'together', reads: [found, all] }) as [readonly T[], number]
  return { rows, total }
}

/** @returns the number of rows that were changed */
export function* run(sql: Sql, ...values: readonly Value[]): Statements<number> {
  return (yield { kind: 'run', sql, values }) as number
}

/**
 * Adds a row. @param unless what follows ON CONFLICT, such as `DO NOTHING`
 * @returns 1, or 0 if the row was there
 */
export const insert = <T extends Table>(table: T, row: NewRow<T>, unless = ''): Statements<number> =>
  insertAll(table, [row], unless)

/** Numbers of rows per statement; fewer than the last go into one. There are few, because each text is kept. */
const sizes = [50, 10]

/** Adds rows, which have the same columns, in few statements. @returns the number of rows that were added or changed */
export function* insertAll<T extends Table>(
  table: T,
  all: readonly NewRow<T>[],
  unless = '',
): Statements<number> {
  let changed = 0
  let left = all
  while (left[0]) {
    const names = Object.keys(left[0])
    const some = left.slice(
      0,
      sizes.find(size => size <= left.length),
    )
    const marks = some.map((_, at) => `(${names.map((_, place) => `$${at * names.length + place + 1}`)})`)
    changed += yield* run(
      `INSERT INTO ${table.name} (${names.join(', ')}) VALUES ${marks}${unless && ` ON CONFLICT ${unless}`}`,
      // A row may leave out what may be null, in any place.
      ...some.flatMap((row: Readonly<Record<string, unknown>>) =>
        names.map(name => (row[name] ?? null) as Value),
      ),
    )
    left = left.slice(some.length)
  }
  return changed
}

/** Adds a row to which the store gives an id. @returns its id */
export function* insertNumbered<T extends Table>({ name }: T, row: NewRow<T>): Statements<number> {
  const names = Object.keys(row)
  const marks = names.map((_, at) => `$${at + 1}`)
  const sql = `INSERT INTO ${name} (${names.join(', ')}) VALUES (${marks}) RETURNING id`
  const id = yield* value<number>(sql, ...valuesOf(row))
  if (id === undefined) throw new Error(`${name}: the row was not added`)
  return id
}

/** Changes rows. @param columns their new values @param where the values by which they are found */
export function* update<T extends Table>(
  { name }: T,
  columns: Partial<RowOf<T>>,
  where: Partial<RowOf<T>>,
): Statements<number> {
  const terms = Object.keys(columns).map((name, at) => `${name} = $${at + 1}`)
  const found = Object.keys(where).map((name, at) => `${name} = $${terms.length + at + 1}`)
  const sql = `UPDATE ${name} SET ${terms.join(', ')} WHERE ${found.join(' AND ')}`
  return yield* run(sql, ...valuesOf(columns), ...valuesOf(where))
}

const valuesOf = (row: object): Value[] => Object.values(row)

/** @param sql of PostgreSQL, such as LOCK TABLE */
export function* lock(sql: string, ...values: readonly Value[]): Statements<void> {
  yield { kind: 'lock', sql, values }
}

/** A number that no eperson has had as a stamp. */
export function* nextStamp(): Statements<number> {
  return (yield { kind: 'stamp' }) as number
}

/**
 * Locks the records of entities until the change ends, all in one order: of two changes of the same entity, the later one
 * sees the earlier one, and changes of other entities don't wait (docs/decisions/0041).
 * @returns new numbers for changes of records, ascending, greater than any number given before
 */
export function* lockRecords(lock: RecordLock, count = 0): Statements<readonly number[]> {
  return (yield* tryRecords(lock, count, true)).numbers
}

/** Locks those that can be locked. @param waits true for all, as `lockRecords` does */
export function* tryRecords(lock: RecordLock, count: number, waits = false): Statements<LockedRecords> {
  return (yield { kind: 'records', lock, count, waits }) as LockedRecords
}

/** The store's time, in ms since 1970: the clocks of nodes may differ. */
export function* clock(): Statements<number> {
  return (yield { kind: 'clock' }) as number
}

/** The ids of the audiences that admit a viewer, in reads only. Objects that are in no list are among theirs. */
export function* audiencesOf(viewer: Viewer): Read<readonly number[]> {
  return (yield { kind: 'audiences', viewer }) as readonly number[]
}

/**
 * Locks the sessions that a change relies on until its transaction ends (T12). Every change whose event
 * relies on some does this before it reads anything else. Locks are taken in this order everywhere, so that
 * no two transactions deadlock: the groups, the row of the store's state, the records of entities (`lockRecords`), these
 * sessions, all others.
 * @throws RightsChanged unless they are as they were when the request was admitted
 */
export function* rights(event: Relying, kind: SessionLock): Statements<void> {
  if (!(yield* haveRights([event], kind))[0]) throw new RightsChanged()
}

/** Does the same for several changes at once. @returns for each, true if its sessions are as they were */
export function* haveRights(events: readonly Relying[], kind: SessionLock): Statements<readonly boolean[]> {
  return (yield { kind: 'rights', events, lock: kind }) as readonly boolean[]
}

export function* record(event: AuditEvent): Statements<void> {
  yield { kind: 'event', event }
}

/** Records many events of changes at once. */
export function* recordAll(events: readonly AuditEvent[]): Statements<void> {
  yield { kind: 'events', events }
}

/** The key that events are sealed with. @throws Error if none was loaded */
export function* sealingKey(): Statements<TrailKey> {
  return (yield { kind: 'key' }) as TrailKey
}

/** Seals events with this key from now on; undefined: with none, until another one is loaded. */
export function* sealWith(key: TrailKey | undefined): Statements<void> {
  yield { kind: 'key', to: key }
}

/** Takes back all that a change has done, and makes this its result. */
export class TakenBack extends Error {
  readonly result: unknown

  constructor(result: unknown) {
    super('the change was taken back')
    this.result = result
  }
}

/** Times in the store, in RFC 3339, UTC. */
export const now = (): string => new Date(msNow()).toISOString()

/** SQL of the store's time, in ms since 1970, where a step of its own would take too long. */
export const storeTime = {
  sqlite: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
  postgres: 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)',
}

/** Row locks, which SQLite lacks: it has one writer. */
const locking = / FOR (?:NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)(?: SKIP LOCKED)?/g
const translated = new Map<string, string>()

/** Translates SQL: no row locks, other marks for values, and other words for lists and `strpos`. */
export function forSqlite(sql: Sql): string {
  const given = typeof sql === 'string' ? sql : sql.sqlite
  const known = translated.get(given)
  if (known !== undefined) return known
  const text = given
    .replaceAll(locking, '')
    .replaceAll(/= ANY\((\$\d+)\)/g, 'IN (SELECT value FROM json_each($1))')
    .replaceAll('strpos(', 'instr(')
    .replaceAll(/\$(?=\d)/g, '?')
  translated.set(given, text)
  return text
}
