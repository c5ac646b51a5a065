import { randomBytes } from 'node:crypto'
import type { Secrets } from '../secrets.ts'
import { recordEvent } from './account-changes.ts'
import type { Pool, Queries } from './driver.ts'

/** A secret that went out of use longer ago than this is dropped at the next rotation, in days. */
const keepOld = 90
/**
 * A node signs with a new secret this long after it first saw it, in ms. Every node looks once a second, so that by
 * then all of them accept what is signed with it.
 */
const settle = 2_500

interface Known {
  readonly id: number
  readonly secret: Uint8Array
  /** From when on this process signs with it, as performance.now() counts. */
  readonly from: number
}

export interface SharedSecrets extends Secrets {
  /** Reads them anew if this isn't the state that they were read at. */
  follow(state: number, db: Queries): Promise<void> | undefined
}

/** The secrets that all nodes share (T7): rows of the database, newest first. */
export function sharedSecrets(pool: Pool): SharedSecrets {
  let known: readonly Known[] = []
  let seen = -1
  let current: readonly Uint8Array[] = []
  let settling: NodeJS.Timeout | undefined

  /** The one to sign with first: new ones that others may not know yet are accepted, but don't sign. */
  function arrange(): void {
    const now = performance.now()
    const signing = known.find(one => one.from <= now) ?? known.at(-1)
    current = known.toSorted((a, b) => Number(b === signing) - Number(a === signing)).map(one => one.secret)
    const next = Math.min(...known.map(one => one.from).filter(from => from > now))
    clearTimeout(settling)
    if (Number.isFinite(next)) settling = setTimeout(arrange, Math.ceil(next - now)).unref()
  }

  async function read(state: number, db: Queries): Promise<void> {
    // Buffers that are known stay the same objects: keys that were derived from them are remembered.
    const rows = await db.rows<{ id: number; secret: Uint8Array; age: number }>(
      'SELECT id, secret, extract(epoch FROM now() - made)::float8 * 1000 AS age FROM carrel.secret ORDER BY id DESC',
    )
    const now = performance.now()
    known = rows.map(
      ({ id, secret, age }) =>
        known.find(one => one.id === id) ?? {
          id,
          secret,
          // The only one has no one to wait for.
          from: rows.length === 1 || age > settle ? now : now + settle,
        },
    )
    seen = state
    arrange()
  }

  return {
    current: () => current,
    follow: (state, db) => (state === seen ? undefined : read(state, db)),
    rotate: event =>
      pool.transaction(async db => {
        await db.run('UPDATE carrel.state SET secrets = secrets + 1')
        // An old secret went out of use when the next one was made.
        await db.run(
          `DELETE FROM carrel.secret s WHERE EXISTS (SELECT 1 FROM carrel.secret newer
             WHERE newer.id > s.id AND newer.made < now() - $1 * interval '1 day')`,
          keepOld,
        )
        await db.run('INSERT INTO carrel.secret (secret, made) VALUES ($1, now())', randomBytes(32))
        await recordEvent(db, event)
        const [row] = await db.rows<{ count: number }>('SELECT count(*) AS count FROM carrel.secret')
        return row?.count ?? 0
      }),
  }
}
