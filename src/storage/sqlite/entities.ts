import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { TakeLease } from '../../lib/hold.ts'
import { isLeftOver } from '../../lib/process-ids.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { builtInEntities } from '../../model/built-in-entities.ts'
import type { Entity, ReadRule, TableSource } from '../../model/entities.ts'
import type { KeptVersionLimits } from '../../model/kept-versions.ts'
import type { Viewer } from '../../model/readers.ts'
import type { EntityState } from '../../model/snapshots.ts'
import type { Entities, NewEntity, RecordPlan } from '../entities.ts'
import { createPlanRunner } from '../plans/run-plans.ts'
import { createChangesSince } from '../records/change-feed.ts'
import { createEarlierStates } from '../records/earlier-states.ts'
import { createFieldFiles } from '../records/field-files.ts'
import { foldChanges, requireRoom } from '../records/folding.ts'
import { stateOf, withChangedSlots } from '../records/pending-changes.ts'
import { createRecordListings } from '../records/record-listings.ts'
import type { Shared } from '../runtime/event-loops.ts'
import type { entities } from '../statements/entities.ts'
import { type PublishedEntity, pointAgreed } from '../statements/entities.ts'
import { createEntityList, isImported } from '../statements/entity-rows.ts'
import { storedWrite, storedWrites } from '../statements/record-writes.ts'
import type { Offered } from '../statements/statements.ts'
import { visibleRows } from '../tables/row-visibility.ts'
import type { Database } from './driver.ts'
import { entitiesFolder, fieldsFolder } from './migrate.ts'
import { perform } from './perform.ts'
import { openedVersions, recordFiles } from './record-files.ts'
import { baseOf, writeRecordFile, writeRevisionFile } from './record-versions.ts'
import type { SharedSnapshot } from './shared-snapshot.ts'
import { createTableListings } from './table-listings.ts'
import type { ReaderThreads } from './threads.ts'

/** Interval in ms at which unused versions are removed. */
const sweepInterval = 60_000
/** Time in ms after the start at which leftovers of killed programs are first removed. */
const firstSweepAfter = 1_000
/** A file that hasn't been written to for this long, in ms, was left by a process that died. */
const abandonedAfter = 3_600_000

interface Parts {
  readonly dataFolder: string
  readonly shared: Shared
  readonly db: Database
  readonly snapshot: SharedSnapshot
  readonly file: string
  readonly changes: Offered<typeof entities>
  readonly lease: TakeLease
  readonly readerThreads: ReaderThreads
  readonly audiencesOf: (viewer: Viewer) => readonly number[]
  /** Metadata fields that only administrators see (Q19). */
  readonly hiddenMetadata: readonly string[]
  readonly keptVersions: KeptVersionLimits
}

type AllEntities = ReadonlyMap<string, Entity>

/** True if a program was killed while it wrote the file, or the journal beside it. */
const isUnfinished = (name: string): boolean => isLeftOver(name.replace(/-journal$/, ''))

const versionsOf = (entities: readonly Entity[]): readonly string[] =>
  entities.filter(isImported).map(({ source }) => source.version)

type Listed = Pick<ReturnType<typeof recordFiles>, 'keepOnly'>

/** Returns a function that gives all entities by name. They are read again when the store has changed. */
function createEntityReader({ db, snapshot }: Parts, files: Listed, records: Listed): () => AllEntities {
  const currentState = db.prepare('SELECT entities, records FROM state')
  let checkedState = -1
  let loadedState = -1
  let loadedRecords = -1
  const entityList = createEntityList()
  let entities: AllEntities = new Map()
  return () => {
    if (snapshot.state() === checkedState) return entities
    checkedState = snapshot.enter()
    const [state, lastRecord] = currentState.get() as [number, number]
    if (state === loadedState && lastRecord === loadedRecords) return entities
    const listed = perform(db, entityList.read())
    entities = new Map([...builtInEntities, ...listed].map(entity => [entity.name, entity]))
    const versions = versionsOf(entityList.stored)
    if (state !== loadedState) files.keepOnly(new Set(versions))
    records.keepOnly(new Set([...versions, ...versionsOf(listed)]))
    loadedState = state
    loadedRecords = lastRecord
    return entities
  }
}

/** The files of versions, which are written before an entity points at them, and removed when nothing does. */
function createVersionFiles({ dataFolder, changes, keptVersions }: Parts) {
  const folder = entitiesFolder(dataFolder)
  const fieldFiles = createFieldFiles(fieldsFolder(dataFolder))
  const fileOf = (version: string) => join(folder, `${version}.db`)
  const remove = (version: string) => {
    rmSync(fileOf(version), { force: true })
    fieldFiles.remove(version)
  }

  /** Removes files that nothing refers to. */
  async function sweep(): Promise<void> {
    if (await changes.hasOldKept(keptVersions)) await changes.trim(keptVersions)
    const abandoned = fieldFiles.abandoned()
    // A version that is replaced in between counts as in use, and keeps its base.
    const stored = await changes.storedVersions()
    const bases = new Set(stored.filter(({ state }) => state !== 'old').map(({ version }) => baseOf(version)))
    const old = stored
      .filter(({ version, state }) => state === 'old' && !bases.has(version))
      .map(({ version }) => version)
    for (const version of old) remove(version)
    if (old.length > 0) await changes.forgetRetired(old)
    const versions = new Set(stored.map(({ version }) => version))
    for (const version of abandoned) if (!versions.has(version)) remove(version)
    for (const name of readdirSync(folder)) {
      const modified = statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
      if (
        !versions.has(basename(name, '.db')) &&
        (isUnfinished(name) || Date.now() - modified > abandonedAfter)
      )
        rmSync(join(folder, name), { force: true, recursive: true })
    }
    fieldFiles.sweep(versions)
  }

  /** Makes the files of a version, and points the entity at it. @returns as `publish` */
  async function point(
    version: string,
    event: AuditEvent | null,
    make: () => Promise<Omit<PublishedEntity, 'version'>>,
    agree?: NewEntity['agree'],
  ): Promise<ReadRule | undefined> {
    try {
      const entity = { ...(await make()), version }
      const read = await pointAgreed(agree, entity.agreed, agreed =>
        changes.point({ ...entity, ...(agreed && { agreed }) }, event, keptVersions),
      )
      await sweep()
      return read
    } finally {
      // Removes the files unless the version was published: even if it was replaced since, it may be a base.
      const stored = await changes.storedVersions()
      if (!stored.some(one => one.version === version)) remove(version)
    }
  }
  return { folder, fieldFiles, fileOf, sweep, point }
}

type VersionFiles = ReturnType<typeof createVersionFiles>

/** Writes the files of new versions. */
const publishing = ({ fieldFiles, fileOf, point }: VersionFiles): Pick<Entities, 'publish' | 'revise'> => ({
  publish: async (entity, lines, event) => {
    const { ranks: _, writeFields, agree, ...definition } = entity
    const version = `${entity.name}.${randomBytes(8).toString('hex')}`
    const make = async () => {
      const agreed = await agree?.()
      // Other threads write the facts about the fields, while this one writes the records.
      // Without their files, values are read from the records.
      const writing = writeFields?.(version).catch(() => undefined)
      const written = await writeRecordFile(fileOf(version), entity, lines)
      const fields = await writing
      if (fields !== undefined) fieldFiles.place(version, fields)
      return { ...definition, ...written, ...(agreed && { agreed }) }
    }
    return point(version, event, make, agree)
  },
  revise: async (revision, event) => {
    const { of, slots: _, added: __, ranks: ___, writeFields, ...definition } = revision
    const whole = withChangedSlots(revision)
    const replaced = whole.of.source.version
    const version = `${baseOf(replaced) ?? replaced}.${randomBytes(8).toString('hex')}`
    return point(version, event, async () => {
      const fields = await writeFields?.(version).catch(() => undefined)
      const written = await writeRevisionFile(fileOf, version, whole)
      if (fields !== undefined) fieldFiles.place(version, fields)
      return { ...definition, replaces: of.source.version, ...written }
    })
  },
})

/** Sweeps after the start, and now and then. @returns a function that ends it */
function keepSweeping(sweep: () => Promise<void>): () => void {
  // A failed removal is retried a minute later.
  const attempt = () => void sweep().catch(() => {})
  const sweeping = setInterval(attempt, sweepInterval).unref()
  // Most commands end before the first sweep.
  const firstSweep = setTimeout(attempt, firstSweepAfter).unref()
  return () => {
    clearInterval(sweeping)
    clearTimeout(firstSweep)
  }
}

/** The list of entities, and the files of imported ones: one for each version, never changed. */
export function sqliteEntities(parts: Parts): Entities & { close(): Promise<void> } {
  const { db, file, changes, audiencesOf, readerThreads, shared, keptVersions } = parts
  const versions = createVersionFiles(parts)
  const { folder, sweep } = versions
  const files = recordFiles({ readerThreads, ...versions })
  const records = createRecordListings(files, shared.cache)
  const all = createEntityReader(parts, files, records)
  const { publish, revise } = publishing(versions)
  const { openVersion, sharedSlots } = openedVersions(versions.fileOf, records)
  const tables = createTableListings({
    store: { file, folder },
    db,
    readerThreads,
    listings: shared.listings,
  })
  const visibleTo = (viewer: Viewer) => (source: TableSource) =>
    visibleRows(source, viewer, audiencesOf, parts.hiddenMetadata)
  const { list, explain } = createPlanRunner('sqlite', records, {
    list: (plan, viewer, format, client) => tables.list(plan, visibleTo(viewer), format, client),
    explain: (plan, viewer, client, runs) => tables.explain(plan, visibleTo(viewer), client, runs),
  })
  const heldState = (state: EntityState) => changes.heldState(state, keptVersions)
  const at = createEarlierStates({ version: heldState, changes: changes.heldChanges }, records.hold)
  const isMain = shared.loop === null
  const endSweeping = isMain ? keepSweeping(sweep) : undefined
  const folding = isMain ? foldChanges({ all, openVersion, revise, publish, lease: parts.lease }) : undefined
  return {
    all,
    prepare: async (large, ahead) => records.prepare([...all().values()].filter(isImported), large, ahead),
    list,
    explain,
    publish,
    openVersion,
    sharedSlots,
    revise,
    record: (plan, key, client) => records.record(plan as RecordPlan, key, client),
    requireRoom,
    writeRecord: (write, event) => {
      requireRoom(write.entity)
      return changes.writeRecord(storedWrite(write), event)
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
      const dropped = await changes.drop(name, event, of)
      await sweep()
      return dropped
    },
    versions: name => changes.versions(name, keptVersions),
    state: stateOf,
    at,
    changesSince: createChangesSince({ at, openVersion, sharedSlots, heldState, heldFrom: changes.heldFrom }),
    restore: (name, id, event, of) => changes.restore(name, id, event, keptVersions, of),
    expose: undefined,
    tables: undefined,
    foreignKeys: undefined,
    scratchFolder: folder,
    keepsFields: true,
    close: async () => {
      endSweeping?.()
      await folding?.close()
      files.close()
    },
  }
}
