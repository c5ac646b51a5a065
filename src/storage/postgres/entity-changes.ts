import { randomBytes } from 'node:crypto'
import { StoreUnavailable } from '../../lib/errors.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { entityChanges, entityTag } from '../../model/declared.ts'
import { type Entity, newEntityRule, type ReadRule } from '../../model/entities.ts'
import type { KeptVersionLimits, Restored } from '../../model/kept-versions.ts'
import { descriptionOf } from '../../model/relations.ts'
import type { NewEntity, NewRecords, RecordEntity, Revision } from '../entities.ts'
import { ExposeError, type ExposeRequest } from '../exposing.ts'
import { withChangedSlots } from '../records/pending-changes.ts'
import { slotsOf } from '../records/record-source.ts'
import { EntityChanged } from '../single-records.ts'
import { dropEntity, pointAgreed, pointEntity, restoreVersion } from '../statements/entities.ts'
import {
  type EntityRow,
  findEntity,
  isImported,
  lockList,
  putEntity,
  toEntity,
} from '../statements/entity-rows.ts'
import { requireReaders } from '../statements/entity-rules.ts'
import { keepRetired, retire } from '../statements/kept-versions.ts'
import { lostRecords } from '../statements/record-writes.ts'
import { type Change, type Read, record, rights, row } from '../statements/statements.ts'
import type { Connection, Pool, Queries } from './driver.ts'
import { grantReader, tableExists } from './expose.ts'
import { perform } from './perform.ts'
import { baseOf, readRecords, recordTable, writeRevision, writeVersion } from './record-versions.ts'

/** Changes of the list of entities that also write tables of records, or grant access to the reader role. */

/**
 * Writes a version and points the entity at it, in one step for readers.
 * @param db a connection without time limits
 * @returns the entity's read rule; undefined if its version is not the one to replace
 */
export async function publishEntity(
  pool: Pool,
  db: Connection,
  { ranks, writeFields, agree, ...definition }: NewEntity,
  records: NewRecords,
  event: AuditEvent | null,
  limits: KeptVersionLimits,
): Promise<ReadRule | undefined> {
  const first = await agree?.()
  const version = newVersion()
  await writeFields?.(version).catch(() => undefined)
  await db.exec('BEGIN')
  const fields = definition.fields.length
  const written = await writeVersion(db, { version, fields, ranks, records })
  // The version counts as retired until the entity points at it. If this process dies, another removes it.
  await perform(db, retire(version))
  await db.exec('COMMIT')
  return pointAgreed(agree, first, agreed =>
    pool.transaction(async changes => {
      const published = { ...definition, version, ...written, ...(agreed && { agreed }) }
      const pointed = await perform(changes, pointEntity(published, event, limits))
      if (!pointed) {
        // The version stays for another attempt. Without one, it is removed like any retired version.
        await perform(changes, keepRetired([version]))
        return undefined
      }
      if ((await changes.run('DELETE FROM retired WHERE version = $1', version)) === 0)
        throw new StoreUnavailable(
          'the imported records were removed before they were published; import them again',
        )
      await revokeUnused(changes, pointed.before)
      return pointed.read
    }),
  )
}

/**
 * Writes a revision and points the entity at it, in one transaction.
 * @param db a connection without time limits
 * @returns as `publishEntity`
 */
export async function reviseEntity(
  pool: Pool,
  db: Connection,
  revision: Revision,
  event: AuditEvent | null,
  limits: KeptVersionLimits,
): Promise<ReadRule | undefined> {
  const { slots: _, added: __, ranks: ___, of: shown, writeFields, ...definition } = revision
  const whole = withChangedSlots(revision)
  const replaced = whole.of.source.version
  const isShared = await hasLaterRows(db, whole.of)
  const version = isShared ? newVersion() : `${baseOf(replaced)}.${randomBytes(8).toString('hex')}`
  await writeFields?.(version).catch(() => undefined)
  await db.exec('BEGIN')
  // Revisions of one entity come one after the other: they add rows to the same table.
  await db.run("SELECT pg_advisory_xact_lock(hashtext('carrel revision'), hashtext($1))", revision.name)
  const stored = await perform(db, findEntity(revision.name))
  if (!stored || !isImported(stored) || stored.source.version !== replaced) return undefined
  if (!isShared && (await hasLaterRows(db, whole.of))) return undefined
  const written = isShared
    ? await writeVersion(db, {
        version,
        fields: whole.fields.length,
        ranks: whole.ranks,
        records: all(pool, whole),
      })
    : await writeRevision(db, version, whole)
  const published = { ...definition, replaces: shown.source.version, version, ...written }
  const pointed = await perform(db, pointEntity(published, event, limits))
  if (!pointed) return undefined
  await db.exec('COMMIT')
  return pointed.read
}

const newVersion = () => randomBytes(16).toString('hex')

/**
 * True if the table of a version has rows of revisions made after it, because it was restored
 * (docs/decisions/0071). Then another revision can't add rows to the table.
 */
async function hasLaterRows(db: Queries, entity: RecordEntity): Promise<boolean> {
  const sql = `SELECT EXISTS (SELECT 1 FROM ${recordTable(entity.source.version)} WHERE n >= $1) AS found`
  const [row] = await db.rows<{ found: boolean }>(sql, slotsOf(entity))
  return row?.found ?? false
}

/** Number of records read at a time, and of bytes if each were as large as the largest. */
const maxRead = 2_000
const readBytes = 8 * 1024 * 1024

/**
 * All records of a revision, in the order of the key.
 * @param db another connection than the one that writes them
 */
async function* all(db: Queries, { of, slots, added }: Revision): AsyncIterable<readonly string[]> {
  const first = slotsOf(of)
  const step = Math.max(1, Math.min(maxRead, Math.floor(readBytes / Math.max(of.source.largest, 1))))
  for (let from = 0; from < slots.length; from += step) {
    const some = slots.subarray(from, from + step)
    const found = await readRecords(
      db,
      of.source.version,
      some.filter(slot => slot < first),
    )
    let at = 0
    yield Array.from(some, slot => (slot < first ? found[at++] : added[slot - first]) ?? '{}')
  }
}

/** @returns as `Entities.restore` */
export const restoreEntity = (
  pool: Pool,
  name: string,
  id: number,
  event: AuditEvent,
  limits: KeptVersionLimits,
  of: string | undefined,
): Promise<Restored> =>
  pool.transaction(async db => {
    const restored = await perform(db, restoreVersion(name, id, event, limits, of, requireRecords))
    return typeof restored === 'object' ? 'restored' : restored
  })

/** @throws StoreUnavailable if the table of a version is gone */
function* requireRecords({ name, source }: RecordEntity): Read<void> {
  const sql = 'SELECT to_regclass($1) IS NOT NULL AS is_there'
  const found = yield* row<{ is_there: boolean }>(sql, `carrel.${recordTable(source.version)}`)
  if (!found?.is_there) throw lostRecords(name)
}

/** @returns as `Entities.drop` */
export const dropWithGrants = (
  pool: Pool,
  name: string,
  event: AuditEvent,
  of: string | undefined,
): Promise<boolean | 'changed'> =>
  pool.transaction(async db => {
    const dropped = await perform(db, dropEntity(name, event, of))
    if (typeof dropped !== 'object') return dropped
    await revokeUnused(db, dropped)
    return true
  })

/** @throws ExposeError if the name belongs to imported records, or the columns can't be read */
export const exposeEntity = (
  pool: Pool,
  table: Omit<Entity, 'read'>,
  request: ExposeRequest,
  event: AuditEvent,
): Promise<Entity> =>
  pool.transaction(async db => {
    const { before, exposed } = await perform(db, pointAtTable(table, request, event))
    await revokeUnused(db, before)
    await grantReader(db, request, await exposedColumns(db, request))
    return exposed
  })

function* pointAtTable(
  table: Omit<Entity, 'read'>,
  request: ExposeRequest,
  event: AuditEvent,
): Change<{ readonly before: Entity | undefined; readonly exposed: Entity }> {
  yield* lockList()
  yield* rights(event, 'shared')
  const before = yield* findEntity(table.name)
  if (before?.source.kind === 'records')
    throw new ExposeError(`${table.name} holds imported records; drop it first`)
  if (request.of !== undefined && request.of !== (before === undefined ? null : entityTag(before)))
    throw new EntityChanged(table.name)
  const read = request.read ?? before?.read ?? newEntityRule
  const exposed = { ...table, read, ...(request.declare?.(table) ?? descriptionOf(before ?? {})) }
  yield* requireReaders(before, exposed)
  yield* putEntity(exposed)
  yield* record({ ...event, object: exposed.name, changes: entityChanges(before, exposed) })
  return { before, exposed }
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
