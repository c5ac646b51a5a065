import {
  type CheckpointDetail,
  type CheckpointKind,
  detailOf,
  hex,
  type SignedHead,
  signCheckpoint,
  type TrailKey,
} from '../../model/trail.ts'
import {
  carriedHeads,
  firstKept,
  type Link,
  type Marker,
  prunedDetail,
  pruneLimit,
} from '../statements/trail-plan.ts'
import type { Connection, Pool, Queries, Row } from './driver.ts'
import type { KeptKeys } from './trail-keys.ts'
import { transactionOn } from './transaction.ts'

/** Changes of the audit trail other than new events (docs/decisions/0027). Of two nodes, the later one finds a conflict. */

/**
 * How many ids before those that the last checkpoint has looked at are looked at again: an id is given before the event is
 * committed.
 */
const lateIds = 10_000

/** Gets the keys, and begins the trail of a store that has none yet. Nodes that start together wait for each other. */
export async function openTrail(db: Connection, keys: KeptKeys): Promise<void> {
  await transactionOn(db, async () => {
    await db.rows('SELECT version FROM store_schema FOR UPDATE')
    const key = await keys.load(db)
    if (!(await lastCheckpoint(db))) await keep(db, key, undefined, 'begin', { upto: 0, events: 0 }, [])
  })
}

/** Signs where the chains have got to. @returns whether there was anything new */
export const checkpoint = (pool: Pool, keys: KeptKeys): Promise<boolean> =>
  pool.transaction(async db => {
    const key = await keys.load(db)
    const last = await lastCheckpoint(db)
    const seen = last ? detailOf(last).upto : 0
    const heads = await newHeads(db, seen - lateIds)
    if (heads.length === 0) return false
    await keep(db, key, last, 'heads', { upto: Math.max(seen, uptoOf(heads)) }, heads)
    return true
  })

/** @returns how many events were removed */
export const pruneSome = (pool: Pool, keys: KeptKeys, before: string): Promise<number> =>
  pool.transaction(async db => {
    const { heads, events } = await oldEvents(db, before)
    if (events === 0) return 0
    const marker = await lastMarker(db)
    const last = await lastCheckpoint(db)
    const oldest = await db.rows<Link & Row>(
      `SELECT n, time, mac FROM trail_checkpoint ORDER BY n LIMIT ${pruneLimit}`,
    )
    const kept = firstKept(oldest, marker, ({ time }) => time < before)
    const needed = await db.rows<{ chain: number }>(
      `SELECT chain FROM unnest($1::bigint[]) AS c (chain)
       WHERE EXISTS (SELECT 1 FROM event e WHERE e.chain = c.chain) OR EXISTS (
         SELECT 1 FROM trail_head h JOIN trail_checkpoint k ON k.n = h.checkpoint
         WHERE h.chain = c.chain AND k.n >= $2 AND k.kind <> 'prune')`,
      (marker?.heads ?? []).map(({ chain }) => chain),
      kept.first,
    )
    const upto = last ? detailOf(last).upto : 0
    await keep(
      db,
      keys.current(),
      last,
      'prune',
      { upto, ...kept, ...prunedDetail(marker, events, before) },
      [...heads, ...carriedHeads(marker, heads, new Set(needed.map(({ chain }) => chain)))],
    )
    for (const { chain, place } of heads)
      await db.run('DELETE FROM event WHERE chain = $1 AND place <= $2', chain, place)
    await db.run('DELETE FROM trail_head WHERE checkpoint < $1', kept.first)
    await db.run('DELETE FROM trail_checkpoint WHERE n < $1', kept.first)
    return events
  })

/** Some of the oldest events: where they end in each chain, and how many they are. */
async function oldEvents(db: Queries, before: string) {
  const heads: SignedHead[] = []
  let events = 0
  const chains = await db.rows<{ chain: number }>(
    `SELECT DISTINCT chain FROM
       (SELECT chain FROM event WHERE time < $1 ORDER BY time, id LIMIT ${pruneLimit}) old`,
    before,
  )
  for (const { chain } of chains) {
    // Only from the beginning of the chain on: the clock may have been set back.
    const [found] = await db.rows<SignedHead & { count: number } & Row>(
      `WITH oldest AS (SELECT chain, place, id, time, hash FROM event WHERE chain = $1 ORDER BY place LIMIT $2)
       SELECT chain, place, id AS event, time, hash, count(*) OVER () AS count FROM oldest
       WHERE place < coalesce((SELECT min(place) FROM oldest WHERE time >= $3), 9e15) ORDER BY place DESC LIMIT 1`,
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
  return { heads, events }
}

type LastCheckpoint = Link & { readonly detail: string }

const lastCheckpoint = async (db: Queries): Promise<LastCheckpoint | undefined> => {
  const sql = 'SELECT n, time, detail, mac FROM trail_checkpoint ORDER BY n DESC LIMIT 1'
  return (await db.rows<LastCheckpoint & Row>(sql))[0]
}

async function lastMarker(db: Queries): Promise<Marker | undefined> {
  const [marker] = await db.rows<Omit<Marker, 'heads'> & Row>(
    "SELECT n, detail FROM trail_checkpoint WHERE kind = 'prune' ORDER BY n DESC LIMIT 1",
  )
  if (!marker) return undefined
  const sql = 'SELECT chain, place, event, time, hash FROM trail_head WHERE checkpoint = $1'
  return { ...marker, heads: await db.rows<SignedHead & Row>(sql, marker.n) }
}

/** The ends of chains that no checkpoint has signed. @param after the id that they come after */
const newHeads = (db: Queries, after: number) =>
  db.rows<SignedHead & Row>(
    `SELECT * FROM (SELECT DISTINCT ON (chain) chain, place, id AS event, time, hash FROM event
       WHERE id > $1 AND chain IS NOT NULL AND hash IS NOT NULL ORDER BY chain, place DESC) e
     WHERE NOT EXISTS (SELECT 1 FROM trail_head h WHERE h.chain = e.chain AND h.place >= e.place)`,
    after,
  )

const uptoOf = (heads: readonly SignedHead[]) => Math.max(0, ...heads.map(({ event }) => event))

async function keep(
  db: Queries,
  key: TrailKey,
  previous: Link | undefined,
  kind: CheckpointKind,
  detail: CheckpointDetail,
  heads: readonly SignedHead[],
): Promise<void> {
  const { n, time, detail: text, mac, heads: sorted } = signCheckpoint(key, previous, kind, detail, heads)
  await db.run('INSERT INTO trail_checkpoint VALUES ($1, $2, $3, $4, $5)', n, time, kind, text, mac)
  await db.run(
    `INSERT INTO trail_head (chain, place, checkpoint, event, time, hash)
     SELECT chain, place, $1::bigint, event, time, decode(hash, 'hex')
     FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[]) AS h (chain, place, event, time, hash)`,
    n,
    sorted.map(({ chain }) => chain),
    sorted.map(({ place }) => place),
    sorted.map(({ event }) => event),
    sorted.map(one => one.time),
    sorted.map(({ hash }) => hex(hash)),
  )
}
