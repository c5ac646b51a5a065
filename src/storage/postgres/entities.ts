import { rmSync } from 'node:fs'
import { makeTemporaryFolder } from '../../lib/process-ids.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { builtInEntities } from '../../model/built-in-entities.ts'
import type { Entity, ReadRule } from '../../model/entities.ts'
import type { KeptVersionLimits } from '../../model/kept-versions.ts'
import type { Plan } from '../../model/plan.ts'
import type { Viewer } from '../../model/readers.ts'
import type { EntityState } from '../../model/snapshots.ts'
import { baseEntity, changesOf, stateOf } from '../columns/changed-entities.ts'
import { createChangesSince } from '../columns/changes-since.ts'
import { createEarlierStates } from '../columns/earlier-states.ts'
import { foldChanges, requireRoom } from '../columns/fold-changes.ts'
import { createRecordListings } from '../columns/record-listings.ts'
import { beginIfLarge, type RecordSource, slotsOf } from '../columns/record-source.ts'
import { sortRecords } from '../columns/sort-records.ts'
import type { Entities, NewEntity, NewRecords, RecordPlan, Revision } from '../entities.ts'
import type { ExposeRequest } from '../exposing.ts'
import { createPlanRunner } from '../plans/run-plans.ts'
import { inBatches } from '../runtime/batches.ts'
import type { Shared } from '../runtime/event-loops.ts'
import { createEntityList, isImported } from '../statements/entity-rows.ts'
import { forgetRetired, keepRetired, storedVersions } from '../statements/kept-versions.ts'
import type { Offered } from '../statements/parts.ts'
import { storedWrite, storedWrites, type Writing, writeRecords } from '../statements/record-writes.ts'
import { quoteName } from '../tables/cells.ts'
import { builtInTable, type TableOf } from '../tables/compile.ts'
import { readByAudience } from '../tables/row-visibility.ts'
import type { Tables } from './compile.ts'
import type { Connection, Pool } from './driver.ts'
import { dropWithGrants, exposeEntity, publishEntity, restoreEntity, reviseEntity } from './entity-changes.ts'
import { perform } from './perform.ts'
import { baseOf, readColumn, readRecords, recordTable, slotsField } from './record-versions.ts'
import type { SessionLookup, SessionLookupResult } from './session-lookup.ts'
import type { PostgresAudiences } from './shared-state.ts'
import type { TableListings } from './table-listings.ts'
import { findForeignKeys, findTables } from './tables.ts'

/** Interval in ms at which unused versions are removed, and those still being read are marked as used. */
const sweepInterval = 20_000
/** Maximum number of writes of single records that share a transaction. */
const maxTogether = 64

interface Parts {
  readonly pool: Pool
  readonly changes: Offered<'entities'>
  readonly lookup: SessionLookup
  readonly audiences: PostgresAudiences
  readonly records: RecordSource & { readonly openVersions: ReadonlyMap<string, number> }
  readonly tables: TableListings
  readonly keptVersions: KeptVersionLimits
  readonly shared: Shared
  /** Opens a connection without time limits, for long-running work. */
  readonly connect: () => Promise<Connection>
  /** Reads the entity's definition from the database catalogue. */
  readonly describe: (request: ExposeRequest) => Promise<Omit<Entity, 'read'>>
}

type ListState = Pick<SessionLookupResult, 'entities' | 'records' | 'generation'>

interface PostgresEntities extends Entities {
  /** Reads the list again if the state has changed since it was read. */
  refresh(state: ListState, db: Connection): Promise<void> | undefined
  close(): Promise<void>
}

/** The list of entities, and the tables of imported ones: one for each version, never changed. */
export function postgresEntities(parts: Parts): PostgresEntities {
  const { pool, changes, lookup, audiences, tables, connect, keptVersions } = parts
  const records = createRecordListings(parts.records, parts.shared.cache)
  let entityList = createEntityList()
  const writes = inBatches(
    (batch: readonly Writing[]) => pool.transaction(db => perform(db, writeRecords(batch))),
    maxTogether,
  )
  let entities: ReadonlyMap<string, Entity> = new Map()
  let loaded: ListState = { entities: -1, records: -1, generation: 0 }
  let current: ReadonlySet<string> = new Set()
  let scratch: string | undefined

  async function read(state: ListState, db: Connection): Promise<void> {
    if (state.generation !== loaded.generation) {
      entityList = createEntityList()
      earlierStates = newEarlierStates()
    }
    const added = await perform(db, entityList.read())
    entities = new Map([...builtInEntities, ...added].map(entity => [entity.name, entity]))
    // The version that is shown, and the one that it is derived from.
    const imported = added.filter(isImported).flatMap(entity => [entity, baseEntity(entity)])
    current = new Set(imported.map(({ source }) => source.version))
    records.keepOnly(current)
    loaded = state
  }

  /** Removes replaced versions that no listing reads any more. */
  async function sweep(): Promise<void> {
    const reading = [...parts.records.openVersions.keys()]
    if (reading.length > 0) await perform(pool, keepRetired(reading))
    if (await changes.hasOldKept(keptVersions)) await changes.trim(keptVersions)
    const stored = await perform(pool, storedVersions())
    for (const { version } of stored.filter(({ state }) => state === 'old'))
      await pool.transaction(async db => {
        // If several nodes try, the one that deletes the row removes the version.
        if ((await perform(db, forgetRetired([version]))) === 0) return
        await db.run('DELETE FROM rank WHERE version = $1', version)
        // A table belongs to a version and all its revisions.
        const [used] = await db.rows(
          `SELECT 1 FROM entity WHERE split_part(version, '.', 1) = $1
           UNION ALL SELECT 1 FROM kept_version WHERE split_part(version, '.', 1) = $1
           UNION ALL SELECT 1 FROM held_version WHERE split_part(version, '.', 1) = $1
           UNION ALL SELECT 1 FROM retired WHERE split_part(version, '.', 1) = $1`,
          baseOf(version),
        )
        if (!used) await db.exec(`DROP TABLE IF EXISTS ${recordTable(version)}`)
      })
    if (parts.shared.loop === null)
      parts.records.fieldFiles.sweep(new Set([...current, ...stored.map(({ version }) => version)]))
  }
  async function changing(work: (db: Connection) => Promise<ReadRule | undefined>) {
    const db = await connect()
    let read: ReadRule | undefined
    try {
      read = await work(db)
    } finally {
      // Closing rolls back uncommitted work.
      await db.close()
    }
    await sweep().catch(() => {})
    return read
  }
  /** The tables that a plan may read. In subqueries they are never collected: PostgreSQL chooses how it joins. */
  async function tablesFor(plan: Plan, viewer: Viewer): Promise<Tables> {
    const { entity, page } = plan
    const tableOf: TableOf = one => {
      const { source } = one
      // The role that reads exposed tables may read nothing else, so values of other tables are read before.
      if (source.kind === 'records' || source.kind !== entity.source.kind)
        throw new Error('a statement reads tables of one kind')
      if (source.kind === 'table') return builtInTable(one, source, audiences.visibleRows(source, viewer))
      const name = `${quoteName(source.schema)}.${quoteName(source.table)}`
      return { name, rows: { kind: 'all' }, isExposed: true, asText: source.asText }
    }
    const { rows } = tableOf(entity)
    const collects =
      entity.source.kind === 'table' && (await audiences.shouldCollect(entity.source, rows, page))
    return { tableOf, way: readByAudience(plan, rows) ?? (collects ? 'collect' : 'scan') }
  }

  // A failed removal is retried later.
  const sweeping = setInterval(() => void sweep().catch(() => {}), sweepInterval)
  sweeping.unref()

  const { list, explain } = createPlanRunner('postgres', records, {
    list: async (plan, viewer, format, client) =>
      tables.list(plan, await tablesFor(plan, viewer), format, client),
    explain: async (plan, viewer, client, runs) =>
      tables.explain(plan, await tablesFor(plan, viewer), client, runs),
  })

  const all = async () => {
    await lookup.ask()
    return entities
  }
  const publish = (entity: NewEntity, lines: NewRecords, event: AuditEvent | null) =>
    changing(db => publishEntity(pool, db, entity, lines, event, keptVersions))
  const revise = (revision: Revision, event: AuditEvent | null) =>
    changing(db => reviseEntity(pool, db, revision, event, keptVersions))
  const openVersion: Entities['openVersion'] = async entity => {
    if (changesOf(entity)) return records.openChanged(entity)
    const { source } = entity
    return {
      slots: () =>
        source.slots === undefined ? sortRecords(source.count, []) : readColumn(pool, source, slotsField),
      ranks: field => readColumn(pool, source, field),
      read: slots => readRecords(pool, source.version, slots),
      writeFields: (version, changed, signal) => records.writeFields(entity, version, changed, signal),
      close: () => {},
    }
  }
  const sharedSlots: Entities['sharedSlots'] = (one, other) => {
    const [base, itsBase] = [baseEntity(one), baseEntity(other)]
    // Versions with the same table have the same record in each of its rows.
    if (baseOf(base.source.version) !== baseOf(itsBase.source.version)) return 0
    return Math.min(slotsOf(base), slotsOf(itsBase))
  }
  const heldState = (state: EntityState) => changes.heldState(state, keptVersions)
  const newEarlierStates = () =>
    createEarlierStates({ version: heldState, changes: changes.heldChanges }, records.hold)
  let earlierStates = newEarlierStates()
  const at: Entities['at'] = (now, state) => earlierStates(now, state)
  const folding = parts.shared.loop === null ? foldChanges({ all, openVersion, revise, publish }) : undefined

  return {
    refresh: (state, db) =>
      state.entities === loaded.entities &&
      state.records === loaded.records &&
      state.generation === loaded.generation
        ? undefined
        : read(state, db),
    all,
    prepare: async large => beginIfLarge(parts.records, (await all()).values(), large),
    list,
    explain,
    publish,
    openVersion,
    sharedSlots,
    revise,
    record: (plan, key, client) => records.record(plan as RecordPlan, key, client),
    requireRoom,
    writeRecord: async (write, event) => {
      requireRoom(write.entity)
      return writes.send<boolean>({ write: storedWrite(write), event })
    },
    writeTogether: async (entity, writes, events) => {
      requireRoom(entity)
      return changes.writeTogether(storedWrites(entity, writes), events)
    },
    history: changes.history,
    changeWriteRule: changes.changeWriteRule,
    changeReadRule: changes.changeReadRule,
    describe: changes.describe,
    declare: changes.declare,
    drop: async (name, event, of) => {
      const dropped = await dropWithGrants(pool, name, event, of)
      await sweep().catch(() => {})
      return dropped
    },
    versions: name => changes.versions(name, keptVersions),
    state: stateOf,
    at,
    changesSince: createChangesSince({ at, openVersion, sharedSlots, heldState, heldFrom: changes.heldFrom }),
    restore: async (name, id, event, of) => {
      const restored = await restoreEntity(pool, name, id, event, keptVersions, of)
      await sweep().catch(() => {})
      return restored
    },
    expose: async (request, event) => exposeEntity(pool, await parts.describe(request), request, event),
    tables: search => findTables(pool, search),
    foreignKeys: async name => {
      await lookup.ask()
      return findForeignKeys(pool, entities, name)
    },
    keepsFields: false,
    get scratchFolder() {
      scratch ??= makeTemporaryFolder('import')
      return scratch
    },
    close: async () => {
      clearInterval(sweeping)
      await folding?.close()
      await writes.close()
      if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true })
    },
  }
}
