import { randomBytes } from 'node:crypto'
import type { AuditEvent } from '../../model/audit-events.ts'
import { type Entity, newEntityRule, type ReadRule } from '../../model/entities.ts'
import { StoreUnavailable } from '../../model/errors.ts'
import { ExposeError, type ExposeRequest, type NewEntity } from '../entities.ts'
import type { Connection, Pool, Queries } from './driver.ts'
import { recordEvent } from './events.ts'
import { letReaderRead, tableExists } from './expose.ts'
import { writeVersion } from './record-versions.ts'

/** The changes of the list of entities. */

/**
 * Writes a version and makes it the entity's, in one step for readers.
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
  // Until an entity points at it; what a process leaves that dies here is removed by any other.
  await db.run('INSERT INTO carrel.retired (version, at) VALUES ($1, now())', version)
  const fields = definition.fields.length
  const written = await writeVersion(db, { version, fields, ranks, records })
  await db.exec('COMMIT')
  return pool.transaction(async changes => {
    await lockList(changes)
    if ((await changes.run('DELETE FROM carrel.retired WHERE version = $1', version)) === 0)
      throw new StoreUnavailable('what was imported was removed before it was in use; import it again')
    await retire(changes, definition.name)
    const before = await entityNamed(changes, definition.name)
    const read = definition.read ?? before?.read ?? newEntityRule
    await point(changes, { ...definition, read, source: { kind: 'records', version, ...written } })
    await takeBack(changes, before)
    await recordEvent(changes, { ...event, object: definition.name })
    return read
  })
}

export const dropEntity = (pool: Pool, name: string, event: AuditEvent): Promise<boolean> =>
  pool.transaction(async db => {
    await lockList(db)
    await retire(db, name)
    const deleted = 'DELETE FROM carrel.entity WHERE name = $1 RETURNING name, definition'
    const [row] = await db.rows<EntityRow>(deleted, name)
    if (!row) return false
    await takeBack(db, toEntity(row))
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
    const before = await entityNamed(db, name)
    if (before === undefined) return false
    await point(db, { ...before, read })
    await recordEvent(db, { ...event, object: name })
    return true
  })

/** @throws ExposeError when the name is taken by imported records, or the columns can't be read */
export async function exposeEntity(
  pool: Pool,
  table: Omit<Entity, 'read'>,
  request: ExposeRequest,
  event: AuditEvent,
): Promise<Entity> {
  return pool.transaction(async db => {
    await lockList(db)
    const before = await entityNamed(db, table.name)
    if (before?.source.kind === 'records')
      throw new ExposeError(`${table.name} holds imported records; drop it first`)
    const exposed = { ...table, read: request.read ?? before?.read ?? newEntityRule }
    await point(db, exposed)
    await takeBack(db, before)
    await letReaderRead(db, request, await columnsShown(db, request))
    await recordEvent(db, { ...event, object: exposed.name })
    return exposed
  })
}

/** Lets one change of the list through at a time. */
const lockList = (db: Queries) => db.run('UPDATE carrel.state SET entities = entities + 1')
const retire = (db: Queries, name: string) =>
  db.run(
    `INSERT INTO carrel.retired SELECT version, now() FROM carrel.entity WHERE name = $1 AND version IS NOT NULL
     ON CONFLICT DO NOTHING`,
    name,
  )
const point = (db: Queries, { name, ...definition }: Entity) =>
  db.run(
    `INSERT INTO carrel.entity (name, definition, version, changed) VALUES ($1, $2, $3, $4)
     ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, version = excluded.version,
       changed = excluded.changed`,
    name,
    JSON.stringify(definition),
    definition.source.kind === 'records' ? definition.source.version : null,
    new Date().toISOString(),
  )

async function entityNamed(db: Queries, name: string): Promise<Entity | undefined> {
  const [row] = await db.rows<EntityRow>('SELECT name, definition FROM carrel.entity WHERE name = $1', name)
  return row && toEntity(row)
}

/** Once no entity shows a column any more, the reader role may no longer read it. */
async function takeBack(db: Connection, entity: Entity | undefined): Promise<void> {
  if (entity?.source.kind === 'exposed' && (await tableExists(db, entity.source)))
    await letReaderRead(db, entity.source, await columnsShown(db, entity.source))
}

/** The columns of a table that entities show, of all of them. */
async function columnsShown(db: Queries, { schema, table }: ExposedTable) {
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
