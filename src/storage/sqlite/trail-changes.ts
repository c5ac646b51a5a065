import {
  type Checkpoint,
  type CheckpointDetail,
  type CheckpointKind,
  detailOf,
  type SignedHead,
  signCheckpoint,
} from '../../model/trail.ts'
import {
  carriedHeads,
  firstKept,
  type Link,
  type Marker,
  prunedDetail,
  pruneLimit,
} from '../statements/trail-plan.ts'
import { type Database, type Row, transaction } from './driver.ts'
import { keyOf, loadKey } from './trail-keys.ts'

/** Changes of the audit trail other than new events (docs/decisions/0027). The single writer runs them. */

/**
 * Gets the keys, and begins the trail of a store that has none yet.
 * @param secrets of the service, the one that signs first
 */
export function openTrail(db: Database, secrets: readonly Uint8Array[]): void {
  transaction(db, () => loadKey(db, secrets))
  transaction(db, () => {
    if (!lastCheckpoint(db)) keep(db, undefined, 'begin', { upto: 0, events: 0 }, [])
  })
}

/** Signs where the chain has got to. @returns whether there was anything new */
export function checkpoint(db: Database, secrets: readonly Uint8Array[]): boolean {
  loadKey(db, secrets)
  const head = newHead(db)
  if (!head) return false
  keep(db, lastCheckpoint(db), 'heads', { upto: head.event }, [head])
  return true
}

/** Signs the ends of all chains: a backup of PostgreSQL has many. To be called in a transaction. */
export function signAll(db: Database): void {
  const heads = db.all<SignedHead & Row>(
    `SELECT * FROM (SELECT chain, max(place) AS place, id AS event, time, hash FROM event
       WHERE chain IS NOT NULL AND hash IS NOT NULL GROUP BY chain) e
     WHERE NOT EXISTS (SELECT 1 FROM trail_head h WHERE h.chain = e.chain AND h.place >= e.place)`,
  )
  const upto = Math.max(0, ...heads.map(({ event }) => event))
  if (heads.length > 0) keep(db, lastCheckpoint(db), 'heads', { upto }, heads)
}

/**
 * Removes events from the oldest on, up to the first that is not older: ids are in the order of places in every chain.
 * @returns how many events were removed
 */
export function pruneSome(db: Database, before: string): number {
  const removed = db.all<SignedHead & { count: number; upto: number } & Row>(
    `WITH oldest AS (SELECT id, chain, place, time, hash FROM event WHERE chain IS NOT NULL ORDER BY id LIMIT ?1)
     SELECT chain, max(place) AS place, id AS event, time, hash, count(*) AS count, max(id) AS upto FROM oldest
     WHERE id < coalesce((SELECT min(id) FROM oldest WHERE time >= ?2), 9e15) GROUP BY chain`,
    pruneLimit,
    before,
  )
  if (removed.length === 0) return 0
  const heads = removed.map(({ count, upto, ...head }) => head)
  const events = removed.reduce((sum, { count }) => sum + count, 0)
  const removedUpto = Math.max(...removed.map(({ upto }) => upto))
  const marker = lastMarker(db)
  const last = lastCheckpoint(db)
  const newest = db.get<{ id: number; chain: number }>(
    'SELECT id, chain FROM event WHERE chain IS NOT NULL ORDER BY id DESC LIMIT 1',
  )
  const oldest = db.all<Link & Pick<Checkpoint, 'detail'> & Row>(
    'SELECT n, time, detail, mac FROM trail_checkpoint ORDER BY n LIMIT ?',
    pruneLimit,
  )
  const kept = firstKept(oldest, marker, one => detailOf(one).upto <= removedUpto)
  // Without an index by chain: all chains but that of the newest event have ended, and were signed to their ends.
  const isNeeded = (chain: number) =>
    chain === newest?.chain ||
    db.get(
      `SELECT 1 FROM trail_head h JOIN trail_checkpoint k ON k.n = h.checkpoint
       WHERE h.chain = ? AND k.n >= ? AND k.kind <> 'prune'`,
      chain,
      kept.first,
    ) !== undefined
  const needed = new Set((marker?.heads ?? []).map(({ chain }) => chain).filter(isNeeded))
  keep(
    db,
    last,
    'prune',
    { upto: newest?.id ?? removedUpto, ...kept, ...prunedDetail(marker, events, before) },
    [...heads, ...carriedHeads(marker, heads, needed)],
  )
  db.run('DELETE FROM event WHERE chain IS NOT NULL AND id <= ?', removedUpto)
  db.run('DELETE FROM trail_head WHERE checkpoint < ?', kept.first)
  db.run('DELETE FROM trail_checkpoint WHERE n < ?', kept.first)
  return events
}

const lastCheckpoint = (db: Database) =>
  db.get<Link>('SELECT n, time, mac FROM trail_checkpoint ORDER BY n DESC LIMIT 1')

function lastMarker(db: Database): Marker | undefined {
  const marker = db.get<Omit<Marker, 'heads'> & Row>(
    "SELECT n, detail FROM trail_checkpoint WHERE kind = 'prune' ORDER BY n DESC LIMIT 1",
  )
  if (!marker) return undefined
  const sql = 'SELECT chain, place, event, time, hash FROM trail_head WHERE checkpoint = ?'
  return { ...marker, heads: db.all<SignedHead & Row>(sql, marker.n) }
}

/** The end of the chain, if no checkpoint has signed it. */
const newHead = (db: Database) =>
  db.get<SignedHead & Row>(
    `SELECT chain, place, id AS event, time, hash FROM event
     WHERE id = (SELECT id FROM event WHERE hash IS NOT NULL ORDER BY id DESC LIMIT 1) AND NOT EXISTS (
       SELECT 1 FROM trail_head h WHERE h.chain = event.chain AND h.place >= event.place)`,
  )

function keep(
  db: Database,
  previous: Link | undefined,
  kind: CheckpointKind,
  detail: CheckpointDetail,
  heads: readonly SignedHead[],
): void {
  const signed = signCheckpoint(keyOf(db), previous, kind, detail, heads)
  db.run(
    'INSERT INTO trail_checkpoint (n, time, kind, detail, mac) VALUES (?, ?, ?, ?, ?)',
    signed.n,
    signed.time,
    signed.kind,
    signed.detail,
    signed.mac,
  )
  for (const { chain, place, event, time, hash } of signed.heads)
    db.run(
      'INSERT INTO trail_head (chain, place, checkpoint, event, time, hash) VALUES (?, ?, ?, ?, ?, ?)',
      chain,
      place,
      signed.n,
      event,
      time,
      hash,
    )
}
