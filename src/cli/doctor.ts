import { Command } from 'commander'
import { type Finding, levels } from '../lib/findings.ts'
import { quantity } from '../lib/quantities.ts'
import { examine, readSettings } from './doctor/examine.ts'
import { isTrouble } from './doctor/finding.ts'
import { examined } from './inspect-store.ts'
import { type Json, printable, say } from './output.ts'

/** `carrel doctor`: looks for known misconfigurations (D8), also while the service runs. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'Look for misconfigurations, and say what to do about each. Only a bucket is written to: a probe, removed at once.',
    )
    .option('--json', 'print JSON')
    .action(async ({ json }: Json) => {
      const config = readSettings(process.env)
      const findings = 'database' in config ? await examine(examined(config)) : config
      say(json ? JSON.stringify(findings, null, 2) : inWords(findings))
      if (findings.some(isTrouble)) process.exitCode = 1
    })
}

/** Writes a line for each finding, with the advice below it. */
function inWords(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ about }) => about.length))
  const lines = findings.flatMap(({ level, about, what, advice }) => [
    `${level.padEnd(7)}  ${about.padEnd(width)}  ${what}`,
    ...(advice === null ? [] : [`${' '.repeat(width + 11)}→ ${advice}`]),
  ])
  const counts = levels
    .map(level => [findings.filter(one => one.level === level).length, level] as const)
    .filter(([count, level]) => count > 0 && level !== 'ok')
    .map(([count, level]) => quantity(count, level))
  return [...lines.map(printable), '', counts.length === 0 ? 'All is well.' : `${counts.join(', ')}.`].join(
    '\n',
  )
}
