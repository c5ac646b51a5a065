import type { Awaitable } from '../lib/awaitable.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Checkpoint, EventRow, SignedHead, TrailKey } from '../model/trail.ts'
import type { RowOf } from './schema/table.ts'
import { event } from './schema/trail.ts'

/** The audit trail (D9, docs/decisions/0027). Changes of the store record their events themselves. */
export interface Trail {
  /**
   * Adds an event that belongs to no change. Repeated failures of one network are counted, and so are events that
   * repeat for one session (docs/decisions/0069).
   */
  record(event: AuditEvent): Promise<void>
  /**
   * Signs the ends of the chains.
   * @returns false if there was nothing new
   */
  checkpoint(): Promise<boolean>
  /**
   * Removes some of the events before a time, oldest first, and leaves a signed marker.
   * @param before in RFC 3339, UTC
   * @returns the number of removed events; 0: there are no more
   */
  pruneSome(before: string): Promise<number>
  /** The size in bytes of the events that repeat, when it was last measured. */
  size(): Awaitable<number>
  /**
   * Measures some of what was added to the events that repeat, and removes some of the oldest if they are too
   * large, in a step that doesn't hold up the store.
   * @param limit in bytes
   */
  keepWithin(limit: number): Promise<KeptWithin>
  /** Reads a snapshot of the whole trail while events are added to it. */
  read<T>(work: (trail: TrailReader) => Promise<T>): Promise<T>
}

/** The part of their size at which the operator is told that events that repeat will be removed. */
export const nearlyFull = 0.8

export interface KeptWithin {
  /** The size of the events that repeat, in bytes. */
  readonly bytes: number
  /** Number of events that were removed. */
  readonly removed: number
  /** False: there is more to measure or to remove. */
  readonly isDone: boolean
}

/** A snapshot of the trail. Rows come as they are needed, so that memory stays small. */
export interface TrailReader {
  /** The keys that the secrets of the service open, newest first. */
  readonly keys: readonly TrailKey[]
  /** Number of keys that no secret opens. */
  readonly locked: number
  /** Counts the events. @param before in RFC 3339, UTC: only those before this time; null: all */
  count(before: string | null): Awaitable<number>
  /** All checkpoints, by number. */
  checkpoints(): Rows<Checkpoint>
  /** All events, by chain and place; those without a chain first. */
  chained(): Rows<StoredEvent>
  /** The heads that checkpoints have signed, by chain and place, without markers. */
  heads(): Rows<SignedHead & { readonly checkpoint: number }>
  /** The events of a range, by id. @param range from (including) and to (excluding), in RFC 3339, UTC */
  events(range: TimeRange): Rows<StoredEvent>
}

export type Rows<T> = Iterable<T> | AsyncIterable<T>

export interface TimeRange {
  readonly since: string | null
  readonly until: string | null
}

/** An event as stored. Anything in it may have been changed. */
export type StoredEvent = Omit<EventRow, 'chain' | 'place'> & {
  readonly id: number
  readonly chain: number | null
  readonly place: number | null
  readonly hash: Uint8Array | null
}

/** Columns of the table, in the order of `StoredEvent`. */
export const eventColumns =
  'id, chain, place, time, event, outcome, eperson, actor, client_ip, method, object, reason, count, changes, repeats, request, hash'

/** The columns of an event that is inserted, and their values. */
export const insertedColumns = Object.keys(event.columns) as readonly (keyof RowOf<typeof event>)[]
export function insertedValues(id: number, row: EventRow, hash: Uint8Array) {
  const all = { ...row, id, hash }
  return insertedColumns.map(name => all[name])
}
