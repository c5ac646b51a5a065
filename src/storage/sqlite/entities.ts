import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { builtInEntities } from '../../model/built-in-entities.ts'
import type { Entity, Field, ReadRule } from '../../model/entities.ts'
import type { Entities } from '../entities.ts'
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

/** A version that is no longer the entity's stays this long for those who have just looked it up, in ms. */
const retiredGrace = 60_000
/** A file that nobody has written to for this long, in ms, was left by a process that died. */
const abandonedAfter = 3_600_000

interface Parts {
  readonly dataFolder: string
  /** Bytes of orders and records that are kept in memory. */
  readonly cacheSize: number
  readonly db: Database
  readonly snapshot: SharedSnapshot
  readonly file: string
  readonly write: Write
}

/** The list of entities, and the files of those that were imported: one for each version, never changed. */
export function sqliteEntities(parts: Parts): Entities & { close(): Promise<void> } {
  const { db, snapshot, file, write, dataFolder, cacheSize } = parts
  const folder = join(dataFolder, 'entities')
  const fileOf = (version: string) => join(folder, `${version}.db`)
  const readerThreads = createReaderThreads()
  const files = recordFiles({ readerThreads, fileOf })
  const records = createRecordListings(files, cacheSize)

  const changes = db.prepare('SELECT entities FROM state')
  let lookedInTurn = -1
  let seen = -1
  let entities: ReadonlyMap<string, Entity> = new Map()

  function all(): ReadonlyMap<string, Entity> {
    const current = snapshot.enter()
    if (current === lookedInTurn) return entities
    lookedInTurn = current
    const [now] = changes.get() as [number]
    if (now !== seen) {
      const imported = importedEntities(db)
      entities = new Map([...builtInEntities, ...imported].map(entity => [entity.name, entity]))
      seen = now
      const versions = new Set(imported.map(({ source }) => source.version))
      records.keepOnly(versions)
      files.keepOnly(versions)
    }
    return entities
  }

  const seenBy = sqliteAudiences(db, snapshot)

  /** Removes files that nothing refers to. */
  async function sweep(): Promise<void> {
    const retired = db.all<{ version: string; at: number }>('SELECT version, at FROM retired')
    const old = retired.filter(({ at }) => Date.now() - at > retiredGrace).map(({ version }) => version)
    for (const version of old) rmSync(fileOf(version), { force: true })
    if (old.length > 0) await write('forgetRetired', old)
    const inUse = importedEntities(db).map(({ source }) => source.version)
    const known = new Set(
      [...retired.map(({ version }) => version), ...inUse].map(version => `${version}.db`),
    )
    for (const name of readdirSync(folder)) {
      const modified = statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
      if (!known.has(name) && Date.now() - modified > abandonedAfter)
        rmSync(join(folder, name), { force: true })
    }
  }
  // What can't be removed now is tried again a minute later.
  const sweeping = setInterval(() => void sweep().catch(() => {}), retiredGrace)
  sweeping.unref()

  return {
    all,
    list: async (entity, page, viewer, format) =>
      entity.source.kind === 'table'
        ? listTable(
            { file, readerThreads },
            entity,
            entity.source,
            page,
            visibleRows(entity.source, viewer, seenBy),
            format,
          )
        : records.list(entity as RecordEntity, page, format),
    publish: async (entity, lines, event) => {
      const version = `${entity.name}.${randomBytes(8).toString('hex')}`
      const written = writeRecordFile(fileOf(version), entity, lines)
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
  type EntityRow = Pick<RecordEntity, 'name' | 'key'> & { read: ReadRule; fields: string } & Omit<
      RecordEntity['source'],
      'kind'
    >
  return db
    .all<EntityRow & Record<string, unknown>>(
      'SELECT name, key, read, fields, version, count, bytes, largest FROM entity ORDER BY name',
    )
    .map(({ name, key, read, fields, ...source }) => ({
      name,
      key,
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
