import { join } from 'node:path'
import type { Place } from '../admin/backup/place.ts'
import { type Config, toConfig } from '../config/config.ts'
import type { FilesPlace } from '../config/files-place.ts'
import { features, type Store } from '../features.ts'
import { forOwner } from '../files/derived.ts'
import { openFiles } from '../files/open-files.ts'
import { databaseAddress } from '../lib/database-address.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { ClientLimits } from '../storage/postgres/errors.ts'
import { createShared, type Shared } from '../storage/runtime/event-loops.ts'
import { openEngine as openSqlite } from '../storage/sqlite/engine.ts'
import type { ReportLoss } from '../storage/storage.ts'

type StoreSettings = Pick<
  Config,
  | 'database'
  | 'dataFolder'
  | 'cacheSize'
  | 'hiddenMetadata'
  | 'statementTimeout'
  | 'tokenSecrets'
  | 'eventsRetention'
  | 'keptVersions'
  | 'sharedFiles'
>
type Work<T> = (storage: Store, config: Config) => Promise<T>

/** Opens the store that the settings name, does the work and closes it, whatever happens. */
export const withStore = <T>(work: Work<T>): Promise<T> => use({ create: false }, work)

/** Like `withStore`, for commands that may be the first on a store (D6). Others would only find it empty. */
export const withStoreOrNew = <T>(work: Work<T>): Promise<T> => use({ create: true }, work)

async function use<T>(options: { readonly create: boolean }, work: Work<T>): Promise<T> {
  const config = toConfig(process.env)
  const storage = await openStore(config, options)
  try {
    // The line goes to standard error, so that the output of a command stays clean.
    if (storage.isNew) process.stderr.write(`carrel: created a new store in ${placeOf(config)}\n`)
    return await work(storage, config)
  } finally {
    await storage.close()
  }
}

/** Does work on the store for a process that the service has told its settings. */
export async function withStoreOf<T>(config: Config, work: (storage: Store) => Promise<T>): Promise<T> {
  const storage = await openStore(config, { create: false })
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}

interface Opening {
  /** True to create a store if there is none. */
  readonly create: boolean
  /** Limits of a database that differ from those of the service. */
  readonly limits?: ClientLimits | undefined
}

/**
 * @param shared parts that other event loops of the process use, too
 * @param report called when the store has lost files
 * @param tell told what keeps nodes from sharing what they derive of fields
 */
export async function openStore(
  {
    database,
    dataFolder,
    cacheSize,
    hiddenMetadata,
    statementTimeout,
    tokenSecrets,
    eventsRetention,
    keptVersions,
    sharedFiles,
  }: StoreSettings,
  { create, limits }: Opening,
  shared: Shared = createShared(cacheSize),
  report: ReportLoss = () => {},
  tell: (problem: string) => void = () => {},
): Promise<Store> {
  const common = {
    create,
    hiddenMetadata,
    shared,
    statementTimeout,
    tokenSecrets,
    eventsRetention,
    keptVersions,
  }
  if (database.kind === 'embedded') return openSqlite({ ...common, dataFolder, report }, features)
  // The driver is loaded only if there is a database for it.
  const { openEngine } = await import('../storage/postgres/engine.ts')
  const opening = Promise.withResolvers<Store>()
  const openPlace = async (place: FilesPlace) =>
    forOwner(await openFiles(place, (await opening.promise).repository))
  const fieldPlace = sharedFiles === null ? undefined : () => openPlace(sharedFiles)
  const fields = { fieldsFolder: join(dataFolder, 'fields'), fieldPlace, tell }
  const store = await openEngine({ ...database, ...common, ...fields, limits }, features)
  opening.resolve(store)
  return store
}

/** Names the place of the store, without a password. */
export function placeOf({ database, dataFolder }: Pick<Config, 'database' | 'dataFolder'>): string {
  if (database.kind === 'embedded') return dataFolder
  return `the database ${databaseAddress(database.url).name.replace('postgres://', '')}`
}

/** Returns the place for a restore, and for its leftovers. */
export const restorePlace = ({ database, dataFolder, files }: Config): Place =>
  database.kind === 'embedded'
    ? { kind: 'embedded', dataFolder, files }
    : { kind: 'postgres', url: database.url, dataFolder, files }

/** Makes the audit event of a command, which involves no token. */
export const commandEvent = (event: AuditEvent['event'], object: string | null = null): AuditEvent => ({
  event,
  outcome: 'success',
  eperson: null,
  actor: null,
  clientIp: null,
  method: null,
  object,
  reason: null,
})
