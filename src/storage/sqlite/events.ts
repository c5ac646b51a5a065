import { type AuditEvent, type ChainKind, chainKindOf } from '../../model/audit-events.ts'
import { eventHash, eventRow, newChain, nothingBefore, type TrailKey } from '../../model/trail.ts'
import { now } from '../statements/statements.ts'
import { insertedColumns, insertedValues } from '../trail.ts'
import type { Database, Prepared } from './driver.ts'

/** The audit trail. Every event is in one of two chains (docs/decisions/0027, docs/decisions/0069). */
export function recordEvent(db: Database, event: AuditEvent): void {
  const prepared = statementsOf(db)
  // Other processes write to the store too: before a transaction, only the table tells the ends of the chains.
  const known = ends.get(db) ?? { id: lastIdOf(db) }
  const kind = chainKindOf(event)
  const id = known.id + 1
  // All earlier events may have been pruned.
  const [chain, place, hash] = known[kind] ?? ((prepared[kind].get() ?? []) as Partial<End>)
  const row = eventRow(event, now(), chain ?? newChain(kind), (place ?? 0) + 1)
  const added = eventHash(hash ?? nothingBefore, id, keyOf(db).seal(row))
  prepared.insert.run(...insertedValues(id, row, added))
  ends.set(db, { ...known, id, [kind]: [row.chain, row.place, added] })
}

/** The last event of a chain: its chain, place and hash. */
type End = [chain: number, place: number, hash: Uint8Array]
type Ends = { readonly id: number } & Readonly<Partial<Record<ChainKind, End>>>

/** The last id and the ends of the chains of each connection, for the length of a transaction. */
const ends = new WeakMap<Database, Ends>()

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

const statements = new WeakMap<Database, Readonly<Record<ChainKind | 'insert', Prepared>>>()

function statementsOf(db: Database) {
  const known = statements.get(db)
  if (known) return known
  // The conditions are those of the indexes by which the ends are found.
  const endOf = (which: string) =>
    db.prepare(`SELECT chain, place, hash FROM event WHERE ${which} ORDER BY id DESC LIMIT 1`)
  const prepared = {
    changes: endOf('chain >= 0'),
    repeats: endOf('chain < 0'),
    insert: db.prepare(`INSERT INTO event (${insertedColumns}) VALUES (${insertedColumns.map(() => '?')})`),
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
