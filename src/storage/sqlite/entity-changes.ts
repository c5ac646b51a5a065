import type { AuditEvent } from '../../model/audit-events.ts'
import { type Declared, declaredOf, entityChanges, entityTag, withDeclared } from '../../model/declared.ts'
import { newEntityRule, type ReadRule } from '../../model/entities.ts'
import { changedDescription, type DescriptionChange, descriptionOf } from '../../model/relations.ts'
import type { Agreed, Entities, NewEntity, RecordEntity } from '../entities.ts'
import { definitionOf, type EntityRow, isImported, toEntity } from '../statements/entity-rows.ts'
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
  const before = entityNamed(db, entity.name)
  if (!takeChanges(db, entity, before?.source.version)) return undefined
  retireEntity(db, entity.name)
  const read = entity.read ?? before?.read ?? newEntityRule
  // What is declared of the entity stays (Q21, Q25).
  const after: RecordEntity = {
    name: entity.name,
    key: entity.key,
    read,
    fields: entity.fields,
    source: {
      kind: 'records',
      version: entity.version,
      count: entity.count,
      bytes: entity.bytes,
      largest: entity.largest,
      ...(entity.slots !== undefined && { slots: entity.slots }),
      imported: now(),
    },
    ...descriptionOf(before ?? {}),
  }
  putEntity(db, entity.declare ? withDeclared(after, { read, ...entity.declare }) : after)
  db.run('UPDATE state SET entities = entities + 1')
  if (!event) return read
  const changes = entityChanges(before, entityNamed(db, entity.name))
  recordEvent(db, { ...event, object: entity.name, changes })
  return read
}

export function changeReadRule(db: Database, name: string, read: ReadRule, event: AuditEvent): boolean {
  const before = entityNamed(db, name)
  if (!before) return false
  declare(db, before, { ...declaredOf(before), read }, event)
  return true
}

export function describeEntity(
  db: Database,
  name: string,
  change: DescriptionChange,
  event: AuditEvent,
): boolean {
  const before = entityNamed(db, name)
  if (!before) return false
  declare(db, before, { ...changedDescription(before, change), read: before.read }, event)
  return true
}

export function declareEntity(
  db: Database,
  name: string,
  declared: Declared,
  of: string,
  event: AuditEvent,
): Awaited<ReturnType<Entities['declare']>> {
  const before = entityNamed(db, name)
  if (!before) return 'missing'
  if (entityTag(before) !== of) return 'changed'
  declare(db, before, declared, event)
  return 'declared'
}

function declare(db: Database, before: RecordEntity, declared: Declared, event: AuditEvent): void {
  const after = withDeclared(before, declared)
  putEntity(db, after)
  db.run('UPDATE state SET entities = entities + 1')
  const changes = entityChanges(before, after)
  recordEvent(db, { ...event, object: before.name, changes })
}

const putEntity = (db: Database, entity: RecordEntity) =>
  db.run(
    `INSERT INTO entity (name, definition, version, changed) VALUES (?, ?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, version = excluded.version,
       changed = excluded.changed`,
    entity.name,
    definitionOf(entity),
    entity.source.version,
    now(),
  )

export const importedEntities = (db: Database): readonly RecordEntity[] =>
  db.all<EntityRow>('SELECT name, definition FROM entity ORDER BY name').map(toEntity).filter(isImported)

function entityNamed(db: Database, name: string): RecordEntity | undefined {
  const row = db.get<EntityRow>('SELECT name, definition FROM entity WHERE name = ?', name)
  const entity = row && toEntity(row)
  return entity && isImported(entity) ? entity : undefined
}

export function dropEntity(
  db: Database,
  name: string,
  event: AuditEvent,
  of: string | undefined,
): boolean | 'changed' {
  const before = entityNamed(db, name)
  if (!before) return false
  if (of !== undefined && entityTag(before) !== of) return 'changed'
  retireEntity(db, name)
  dropChanges(db, name)
  db.run('DELETE FROM entity WHERE name = ?', name)
  db.run('UPDATE state SET entities = entities + 1')
  recordEvent(db, { ...event, object: name, changes: entityChanges(before, undefined) })
  return true
}

export function forgetRetired(db: Database, versions: readonly string[]): void {
  for (const version of versions) db.run('DELETE FROM retired WHERE version = ?', version)
}

export type PublishedEntity = Omit<NewEntity, 'ranks' | 'agree'> & {
  readonly agreed?: Agreed
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
