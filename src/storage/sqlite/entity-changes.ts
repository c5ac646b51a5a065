import type { AuditEvent } from '../../model/audit-events.ts'
import { newEntityRule, type ReadRule } from '../../model/entities.ts'
import type { NewEntity } from '../entities.ts'
import type { Database } from './driver.ts'
import { now, recordEvent } from './events.ts'

/** Changes of the list of entities. */

/**
 * Points the entity at a version whose file is complete and on disk.
 * @returns who may read the entity now; undefined where it has another version than the one to replace
 */
export function pointEntity(db: Database, entity: PublishedEntity, event: AuditEvent): ReadRule | undefined {
  const before = db.get<{ read: ReadRule; version: string }>(
    'SELECT read, version FROM entity WHERE name = ?',
    entity.name,
  )
  if (entity.replaces !== undefined && entity.replaces !== before?.version) return undefined
  retireEntity(db, entity.name)
  const read = entity.read ?? before?.read ?? newEntityRule
  db.run(
    'INSERT OR REPLACE INTO entity (name, key, read, fields, version, count, bytes, largest, slots, imported) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    entity.name,
    JSON.stringify(entity.key),
    read,
    JSON.stringify(entity.fields),
    entity.version,
    entity.count,
    entity.bytes,
    entity.largest,
    entity.slots ?? null,
    now(),
  )
  db.run('UPDATE state SET entities = entities + 1')
  recordEvent(db, { ...event, object: entity.name })
  return read
}

export function changeReadRule(db: Database, name: string, read: ReadRule, event: AuditEvent): boolean {
  if (db.run('UPDATE entity SET read = ? WHERE name = ?', read, name) === 0) return false
  db.run('UPDATE state SET entities = entities + 1')
  recordEvent(db, { ...event, object: name })
  return true
}

export function dropEntity(db: Database, name: string, event: AuditEvent): boolean {
  retireEntity(db, name)
  if (db.run('DELETE FROM entity WHERE name = ?', name) === 0) return false
  db.run('UPDATE state SET entities = entities + 1')
  recordEvent(db, { ...event, object: name })
  return true
}

export function forgetRetired(db: Database, versions: readonly string[]): void {
  for (const version of versions) db.run('DELETE FROM retired WHERE version = ?', version)
}

export type PublishedEntity = Omit<NewEntity, 'ranks'> & {
  readonly version: string
  readonly count: number
  readonly bytes: number
  readonly largest: number
  readonly slots?: number
}

const retireEntity = (db: Database, name: string) =>
  db.run(
    'INSERT OR IGNORE INTO retired (version, at) SELECT version, ? FROM entity WHERE name = ?',
    Date.now(),
    name,
  )
