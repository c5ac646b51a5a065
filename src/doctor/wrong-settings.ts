import { type Config, toConfig } from '../config/config.ts'
import { ConfigError } from '../config/file.ts'
import { type Finding, findingsAbout } from './finding.ts'

/**
 * @returns the configuration, or a finding for each setting that is wrong: a start names only the first of them
 */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Config | readonly Finding[] {
  const found: Finding[] = []
  let rest = env
  for (;;) {
    const wrong = attempt(rest)
    if (!(wrong instanceof ConfigError)) return found.length === 0 ? wrong : found
    found.push(findingsAbout('settings').error(wrong.message, 'correct it: Carrel does not start like this'))
    // Without the one that is wrong, the next comes to light.
    const key = /^CARREL_\w+/.exec(wrong.message)?.[0]
    if (key === undefined || rest[key] === undefined) return found
    rest = Object.fromEntries(Object.entries(rest).filter(([name]) => name !== key))
  }
}

function attempt(env: Readonly<Record<string, string | undefined>>): Config | ConfigError {
  try {
    return toConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
}
