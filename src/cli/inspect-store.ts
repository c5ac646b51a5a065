import type { Config } from '../config/config.ts'
import { inspectStore } from '../storage/sqlite/inspect.ts'
import type { examine } from './doctor/examine.ts'
import { placeOf } from './store.ts'

/** Makes the argument of `examine`, for a service with this configuration. */
export const examined = (config: Config): Parameters<typeof examine>[0] => ({
  config,
  configFile: process.env.CARREL_CONFIG,
  place: placeOf(config),
  inspect: async () => {
    const { database, dataFolder } = config
    if (database.kind === 'embedded') return inspectStore(dataFolder)
    // The driver is loaded only if there is a database for it.
    const engine = await import('../storage/postgres/inspect.ts')
    return engine.inspectStore(database.url, database.replicaUrl)
  },
})
