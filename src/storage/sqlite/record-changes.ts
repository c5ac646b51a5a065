import type { AuditEvent } from '../../model/audit-events.ts'
import { agreedParts, type ChangeRow, type TakenChanges, versionParts } from '../columns/changed-entities.ts'
import type { Agreed } from '../entities.ts'
import type { Database } from './driver.ts'
import { recordEvent } from './events.ts'

/** Changes of single records (docs/decisions/0041). */

export interface StoredWrite extends Omit<ChangeRow, 'seq'> {
  /** The version of the entity that the record was looked up in. */
  readonly version: string
  readonly before: number
}

/** @returns as `Entities.writeRecord` */
export function writeRecord(db: Database, write: StoredWrite, event: AuditEvent): boolean {
  const { entity, version, key, key_values, json, added, before } = write
  const stored = db.get<{ version: string }>('SELECT version FROM entity WHERE name = ?', entity)
  if (stored?.version !== version) return false
  const last = db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM record_change WHERE key = ?', key)
  if ((last?.seq ?? 0) !== before) return false
  db.run('UPDATE state SET records = records + 1')
  db.run(
    'INSERT INTO record_change SELECT records, ?, ?, ?, ?, ? FROM state',
    entity,
    key,
    key_values,
    json,
    added,
  )
  recordEvent(db, event)
  return true
}

/**
 * Removes the changes that are in a new version.
 * @param version that the entity has
 * @returns false where the new version is not made from all that the entity has
 */
export function takeChanges(
  db: Database,
  { name, replaces, agreed, keepsNewer = false }: TakenChanges,
  version: string | undefined,
): boolean {
  if (replaces === undefined) {
    if (agreed && !stillAgreed(db, name, agreed, version)) return false
    dropChanges(db, name)
    return true
  }
  if (replaces === null) return version === undefined
  const { stored, seq } = versionParts(replaces)
  if (stored !== version) return false
  const last = db.get<{ seq: number | null }>(
    'SELECT max(seq) AS seq FROM record_change WHERE entity = ?',
    name,
  )
  if (!keepsNewer && (last?.seq ?? 0) !== seq) return false
  db.run('DELETE FROM record_change WHERE entity = ? AND seq <= ?', name, seq)
  return true
}

function stillAgreed(db: Database, name: string, agreed: Agreed, version: string | undefined): boolean {
  const { stored, seq } = agreedParts(agreed)
  if (stored !== version) return false
  const newer = db.get<{ count: number }>(
    'SELECT count(*) AS count FROM record_change WHERE entity = ? AND seq > ?',
    name,
    seq,
  )
  return (newer?.count ?? 0) <= agreed.changes
}

export const dropChanges = (db: Database, entity: string): number =>
  db.run('DELETE FROM record_change WHERE entity = ?', entity)

/** @param after changes up to this one are left out */
export const changesIn = (db: Database, after: number): readonly ChangeRow[] =>
  db.all<ChangeRow & Record<string, unknown>>(
    'SELECT seq, entity, key, key_values, json, added FROM record_change WHERE seq > ? ORDER BY seq',
    after,
  )
