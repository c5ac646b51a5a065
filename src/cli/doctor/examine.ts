import { availableParallelism, totalmem } from 'node:os'
import type { Config } from '../../config/config.ts'
import { systemReason } from '../../lib/system-errors.ts'
import { StoreUnavailable } from '../../model/errors.ts'
import type { StoreFacts } from '../../storage/inspection.ts'
import { findingsOf } from './checks.ts'
import { type Finding, findingsAbout } from './finding.ts'
import { isWritableByAll, lookAtFolders } from './folder-facts.ts'
import { checkSignOn } from './sign-on.ts'

interface Examined {
  readonly config: Config
  /** Path of the configuration file. */
  readonly configFile: string | undefined
  /** The place of the store, without a password. */
  readonly place: string
  /** Reads the store without changing it. */
  inspect(): Promise<StoreFacts>
}

/** Makes all findings of `carrel doctor`. It only reads, also while the service runs (D8). */
export async function examine({ config, configFile, place, inspect }: Examined): Promise<readonly Finding[]> {
  const store = await inspect().catch((error: unknown) => unreadable(error, place))
  const now = Date.now()
  const findings = findingsOf({
    config,
    machine: { processors: availableParallelism(), memory: memory() },
    now,
    configFile: configFile ? { path: configFile, isWritable: isWritableByAll(configFile) } : null,
    folders: lookAtFolders(config),
    store: 'about' in store ? null : store,
  })
  const ofProviders: Finding[] = []
  for await (const one of checkSignOn(config, now)) ofProviders.push(one)
  return [...('about' in store ? [store] : []), ...findings, ...ofProviders]
}

/**
 * Memory in bytes. A container may have less than the machine; without a limit the system says 0, or more
 * than there is.
 */
const memory = (): number => Math.min(totalmem(), process.constrainedMemory() || totalmem())

function unreadable(error: unknown, place: string): Finding {
  const reason = error instanceof StoreUnavailable ? error.message : systemReason(error)
  if (reason === undefined) throw error
  return findingsAbout('store').error(
    `the store in ${place} can't be read: ${reason}`,
    'see whether the settings name the right one, and run the command as the user of the service',
  )
}
