import { msNow } from '../../lib/ms-now.ts'
import {
  type Checkpoint,
  type CheckpointDetail,
  detailOf,
  hex,
  nothingBefore,
  type SignedHead,
} from '../../model/trail.ts'
import { event } from '../schema/trail.ts'
import type { KeptWithin } from '../trail.ts'
import type { Change, Read } from './statements.ts'
import * as db from './statements.ts'
import { keep, type Link, lastCheckpoint, lateIds, linkColumns, loadKey, seenBy, signEnds } from './trail.ts'

/**
 * Changes of the audit trail other than new events (docs/decisions/0027, docs/decisions/0069), for any number of
 * chains. Each reads the last checkpoint before what it signs, so that of two nodes the later one finds a conflict.
 */
export const trail = {
  reads: {
    *size(): Read<number> {
      return (yield* db.value<number>('SELECT bytes FROM trail_size')) ?? 0
    },
  },
  changes: {
    /** @param secrets of the service, the one that signs first */
    *checkpoint(secrets: readonly Uint8Array[]): Change<boolean> {
      yield* loadKey(secrets)
      const last = yield* lastCheckpoint()
      return yield* signEnds(last, seenBy(last))
    },
    *pruneSome(before: string): Change<number> {
      yield* sizeNow()
      const last = yield* lastCheckpoint()
      const marker = yield* lastMarker()
      return yield* remove(yield* oldEvents(before, marker), { last, marker, before })
    },
    *keepWithin(limit: number): Change<KeptWithin> {
      const { bytes, isDone } = yield* measureSome()
      if (!isDone || bytes <= limit) return { bytes, removed: 0, isDone }
      const last = yield* lastCheckpoint()
      const marker = yield* lastMarker()
      const old = yield* oldestRepeats(bytes - limit, marker)
      // All that were ever removed are before this time.
      const times = [...old.map(one => afterTime(one.time)), marker ? (detailOf(marker).before ?? '') : '']
      const removed = yield* remove(old, { last, marker, before: times.toSorted().at(-1) ?? '' })
      const left = (yield* sizeNow()).bytes
      return { bytes: left, removed, isDone: removed === 0 || left <= limit }
    },
  },
}

interface Pruning {
  readonly last: Link | undefined
  readonly marker: Marker | undefined
  /** All removed events are before this time. */
  readonly before: string
}

/** Removes events, and leaves a marker. @returns their number */
function* remove(old: readonly SignedHead[], { last, marker, before }: Pruning): Change<number> {
  if (old.length === 0) return 0
  const ids = old.map(({ event }) => event)
  const heads = [...new Map(old.map(one => [one.chain, one])).values()]
  const kept = yield* firstKept(marker, ids)
  const carried = yield* carriedHeads(marker, heads, kept.first, seenBy(last))
  const pruned = ids.length + (marker ? (detailOf(marker).pruned ?? 0) : 0)
  const detail = { upto: seenBy(last), ...kept, events: ids.length, pruned, before }
  yield* keep(last, 'prune', detail, [...heads, ...carried])
  const bytes = yield* db.value<number>(
    `SELECT CAST(coalesce(sum(${bytesOfEvent}), 0) AS BIGINT) AS bytes FROM event
     WHERE id = ANY($1) AND chain < 0 AND id <= (SELECT upto FROM trail_size)`,
    ids,
  )
  yield* db.run('UPDATE trail_size SET bytes = CASE WHEN bytes < $1 THEN 0 ELSE bytes - $1 END', bytes ?? 0)
  yield* db.run('DELETE FROM event WHERE id = ANY($1)', ids)
  yield* db.run('DELETE FROM trail_head WHERE checkpoint < $1', kept.first)
  yield* db.run('DELETE FROM trail_checkpoint WHERE n < $1', kept.first)
  return ids.length
}

/** Approximate bytes that an event takes with its indexes: its texts, and what every event has. */
const bytesOfEvent = `(220${Object.entries(event.columns)
  .filter(([, { type }]) => type === 'TEXT')
  .map(([name]) => ` + coalesce(octet_length(${name}), 0)`)
  .join('')})`

/** Reads the size, and locks it first, so that no two nodes prune at the same time. */
function* sizeNow(): Change<{ readonly bytes: number; readonly upto: number }> {
  const known = yield* db.row<{ bytes: number; upto: number }>(
    'SELECT bytes, upto FROM trail_size FOR UPDATE',
  )
  return known ?? { bytes: 0, upto: 0 }
}

/** Number of events that are measured at a time. */
const measuredAtOnce = 5_000

/**
 * Adds the size of events that repeat, and are not measured yet. On PostgreSQL, an event that is committed after a
 * later one may be missed; there are few.
 */
function* measureSome(): Change<{ readonly bytes: number; readonly isDone: boolean }> {
  const { bytes, upto } = yield* sizeNow()
  const added = yield* db.row<{ events: number; bytes: number; upto: number | null }>(
    `SELECT count(*) AS events, CAST(coalesce(sum(size), 0) AS BIGINT) AS bytes, max(id) AS upto FROM (
       SELECT id, ${bytesOfEvent} AS size FROM event WHERE chain < 0 AND id > $1 ORDER BY id LIMIT ${measuredAtOnce}) added`,
    upto,
  )
  if (!added || added.events === 0) return { bytes, isDone: true }
  const now = bytes + added.bytes
  yield* db.run('UPDATE trail_size SET bytes = $1, upto = $2', now, added.upto)
  return { bytes: now, isDone: added.events < measuredAtOnce }
}

/** The newest checkpoint of a pruning, which tells where each chain goes on. */
type Marker = Pick<Checkpoint, 'n' | 'detail' | 'heads'>

function* lastMarker(): Read<Marker | undefined> {
  const marker = yield* db.row<Link>(
    `SELECT ${linkColumns} FROM trail_checkpoint WHERE kind = 'prune' ORDER BY n DESC LIMIT 1`,
  )
  if (!marker) return undefined
  const sql = 'SELECT chain, place, event, time, hash FROM trail_head WHERE checkpoint = $1'
  return { ...marker, heads: yield* db.rows<SignedHead>(sql, marker.n) }
}

/** Maximum number of events, and of checkpoints, removed at a time, so that the writer isn't held for long. */
const pruneLimit = 1_000

/**
 * Some of the oldest events, those of a chain in their order and from its beginning on. The clock may have
 * been set back: an old event that follows a newer one in its chain stays.
 */
function* oldEvents(before: string, marker: Marker | undefined): Read<readonly SignedHead[]> {
  const found = yield* db.rows<SignedHead>(
    `SELECT chain, place, id AS event, time, hash FROM event
     WHERE time < $1 AND chain IS NOT NULL AND place IS NOT NULL AND hash IS NOT NULL
     ORDER BY time, id LIMIT ${pruneLimit}`,
    before,
  )
  return yield* beginnings(found, marker)
}

/**
 * Finds the oldest events that repeat and together have this size, or as many as are removed at a time if those
 * have less.
 */
function* oldestRepeats(bytes: number, marker: Marker | undefined): Read<readonly SignedHead[]> {
  const found = yield* db.rows<SignedHead & { readonly bytes: number }>(
    `SELECT chain, place, id AS event, time, hash, ${bytesOfEvent} AS bytes FROM event
     WHERE chain < 0 AND place IS NOT NULL AND hash IS NOT NULL ORDER BY id LIMIT ${pruneLimit}`,
  )
  let sum = 0
  const enough = found.findIndex(one => {
    sum += one.bytes
    return sum >= bytes
  })
  return yield* beginnings(enough < 0 ? found : found.slice(0, enough + 1), marker)
}

/** The next millisecond. A time that was tampered with stays as it is. */
function afterTime(time: string): string {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : new Date(ms + 1).toISOString()
}

/** Those of the events that are at the beginning of what is left of their chains. */
function* beginnings(found: readonly SignedHead[], marker: Marker | undefined): Read<readonly SignedHead[]> {
  const starts = new Map(marker?.heads.map(head => [head.chain, head]))
  const old: SignedHead[] = []
  for (const [chain, events] of Map.groupBy(found, one => one.chain)) {
    let last: Pick<SignedHead, 'place' | 'event'> = starts.get(chain) ?? { place: 0, event: 0 }
    for (const one of events.toSorted((a, b) => a.place - b.place)) {
      // By id, because SQLite has no index by place. Places are skipped only after tampering with clock or
      // table.
      const skipped = 'SELECT 1 AS one FROM event WHERE id > $1 AND id < $2 AND chain = $3 LIMIT 1'
      if (one.place > last.place + 1 && (yield* db.row(skipped, last.event, one.event, chain))) break
      old.push(one)
      last = one
    }
  }
  return old
}

/**
 * The first checkpoint to keep: the first that has signed events that stay.
 * @param removed the ids of events that go now
 */
function* firstKept(
  marker: Marker | undefined,
  removed: readonly number[],
): Read<Required<Pick<CheckpointDetail, 'first' | 'firstPrevious'>>> {
  const oldest = yield* db.rows<Link>(
    `SELECT ${linkColumns} FROM trail_checkpoint ORDER BY n LIMIT ${pruneLimit}`,
  )
  const needed = yield* db.value<number>(
    `WITH gone AS MATERIALIZED (SELECT chain, place FROM trail_head WHERE checkpoint = $1)
     SELECT k.n FROM trail_checkpoint k JOIN trail_head h ON h.checkpoint = k.n
     WHERE k.kind <> 'prune' AND NOT (h.event = ANY($2))
       AND NOT EXISTS (SELECT 1 FROM gone g WHERE g.chain = h.chain AND g.place >= h.place)
     ORDER BY k.n LIMIT 1`,
    marker?.n ?? 0,
    removed,
  )
  const at = needed === undefined ? -1 : oldest.findIndex(({ n }) => n >= needed)
  const dropped = at < 0 ? oldest.at(-1) : oldest[at - 1]
  if (dropped) return { first: dropped.n + 1, firstPrevious: hex(dropped.mac) }
  const { firstPrevious = hex(nothingBefore), first = 1 } = marker ? detailOf(marker) : {}
  return { first, firstPrevious }
}

/** Time in ms after which no connection adds to a chain any more, because it is closed by then. */
const goesOnFor = 24 * 3600 * 1000

/** The heads to repeat from the last marker: of chains that (may) go on, or are in checkpoints that stay. */
function* carriedHeads(
  marker: Marker | undefined,
  added: readonly SignedHead[],
  firstKept: number,
  seen: number,
): Read<readonly SignedHead[]> {
  if (!marker) return []
  const going = yield* db.column<number>(
    'SELECT DISTINCT chain FROM event WHERE id > $1 AND chain IS NOT NULL',
    seen - lateIds,
  )
  const signed = yield* db.column<number>(
    `SELECT m.chain FROM trail_head m WHERE m.checkpoint = $1 AND EXISTS (
       SELECT 1 FROM trail_head h JOIN trail_checkpoint k ON k.n = h.checkpoint
       WHERE h.chain = m.chain AND k.n >= $2 AND k.kind <> 'prune')`,
    marker.n,
    firstKept,
  )
  const needed = new Set([...going, ...signed])
  const replaced = new Set(added.map(({ chain }) => chain))
  const recent = new Date(msNow() - goesOnFor).toISOString()
  return marker.heads.filter(
    ({ chain, time }) => !replaced.has(chain) && (needed.has(chain) || time > recent),
  )
}
