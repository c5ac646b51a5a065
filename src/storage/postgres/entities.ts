import { rmSync } from 'node:fs'
import type { TakeLease } from '../../lib/hold.ts'
import { makeTemporaryFolder } from '../../lib/process-ids.ts'
import { builtInEntities } from '../../model/built-in-entities.ts'
import type { Entity } from '../../model/entities.ts'
import type { Plan } from '../../model/plan.ts'
import type { Viewer } from '../../model/readers.ts'
import type { EntityState } from '../../model/snapshots.ts'
import { sortRecords } from '../columns/sort-records.ts'
import type { Entities, RecordPlan } from '../entities.ts'
import type { ExposeRequest } from '../exposing.ts'
import { createPlanRunner } from '../plans/run-plans.ts'
import { createChangesSince } from '../records/change-feed.ts'
import { createEarlierStates } from '../records/earlier-states.ts'
import { foldChanges, requireRoom } from '../records/folding.ts'
import { baseEntity, changesOf, stateOf } from '../records/pending-changes.ts'
import { createRecordListings } from '../records/record-listings.ts'
import { slotsOf } from '../records/record-source.ts'
import { inBatches } from '../runtime/batches.ts'
import { createEntityList, isImported } from '../statements/entity-rows.ts'
import { held, storedWrite, storedWrites, type Writing, writeRecords } from '../statements/record-writes.ts'
import { quoteName } from '../tables/cells.ts'
import { builtInTable, type TableOf } from '../tables/compile.ts'
import { readByAudience } from '../tables/row-visibility.ts'
import type { Tables } from './compile.ts'
import type { Connection, Pool } from './driver.ts'
import { dropWithGrants, exposeEntity, restoreEntity } from './entity-changes.ts'
import { perform } from './perform.ts'
import { createPublishing, type PublishingParts } from './publishing.ts'
import { baseOf, readColumn, readRecords, slotsField } from './record-versions.ts'
import type { SessionLookup, SessionLookupResult } from './session-lookup.ts'
import type { PostgresAudiences } from './shared-state.ts'
import type { TableListings } from './table-listings.ts'
import { findForeignKeys, findTables } from './tables.ts'

/** Maximum number of writes of single records that share a transaction. */
const maxTogether = 64

interface Parts extends PublishingParts {
  readonly lease: TakeLease
  readonly lookup: SessionLookup
  readonly audiences: PostgresAudiences
  readonly tables: TableListings
  /** Reads the entity's definition from the database catalogue. */
  readonly describe: (request: ExposeRequest) => Promise<Omit<Entity, 'read'>>
}

type ListState = Pick<SessionLookupResult, 'entities' | 'records' | 'generation'>

interface PostgresEntities extends Entities {
  /** Reads the list again if the state has changed since it was read. */
  refresh(state: ListState, db: Connection): Promise<void> | undefined
  close(): Promise<void>
}

type Records = ReturnType<typeof createRecordListings>

/**
 * The entities that were read last.
 * @param wentBack called when the store may have gone back to an earlier state
 */
function createKnownEntities(records: Records, wentBack: () => void) {
  let entityList = createEntityList()
  let entities: ReadonlyMap<string, Entity> = new Map()
  let loaded: ListState = { entities: -1, records: -1, generation: 0 }
  let current: ReadonlySet<string> = new Set()

  async function read(state: ListState, db: Connection): Promise<void> {
    if (state.generation !== loaded.generation) {
      entityList = createEntityList()
      wentBack()
    }
    const added = await perform(db, entityList.read())
    entities = new Map([...builtInEntities, ...added].map(entity => [entity.name, entity]))
    const imported = added.filter(isImported).flatMap(entity => [entity, baseEntity(entity)])
    current = new Set(imported.map(({ source }) => source.version))
    records.keepOnly(current)
    loaded = state
  }

  return {
    all: () => entities,
    /** The versions that are shown, and those that they are derived from. */
    current: () => current,
    refresh: (state: ListState, db: Connection): Promise<void> | undefined =>
      state.entities === loaded.entities &&
      state.records === loaded.records &&
      state.generation === loaded.generation
        ? undefined
        : read(state, db),
  }
}

/** The tables that a plan may read. In subqueries they are never collected: PostgreSQL chooses how it joins. */
async function tablesFor(plan: Plan, viewer: Viewer, audiences: PostgresAudiences): Promise<Tables> {
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

/** Opens versions that are to be changed, or compared. */
const openedVersions = (pool: Pool, records: Records): Pick<Entities, 'openVersion' | 'sharedSlots'> => ({
  openVersion: async entity => {
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
  },
  sharedSlots: (one, other) => {
    const [base, itsBase] = [baseEntity(one), baseEntity(other)]
    // Versions with the same table have the same record in each of its rows.
    if (baseOf(base.source.version) !== baseOf(itsBase.source.version)) return 0
    return Math.min(slotsOf(base), slotsOf(itsBase))
  },
})

const writesOn = (pool: Pool) =>
  inBatches(
    (batch: readonly Writing[], waits) => pool.transaction(db => perform(db, writeRecords(batch, { waits }))),
    {
      most: maxTogether,
      laneOf: ({ write }) => write.entity,
      // More would make batches small.
      atOnce: 2,
      // Those that wait leave connections to others, and to logins and logouts.
      waitAtOnce: Math.max(0, Math.min(2, pool.usage().max - 3)),
      isHeld: result => result === held,
      patience: pool.statementTimeout,
    },
  )

/** The list of entities, and the tables of imported ones: one for each version, never changed. */
export function postgresEntities(parts: Parts): PostgresEntities {
  const { pool, changes, lookup, audiences, tables, keptVersions } = parts
  const records = createRecordListings(parts.records, parts.shared.cache)
  const heldState = (state: EntityState) => changes.heldState(state, keptVersions)
  const newEarlierStates = () =>
    createEarlierStates({ version: heldState, changes: changes.heldChanges }, records.hold)
  let earlierStates = newEarlierStates()
  const at: Entities['at'] = (now, state) => earlierStates(now, state)
  const known = createKnownEntities(records, () => {
    earlierStates = newEarlierStates()
  })
  const all = async () => {
    await lookup.ask()
    return known.all()
  }
  const { publish, revise, thenSweep, endSweeping } = createPublishing(parts, known.current)
  const { list, explain } = createPlanRunner('postgres', records, {
    list: async (plan, viewer, format, client) =>
      tables.list(plan, await tablesFor(plan, viewer, audiences), format, client),
    explain: async (plan, viewer, client, runs) =>
      tables.explain(plan, await tablesFor(plan, viewer, audiences), client, runs),
  })
  const { openVersion, sharedSlots } = openedVersions(pool, records)
  const writes = writesOn(pool)
  const folding =
    parts.shared.loop === null
      ? foldChanges({ all, openVersion, revise, publish, lease: parts.lease })
      : undefined
  let scratch: string | undefined

  return {
    refresh: known.refresh,
    all,
    prepare: async (large, ahead) =>
      records.prepare([...(await all()).values()].filter(isImported), large, ahead),
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
    drop: (name, event, of) => thenSweep(dropWithGrants(pool, name, event, of)),
    versions: name => changes.versions(name, keptVersions),
    state: stateOf,
    at,
    changesSince: createChangesSince({ at, openVersion, sharedSlots, heldState, heldFrom: changes.heldFrom }),
    restore: (name, id, event, of) => thenSweep(restoreEntity(pool, name, id, event, keptVersions, of)),
    expose: async (request, event) => exposeEntity(pool, await parts.describe(request), request, event),
    tables: search => findTables(pool, search),
    foreignKeys: async name => findForeignKeys(pool, await all(), name),
    keepsFields: parts.copies !== undefined,
    get scratchFolder() {
      scratch ??= makeTemporaryFolder('import')
      return scratch
    },
    close: async () => {
      endSweeping()
      await folding?.close()
      await writes.close()
      if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true })
    },
  }
}
