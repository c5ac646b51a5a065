import {
  type CheckpointDetail,
  type CheckpointKind,
  eventHash,
  newChain,
  nothingBefore,
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
  sealedRow,
} from '../shared/trail-plan.ts'
import { eventColumns, type StoredEvent } from '../trail.ts'
import { type Database, transaction } from './driver.ts'
import { keyOf, loadKey } from './trail-keys.ts'

/** Changes of the audit trail other than new events (docs/decisions/0027). The single writer runs them. */

/** How many events of before the upgrade are chained in a transaction. */
const adoptedAtOnce = 10_000

/**
 * Gets the keys, and begins the trail of a store that has none yet.
 * @param secrets of the service, the one that signs first
 */
export function openTrail(db: Database, secrets: readonly Uint8Array[]): void {
  transaction(db, () => loadKey(db, secrets))
  while (!transaction(db, () => lastCheckpoint(db) !== undefined || adopt(db)));
}

/** Chains events of before the upgrade. @returns whether it has chained the last, and signed that */
function adopt(db: Database): boolean {
  const key = keyOf(db)
  const last = db.get<StoredEvent & Record<string, unknown>>(
    `SELECT ${eventColumns} FROM event WHERE hash IS NOT NULL ORDER BY id DESC LIMIT 1`,
  )
  const chain = last?.chain ?? newChain()
  let place = last?.place ?? 0
  let before = last?.hash ?? nothingBefore
  const events = db.all<StoredEvent & Record<string, unknown>>(
    `SELECT ${eventColumns} FROM event WHERE hash IS NULL ORDER BY id LIMIT ?`,
    adoptedAtOnce,
  )
  for (const event of events) {
    place++
    before = eventHash(before, event.id, key.seal(sealedRow(event, chain, place)))
    db.run('UPDATE event SET chain = ?, place = ?, hash = ? WHERE id = ?', chain, place, before, event.id)
  }
  if (events.length === adoptedAtOnce) return false
  const head = newHead(db)
  keep(db, undefined, 'begin', { upto: head?.event ?? 0, events: place }, head ? [head] : [])
  return true
}

/** Signs where the chain has got to. @returns whether there was anything new */
export function checkpoint(db: Database, secrets: readonly Uint8Array[]): boolean {
  loadKey(db, secrets)
  const head = newHead(db)
  if (!head) return false
  keep(db, lastCheckpoint(db), 'heads', { upto: head.event }, [head])
  return true
}

/** @returns how many events were removed */
export function pruneSome(db: Database, before: string): number {
  const heads: SignedHead[] = []
  let events = 0
  const chains = db.all<{ chain: number }>(
    'SELECT DISTINCT chain FROM (SELECT chain FROM event WHERE time < ? ORDER BY time, id LIMIT ?)',
    before,
    pruneLimit,
  )
  for (const { chain } of chains) {
    // Only from the beginning of the chain on: the clock may have been set back.
    const found = db.get<SignedHead & { count: number } & Record<string, unknown>>(
      `WITH oldest AS (SELECT place, id, time, hash FROM event WHERE chain = ?1 ORDER BY place LIMIT ?2)
       SELECT ?1 AS chain, place, id AS event, time, hash, count(*) OVER () AS count FROM oldest
       WHERE place < coalesce((SELECT min(place) FROM oldest WHERE time >= ?3), 9e15) ORDER BY place DESC LIMIT 1`,
      chain,
      pruneLimit - events,
      before,
    )
    if (!found) continue
    const { count, ...head } = found
    heads.push(head)
    events += count
    if (events >= pruneLimit) break
  }
  if (events === 0) return 0
  const marker = lastMarker(db)
  const present = (marker?.heads ?? [])
    .map(({ chain }) => chain)
    .filter(chain => db.get('SELECT 1 FROM event WHERE chain = ?', chain))
  const last = lastCheckpoint(db)
  const first = firstKept({
    oldest: db.all<Link>('SELECT n, time, mac FROM trail_checkpoint ORDER BY n LIMIT ?', pruneLimit),
    marker,
    before,
  })
  const upto = db.get<{ id: number }>('SELECT max(id) AS id FROM event')?.id ?? 0
  keep(db, last, 'prune', { upto, ...first, ...prunedDetail(marker, events, before) }, [
    ...heads,
    ...carriedHeads(marker, heads, new Set(present)),
  ])
  for (const { chain, place } of heads)
    db.run('DELETE FROM event WHERE chain = ? AND place <= ?', chain, place)
  db.run('DELETE FROM trail_head WHERE checkpoint < ?', first.first)
  db.run('DELETE FROM trail_checkpoint WHERE n < ?', first.first)
  return events
}

const lastCheckpoint = (db: Database) =>
  db.get<Link>('SELECT n, time, mac FROM trail_checkpoint ORDER BY n DESC LIMIT 1')

function lastMarker(db: Database): Marker | undefined {
  const marker = db.get<Omit<Marker, 'heads'> & Record<string, unknown>>(
    "SELECT n, detail FROM trail_checkpoint WHERE kind = 'prune' ORDER BY n DESC LIMIT 1",
  )
  if (!marker) return undefined
  const sql = 'SELECT chain, place, event, time, hash FROM trail_head WHERE checkpoint = ?'
  return { ...marker, heads: db.all<SignedHead & Record<string, unknown>>(sql, marker.n) }
}

/** The end of the chain, if no checkpoint has signed it. */
const newHead = (db: Database) =>
  db.get<SignedHead & Record<string, unknown>>(
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
