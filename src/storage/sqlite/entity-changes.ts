import type { AuditEvent } from '../../model/audit-events.ts'
import { type Declared, declaredOf, entityChanges, entityTag, withDeclared } from '../../model/declared.ts'
import {
  type Entity,
  type Field,
  newEntityRule,
  type ReadRule,
  type Relation,
  type WriteRule,
} from '../../model/entities.ts'
import {
  changedDescription,
  type Description,
  type DescriptionChange,
  descriptionOf,
} from '../../model/relations.ts'
import type { Agreed, Entities, NewEntity, RecordEntity } from '../entities.ts'
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
  if (entity.declare) setDeclared(db, entity.name, { read, ...entity.declare })
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
  setDeclared(db, before.name, declared)
  db.run('UPDATE state SET entities = entities + 1')
  const changes = entityChanges(before, withDeclared(before, declared))
  recordEvent(db, { ...event, object: before.name, changes })
}

const setDeclared = (
  db: Database,
  name: string,
  { read, relations, defaultCondition, description, write }: Declared,
) =>
  db.run(
    'UPDATE entity SET read = ?, relations = ?, default_condition = ?, description = ?, write = ? WHERE name = ?',
    read,
    relations ? JSON.stringify(relations) : null,
    defaultCondition ?? null,
    description ?? null,
    write ?? null,
    name,
  )

/** The columns that hold what is declared of an entity. */
export type DescriptionRow = {
  readonly relations: string | null
  readonly default_condition: string | null
  readonly description: string | null
  readonly write: WriteRule | null
}

export const toDescription = ({
  relations,
  default_condition,
  description,
  write,
}: DescriptionRow): Description =>
  descriptionOf({
    ...(relations !== null && { relations: JSON.parse(relations) as readonly Relation[] }),
    ...(default_condition !== null && { defaultCondition: default_condition }),
    ...(description !== null && { description }),
    ...(write !== null && { write }),
  })

type EntityRow = { name: string; key: string; read: ReadRule; fields: string; imported: string } & Omit<
  RecordEntity['source'],
  'kind' | 'slots'
> & { slots: number | null } & DescriptionRow

const entityColumns =
  'name, key, read, fields, version, count, bytes, largest, slots, imported, relations, default_condition, description, write'

export const importedEntities = (db: Database): readonly RecordEntity[] =>
  db
    .all<EntityRow & Record<string, unknown>>(`SELECT ${entityColumns} FROM entity ORDER BY name`)
    .map(toEntity)

function entityNamed(db: Database, name: string): RecordEntity | undefined {
  const row = db.get<EntityRow & Record<string, unknown>>(
    `SELECT ${entityColumns} FROM entity WHERE name = ?`,
    name,
  )
  return row && toEntity(row)
}

const toEntity = ({ name, key, read, fields, ...source }: EntityRow): RecordEntity => ({
  name,
  key: JSON.parse(key) as Entity['key'],
  read,
  fields: JSON.parse(fields) as Field[],
  source: {
    kind: 'records',
    version: source.version,
    count: source.count,
    bytes: source.bytes,
    largest: source.largest,
    ...(source.slots !== null && { slots: source.slots }),
    imported: source.imported,
  },
  ...toDescription(source),
})

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
