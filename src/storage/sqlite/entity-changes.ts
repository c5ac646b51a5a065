import type { AuditEvent } from '../../model/audit-events.ts'
import { newEntityRule, type ReadRule, type Relation, type WriteRule } from '../../model/entities.ts'
import {
  changedDescription,
  type Description,
  type DescriptionChange,
  descriptionOf,
} from '../../model/relations.ts'
import type { NewEntity } from '../entities.ts'
import type { Database } from './driver.ts'
import { now, recordEvent } from './events.ts'
import { dropChanges, takeChanges } from './record-changes.ts'

/** Changes of the list of entities. */

/**
 * Points the entity at a version whose file is complete and on disk.
 * @returns who may read the entity now; undefined where it has another version than the one to replace
 */
export function pointEntity(
  db: Database,
  entity: PublishedEntity,
  event: AuditEvent | null,
): ReadRule | undefined {
  const before = db.get<{ read: ReadRule; version: string }>(
    'SELECT read, version FROM entity WHERE name = ?',
    entity.name,
  )
  if (!takeChanges(db, entity, before?.version)) return undefined
  retireEntity(db, entity.name)
  const read = entity.read ?? before?.read ?? newEntityRule
  db.run(
    // What is declared of the entity stays (Q21, Q25).
    `INSERT INTO entity (name, key, read, fields, version, count, bytes, largest, slots, imported)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET key = excluded.key, read = excluded.read, fields = excluded.fields,
       version = excluded.version, count = excluded.count, bytes = excluded.bytes, largest = excluded.largest,
       slots = excluded.slots, imported = excluded.imported`,
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
  if (event) recordEvent(db, { ...event, object: entity.name })
  return read
}

export function changeReadRule(db: Database, name: string, read: ReadRule, event: AuditEvent): boolean {
  if (db.run('UPDATE entity SET read = ? WHERE name = ?', read, name) === 0) return false
  db.run('UPDATE state SET entities = entities + 1')
  recordEvent(db, { ...event, object: name })
  return true
}

export function describeEntity(
  db: Database,
  name: string,
  change: DescriptionChange,
  event: AuditEvent,
): boolean {
  const row = db.get<DescriptionRow>(
    'SELECT relations, default_condition, write FROM entity WHERE name = ?',
    name,
  )
  if (!row) return false
  const { relations, defaultCondition, write } = changedDescription(toDescription(row), change)
  db.run(
    'UPDATE entity SET relations = ?, default_condition = ?, write = ? WHERE name = ?',
    relations ? JSON.stringify(relations) : null,
    defaultCondition ?? null,
    write ?? null,
    name,
  )
  db.run('UPDATE state SET entities = entities + 1')
  recordEvent(db, { ...event, object: name })
  return true
}

/** The columns that hold what is declared of an entity. */
export type DescriptionRow = {
  readonly relations: string | null
  readonly default_condition: string | null
  readonly write: WriteRule | null
}

export const toDescription = ({ relations, default_condition, write }: DescriptionRow): Description =>
  descriptionOf({
    ...(relations !== null && { relations: JSON.parse(relations) as readonly Relation[] }),
    ...(default_condition !== null && { defaultCondition: default_condition }),
    ...(write !== null && { write }),
  })

export function dropEntity(db: Database, name: string, event: AuditEvent): boolean {
  retireEntity(db, name)
  dropChanges(db, name)
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
