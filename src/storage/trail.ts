import type { Awaitable } from '../lib/awaitable.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Checkpoint, EventRow, SignedHead, TrailKey } from '../model/trail.ts'

/** The audit trail (D9, docs/decisions/0027). Changes of the store record their events themselves. */
export interface Trail {
  /** Adds an event that comes with no change. Repeated failures of one network are counted. */
  record(event: AuditEvent): Promise<void>
  /**
   * Signs where the chains have got to.
   * @returns whether there was anything new
   */
  checkpoint(): Promise<boolean>
  /**
   * Removes some of the events before a time, the oldest first, and leaves a signed marker.
   * @param before in RFC 3339, UTC
   * @returns how many; 0: there are no more
   */
  pruneSome(before: string): Promise<number>
  /** Reads the whole trail at one moment, while it goes on. */
  read<T>(work: (trail: TrailReader) => Promise<T>): Promise<T>
}

/** One moment of the trail. Rows come as they are needed, so that memory stays small. */
export interface TrailReader {
  /** Those that the secrets of the service open, newest first. */
  readonly keys: readonly TrailKey[]
  /** How many keys no secret opens. */
  readonly locked: number
  /** How many events there are. @param before of those before this time; null: of all */
  count(before: string | null): Awaitable<number>
  /** By number. */
  checkpoints(): Rows<Checkpoint>
  /** By chain and place; those without a chain first. */
  chained(): Rows<StoredEvent>
  /** What checkpoints have signed, by chain and place; without markers, which say where chains go on. */
  heads(): Rows<SignedHead & { readonly checkpoint: number }>
  /** By id. @param range from (including) and to (excluding), in RFC 3339, UTC */
  events(range: TimeRange): Rows<StoredEvent>
}

export type Rows<T> = Iterable<T> | AsyncIterable<T>

export interface TimeRange {
  readonly since: string | null
  readonly until: string | null
}

/** An event as it is found: anything may have been changed. */
export type StoredEvent = Omit<EventRow, 'chain' | 'place'> & {
  readonly id: number
  readonly chain: number | null
  readonly place: number | null
  readonly hash: Uint8Array | null
}

/** Columns of the table, in the order of `StoredEvent`. */
export const eventColumns =
  'id, chain, place, time, event, outcome, eperson, actor, client_ip, method, object, reason, count, changes, hash'
