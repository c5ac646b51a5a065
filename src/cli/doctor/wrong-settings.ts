import { type Config, toConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/file.ts'
import { type Environment, readValues } from '../../config/values.ts'
import { type Finding, findingsAbout } from './finding.ts'

const { error } = findingsAbout('settings')

/**
 * Reads the settings. Only if each is right by itself are they checked together, with the blocks of the file.
 * @returns the configuration, or findings: one for each setting that is wrong by itself, of which a start
 * names only the first; else the first fault of several settings or of a block
 */
export function readSettings(env: Environment): Config | readonly Finding[] {
  const { wrong } = readValues(env)
  if (wrong.length > 0) return wrong.map(asFinding)
  try {
    return toConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return [asFinding(error)]
    throw error
  }
}

const asFinding = ({ message }: ConfigError): Finding =>
  error(message, 'correct it: Carrel does not start like this')
