import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { areaOf } from '../../lib/addresses.ts'
import { makeFolder } from '../../lib/durable-names.ts'
import { StoreUnavailable } from '../../lib/errors.ts'
import { systemReason } from '../../lib/system-errors.ts'
import { keyringOf } from '../../model/keys.ts'
import { type EngineOptions, partFor, type Shared } from '../runtime/event-loops.ts'
import { whilePresent } from '../runtime/limits.ts'
import { keepParents } from '../statements/group-tree.ts'
import { keepTrail } from '../statements/keep-trail.ts'
import { leasesOf } from '../statements/leases.ts'
import { type AllOffered, offerAll, type Parts, type Runners } from '../statements/offered.ts'
import { ownParts, type Storage } from '../statements/parts.ts'
import { mostAtOnce, RepeatedEvents } from '../statements/repeated-events.ts'
import type { HotSessions } from '../statements/sessions.ts'
import type { Read } from '../statements/statements.ts'
import type { ReportLoss, StoreMetrics } from '../storage.ts'
import type { Trail } from '../trail.ts'
import { type Database, openDatabase } from './driver.ts'
import { sqliteEntities } from './entities.ts'
import {
  createFilesInPlace,
  type FilePart,
  type FilesInPlace,
  lookAgainAfter,
  type OpenedFiles,
  pathsOf,
} from './files-in-place.ts'
import { databaseFile, entitiesFolder, fieldsFolder, migrate } from './migrate.ts'
import { perform } from './perform.ts'
import { fileSecrets } from './secrets.ts'
import {
  createSharedSnapshot,
  type SharedSnapshot,
  sqliteAudiences,
  sqliteClock,
  sqliteSessions,
} from './shared-snapshot.ts'
import { createGroupCommit, createReaderThreads, type Reader, type ReaderThreads } from './threads.ts'
import { trailIn } from './trail.ts'

interface SqliteOptions extends EngineOptions {
  readonly dataFolder: string
  /** Called when files of the store are no longer in place, with advice, and with null when they are back. */
  readonly report: ReportLoss
}

/** Makes the folder a store of this version's schema. @returns true if there was none */
function prepareFolder({ dataFolder, create }: SqliteOptions): boolean {
  try {
    const isNew = migrate(dataFolder, create)
    makeFolder(entitiesFolder(dataFolder))
    return isNew
  } catch (error) {
    throw asUnusable(error, dataFolder)
  }
}

/** Opens the files of the store, which stay open until it is closed. */
async function openFiles(file: string, shared: Shared) {
  const connection = openDatabase(file, { mode: 'read', cache: 4_000, mayGoOn: () => true })
  // The first read makes the log and its index, which stay as long as the connection.
  connection.get('SELECT one FROM state')
  const index = await shared.keepOpen(pathsOf(file).index)
  const database = await shared.keepOpen(file)
  const opened: OpenedFiles = {
    file,
    index: index.descriptor,
    database: database.descriptor,
    busy: busyParts(connection),
    ids: await idsOf(file, shared),
  }
  const files = createFilesInPlace(opened)
  const snapshot = createSharedSnapshot(connection, index, files)
  const close = () => {
    snapshot.close()
    database.close()
  }
  return { opened, files, snapshot, close }
}

/** Searches on the threads for reading. */
const searchIn =
  (file: string, readerThreads: ReaderThreads) =>
  (part: string): Runners['search'] =>
  (method, args, client) => {
    const ask = (reader: Reader) =>
      whilePresent(client, stop => reader.call('find', file, part, method, args, stop))
    // Without a text, little more than the page is read.
    const [{ text }] = args as [{ readonly text: string }]
    return text === '' ? ask(readerThreads.quick()) : readerThreads.long(client, ask)
  }

const runnersOn =
  (
    db: Database,
    writer: ReturnType<typeof createGroupCommit>,
    search: ReturnType<typeof searchIn>,
    audiencesOf: ReturnType<typeof sqliteAudiences>,
  ) =>
  (name: string): Runners => ({
    read: work => perform(db, work, audiencesOf),
    change: (method, _, args) => writer.change(`${name}.${method}`, args),
    search: search(name),
  })

/**
 * Opens the embedded store.
 * @param features the statements of features; its threads load the same ones
 * @throws StoreUnavailable when there is none and none is to be created, or it can't be used
 */
export async function openEngine<F extends Parts>(
  options: SqliteOptions,
  features: F,
): Promise<Storage & AllOffered<F>> {
  const { dataFolder, shared } = options
  const isNew = prepareFolder(options)
  const file = databaseFile(dataFolder)
  const { opened, files, snapshot, close } = await openFiles(file, shared)
  const { db } = snapshot
  const secrets = fileSecrets(dataFolder, event => writer.write('recordEvent', event))
  const keyring = keyringOf(options.tokenSecrets, secrets.current)
  const writer = createGroupCommit(opened, keyring, shared)
  const reporting = shared.loop === null ? reportLosses(files, options.report) : undefined
  const readerThreads = createReaderThreads(shared, options.statementTimeout)
  const audiencesOf = sqliteAudiences(db, snapshot)
  const runners = runnersOn(db, writer, searchIn(file, readerThreads), audiencesOf)
  const offered = offerAll(ownParts, runners)
  const events = new RepeatedEvents({
    record: event => writer.write('recordEvent', event),
    refresh: ({ begun, used, expires, stamp }, event, clientIp) =>
      writer.write('refreshSession', event, areaOf(clientIp), begun, used, expires, stamp),
    atOnce: partFor(shared.loop, mostAtOnce),
  })
  const trail: Trail = {
    ...offered.trail,
    record: event => events.record(event),
    checkpoint: () => offered.trail.checkpoint(keyring()),
    read: trailIn(file, keyring),
  }
  const clock = sqliteClock({ db, snapshot, raise: offered.clock.raise })
  // One service has an embedded store.
  const leases = { lease: leasesOf(offered.identities, clock), isOnDuty: () => true }
  const kept = shared.loop === null ? keepTrail(trail, options.eventsRetention, clock) : undefined
  const entities = sqliteEntities({
    ...options,
    db,
    audiencesOf,
    readerThreads,
    snapshot,
    file,
    changes: offered.entities,
    ...leases,
  })
  const refresh: HotSessions['refresh'] = (refreshed, event) => events.refresh(refreshed, event)
  const { groupTree, sessions, identities } = offered
  const storage: Storage = {
    ...offered,
    isNew,
    groupTree: { withParents: keepParents(snapshot.enter, groupTree.withParents) },
    sessions: { ...sessions, ...sqliteSessions({ db, snapshot, write: writer.write, refresh }) },
    entities,
    secrets,
    identities: { ...identities, begin: (login, event) => writer.write('beginAtProvider', login, event) },
    trail,
    metrics: sqliteMetrics(dataFolder, snapshot, readerThreads, shared),
    clock,
    ...leases,
    ping: async () => {
      // The writer is asked first, because it remembers a loss for all event loops.
      await writer.check()
      files.require()
      db.get('SELECT one FROM state')
    },
    close: async () => {
      clearInterval(reporting)
      await events.close()
      await kept?.close()
      // Entities close before the writer, because they may be writing a version.
      await entities.close()
      await writer.close()
      await readerThreads.close()
      close()
    },
  }
  return { ...offerAll(features, runners), ...storage }
}

/** The first page, and those with the last event number and the state: almost every change writes to them. */
function busyParts(db: Database): readonly FilePart[] {
  const length = db.get<{ page_size: number }>('PRAGMA page_size')?.page_size ?? 0
  return db
    .all<{ rootpage: number }>(
      "SELECT 1 AS rootpage UNION SELECT rootpage FROM sqlite_schema WHERE name IN ('sqlite_sequence', 'state')",
    )
    .map(({ rootpage }) => ({ from: (rootpage - 1) * length, length }))
}

/** The ids of the files that the main thread opened. */
async function idsOf(file: string, shared: Shared): Promise<OpenedFiles['ids']> {
  const { database, log, index } = pathsOf(file)
  const [databaseId = '', logId = '', indexId = ''] = await Promise.all(
    [database, log, index].map(shared.idOf),
  )
  return { database: databaseId, log: logId, index: indexId }
}

/** Reports losses even when there are no requests. */
function reportLosses(files: FilesInPlace, report: ReportLoss): NodeJS.Timeout {
  let known: string | null = null
  return setInterval(() => {
    const now = files.find()?.message ?? null
    if (now !== known) report(now)
    known = now
  }, lookAgainAfter).unref()
}

/** Reports an error of the operating system as one of the data folder; other errors stay as they are. */
function asUnusable(error: unknown, dataFolder: string): unknown {
  const reason = systemReason(error)
  if (reason === undefined) return error
  return new StoreUnavailable(`the data folder ${dataFolder} can't be used: ${reason}; set CARREL_DATA`, {
    cause: error,
  })
}

/** Sizes come from the file system: only SQLite may open its files (docs/decisions/0005). */
function sqliteMetrics(
  dataFolder: string,
  snapshot: SharedSnapshot,
  readerThreads: Pick<ReaderThreads, 'measure'>,
  { listings, cacheUsage }: Shared,
): StoreMetrics {
  const file = databaseFile(dataFolder)
  const folders = [entitiesFolder(dataFolder), fieldsFolder(dataFolder)]
  const filesIn = async (folder: string) =>
    (await readdir(folder, { recursive: true }).catch(() => [])).map(name => join(folder, name))
  /** A store that can't be read must not keep the other metrics from being shown. */
  const amount = (read: () => Read<number>) => {
    try {
      snapshot.enter()
      return perform(snapshot.db, read())
    } catch {
      return undefined
    }
  }
  return {
    repeatedEvents: () => amount(ownParts.trail.reads.size),
    heldVersions: () => amount(ownParts.entities.reads.heldSize),
    sizes: async () => {
      const files = (await Promise.all(folders.map(filesIn))).flat()
      const ofEntities = await Promise.all(files.map(sizeOf))
      return {
        database: await sizeOf(file),
        wal: await sizeOf(`${file}-wal`),
        entities: ofEntities.reduce((sum, size) => sum + size, 0),
      }
    },
    pools: () => [],
    listings: listings.count,
    cache: cacheUsage,
    countQueues: measuresOf => readerThreads.measure(measuresOf('pages')),
  }
}

/** Size in bytes; 0 for a file that isn't there, such as a version of an entity that was just removed. */
const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  )
