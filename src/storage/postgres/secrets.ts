import { randomBytes } from 'node:crypto'
import type { Secrets } from '../sessions.ts'
import { createSigningOrder } from '../statements/signing-order.ts'
import { rights, storeTime } from '../statements/statements.ts'
import type { Pool, Queries } from './driver.ts'
import { recordEvent } from './events.ts'
import { perform } from './perform.ts'

/** Time in ms during which a replaced secret is accepted. The next rotation removes older ones. */
const keptFor = 90 * 24 * 3600 * 1000

export interface SharedSecrets extends Secrets {
  /** Reads the secrets again if the state has changed since they were read. */
  refresh(state: number, db: Queries): Promise<void> | undefined
}

/** The secrets that all nodes share (T7), stored in the database. */
export function sharedSecrets(pool: Pool): SharedSecrets {
  const order = createSigningOrder()
  let loadedState = -1

  async function read(state: number, db: Queries): Promise<void> {
    order.update(
      await db.rows<{ id: number; secret: Uint8Array; age: number }>(
        `SELECT id, secret, ${storeTime.postgres} - made AS age FROM secret ORDER BY id DESC`,
      ),
    )
    loadedState = state
  }

  return {
    current: order.current,
    refresh: (state, db) => (state === loadedState ? undefined : read(state, db)),
    rotate: event =>
      pool.transaction(async db => {
        await db.run('UPDATE state SET secrets = secrets + 1')
        await perform(db, rights(event, 'shared'))
        // A secret is replaced when the next one is created.
        await db.run(
          `DELETE FROM secret s WHERE EXISTS (SELECT 1 FROM secret newer
             WHERE newer.id > s.id AND newer.made < ${storeTime.postgres} - $1::bigint)`,
          keptFor,
        )
        await db.run(`INSERT INTO secret (secret, made) VALUES ($1, ${storeTime.postgres})`, randomBytes(32))
        await recordEvent(db, event)
        const [row] = await db.rows<{ count: number }>('SELECT count(*) AS count FROM secret')
        return row?.count ?? 0
      }),
  }
}
