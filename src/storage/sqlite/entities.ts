import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { builtInEntities } from '../../model/built-in-entities.ts'
import type { Entity, Field, ReadRule } from '../../model/entities.ts'
import type { Entities } from '../entities.ts'
import type { Shared } from '../shared/event-loops.ts'
import { createRecordListings, type RecordEntity } from '../shared/record-listings.ts'
import { visibleRows } from '../shared/row-visibility.ts'
import { sqliteAudiences } from './audiences.ts'
import type { Database } from './driver.ts'
import type { Write } from './group-commit.ts'
import { createReaderThreads } from './reader-threads.ts'
import { recordFiles } from './record-source.ts'
import { writeRecordFile } from './record-versions.ts'
import type { SharedSnapshot } from './shared-snapshot.ts'
import { listTable } from './table-listings.ts'

/** How long a replaced version is kept for requests that have just looked it up, in ms. */
const retiredGrace = 60_000
/** A file that hasn't been written to for this long, in ms, was left by a process that died. */
const abandonedAfter = 3_600_000

interface Parts {
  readonly dataFolder: string
  readonly shared: Shared
  readonly db: Database
  readonly snapshot: SharedSnapshot
  readonly file: string
  readonly write: Write
}

/** The list of entities, and the files of imported ones: one for each version, never changed. */
export function sqliteEntities(parts: Parts): Entities & { close(): Promise<void> } {
  const { db, snapshot, file, write, dataFolder, shared } = parts
  const folder = join(dataFolder, 'entities')
  const fileOf = (version: string) => join(folder, `${version}.db`)
  const readerThreads = createReaderThreads(shared)
  const files = recordFiles({ readerThreads, fileOf })
  const records = createRecordListings(files, shared.cache)

  const currentState = db.prepare('SELECT entities FROM state')
  let checkedState = -1
  let loadedState = -1
  let entities: ReadonlyMap<string, Entity> = new Map()

  function all(): ReadonlyMap<string, Entity> {
    if (snapshot.state() === checkedState) return entities
    checkedState = snapshot.enter()
    const [state] = currentState.get() as [number]
    if (state !== loadedState) {
      const imported = importedEntities(db)
      entities = new Map([...builtInEntities, ...imported].map(entity => [entity.name, entity]))
      loadedState = state
      const versions = new Set(imported.map(({ source }) => source.version))
      records.keepOnly(versions)
      files.keepOnly(versions)
    }
    return entities
  }

  const audiencesOf = sqliteAudiences(db, snapshot)

  /** Removes files that nothing refers to. */
  async function sweep(): Promise<void> {
    const retired = db.all<{ version: string; at: number }>('SELECT version, at FROM retired')
    const old = retired.filter(({ at }) => Date.now() - at > retiredGrace).map(({ version }) => version)
    for (const version of old) rmSync(fileOf(version), { force: true })
    if (old.length > 0) await write('forgetRetired', old)
    const inUse = importedEntities(db).map(({ source }) => source.version)
    const referenced = new Set(
      [...retired.map(({ version }) => version), ...inUse].map(version => `${version}.db`),
    )
    for (const name of readdirSync(folder)) {
      const modified = statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
      if (!referenced.has(name) && Date.now() - modified > abandonedAfter)
        rmSync(join(folder, name), { force: true })
    }
  }
  // A failed removal is retried a minute later.
  const sweeping =
    shared.loop === null ? setInterval(() => void sweep().catch(() => {}), retiredGrace).unref() : undefined

  return {
    all,
    list: async (entity, page, viewer, format) =>
      entity.source.kind === 'table'
        ? listTable(
            { file, readerThreads },
            entity,
            entity.source,
            page,
            visibleRows(entity.source, viewer, audiencesOf),
            format,
          )
        : records.list(entity as RecordEntity, page, format),
    publish: async (entity, lines, event) => {
      const version = `${entity.name}.${randomBytes(8).toString('hex')}`
      const written = await writeRecordFile(fileOf(version), entity, lines)
      const { ranks: _, ...definition } = entity
      const read = await write('pointEntity', { ...definition, version, ...written }, event)
      await sweep()
      return read
    },
    changeReadRule: (name, read, event) => write('changeReadRule', name, read, event),
    drop: async (name, event) => {
      const dropped = await write('dropEntity', name, event)
      await sweep()
      return dropped
    },
    expose: undefined,
    scratchFolder: folder,
    close: async () => {
      clearInterval(sweeping)
      await readerThreads.close()
      files.close()
    },
  }
}

function importedEntities(db: Database): readonly RecordEntity[] {
  type EntityRow = { name: string; key: string; read: ReadRule; fields: string } & Omit<
    RecordEntity['source'],
    'kind'
  >
  return db
    .all<EntityRow & Record<string, unknown>>(
      'SELECT name, key, read, fields, version, count, bytes, largest FROM entity ORDER BY name',
    )
    .map(({ name, key, read, fields, ...source }) => ({
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
      },
    }))
}
