import type { AuditEvent } from '../../model/audit-events.ts'
import { eventHash, eventRow, newChain, nothingBefore, type TrailKey, valuesOf } from '../../model/trail.ts'
import { now } from '../statements/statements.ts'
import type { Database, Prepared } from './driver.ts'

/** The audit trail. Every event is in a chain (docs/decisions/0027). */
export function recordEvent(db: Database, event: AuditEvent): void {
  const { last, insert } = statementsOf(db)
  // Other processes write to the store too: before a transaction, only the table tells the end of the chain.
  const [before, chain, place, hash] = ends.get(db) ?? ((last.get() ?? []) as End)
  const id = (before ?? lastIdOf(db)) + 1
  // All earlier events may have been pruned.
  const row = eventRow(event, now(), chain ?? newChain(), (place ?? 0) + 1)
  const added = eventHash(hash ?? nothingBefore, id, keyOf(db).seal(row))
  insert.run(id, ...valuesOf(row), row.changes, row.chain, row.place, added)
  ends.set(db, [id, row.chain, row.place, added])
}

/** The last event: its id, chain, place and hash. */
type End = [id?: number, chain?: number | null, place?: number | null, hash?: Uint8Array | null]

/** The last event of each connection, for the length of a transaction. */
const ends = new WeakMap<Database, End>()

/** Called when a transaction begins, and when a part of it was rolled back. */
export const forgetEnd = (db: Database): boolean => ends.delete(db)

/** The keys with which the writer's connections seal events. */
const keys = new WeakMap<Database, TrailKey | undefined>()

export const sealWith = (db: Database, key: TrailKey | undefined) => keys.set(db, key)

export function keyOf(db: Database): TrailKey {
  const known = keys.get(db)
  if (!known) throw new Error('the key of the trail was not loaded')
  return known
}

const statements = new WeakMap<Database, { readonly last: Prepared; readonly insert: Prepared }>()

function statementsOf(db: Database) {
  const known = statements.get(db)
  if (known) return known
  const prepared = {
    last: db.prepare('SELECT id, chain, place, hash FROM event ORDER BY id DESC LIMIT 1'),
    insert: db.prepare(
      `INSERT INTO event (id, time, event, outcome, eperson, actor, client_ip, method, object, reason, count,
         changes, chain, place, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
  }
  statements.set(db, prepared)
  return prepared
}

/** The last id ever given to an event, even if all events were pruned before the store was restored. */
export const lastIdOf = (db: Database): number =>
  db.get<{ id: number }>(
    `SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0),
       coalesce((SELECT max(event) FROM trail_head), 0)) AS id`,
  )?.id ?? 0
