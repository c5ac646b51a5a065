import {
  type Checkpoint,
  type CheckpointDetail,
  type CheckpointKind,
  detailOf,
  type SignedHead,
  signCheckpoint,
} from '../../model/trail.ts'
import { type KeyRow, type OpenedKeys, openKeys, planKeys } from '../../model/trail-keys.ts'
import * as tables from '../schema/trail.ts'
import { eventColumns, type Rows, type StoredEvent, type TrailReader } from '../trail.ts'
import type { Change, Read } from './statements.ts'
import * as db from './statements.ts'

/**
 * Loads the keys, and begins the trail of a store that has none yet. Nodes that start together wait for each
 * other.
 * @param secrets of the service, the one that signs first
 */
export function* openTrail(secrets: readonly Uint8Array[]): Change<void> {
  yield* db.lock('SELECT version FROM store_schema FOR UPDATE')
  yield* loadKey(secrets)
  if (!(yield* lastCheckpoint())) yield* keep(undefined, 'begin', { upto: 0, events: 0 }, [])
}

/** Signs the ends of all chains, however old they are: after a restore, most of them never grow again. */
export function* signAll(): Change<void> {
  yield* signEnds(yield* lastCheckpoint(), 0)
}

/** Seals with the newest key from now on, and rewraps keys for the current secrets. */
export function* loadKey(secrets: readonly Uint8Array[]): Change<void> {
  const plan = planKeys(yield* keyRows(), secrets)
  for (const { id, wrapped } of plan.rewrapped)
    yield* db.run('UPDATE trail_key SET wrapped = $1 WHERE id = $2', wrapped, id)
  if (plan.added) yield* db.insert(tables.trailKey, { wrapped: plan.added })
  yield* db.sealWith(plan.current)
}

/** Seals from now on with the newest key, which another event loop has loaded. */
export function* takeKey(secrets: readonly Uint8Array[]): Change<void> {
  yield* db.sealWith((yield* readKeys(secrets)).keys[0])
}

export function* readKeys(secrets: readonly Uint8Array[]): Read<OpenedKeys> {
  return openKeys(yield* keyRows(), secrets)
}

const keyRows = () => db.rows<KeyRow>('SELECT id, wrapped FROM trail_key ORDER BY id DESC')

/** A checkpoint without its heads. */
export type Link = Pick<Checkpoint, 'n' | 'detail' | 'mac'>
export const linkColumns = 'n, detail, mac'

export const lastCheckpoint = () =>
  db.row<Link>(`SELECT ${linkColumns} FROM trail_checkpoint ORDER BY n DESC LIMIT 1`)

export const seenBy = (last: Link | undefined): number => (last ? detailOf(last).upto : 0)

/** Number of last seen ids that are read again: PostgreSQL gives an id before its event is committed. */
export const lateIds = 10_000

/** The unsigned ends of chains, among events after an id. In a chain, ids are in the order of places. */
const endsAfter = (id: string) =>
  `SELECT chain, place, id AS event, time, hash FROM event e
   WHERE id IN (SELECT max(id) FROM event WHERE id > ${id} AND chain IS NOT NULL AND hash IS NOT NULL GROUP BY chain)
     AND NOT EXISTS (SELECT 1 FROM trail_head h WHERE h.chain = e.chain AND h.place >= e.place)`
const newEnds = { sqlite: endsAfter('$1'), postgres: endsAfter(`CAST($1 AS BIGINT) - ${lateIds}`) }

/** @returns false if there was nothing new */
export function* signEnds(last: Link | undefined, after: number): Change<boolean> {
  const heads = yield* db.rows<SignedHead>(newEnds, after)
  if (heads.length === 0) return false
  const upto = heads.reduce((largest, { event }) => Math.max(largest, event), seenBy(last))
  yield* keep(last, 'heads', { upto }, heads)
  return true
}

export function* keep(
  previous: Link | undefined,
  kind: CheckpointKind,
  detail: CheckpointDetail,
  heads: readonly SignedHead[],
): Change<void> {
  const signed = signCheckpoint(yield* db.sealingKey(), previous, kind, detail, heads)
  const { heads: sorted, ...checkpoint } = signed
  yield* db.insert(tables.trailCheckpoint, checkpoint)
  yield* db.insertAll(
    tables.trailHead,
    sorted.map(({ chain, place, event, time, hash }) => ({
      chain,
      place,
      checkpoint: signed.n,
      event,
      time,
      hash,
    })),
  )
}

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
interface CheckpointRow extends Omit<Checkpoint, 'heads'>, Omit<SignedHead, 'chain' | 'time'> {
  readonly chain: number | null
  readonly head_time: string
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
