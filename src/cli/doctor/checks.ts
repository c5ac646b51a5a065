import { checkHttps, checkOrigins } from './browsers.ts'
import { checkClock } from './clock.ts'
import { checkDatabase } from './database.ts'
import type { Check, Facts } from './facts.ts'
import type { Finding } from './finding.ts'
import { checkFileSystems, checkFilesFolder, checkLog, checkModes, checkSpace } from './folders.ts'
import { checkLoad } from './load.ts'
import { checkAdministrator, checkBackup, checkSchema, checkSessions } from './operation.ts'
import { checkProxies } from './proxies.ts'
import { checkSecret } from './secret.ts'

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
  checkLoad,
]

export const findingsOf = (facts: Facts): readonly Finding[] => checks.flatMap(check => [...check(facts)])
