import { randomBytes } from 'node:crypto'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Entity } from '../../model/entities.ts'
import { StoreUnavailable } from '../../model/errors.ts'
import { ExposeError, type ExposeRequest, type NewEntity } from '../entities.ts'
import { recordEvent } from './account-changes.ts'
import type { Connection, Pool, Queries } from './driver.ts'
import { letReaderRead, tableExists } from './expose.ts'
import { writeVersion } from './record-versions.ts'

/** The changes of the list of entities. */

/**
 * Writes a version and makes it the entity's, in one step for readers.
 * @param db a connection without time limits
 */
export async function publishEntity(
  pool: Pool,
  db: Connection,
  { ranks, ...definition }: NewEntity,
  records: Iterable<string>,
  event: AuditEvent,
): Promise<void> {
  const version = randomBytes(16).toString('hex')
  await db.exec('BEGIN')
  // Until an entity points at it; what a process leaves that dies here is removed by any other.
  await db.run('INSERT INTO carrel.retired (version, at) VALUES ($1, now())', version)
  const fields = definition.fields.length
  const written = await writeVersion(db, { version, fields, ranks, records })
  await db.exec('COMMIT')
  await pool.transaction(async changes => {
    await lockList(changes)
    if ((await changes.run('DELETE FROM carrel.retired WHERE version = $1', version)) === 0)
      throw new StoreUnavailable('what was imported was removed before it was in use; import it again')
    await retire(changes, definition.name)
    const before = await exposedBy(changes, definition.name)
    await point(changes, { ...definition, source: { kind: 'records', version, ...written } })
    await takeBack(changes, before)
    await recordEvent(changes, { ...event, object: definition.name })
  })
}

export const dropEntity = (pool: Pool, name: string, event: AuditEvent): Promise<boolean> =>
  pool.transaction(async db => {
    await lockList(db)
    await retire(db, name)
    const deleted = 'DELETE FROM carrel.entity WHERE name = $1 RETURNING name, definition'
    const [row] = await db.rows<EntityRow>(deleted, name)
    if (!row) return false
    const { source } = toEntity(row)
    if (source.kind === 'exposed') await takeBack(db, source)
    await recordEvent(db, { ...event, object: name })
    return true
  })

/** @throws ExposeError when the name is taken by imported records, or the columns can't be read */
export async function exposeEntity(
  pool: Pool,
  exposed: Entity,
  request: ExposeRequest,
  event: AuditEvent,
): Promise<void> {
  await pool.transaction(async db => {
    await lockList(db)
    const imported = 'SELECT 1 FROM carrel.entity WHERE name = $1 AND version IS NOT NULL'
    if ((await db.rows(imported, exposed.name)).length > 0)
      throw new ExposeError(`${exposed.name} holds imported records; drop it first`)
    const before = await exposedBy(db, exposed.name)
    await point(db, exposed)
    await takeBack(db, before)
    await letReaderRead(db, request, await columnsShown(db, request))
    await recordEvent(db, { ...event, object: exposed.name })
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

/** The table that an entity shows so far, if it shows one. */
async function exposedBy(db: Queries, name: string) {
  const [row] = await db.rows<EntityRow>('SELECT name, definition FROM carrel.entity WHERE name = $1', name)
  const source = row && toEntity(row).source
  return source?.kind === 'exposed' ? source : undefined
}

/** What no entity shows any more, the reader role may not read any more. */
async function takeBack(db: Connection, source: ExposedTable | undefined): Promise<void> {
  if (source && (await tableExists(db, source)))
    await letReaderRead(db, source, await columnsShown(db, source))
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
