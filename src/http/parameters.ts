import { RecentlyUsed } from '../lib/memo.ts'
import { nearest } from '../lib/nearest.ts'
import { readUuid } from '../lib/uuids.ts'
import { Problem } from './problems.ts'

/** The query of a request: every name with its values in order, and why it can't be parsed, if so. */
export interface Query {
  readonly values: ReadonlyMap<string, readonly string[]>
  /** The query as it was sent, for links that repeat the request. */
  readonly text: string
  readonly malformed: string | null
}

const none: Query = { values: new Map(), text: '', malformed: null }

/** Parses a query strictly where most parsers guess: bad percent-encoding is an error, not text (E2). Never throws. */
export function parseQuery(text: string): Query {
  if (text === '') return none
  const values = new Map<string, string[]>()
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const name = decode(at < 0 ? pair : pair.slice(0, at))
    const value = decode(at < 0 ? '' : pair.slice(at + 1))
    if (name === undefined || value === undefined)
      return {
        values,
        text,
        malformed:
          'The query has bad percent-encoding: % must be followed by two hexadecimal digits, and the bytes must be UTF-8.',
      }
    const known = values.get(name)
    if (known) known.push(value)
    else values.set(name, [value])
  }
  return { values, text, malformed: null }
}

/** Texts that were decoded before: clients repeat a few orders and conditions. */
const decoded = new RecentlyUsed<string, string>(256)
const maxKept = 1_000

function decode(text: string): string | undefined {
  if (!/[%+]/.test(text)) return text
  const known = decoded.get(text)
  if (known !== undefined) return known
  try {
    const value = decodeURIComponent(text.replaceAll('+', ' '))
    // A copy, because a part of an address would keep the whole one.
    if (text.length <= maxKept) decoded.add(Buffer.from(text).toString(), value)
    return value
  } catch {
    return undefined
  }
}

/** The parameters in their order and percent-encoding, such as `sort=dc.title%2CASC`. */
export const sentParameters = ({
  text,
}: Query): readonly { readonly name: string; readonly text: string }[] =>
  text
    .split('&')
    .filter(pair => pair !== '')
    .map(pair => ({ name: decode(pair.split('=', 1)[0] ?? '') ?? '', text: pair }))

/**
 * Reads the parameters of a request in which each may be given once.
 * @param legal the names that the endpoint takes
 * @throws Problem 400 for an unknown name, or one that is given twice
 */
export function singleParameters<Name extends string>(
  query: Query,
  legal: readonly Name[],
): Partial<Record<Name, string>> {
  const result: Partial<Record<Name, string>> = {}
  for (const [name, values] of query.values) {
    // Every endpoint takes the token (T10), and its value must not be repeated.
    if (name === tokenParameter) continue
    const known = legal.find(one => one === name)
    if (known === undefined) {
      const takes = legal.length === 0 ? 'no parameters' : `only ${commaList(legal)}`
      const { hint, members } = suggestion(name, legal)
      const detail = `The parameter ${quote(name)} is unknown.${hint} This address takes ${takes}.`
      throw badParameter(name, values[0] ?? '', detail, members)
    }
    result[known] = values.length > 1 ? single(query, name) : (values[0] ?? '')
  }
  return result
}

export const tokenParameter = 'authentication-token'

export function badParameter(
  parameter: string,
  value: string,
  detail: string,
  members: Readonly<Record<string, unknown>> = {},
): Problem {
  return new Problem('bad-parameter', detail, {
    members: { parameter: shorten(parameter), value: shorten(value), ...members },
  })
}

/** Reads the one value of a parameter. @throws Problem 400 if it is given more than once */
export function single(query: Query, name: string): string | undefined {
  const values = query.values.get(name) ?? []
  if (values.length > 1)
    throw badParameter(
      name,
      values[1] ?? '',
      `The parameter ${name} is given ${values.length} times; give it once.`,
    )
  return values[0]
}

/** @throws Problem 400 */
export function parseBoolean(parameter: string, text: string): boolean {
  if (/^true$/i.test(text)) return true
  if (/^false$/i.test(text)) return false
  throw badParameter(
    parameter,
    text,
    `The parameter ${parameter} must be true or false, not ${quote(text)}.`,
    { legal: ['true', 'false'] },
  )
}

/** @throws Problem 400 */
export function wholeNumber(parameter: string, text: string, least: number): number {
  const max = Number.MAX_SAFE_INTEGER
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= max) return value
  const what =
    value > max
      ? `is too large: ${quote(text)}`
      : `must be a whole number, ${least} or more, not ${quote(text)}`
  throw badParameter(parameter, text, `The parameter ${parameter} ${what}.`, { legal: { least, most: max } })
}

/** Maximum number of names listed in a problem: there may be thousands. */
const maxListed = 50

/** Shortens a list for a problem, for both `legal` and the detail. */
export const listed = (names: readonly string[]): readonly string[] =>
  names.length <= maxListed
    ? names.map(shorten)
    : [...names.slice(0, maxListed).map(shorten), `and ${names.length - maxListed} more`]

export const commaList = (names: readonly string[]): string => listed(names).join(', ')

/**
 * Suggests a name for a problem about an unknown one: a sentence for the detail, which may be empty, and the members.
 */
export function suggestion(name: string, legal: readonly string[]) {
  const near = nearest(name, legal)
  return {
    hint: near === undefined ? '' : ` Did you mean ${quote(near)}?`,
    members: { legal: listed(legal), ...(near === undefined ? {} : { nearest: near }) },
  }
}

/** Quotes a client's value in a message: enough of it to recognize, too little to flood a terminal. */
export const quote = (text: string): string => JSON.stringify(shorten(text))
const shorten = (text: string) => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

/** Reads a required parameter. @throws Problem 400 unless it is a UUID */
export function uuidIn(query: Query, name: string): string {
  const text = single(query, name) ?? ''
  const uuid = readUuid(text)
  if (uuid === undefined) throw badParameter(name, text, `The parameter ${name} must be a UUID.`)
  return uuid
}
