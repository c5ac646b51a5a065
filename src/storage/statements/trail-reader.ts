import type { Checkpoint, CheckpointKind, SignedHead } from '../../model/trail.ts'
import type { OpenedKeys } from '../../model/trail-keys.ts'
import { eventColumns, type Rows, type StoredEvent, type TrailReader } from '../trail.ts'

/** Reads the rows of a statement one by one, as they are needed. */
export type EachRow = <T>(sql: string, ...values: readonly (string | null)[]) => Rows<T>

/**
 * A snapshot of the trail.
 * @param each reads rows in one snapshot
 * @param chained all events by chain and place; those without a chain first
 */
export const trailReader = (
  each: EachRow,
  keys: OpenedKeys,
  chained: () => Rows<StoredEvent>,
): TrailReader => ({
  ...keys,
  count: async before => {
    for await (const { count } of each<{ count: number }>(countBefore, before)) return count
    return 0
  },
  checkpoints: () => groupHeads(each<CheckpointRow>(checkpoints)),
  chained,
  heads: () => each<SignedHead & { readonly checkpoint: number }>(heads),
  events: ({ since, until }) => each<StoredEvent>(eventsBetween, since, until),
})

const countBefore = 'SELECT count(*) AS count FROM event WHERE CAST($1 AS TEXT) IS NULL OR time < $1'
const checkpoints = `SELECT c.n, c.time, c.kind, c.detail, c.mac, h.chain, h.place, h.event, h.time AS head_time, h.hash
  FROM trail_checkpoint c LEFT JOIN trail_head h ON h.checkpoint = c.n ORDER BY c.n, h.chain, h.place`
const heads = `SELECT h.chain, h.place, h.event, h.time, h.hash, h.checkpoint FROM trail_head h
  JOIN trail_checkpoint c ON c.n = h.checkpoint WHERE c.kind <> 'prune' ORDER BY h.chain, h.place, h.checkpoint`
const eventsBetween = `SELECT ${eventColumns} FROM event
  WHERE (CAST($1 AS TEXT) IS NULL OR time >= $1) AND (CAST($2 AS TEXT) IS NULL OR time < $2) ORDER BY id`

/** A checkpoint with one of its heads; nulls if it has none. */
interface CheckpointRow {
  readonly n: number
  readonly time: string
  readonly kind: CheckpointKind
  readonly detail: string
  readonly mac: Uint8Array
  readonly chain: number | null
  readonly place: number
  readonly event: number
  readonly head_time: string
  readonly hash: Uint8Array
}

/** @param rows in the order of n, chain and place */
async function* groupHeads(rows: Rows<CheckpointRow>): AsyncIterable<Checkpoint> {
  let current: (Omit<Checkpoint, 'heads'> & { readonly heads: SignedHead[] }) | undefined
  for await (const { chain, place, event, head_time, hash, ...row } of rows) {
    if (row.n !== current?.n) {
      if (current) yield current
      current = { ...row, heads: [] }
    }
    if (chain !== null) current.heads.push({ chain, place, event, time: head_time, hash })
  }
  if (current) yield current
}
