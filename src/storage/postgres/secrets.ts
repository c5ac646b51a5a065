import { randomBytes } from 'node:crypto'
import type { Secrets } from '../secrets.ts'
import type { Pool, Queries } from './driver.ts'
import { recordEvent } from './events.ts'

/** How long a replaced secret is accepted, in days. The next rotation removes older ones. */
const keptDays = 90
/**
 * How long a node waits before it signs with a new secret, in ms. Every node polls once a second, so by then all nodes
 * accept the secret.
 */
const signingDelay = 2_500

interface SharedSecret {
  readonly id: number
  readonly secret: Uint8Array
  /** When this process may start to sign with it, on the clock of performance.now(). */
  readonly signsFrom: number
}

export interface SharedSecrets extends Secrets {
  /** Reads the secrets again if the state has changed since they were read. */
  refresh(state: number, db: Queries): Promise<void> | undefined
}

/** The secrets that all nodes share (T7), stored in the database. */
export function sharedSecrets(pool: Pool): SharedSecrets {
  let secrets: readonly SharedSecret[] = []
  let loadedState = -1
  let current: readonly Uint8Array[] = []
  let timer: NodeJS.Timeout | undefined

  /** Puts the signing secret first. A new secret that other nodes may not have read yet is accepted, but not signed with. */
  function arrange(): void {
    const now = performance.now()
    const signing = secrets.find(one => one.signsFrom <= now) ?? secrets.at(-1)
    current = secrets.toSorted((a, b) => Number(b === signing) - Number(a === signing)).map(one => one.secret)
    const next = Math.min(...secrets.map(one => one.signsFrom).filter(from => from > now))
    clearTimeout(timer)
    if (Number.isFinite(next)) timer = setTimeout(arrange, Math.ceil(next - now)).unref()
  }

  async function read(state: number, db: Queries): Promise<void> {
    // Keeps the same buffer objects, because derived keys are cached by them.
    const rows = await db.rows<{ id: number; secret: Uint8Array; age: number }>(
      'SELECT id, secret, extract(epoch FROM now() - made)::float8 * 1000 AS age FROM carrel.secret ORDER BY id DESC',
    )
    const now = performance.now()
    secrets = rows.map(
      ({ id, secret, age }) =>
        secrets.find(one => one.id === id) ?? {
          id,
          secret,
          // The only secret needs no delay: there is no other to sign with.
          signsFrom: rows.length === 1 || age > signingDelay ? now : now + signingDelay,
        },
    )
    loadedState = state
    arrange()
  }

  return {
    current: () => current,
    refresh: (state, db) => (state === loadedState ? undefined : read(state, db)),
    rotate: event =>
      pool.transaction(async db => {
        await db.run('UPDATE carrel.state SET secrets = secrets + 1')
        // A secret is replaced when the next one is created.
        await db.run(
          `DELETE FROM carrel.secret s WHERE EXISTS (SELECT 1 FROM carrel.secret newer
             WHERE newer.id > s.id AND newer.made < now() - $1 * interval '1 day')`,
          keptDays,
        )
        await db.run('INSERT INTO carrel.secret (secret, made) VALUES ($1, now())', randomBytes(32))
        await recordEvent(db, event)
        const [row] = await db.rows<{ count: number }>('SELECT count(*) AS count FROM carrel.secret')
        return row?.count ?? 0
      }),
  }
}
