import { type Config, toConfig } from '../config/config.ts'
import { ConfigError } from '../config/file.ts'
import { type Environment, readValues } from '../config/values.ts'
import { type Finding, findingsAbout } from './finding.ts'

const { error } = findingsAbout('settings')

/**
 * @returns the configuration, or a finding for each setting that is wrong by itself: a start names only the first. Only if
 * there is none is it looked at what several settings, or the blocks of the file, say together; there the first is named.
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
