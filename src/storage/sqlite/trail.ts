import type { Keyring } from '../../model/keys.ts'
import type { SignedHead } from '../../model/trail.ts'
import { type CheckpointRow, checkpointColumns, groupHeads } from '../shared/trail-rows.ts'
import { eventColumns, type StoredEvent, type Trail } from '../trail.ts'
import { type Database, openDatabase } from './driver.ts'
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
        chained: () => objects<StoredEvent>(db, `SELECT ${eventColumns} FROM event ORDER BY chain, place`),
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
const heads =
  'SELECT chain, place, event, time, hash, checkpoint FROM trail_head ORDER BY chain, place, checkpoint'
const eventsBetween = `SELECT ${eventColumns} FROM event
  WHERE (?1 IS NULL OR time >= ?1) AND (?2 IS NULL OR time < ?2) ORDER BY id`

/** The rows of a statement, one at a time. */
function* objects<T>(db: Database, sql: string, ...values: (string | null)[]): Iterable<T> {
  for (const row of db.iterateObjects(sql, ...values)) yield row as T
}
