import type { Keyring } from '../../model/keys.ts'
import type { SignedHead } from '../../model/trail.ts'
import { type CheckpointRow, checkpointColumns, groupHeads } from '../statements/trail-rows.ts'
import { eventColumns, type StoredEvent, type Trail } from '../trail.ts'
import type { Connection, Pool, Row, Value } from './driver.ts'
import { checkpoint, pruneSome } from './trail-changes.ts'
import { type KeptKeys, readKeys } from './trail-keys.ts'

interface Parts {
  readonly pool: Pool
  readonly keys: KeptKeys
  readonly keyring: Keyring
  /** Opens a connection without time limits. */
  readonly connect: () => Promise<Connection>
}

/** The audit trail in PostgreSQL. */
export const postgresTrail = ({ pool, keys, keyring, connect }: Parts): Trail => ({
  checkpoint: () => checkpoint(pool, keys),
  pruneSome: before => pruneSome(pool, keys, before),
  read: async work => {
    const db = await connect()
    try {
      await db.exec('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      return await work({
        ...(await readKeys(db, keyring())),
        count: async before => (await db.rows<{ count: number }>(count, before))[0]?.count ?? 0,
        checkpoints: () => groupHeads(each<CheckpointRow & Row>(db, 'checkpoints', checkpoints)),
        chained: () => each<StoredEvent & Row>(db, 'chained', chained),
        heads: () => each<SignedHead & { checkpoint: number } & Row>(db, 'heads', heads),
        events: ({ since, until }) => each<StoredEvent & Row>(db, 'events', eventsBetween, since, until),
      })
    } finally {
      await db.close()
    }
  },
})

const count = 'SELECT count(*) AS count FROM event WHERE $1::text IS NULL OR time < $1'
const checkpoints = `SELECT ${checkpointColumns} FROM trail_checkpoint c
  LEFT JOIN trail_head h ON h.checkpoint = c.n ORDER BY c.n, h.chain, h.place`
const chained = `SELECT ${eventColumns} FROM event ORDER BY chain NULLS FIRST, place`
const heads = `SELECT h.chain, h.place, h.event, h.time, h.hash, h.checkpoint FROM trail_head h
  JOIN trail_checkpoint c ON c.n = h.checkpoint WHERE c.kind <> 'prune' ORDER BY h.chain, h.place, h.checkpoint`
const eventsBetween = `SELECT ${eventColumns} FROM event
  WHERE ($1::text IS NULL OR time >= $1) AND ($2::text IS NULL OR time < $2) ORDER BY id`

/** Rows that are fetched at a time. */
const fetched = 1_000

/** The rows of a statement, some at a time. @param name of its cursor */
async function* each<T extends Row>(
  db: Connection,
  name: string,
  sql: string,
  ...values: readonly Value[]
): AsyncIterable<T> {
  await db.run(`DECLARE ${name} NO SCROLL CURSOR FOR ${sql}`, ...values)
  for (;;) {
    const rows = await db.rows<T>(`FETCH ${fetched} FROM ${name}`)
    yield* rows
    if (rows.length < fetched) break
  }
  await db.exec(`CLOSE ${name}`)
}
