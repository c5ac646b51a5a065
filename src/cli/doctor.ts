import { availableParallelism, totalmem } from 'node:os'
import { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { findingsOf } from '../doctor/checks.ts'
import { type Finding, findingsAbout, isTrouble, levels } from '../doctor/finding.ts'
import { isWritableByAll, lookAtFolders } from '../doctor/folder-facts.ts'
import { checkSignOn } from '../doctor/sign-on.ts'
import { readSettings } from '../doctor/wrong-settings.ts'
import { counted } from '../lib/counted.ts'
import { systemReason } from '../lib/system-errors.ts'
import { StoreUnavailable } from '../model/errors.ts'
import type { StoreFacts } from '../storage/inspection.ts'
import { inspectStore } from '../storage/sqlite/inspect.ts'
import { printable, sayList } from './output.ts'
import { placeOf } from './store.ts'

/** `carrel doctor`: looks for known misconfigurations (D8). It reads only, also while the service runs. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Look for misconfigurations, and say what to do about each. Changes nothing.')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const config = readSettings(process.env)
      const findings = 'database' in config ? await examine(config) : config
      sayList(json, findings, () => inWords(findings))
      if (findings.some(isTrouble)) process.exitCode = 1
    })
}

async function examine(config: Config): Promise<readonly Finding[]> {
  const store = await inspect(config)
  const now = Date.now()
  const path = process.env.CARREL_CONFIG
  const findings = findingsOf({
    config,
    machine: { processors: availableParallelism(), memory: memory() },
    now,
    configFile: path ? { path, isWritable: isWritableByAll(path) } : null,
    folders: lookAtFolders(config),
    store: 'about' in store ? null : store,
  })
  const ofProviders: Finding[] = []
  for await (const one of checkSignOn(config, now)) ofProviders.push(one)
  return [...('about' in store ? [store] : []), ...findings, ...ofProviders]
}

/** A container may have less than the machine; without a limit the system says 0, or more than there is. */
const memory = (): number => Math.min(totalmem(), process.constrainedMemory() || totalmem())

/** @returns what the store says, or why it says nothing */
async function inspect({ database, dataFolder }: Config): Promise<StoreFacts | Finding> {
  try {
    if (database.kind === 'embedded') return inspectStore(dataFolder)
    // Its driver is loaded where there is a database for it.
    const engine = await import('../storage/postgres/inspect.ts')
    return await engine.inspectStore(database.url, database.replicaUrl)
  } catch (error) {
    const reason = error instanceof StoreUnavailable ? error.message : systemReason(error)
    if (reason === undefined) throw error
    return findingsAbout('store').error(
      `the store in ${placeOf({ database, dataFolder })} can't be read: ${reason}`,
      'see whether the settings name the right one, and run the command as the user of the service',
    )
  }
}

/** A line for each finding, and below it what to do. */
function inWords(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ about }) => about.length))
  const lines = findings.flatMap(({ level, about, what, advice }) => [
    `${level.padEnd(7)}  ${about.padEnd(width)}  ${what}`,
    ...(advice === null ? [] : [`${' '.repeat(width + 11)}→ ${advice}`]),
  ])
  const counts = levels
    .map(level => [findings.filter(one => one.level === level).length, level] as const)
    .filter(([count, level]) => count > 0 && level !== 'ok')
    .map(([count, level]) => counted(count, level))
  return [...lines.map(printable), '', counts.length === 0 ? 'All is well.' : `${counts.join(', ')}.`].join(
    '\n',
  )
}
