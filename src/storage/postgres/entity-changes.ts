import { randomBytes } from 'node:crypto'
import type { AuditEvent } from '../../model/audit-events.ts'
import { type Entity, newEntityRule, type ReadRule } from '../../model/entities.ts'
import { StoreUnavailable } from '../../model/errors.ts'
import { ExposeError, type ExposeRequest, type NewEntity } from '../entities.ts'
import type { Connection, Pool, Queries } from './driver.ts'
import { recordEvent } from './events.ts'
import { grantReader, tableExists } from './expose.ts'
import { writeVersion } from './record-versions.ts'

/** Changes of the list of entities. */

/**
 * Writes a version and points the entity at it, in one step for readers.
 * @param db a connection without time limits
 * @returns who may read the entity now
 */
export async function publishEntity(
  pool: Pool,
  db: Connection,
  { ranks, ...definition }: NewEntity,
  records: Iterable<string>,
  event: AuditEvent,
): Promise<ReadRule> {
  const version = randomBytes(16).toString('hex')
  await db.exec('BEGIN')
  // The version counts as retired until the entity points at it. If this process dies, another one removes it.
  await db.run('INSERT INTO carrel.retired (version, at) VALUES ($1, now())', version)
  const fields = definition.fields.length
  const written = await writeVersion(db, { version, fields, ranks, records })
  await db.exec('COMMIT')
  return pool.transaction(async changes => {
    await lockList(changes)
    if ((await changes.run('DELETE FROM carrel.retired WHERE version = $1', version)) === 0)
      throw new StoreUnavailable(
        'the imported records were removed before they were published; import them again',
      )
    await retireEntity(changes, definition.name)
    const before = await findEntity(changes, definition.name)
    const read = definition.read ?? before?.read ?? newEntityRule
    await pointEntity(changes, { ...definition, read, source: { kind: 'records', version, ...written } })
    await revokeUnused(changes, before)
    await recordEvent(changes, { ...event, object: definition.name })
    return read
  })
}

export const dropEntity = (pool: Pool, name: string, event: AuditEvent): Promise<boolean> =>
  pool.transaction(async db => {
    await lockList(db)
    await retireEntity(db, name)
    const deleted = 'DELETE FROM carrel.entity WHERE name = $1 RETURNING name, definition'
    const [row] = await db.rows<EntityRow>(deleted, name)
    if (!row) return false
    await revokeUnused(db, toEntity(row))
    await recordEvent(db, { ...event, object: name })
    return true
  })

export const changeReadRule = (
  pool: Pool,
  name: string,
  read: ReadRule,
  event: AuditEvent,
): Promise<boolean> =>
  pool.transaction(async db => {
    await lockList(db)
    const before = await findEntity(db, name)
    if (before === undefined) return false
    await pointEntity(db, { ...before, read })
    await recordEvent(db, { ...event, object: name })
    return true
  })

/** @throws ExposeError if the name belongs to imported records, or the columns can't be read */
export async function exposeEntity(
  pool: Pool,
  table: Omit<Entity, 'read'>,
  request: ExposeRequest,
  event: AuditEvent,
): Promise<Entity> {
  return pool.transaction(async db => {
    await lockList(db)
    const before = await findEntity(db, table.name)
    if (before?.source.kind === 'records')
      throw new ExposeError(`${table.name} holds imported records; drop it first`)
    const exposed = { ...table, read: request.read ?? before?.read ?? newEntityRule }
    await pointEntity(db, exposed)
    await revokeUnused(db, before)
    await grantReader(db, request, await exposedColumns(db, request))
    await recordEvent(db, { ...event, object: exposed.name })
    return exposed
  })
}

/** Locks the list, so that only one transaction at a time changes it. */
const lockList = (db: Queries) => db.run('UPDATE carrel.state SET entities = entities + 1')
const retireEntity = (db: Queries, name: string) =>
  db.run(
    `INSERT INTO carrel.retired SELECT version, now() FROM carrel.entity WHERE name = $1 AND version IS NOT NULL
     ON CONFLICT DO NOTHING`,
    name,
  )
const pointEntity = (db: Queries, { name, ...definition }: Entity) =>
  db.run(
    `INSERT INTO carrel.entity (name, definition, version, changed) VALUES ($1, $2, $3, $4)
     ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, version = excluded.version,
       changed = excluded.changed`,
    name,
    JSON.stringify(definition),
    definition.source.kind === 'records' ? definition.source.version : null,
    new Date().toISOString(),
  )

async function findEntity(db: Queries, name: string): Promise<Entity | undefined> {
  const [row] = await db.rows<EntityRow>('SELECT name, definition FROM carrel.entity WHERE name = $1', name)
  return row && toEntity(row)
}

/** Revokes the reader role's access to columns that no entity shows any more. */
async function revokeUnused(db: Connection, entity: Entity | undefined): Promise<void> {
  if (entity?.source.kind === 'exposed' && (await tableExists(db, entity.source)))
    await grantReader(db, entity.source, await exposedColumns(db, entity.source))
}

/** The columns of a table that any entity shows. */
async function exposedColumns(db: Queries, { schema, table }: ExposedTable) {
  const rows = await db.rows<EntityRow>('SELECT name, definition FROM carrel.entity WHERE version IS NULL')
  const showing = rows
    .map(toEntity)
    .filter(({ source }) => source.kind === 'exposed' && source.schema === schema && source.table === table)
  return [...new Set(showing.flatMap(({ fields }) => fields.map(field => field.name)))]
}

type ExposedTable = Pick<ExposeRequest, 'schema' | 'table'>

export type EntityRow = { name: string; definition: string }

export const toEntity = ({ name, definition }: EntityRow): Entity => ({
  name,
  ...(JSON.parse(definition) as Omit<Entity, 'name'>),
})
