import { type Config, toConfig } from '../config/config.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import { openEngine as openSqlite } from '../storage/sqlite/engine.ts'
import type { Storage } from '../storage/storage.ts'

/** Opens the store that the settings name, does the work and closes it, whatever happens. */
export async function withStore<T>(work: (storage: Storage, config: Config) => Promise<T>): Promise<T> {
  const config = toConfig(process.env)
  const storage = await openStore(config)
  try {
    return await work(storage, config)
  } finally {
    await storage.close()
  }
}

export async function openStore(config: Config): Promise<Storage> {
  if (config.database.kind === 'embedded') return openSqlite(config)
  // Its driver is loaded where there is a database for it.
  const { openEngine } = await import('../storage/postgres/engine.ts')
  return openEngine({ ...config.database, cacheSize: config.cacheSize })
}

/** The audit event of something that was done by command line: nobody's token was behind it. */
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
