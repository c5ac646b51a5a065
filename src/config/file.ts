import { readFileSync } from 'node:fs'
import { OperatorError } from '../lib/errors.ts'
import { isObject } from '../lib/json.ts'
import { nearest } from '../lib/nearest.ts'
import { administratorGroup, type LoginMethod } from '../model/accounts.ts'
import { fileKeyOf, isRange, secretKeys, settings, structuredSettings } from './settings.ts'

/** A wrong setting, which stops the start. The message names the key and what it takes. */
export class ConfigError extends OperatorError {}

/** Clients from these ranges are in the group (G1). `!` before a range excludes it. */
export type IpGroup = Readonly<{ group: string; ranges: readonly string[] }>
/** Everyone who logs in by the method is in the group (G2). */
export type MethodGroup = Readonly<{ group: string; method: LoginMethod }>

export interface ConfigFile {
  readonly values: Readonly<Record<string, string>>
  readonly structured: Readonly<Record<string, unknown>>
  /** Errors of unknown keys, and of values of a wrong type. */
  readonly wrong: readonly ConfigError[]
}

const inFile = [
  ...Object.keys(settings).filter(key => key !== 'CARREL_CONFIG'),
  ...Array.from(secretKeys, fileKeyOf),
  ...Object.keys(structuredSettings),
]

/** Suggests what an unknown name was probably meant to be, or lists all known names. */
export function suggest(name: string, legal: readonly string[]): string {
  // The prefix that all settings share doesn't tell which one is meant.
  const bare = (one: string) => one.replace(/^CARREL_/, '')
  const found = nearest(bare(name), legal.map(bare))
  const meant = legal.find(one => bare(one) === found)
  return meant === undefined ? `known are ${legal.join(', ')}` : `did you mean ${meant}?`
}

/** Reads the file that CARREL_CONFIG names. @throws ConfigError if it can't be read */
export function readConfigFile(path: string | undefined): ConfigFile {
  if (!path) return { values: {}, structured: {}, wrong: [] }
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    // The parser's message would quote the file, which may hold a secret.
    const why =
      error instanceof SyntaxError
        ? `it is not valid JSON${error.message.match(/ at position \d+/)?.[0] ?? ''}`
        : `it can't be read (${(error as NodeJS.ErrnoException).code})`
    throw new ConfigError(`CARREL_CONFIG: the file ${path}: ${why}`, { cause: error })
  }
  if (!isObject(content)) throw new ConfigError(`CARREL_CONFIG: the file ${path} must hold one JSON object`)
  const values: Record<string, string> = {}
  const structured: Record<string, unknown> = {}
  const wrong: ConfigError[] = []
  for (const [key, value] of Object.entries(content)) {
    if (key === '$schema') continue
    if (key in structuredSettings) structured[key] = value
    else if (!inFile.includes(key))
      wrong.push(new ConfigError(`${key} (in ${path}) is not a setting; ${suggest(key, inFile)}`))
    else if (Array.isArray(value) && value.every(one => typeof one === 'string'))
      values[key] = value.join(',')
    else if (['string', 'number', 'boolean'].includes(typeof value)) values[key] = String(value)
    else
      wrong.push(
        new ConfigError(`${key} (in ${path}) must be a string, a number, true, false, or a list of strings`),
      )
  }
  return { values, structured, wrong }
}

/** @throws ConfigError that says which group is wrong */
export function specialGroups(
  structured: ConfigFile['structured'],
  loginMethods: readonly LoginMethod[],
): {
  readonly ipGroups: readonly IpGroup[]
  readonly methodGroups: readonly MethodGroup[]
} {
  const wrong = (what: string) =>
    new ConfigError(`specialGroups: ${what}; it takes ${structuredSettings.specialGroups}`)
  const given = structured.specialGroups ?? {}
  if (!isObject(given)) throw wrong('not an object')
  const unknown = Object.keys(given).find(key => key !== 'ip' && key !== 'method')
  if (unknown !== undefined)
    throw wrong(`${JSON.stringify(unknown)} is unknown; ${suggest(unknown, ['ip', 'method'])}`)
  const entries = (key: 'ip' | 'method') => {
    const rows = given[key] ?? []
    if (!Array.isArray(rows)) throw wrong(`${key} is not a list`)
    return rows.map((row: unknown, at) => {
      if (!isObject(row) || typeof row.group !== 'string' || row.group === '' || row.group.includes('\0'))
        throw wrong(`${key}[${at}] needs a group`)
      // A network or login method must never make administrators: everyone who can reach it would be one.
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
          throw wrong(`ip[${at}] has the range ${JSON.stringify(range)}, which is not an address or network`)
      return { group, ranges: ranges as string[] }
    }),
    methodGroups: entries('method').map(({ row, group, at }) => {
      const method = loginMethods.find(one => one === row.method)
      if (method === undefined) throw wrong(`method[${at}] must name one of ${loginMethods.join(', ')}`)
      return { group, method }
    }),
  }
}
