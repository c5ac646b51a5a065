import type { TrailKey } from '../../model/trail.ts'
import { type KeyRow, type OpenedKeys, openKeys, planKeys } from '../../model/trail-keys.ts'
import type { Database } from './driver.ts'

/** What the writer's connections seal events with. */
const keys = new WeakMap<Database, TrailKey>()

export function keyOf(db: Database): TrailKey {
  const known = keys.get(db)
  if (!known) throw new Error('the key of the trail was not loaded')
  return known
}

/**
 * Loads the newest key, and brings all up to date with the secrets. To be called in a transaction.
 * @param secrets the one that signs first
 */
export function loadKey(db: Database, secrets: readonly Uint8Array[]): TrailKey {
  const plan = planKeys(rowsOf(db), secrets)
  for (const { id, wrapped } of plan.rewrapped)
    db.run('UPDATE trail_key SET wrapped = ? WHERE id = ?', wrapped, id)
  if (plan.added) db.run('INSERT INTO trail_key (wrapped) VALUES (?)', plan.added)
  keys.set(db, plan.current)
  return plan.current
}

export const readKeys = (db: Database, secrets: readonly Uint8Array[]): OpenedKeys =>
  openKeys(rowsOf(db), secrets)

const rowsOf = (db: Database) =>
  db.all<KeyRow & Record<string, unknown>>('SELECT id, wrapped FROM trail_key ORDER BY id DESC')
