import { dirname } from 'node:path'
import { ConfigError, type ConfigFile, readConfigFile, suggest } from './file.ts'
import { secretIn, secretVariables } from './read-secrets.ts'
import { fileKeyOf, type SettingKey, secretKeys, settings } from './settings.ts'

/**
 * True for a variable that is set by Kubernetes and not by Carrel's operator. Kubernetes sets it in every
 * container beside a service that is called carrel, or carrel-something
 * (https://kubernetes.io/docs/tutorials/services/connect-applications-service/#environment-variables).
 */
const isServiceLink = (key: string, value: string): boolean =>
  /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(key) ||
  (key.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value))

export type Environment = Readonly<Record<string, string | undefined>>
type Value<K extends SettingKey> = Exclude<ReturnType<(typeof settings)[K]['read']>, undefined>

/** Settings, each read from the environment or, if that has none, from the file. */
export interface Values {
  readonly structured: ConfigFile['structured']
  /** @returns null if it is not set */
  value<K extends SettingKey>(key: K): Value<K> | null
  /** @throws ConfigError if it is not set */
  required<K extends SettingKey>(key: K): Value<K>
  /** Errors of keys and values, each by itself. A wrong setting has no value. */
  readonly wrong: readonly ConfigError[]
}

const names = Object.keys(settings) as SettingKey[]

/** Keys that have the path of a file with a secret. */
const fileKeys: ReadonlySet<string> = new Set(Array.from(secretKeys, fileKeyOf))

export function readValues(env: Environment): Values {
  const { file, wrong: wrongFile } = fileOf(env)
  const wrong: ConfigError[] = [...(wrongFile ? [wrongFile] : unknownKeys(env, file)), ...file.wrong]
  const values = new Map<SettingKey, unknown>()
  for (const key of names) {
    const given = givenIn(env, key, '') ?? givenIn(file.values, key, dirname(env.CARREL_CONFIG ?? ''))
    if (given instanceof ConfigError) {
      wrong.push(given)
      continue
    }
    const text = given === undefined || given === '' ? settings[key].fallback : given
    if (text === null) continue
    const read = settings[key].read(text)
    if (read !== undefined) values.set(key, read)
    else {
      const shown = secretKeys.has(key) ? 'Its value' : JSON.stringify(text)
      wrong.push(new ConfigError(`${key}: ${shown} is not valid; it takes ${settings[key].takes}`))
    }
  }
  const value = <K extends SettingKey>(key: K) => (values.get(key) ?? null) as Value<K> | null
  return {
    structured: file.structured,
    value,
    required: key => {
      const read = value(key)
      if (read === null) throw new ConfigError(`${key} must be set; it takes ${settings[key].takes}`)
      return read
    },
    wrong,
  }
}

/**
 * Returns the text of a setting in one source, and of a secret also from the file that is named there.
 * @param folder the one to which its path is relative
 */
function givenIn(source: Environment, key: SettingKey, folder: string): string | ConfigError | undefined {
  const text = source[key]
  const given = text !== undefined && isServiceLink(key, text) ? undefined : text
  const fileKey = fileKeyOf(key)
  const path = secretKeys.has(key) ? source[fileKey] : undefined
  if (!path) return given
  if (given) return new ConfigError(`${key} and ${fileKey} are both set; set one of them`)
  try {
    return secretIn(path, { folder })
  } catch (error) {
    return new ConfigError(`${fileKey}: ${(error as Error).message}`)
  }
}

function fileOf({ CARREL_CONFIG }: Environment): { file: ConfigFile; wrong?: ConfigError } {
  try {
    return { file: readConfigFile(CARREL_CONFIG) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { file: { values: {}, structured: {}, wrong: [] }, wrong: error }
  }
}

/** Finds unknown keys. Without the file, the names of the variables with its secrets wouldn't be known. */
function unknownKeys(env: Environment, { structured }: ConfigFile): ConfigError[] {
  const secretNames = secretVariables(structured.singleSignOn)
  return Object.entries(env)
    .filter(
      ([key, given]) =>
        key.startsWith('CARREL_') &&
        !Object.hasOwn(settings, key) &&
        !fileKeys.has(key) &&
        !key.startsWith('CARREL_TEST_') &&
        !secretNames.includes(key) &&
        !isServiceLink(key, given ?? ''),
    )
    .map(([key]) => new ConfigError(`${key} is not a setting; ${suggest(key, names)}`))
}
