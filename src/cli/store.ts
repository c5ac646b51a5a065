import type { Place } from '../backup/place.ts'
import { type Config, toConfig } from '../config/config.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { ClientLimits } from '../storage/postgres/errors.ts'
import { createShared, type Shared } from '../storage/runtime/event-loops.ts'
import { openEngine as openSqlite } from '../storage/sqlite/engine.ts'
import type { ReportLoss, Storage } from '../storage/storage.ts'

type StoreSettings = Pick<
  Config,
  | 'database'
  | 'dataFolder'
  | 'cacheSize'
  | 'hiddenMetadata'
  | 'statementTimeout'
  | 'tokenSecrets'
  | 'eventsRetention'
>
type Work<T> = (storage: Storage, config: Config) => Promise<T>

/** Opens the store that the settings name, does the work and closes it, whatever happens. */
export const withStore = <T>(work: Work<T>): Promise<T> => use({ create: false }, work)

/** The same for commands that may be the first on a store (D6): others would only find it empty. */
export const withStoreOrNew = <T>(work: Work<T>): Promise<T> => use({ create: true }, work)

async function use<T>(options: { readonly create: boolean }, work: Work<T>): Promise<T> {
  const config = toConfig(process.env)
  const storage = await openStore(config, options)
  try {
    // On standard error: what a command prints stays what it is.
    if (storage.isNew) process.stderr.write(`carrel: created a new store in ${placeOf(config)}\n`)
    return await work(storage, config)
  } finally {
    await storage.close()
  }
}

/** The same for a process that the service has told its settings. */
export async function withStoreOf<T>(config: Config, work: (storage: Storage) => Promise<T>): Promise<T> {
  const storage = await openStore(config, { create: false })
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}

interface Opening {
  /** Creates a store where there is none. */
  readonly create: boolean
  /** Other limits than the service has, for a database. */
  readonly limits?: ClientLimits | undefined
}

/**
 * @param shared what other event loops of the process use too
 * @param report is told when the store has lost files
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
  }: StoreSettings,
  { create, limits }: Opening,
  shared: Shared = createShared(cacheSize),
  report: ReportLoss = () => {},
): Promise<Storage> {
  const common = { create, hiddenMetadata, shared, statementTimeout, tokenSecrets, eventsRetention }
  if (database.kind === 'embedded') return openSqlite({ ...common, dataFolder, report })
  // Its driver is loaded where there is a database for it.
  const { openEngine } = await import('../storage/postgres/engine.ts')
  return openEngine({ ...database, ...common, limits })
}

/** Where the store is, without a password. */
export function placeOf({ database, dataFolder }: Pick<Config, 'database' | 'dataFolder'>): string {
  if (database.kind === 'embedded') return dataFolder
  const { host, pathname } = new URL(database.url)
  return `the database ${host}${pathname}`
}

/** The same for a restore, and for what it leaves. */
export const restorePlace = ({ database, dataFolder, filesFolder }: Config): Place =>
  database.kind === 'embedded'
    ? { kind: 'embedded', dataFolder, filesFolder }
    : { kind: 'postgres', url: database.url, filesFolder }

/** The audit event of something that was done by command line: no token was involved. */
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
