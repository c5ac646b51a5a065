import { readFileSync } from 'node:fs'
import { isIPv4, isIPv6 } from 'node:net'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { administratorGroup, type LoginMethod, loginMethods } from './caller.ts'

/**
 * Settings (contract D3), in two steps: every key has one line in `settings` that says what it takes,
 * its default and how it is read; `toConfig` puts the values together into what the rest of the code uses.
 * The values come from the environment and, for keys that it leaves out, from the file that CARREL_CONFIG names.
 */
export type Config = Readonly<{
  dataFolder: string
  host: string
  port: number
  /** Public address without a trailing slash; every link starts with it (P3). */
  baseUrl: string
  /** The path of `baseUrl`, without a trailing slash: '' or '/server'. */
  basePath: string
  /** Where the query endpoints live, as a path below `baseUrl` (P2). */
  queryBase: string
  /** Seconds. */
  tokenLifetime: number
  /** Seconds, at most 2 (T2). */
  shortTokenLifetime: number
  /** Newest first; empty: the store keeps a generated one (T7). */
  tokenSecrets: readonly string[]
  loginOnBehalfOf: boolean
  onBehalfOfReason: 'optional' | 'required'
  logoutPageUrl: string | null
  allowedOrigins: readonly string[]
  trustedProxies: readonly string[]
  realm: string
  csrfCookie: string
  csrfHeader: string
  passwordConcurrency: number
  passwordQueue: number
  /** Bytes of orders and records that are kept in memory. */
  cacheSize: number
  logLevel: 'silent' | 'error' | 'warn' | 'info'
  ipGroups: readonly IpGroup[]
  methodGroups: readonly MethodGroup[]
}>

/** Clients from these ranges are in the group (G1). `!` in front of a range takes it out again. */
export type IpGroup = Readonly<{ group: string; ranges: readonly string[] }>
/** Everyone who logs in by the method is in the group (G2). */
export type MethodGroup = Readonly<{ group: string; method: LoginMethod }>

/** A setting that is wrong: names the key and what it takes, and stops the start. */
export class ConfigError extends Error {}

interface Setting<T> {
  readonly takes: string
  /** Shown in the documentation; `null`: not set. */
  readonly fallback: string | null
  readonly read: (text: string) => T | undefined
}

const setting = <T>(
  takes: string,
  fallback: string | null,
  read: (text: string) => T | undefined,
): Setting<T> => ({ takes, fallback, read })

const wholeNumber = (least: number, most: number) => (text: string) => {
  const value = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN
  return value >= least && value <= most ? value : undefined
}
const decimal = (least: number, most: number) => (text: string) => {
  const value = /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN
  return value >= least && value <= most ? value : undefined
}
const oneOf =
  <const T extends string>(...legal: T[]) =>
  (text: string) =>
    legal.find(one => one === text)
const list = (text: string) =>
  text
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
const listOf = (legal: (part: string) => boolean) => (text: string) => {
  const parts = list(text)
  return parts.every(legal) ? parts : undefined
}
const httpUrl = (text: string) => {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) return undefined
  return text.replace(/\/+$/, '')
}
const isOrigin = (text: string) => URL.parse(text)?.origin === text && /^https?:/.test(text)
const headerName = (text: string) => (/^[A-Za-z0-9-]{1,64}$/.test(text) ? text : undefined)
const textOf = (text: string) => text

export const settings = {
  CARREL_DATA: setting('a folder', './data', text => text || undefined),
  CARREL_DATABASE_URL: setting<string>(
    'nothing: this version has the embedded store only',
    null,
    () => undefined,
  ),
  CARREL_HOST: setting('an address to listen on', '127.0.0.1', text => text || undefined),
  CARREL_PORT: setting('a port number, 0 to 65535 (0: any free one)', '8080', wholeNumber(0, 65_535)),
  CARREL_BASE_URL: setting(
    'the public http(s) address of the service, without query or fragment',
    null,
    httpUrl,
  ),
  CARREL_QUERY_BASE: setting(
    'a path that ends in the segment v4, such as /pdb/query/v4',
    '/api/query/v4',
    text => (/^(\/[A-Za-z0-9._~-]+)*\/v4$/.test(text) ? text : undefined),
  ),
  CARREL_TOKEN_LIFETIME: setting('seconds, 1 to 31536000', '1800', decimal(1, 31_536_000)),
  CARREL_SHORT_TOKEN_LIFETIME: setting('seconds, 1.9 to 2', '2', decimal(1.9, 2)),
  CARREL_TOKEN_SECRET: setting(
    'one or more secrets of at least 32 characters, separated by commas, the newest first',
    null,
    text => {
      const parts = list(text)
      return parts.length > 0 && parts.every(part => part.length >= 32) ? parts : undefined
    },
  ),
  CARREL_LOGIN_ON_BEHALF_OF: setting('true or false', 'false', oneOf('true', 'false')),
  CARREL_ON_BEHALF_OF_REASON: setting('optional or required', 'optional', oneOf('optional', 'required')),
  CARREL_LOGOUT_PAGE_URL: setting('an http(s) address', null, text =>
    /^https?:$/.test(URL.parse(text)?.protocol ?? '') ? text : undefined,
  ),
  CARREL_ALLOWED_ORIGINS: setting(
    'origins such as https://ui.example.edu, separated by commas',
    '',
    listOf(isOrigin),
  ),
  CARREL_TRUSTED_PROXIES: setting(
    'IP addresses or networks (10.0.0.0/8) of reverse proxies, separated by commas',
    '',
    listOf(part => isRange(part)),
  ),
  CARREL_REALM: setting('a name in printable ASCII', 'Carrel', text =>
    /^[ -~]{1,100}$/.test(text) ? text : undefined,
  ),
  CARREL_CSRF_COOKIE: setting('a cookie name (letters, digits, -)', 'DSPACE-XSRF-COOKIE', headerName),
  CARREL_CSRF_HEADER: setting('a header name (letters, digits, -)', 'DSPACE-XSRF-TOKEN', headerName),
  CARREL_PASSWORD_CONCURRENCY: setting(
    'how many passwords are hashed at once, 1 to 64, or automatic: one less than the processors, 1 to 4',
    'automatic',
    text =>
      text === 'automatic' ? Math.max(1, Math.min(4, availableParallelism() - 1)) : wholeNumber(1, 64)(text),
  ),
  CARREL_PASSWORD_QUEUE: setting(
    'how many logins may wait for that, 0 to 100000',
    '100',
    wholeNumber(0, 100_000),
  ),
  CARREL_CACHE_SIZE: setting(
    'megabytes of orders and records that are kept in memory, 1 to 100000',
    '128',
    wholeNumber(1, 100_000),
  ),
  CARREL_LOG_LEVEL: setting('silent, error, warn or info', 'warn', oneOf('silent', 'error', 'warn', 'info')),
  CARREL_CONFIG: setting('the path of a JSON file with these keys and the structured ones', null, textOf),
} satisfies Record<`CARREL_${string}`, Setting<unknown>>

export type SettingKey = keyof typeof settings

/** Structured keys, in the file only; `takes` is shown when one is wrong. */
export const structuredSettings = {
  specialGroups:
    '{"ip": [{"group": "Campus", "ranges": ["10.0.0.0/8", "!10.9.0.0/16"]}], "method": [{"group": "Local", "method": "password"}]}',
}

/**
 * @param env the environment
 * @returns the configuration, frozen
 * @throws ConfigError naming the first key that is wrong
 */
export function toConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const file = readFile(env.CARREL_CONFIG)
  for (const key of Object.keys(env))
    if (key.startsWith('CARREL_') && !(key in settings) && !key.startsWith('CARREL_TEST_'))
      throw new ConfigError(`${key} is not a setting; the settings are ${Object.keys(settings).join(', ')}`)

  const text = (key: SettingKey): string | null => {
    const given = env[key] ?? file.values[key]
    return given === undefined || given === '' ? settings[key].fallback : given
  }
  function value<K extends SettingKey>(key: K): Value<K> | null {
    const given = text(key)
    if (given === null) return null
    const read = settings[key].read(given)
    if (read !== undefined) return read as Value<K>
    const shown = secretKeys.has(key) ? 'Its value' : JSON.stringify(given)
    throw new ConfigError(`${key}: ${shown} is not valid; it takes ${settings[key].takes}`)
  }
  function required<K extends SettingKey>(key: K): Value<K> {
    const read = value(key)
    if (read === null) throw new ConfigError(`${key} must be set; it takes ${settings[key].takes}`)
    return read
  }

  value('CARREL_DATABASE_URL')
  const port = required('CARREL_PORT')
  const baseUrl = value('CARREL_BASE_URL') ?? `http://localhost:${port}`
  return Object.freeze({
    dataFolder: resolve(required('CARREL_DATA')),
    host: required('CARREL_HOST'),
    port,
    baseUrl,
    basePath: new URL(baseUrl).pathname.replace(/\/+$/, ''),
    queryBase: required('CARREL_QUERY_BASE'),
    tokenLifetime: required('CARREL_TOKEN_LIFETIME'),
    shortTokenLifetime: required('CARREL_SHORT_TOKEN_LIFETIME'),
    tokenSecrets: value('CARREL_TOKEN_SECRET') ?? [],
    loginOnBehalfOf: required('CARREL_LOGIN_ON_BEHALF_OF') === 'true',
    onBehalfOfReason: required('CARREL_ON_BEHALF_OF_REASON'),
    logoutPageUrl: value('CARREL_LOGOUT_PAGE_URL'),
    allowedOrigins: value('CARREL_ALLOWED_ORIGINS') ?? [],
    trustedProxies: value('CARREL_TRUSTED_PROXIES') ?? [],
    realm: required('CARREL_REALM'),
    csrfCookie: required('CARREL_CSRF_COOKIE'),
    csrfHeader: required('CARREL_CSRF_HEADER'),
    passwordConcurrency: required('CARREL_PASSWORD_CONCURRENCY'),
    passwordQueue: required('CARREL_PASSWORD_QUEUE'),
    cacheSize: required('CARREL_CACHE_SIZE') * 1024 * 1024,
    logLevel: required('CARREL_LOG_LEVEL'),
    ...specialGroups(file.structured),
  })
}

type Value<K extends SettingKey> = Exclude<ReturnType<(typeof settings)[K]['read']>, undefined>

const secretKeys = new Set<string>(['CARREL_TOKEN_SECRET', 'CARREL_DATABASE_URL'])

interface ConfigFile {
  readonly values: Readonly<Record<string, string>>
  readonly structured: Readonly<Record<string, unknown>>
}

function readFile(path: string | undefined): ConfigFile {
  if (!path) return { values: {}, structured: {} }
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ConfigError(`CARREL_CONFIG: the file ${path} can't be read as JSON (${why})`, { cause: error })
  }
  if (!isObject(content)) throw new ConfigError(`CARREL_CONFIG: the file ${path} must hold one JSON object`)
  const values: Record<string, string> = {}
  const structured: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(content)) {
    if (key in structuredSettings) structured[key] = value
    else if (!(key in settings) || key === 'CARREL_CONFIG')
      throw new ConfigError(
        `${key} (in ${path}) is not a setting; the settings are ${[...Object.keys(settings), ...Object.keys(structuredSettings)].join(', ')}`,
      )
    else if (Array.isArray(value) && value.every(one => typeof one === 'string'))
      values[key] = value.join(',')
    else if (['string', 'number', 'boolean'].includes(typeof value)) values[key] = String(value)
    else
      throw new ConfigError(`${key} (in ${path}) must be a text, a number, true or false, or a list of texts`)
  }
  return { values, structured }
}

function specialGroups(
  structured: Readonly<Record<string, unknown>>,
): Pick<Config, 'ipGroups' | 'methodGroups'> {
  const wrong = (what: string) =>
    new ConfigError(`specialGroups: ${what}; it takes ${structuredSettings.specialGroups}`)
  const given = structured.specialGroups ?? {}
  if (!isObject(given)) throw wrong('not an object')
  const unknown = Object.keys(given).find(key => key !== 'ip' && key !== 'method')
  if (unknown !== undefined) throw wrong(`${JSON.stringify(unknown)} is not known`)
  const entries = (key: 'ip' | 'method') => {
    const rows = given[key] ?? []
    if (!Array.isArray(rows)) throw wrong(`${key} is not a list`)
    return rows.map((row: unknown, at) => {
      if (!isObject(row) || typeof row.group !== 'string' || row.group === '')
        throw wrong(`${key}[${at}] needs a group`)
      // A way of arriving must never make an administrator: whoever reaches the network would be one.
      if (row.group === administratorGroup) throw wrong(`${key}[${at}] may not name ${administratorGroup}`)
      return { row, group: row.group, at }
    })
  }
  return {
    ipGroups: entries('ip').map(({ row, group, at }) => {
      const ranges = row.ranges
      if (!Array.isArray(ranges) || ranges.length === 0) throw wrong(`ip[${at}] needs ranges`)
      for (const range of ranges)
        if (typeof range !== 'string' || !isRange(range.replace(/^!/, '')))
          throw wrong(`ip[${at}] has the range ${JSON.stringify(range)}, which is no address or network`)
      return { group, ranges: ranges as string[] }
    }),
    methodGroups: entries('method').map(({ row, group, at }) => {
      const method = loginMethods.find(one => one === row.method)
      if (method === undefined) throw wrong(`method[${at}] must name one of ${loginMethods.join(', ')}`)
      return { group, method }
    }),
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An IPv4 or IPv6 address, alone or with a prefix length. */
function isRange(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const bits = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1
  return (
    bits > 0 &&
    rest.length === 0 &&
    (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits))
  )
}
