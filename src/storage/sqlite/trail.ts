import type { Keyring } from '../../model/keys.ts'
import type { SignedHead } from '../../model/trail.ts'
import { type CheckpointRow, checkpointColumns, groupHeads } from '../statements/trail-rows.ts'
import { eventColumns, type StoredEvent, type Trail } from '../trail.ts'
import { type Database, openDatabase, type Row } from './driver.ts'
import type { Write } from './group-commit.ts'
import { readKeys } from './trail-keys.ts'

interface Parts {
  readonly file: string
  readonly keyring: Keyring
  readonly write: Write
}

/** The audit trail of the embedded store. */
export const sqliteTrail = ({ file, keyring, write }: Parts): Trail => ({
  checkpoint: () => write('checkpoint', keyring()),
  pruneSome: before => write('pruneSome', before),
  read: async work => {
    const db = openDatabase(file, { mode: 'read' })
    try {
      db.exec('BEGIN')
      return await work({
        ...readKeys(db, keyring()),
        count: before => db.get<{ count: number }>(count, before)?.count ?? 0,
        checkpoints: () => groupHeads(objects<CheckpointRow>(db, checkpoints)),
        chained: () => chained(db),
        heads: () => objects<SignedHead & { checkpoint: number }>(db, heads),
        events: ({ since, until }) => objects<StoredEvent>(db, eventsBetween, since, until),
      })
    } finally {
      db.close()
    }
  },
})

const count = 'SELECT count(*) AS count FROM event WHERE ?1 IS NULL OR time < ?1'
const checkpoints = `SELECT ${checkpointColumns} FROM trail_checkpoint c LEFT JOIN trail_head h ON h.checkpoint = c.n
  ORDER BY c.n, h.chain, h.place`
const heads = `SELECT h.chain, h.place, h.event, h.time, h.hash, h.checkpoint FROM trail_head h
  JOIN trail_checkpoint c ON c.n = h.checkpoint WHERE c.kind <> 'prune' ORDER BY h.chain, h.place, h.checkpoint`
const eventsBetween = `SELECT ${eventColumns} FROM event
  WHERE (?1 IS NULL OR time >= ?1) AND (?2 IS NULL OR time < ?2) ORDER BY id`

/**
 * There is no index for this order, which every event would have to pay for. SQLite sorts three numbers of each event, on
 * disk if they are many; the events are then read one by one, mostly in the order that they have in the file.
 */
function* chained(db: Database): Iterable<StoredEvent> {
  for (const [id] of db.iterate('SELECT id FROM event ORDER BY chain, place')) {
    const event = db.get(`SELECT ${eventColumns} FROM event WHERE id = ?`, id as number)
    if (event) yield event as Row & StoredEvent
  }
}

/** The rows of a statement, one at a time. */
function* objects<T>(db: Database, sql: string, ...values: (string | null)[]): Iterable<T> {
  for (const row of db.iterateObjects(sql, ...values)) yield row as T
}
