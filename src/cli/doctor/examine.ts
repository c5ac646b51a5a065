import { availableParallelism, totalmem } from 'node:os'
import { type Config, toConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/file.ts'
import type { SingleSignOnConfig } from '../../config/providers.ts'
import { type Environment, readValues } from '../../config/values.ts'
import { addressesOf } from '../../http/addresses.ts'
import { StoreUnavailable } from '../../lib/errors.ts'
import type { Finding } from '../../lib/findings.ts'
import { systemReason } from '../../lib/system-errors.ts'
import { signOnAddresses } from '../../sso/addresses.ts'
import type { Finding as SignOnFinding } from '../../sso/check/findings.ts'
import type { StoreFacts } from '../../storage/statements/inspect.ts'
import { checkDatabase } from './database.ts'
import { type Check, day, daysOf, type Facts, findingsAbout } from './finding.ts'
import { isWritableByAll, lookAtFolders, statusOf } from './folder-facts.ts'
import {
  checkBucket,
  checkFileSystems,
  checkFilesFolder,
  checkLog,
  checkModes,
  checkSpace,
} from './folders.ts'
import { checkHttps, checkOrigins, checkProxies } from './network.ts'
import {
  checkAccessTokens,
  checkAdministrator,
  checkBackup,
  checkClock,
  checkLoad,
  checkSchema,
  checkSecret,
  checkSessions,
  checkSnapshots,
  checkTrail,
} from './operation.ts'

interface Examined {
  readonly config: Config
  /** Path of the configuration file. */
  readonly configFile: string | undefined
  /** The place of the store, without a password. */
  readonly place: string
  /** Reads the store without changing it. */
  inspect(): Promise<StoreFacts>
}

/** Makes all findings of `carrel doctor`. It only reads, but for a probe in a bucket, also while the service runs (D8). */
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
  return [
    ...('about' in store ? [store] : []),
    ...findings,
    ...(await checkBucket(config)),
    ...(await checkSignOn(config, now)),
  ]
}

/**
 * Memory in bytes. A container may have less than the machine; without a limit the system says 0, or more
 * than there is.
 */
const memory = (): number => Math.min(totalmem(), process.constrainedMemory() || totalmem())

function unreadable(error: unknown, place: string): Finding {
  const reason = error instanceof StoreUnavailable ? error.message : systemReason(error)
  if (reason === undefined) throw error
  return findingsAbout('store').error('store-unreadable', { place, reason })
}

/**
 * All checks, in the order of their findings. A new one is a function in a file of this folder, and an entry
 * here.
 */
const checks: readonly Check[] = [
  checkHttps,
  checkProxies,
  checkOrigins,
  checkFilesFolder,
  checkModes,
  checkFileSystems,
  checkSpace,
  checkLog,
  checkSchema,
  checkDatabase,
  checkClock,
  checkSecret,
  checkSessions,
  checkAdministrator,
  checkBackup,
  checkTrail,
  checkAccessTokens,
  checkSnapshots,
  checkLoad,
]

export const findingsOf = (facts: Facts): readonly Finding[] => checks.flatMap(check => [...check(facts)])

/** Age of old metadata in ms. Federations renew theirs every day, and keys change within months. */
const oldMetadata = 90 * day

/** Advice for every finding; the findings themselves say what would be right. */
const seeGuide = 'docs/sso.md explains the setting; `carrel sso check` repeats this part'

/** Makes the findings of `carrel sso check`, which asks the providers. */
export async function checkedSignOn(
  config: Config,
  singleSignOn: SingleSignOnConfig,
): Promise<readonly SignOnFinding[]> {
  // Loaded only here: the protocol libraries take longer to load than most commands to run.
  const check = await import('../../sso/check/check.ts')
  const addresses = signOnAddresses(addressesOf(config))
  const findings: SignOnFinding[] = []
  for await (const one of check.checkSignOn({ ...config, singleSignOn, addresses })) findings.push(one)
  return findings
}

/** Makes the findings of `carrel sso check`, and those about old metadata. */
async function checkSignOn(config: Config, now: number): Promise<readonly Finding[]> {
  const { singleSignOn } = config
  if (singleSignOn === null) return []
  const findings = await checkedSignOn(config, singleSignOn)
  return [
    ...findings.map(({ level, about, what, code, values }) => ({
      level,
      about: `sso ${about}`,
      what,
      advice: level === 'ok' ? null : seeGuide,
      code,
      values,
    })),
    ...singleSignOn.providers.flatMap(provider => {
      const place = provider.kind === 'saml' ? provider.metadata : undefined
      const modified = place?.from === 'file' ? statusOf(place.path)?.mtimeMs : undefined
      return modified === undefined || now - modified <= oldMetadata
        ? []
        : [findingsAbout(`sso ${provider.id}`).note('metadata-old', { days: daysOf(now - modified) })]
    }),
  ]
}

/**
 * Reads the settings. Only if each is right by itself are they checked together, with the blocks of the file.
 * @returns the configuration, or findings: one for each setting that is wrong by itself, of which a start
 * names only the first; else the first fault of several settings or of a block
 */
export function readSettings(env: Environment): Config | readonly Finding[] {
  // Read once: a secret may come from a pipe.
  const values = readValues(env)
  if (values.wrong.length > 0) return values.wrong.map(asFinding)
  try {
    return toConfig(env, values)
  } catch (error) {
    if (error instanceof ConfigError) return [asFinding(error)]
    throw error
  }
}

const asFinding = ({ message }: ConfigError): Finding =>
  findingsAbout('settings').error('settings-wrong', { reason: message })
