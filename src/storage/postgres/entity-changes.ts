import { randomBytes } from 'node:crypto'
import type { AuditEvent } from '../../model/audit-events.ts'
import { type Declared, declaredOf, entityChanges, entityTag, withDeclared } from '../../model/declared.ts'
import { type Entity, newEntityRule, type ReadRule } from '../../model/entities.ts'
import { StoreUnavailable } from '../../model/errors.ts'
import { changedDescription, type DescriptionChange, descriptionOf } from '../../model/relations.ts'
import { withChangedSlots } from '../columns/changed-entities.ts'
import {
  type Agreed,
  type Entities,
  EntityChanged,
  ExposeError,
  type ExposeRequest,
  type NewEntity,
  type NewRecords,
  type Revision,
} from '../entities.ts'
import { pointAgreed } from '../statements/agreed.ts'
import { definitionOf, type EntityRow, toEntity } from '../statements/entity-rows.ts'
import type { Connection, Pool, Queries } from './driver.ts'
import { recordEvent } from './events.ts'
import { grantReader, tableExists } from './expose.ts'
import { dropChanges, takeChanges } from './record-changes.ts'
import { baseOf, writeRevision, writeVersion } from './record-versions.ts'
import { millis } from './rows.ts'
import { requireRights } from './stamps.ts'

/** Changes of the list of entities. */

/**
 * Writes a version and points the entity at it, in one step for readers.
 * @param db a connection without time limits
 * @returns who may read the entity now; undefined where it has another version than the one to replace
 */
export async function publishEntity(
  pool: Pool,
  db: Connection,
  { ranks, agree, ...definition }: NewEntity,
  records: NewRecords,
  event: AuditEvent | null,
): Promise<ReadRule | undefined> {
  const first = await agree?.()
  const version = randomBytes(16).toString('hex')
  await db.exec('BEGIN')
  // The version counts as retired until the entity points at it. If this process dies, another one removes it.
  await db.run(`INSERT INTO retired (version, at) VALUES ($1, ${millis})`, version)
  const fields = definition.fields.length
  const written = await writeVersion(db, { version, fields, ranks, records })
  await db.exec('COMMIT')
  const point = (agreed: Agreed | undefined) =>
    pool.transaction(async changes => {
      await lockList(changes)
      if (event) await requireRights(changes, event)
      if ((await changes.run('DELETE FROM retired WHERE version = $1', version)) === 0)
        throw new StoreUnavailable(
          'the imported records were removed before they were published; import them again',
        )
      const { replaces: _, keepsNewer: __, declare: description, ...entity } = definition
      const before = await findEntity(changes, entity.name)
      if (!(await takeChanges(changes, { ...definition, ...(agreed && { agreed }) }, versionOf(before)))) {
        // It may be pointed at once more, if what goes is agreed to again. Otherwise it is removed like any other.
        await changes.run(`INSERT INTO retired (version, at) VALUES ($1, ${millis})`, version)
        return undefined
      }
      const source = { kind: 'records', version, ...written, imported: now() } as const
      return replace(changes, before, { ...entity, source, ...(description ?? declared(before)) }, event)
    })
  return pointAgreed(agree, first, point)
}

const versionOf = (entity: Entity | undefined) =>
  entity?.source.kind === 'records' ? entity.source.version : undefined

/** @returns who may read the entity now */
async function replace(
  db: Connection,
  before: Entity | undefined,
  entity: Omit<Entity, 'read'> & { readonly read: ReadRule | null },
  event: AuditEvent | null,
): Promise<ReadRule> {
  await retireEntity(db, entity.name)
  const read = entity.read ?? before?.read ?? newEntityRule
  const after = { ...entity, read }
  await pointEntity(db, after)
  await revokeUnused(db, before)
  if (event) await recordEvent(db, { ...event, object: entity.name, changes: entityChanges(before, after) })
  return read
}

/**
 * Writes a revision and points the entity at it, in one transaction.
 * @param db a connection without time limits
 * @returns as `publishEntity`
 */
export async function reviseEntity(
  db: Connection,
  revision: Revision,
  event: AuditEvent | null,
): Promise<ReadRule | undefined> {
  const { name, key, fields, keepsNewer = false } = revision
  const whole = withChangedSlots(revision)
  const { of } = whole
  const replaces = revision.of.source.version
  const version = `${baseOf(of.source.version)}.${randomBytes(8).toString('hex')}`
  await db.exec('BEGIN')
  // Revisions of one entity come one after the other: they add rows to the same table.
  await db.run("SELECT pg_advisory_xact_lock(hashtext('carrel revision'), hashtext($1))", name)
  if (versionOf(await findEntity(db, name)) !== of.source.version) return undefined
  const written = await writeRevision(db, version, whole)
  await lockList(db)
  if (event) await requireRights(db, event)
  const before = await findEntity(db, name)
  if (!(await takeChanges(db, { name, replaces, keepsNewer }, versionOf(before)))) return undefined
  const source = { kind: 'records', version, ...written, imported: now() } as const
  const stays = declared(before)
  const read = await replace(db, before, { name, key, fields, read: revision.read, source, ...stays }, event)
  await db.exec('COMMIT')
  return read
}

export const dropEntity = (
  pool: Pool,
  name: string,
  event: AuditEvent,
  of: string | undefined,
): Promise<boolean | 'changed'> =>
  pool.transaction(async db => {
    await lockList(db)
    await requireRights(db, event)
    const before = await findEntity(db, name)
    if (!before) return false
    if (of !== undefined && entityTag(before) !== of) return 'changed'
    await retireEntity(db, name)
    await dropChanges(db, name)
    await db.run('DELETE FROM entity WHERE name = $1', name)
    await revokeUnused(db, before)
    await recordEvent(db, { ...event, object: name, changes: entityChanges(before, undefined) })
    return true
  })

export const changeReadRule = async (pool: Pool, name: string, read: ReadRule, event: AuditEvent) =>
  (await declare(pool, name, before => ({ ...declaredOf(before), read }), event)) === 'declared'

export async function describeEntity(
  pool: Pool,
  name: string,
  change: DescriptionChange,
  event: AuditEvent,
): Promise<boolean> {
  const described = (before: Entity) =>
    'write' in change && before.source.kind !== 'records'
      ? undefined
      : { ...changedDescription(before, change), read: before.read }
  return (await declare(pool, name, described, event)) === 'declared'
}

export const declareEntity: Curried = (pool, name, declared, of, event) =>
  declare(pool, name, before => (entityTag(before) === of ? declared : undefined), event)

type Curried = (pool: Pool, ...args: Parameters<Entities['declare']>) => ReturnType<Entities['declare']>

/** @param change undefined: the entity isn't the one that is meant */
const declare = (
  pool: Pool,
  name: string,
  change: (before: Entity) => Declared | undefined,
  event: AuditEvent,
): ReturnType<Entities['declare']> =>
  pool.transaction(async db => {
    await lockList(db)
    await requireRights(db, event)
    const before = await findEntity(db, name)
    if (before === undefined) return 'missing'
    const declared = change(before)
    if (declared === undefined) return 'changed'
    const after = withDeclared(before, declared)
    await pointEntity(db, after)
    await recordEvent(db, { ...event, object: name, changes: entityChanges(before, after) })
    return 'declared'
  })

/** What stays when an entity is imported or exposed again (Q21, Q25). */
const declared = (before: Entity | undefined) => descriptionOf(before ?? {})

/** @throws ExposeError if the name belongs to imported records, or the columns can't be read */
export async function exposeEntity(
  pool: Pool,
  table: Omit<Entity, 'read'>,
  request: ExposeRequest,
  event: AuditEvent,
): Promise<Entity> {
  return pool.transaction(async db => {
    await lockList(db)
    await requireRights(db, event)
    const before = await findEntity(db, table.name)
    if (before?.source.kind === 'records')
      throw new ExposeError(`${table.name} holds imported records; drop it first`)
    if (request.of !== undefined && request.of !== (before === undefined ? null : entityTag(before)))
      throw new EntityChanged(table.name)
    const read = request.read ?? before?.read ?? newEntityRule
    const exposed = { ...table, read, ...(request.declare?.(table) ?? declared(before)) }
    await pointEntity(db, exposed)
    await revokeUnused(db, before)
    await grantReader(db, request, await exposedColumns(db, request))
    await recordEvent(db, { ...event, object: exposed.name, changes: entityChanges(before, exposed) })
    return exposed
  })
}

/** So that only one transaction at a time changes the list. */
const lockList = (db: Queries) => db.run('UPDATE state SET entities = entities + 1')
const retireEntity = (db: Queries, name: string) =>
  db.run(
    `INSERT INTO retired SELECT version, ${millis} FROM entity WHERE name = $1 AND version IS NOT NULL
     ON CONFLICT DO NOTHING`,
    name,
  )
const pointEntity = (db: Queries, entity: Entity) =>
  db.run(
    `INSERT INTO entity (name, definition, version, changed) VALUES ($1, $2, $3, $4)
     ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, version = excluded.version,
       changed = excluded.changed`,
    entity.name,
    definitionOf(entity),
    versionOf(entity) ?? null,
    now(),
  )

const now = () => new Date().toISOString()

async function findEntity(db: Queries, name: string): Promise<Entity | undefined> {
  const [row] = await db.rows<EntityRow>('SELECT name, definition FROM entity WHERE name = $1', name)
  return row && toEntity(row)
}

/** Revokes the reader role's access to columns that no entity shows any more. */
async function revokeUnused(db: Connection, entity: Entity | undefined): Promise<void> {
  if (entity?.source.kind === 'exposed' && (await tableExists(db, entity.source)))
    await grantReader(db, entity.source, await exposedColumns(db, entity.source))
}

/** The columns of a table that any entity shows. */
async function exposedColumns(db: Queries, { schema, table }: ExposedTable) {
  const rows = await db.rows<EntityRow>('SELECT name, definition FROM entity WHERE version IS NULL')
  const showing = rows
    .map(toEntity)
    .filter(({ source }) => source.kind === 'exposed' && source.schema === schema && source.table === table)
  return [...new Set(showing.flatMap(({ fields }) => fields.map(field => field.name)))]
}

type ExposedTable = Pick<ExposeRequest, 'schema' | 'table'>
