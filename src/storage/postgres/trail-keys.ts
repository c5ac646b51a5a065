import type { Keyring } from '../../model/keys.ts'
import type { TrailKey } from '../../model/trail.ts'
import { type KeyRow, type OpenedKeys, openKeys, planKeys } from '../../model/trail-keys.ts'
import type { Queries } from './driver.ts'

/** The keys of the audit trail that an event loop uses. */
export interface KeptKeys {
  /** @throws Error before they are loaded */
  current(): TrailKey
  /** Reads them again. */
  read(db: Queries): Promise<void>
  /** Brings them up to date with the secrets. To be called in a transaction. */
  load(db: Queries): Promise<TrailKey>
}

export function keepKeys(keyring: Keyring): KeptKeys {
  let newest: TrailKey | undefined
  return {
    current: () => {
      if (!newest) throw new Error('the key of the trail was not loaded')
      return newest
    },
    read: async db => {
      newest = (await readKeys(db, keyring())).keys[0]
    },
    load: async db => {
      const plan = planKeys(await rowsOf(db), keyring())
      for (const { id, wrapped } of plan.rewrapped)
        await db.run('UPDATE trail_key SET wrapped = $1 WHERE id = $2', wrapped, id)
      if (plan.added) await db.run('INSERT INTO trail_key (wrapped) VALUES ($1)', plan.added)
      newest = plan.current
      return newest
    },
  }
}

export const readKeys = async (db: Queries, secrets: readonly Uint8Array[]): Promise<OpenedKeys> =>
  openKeys(await rowsOf(db), secrets)

const rowsOf = (db: Queries) =>
  db.rows<KeyRow & Record<string, unknown>>('SELECT id, wrapped FROM trail_key ORDER BY id DESC')
