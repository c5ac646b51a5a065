import { Problem } from './problems.ts'

/** The query of a request: every name with its values in order, or why it can't be read. */
export interface Query {
  readonly values: ReadonlyMap<string, readonly string[]>
  readonly malformed: string | null
}

const none: Query = { values: new Map(), malformed: null }

/** Strict where most parsers guess: bad percent-encoding is an error, not a text (E2). Never throws. */
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
        malformed: 'The query has bad percent-encoding: % must be followed by two hex digits of UTF-8.',
      }
    const known = values.get(name)
    if (known) known.push(value)
    else values.set(name, [value])
  }
  return { values, malformed: null }
}

function decode(text: string): string | undefined {
  if (!/[%+]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/**
 * The parameters of a request where each may be given once.
 * @param legal the names that the endpoint knows
 * @throws Problem for an unknown name or one that is given twice
 */
export function singleParameters<Name extends string>(
  query: Query,
  legal: readonly Name[],
): Partial<Record<Name, string>> {
  const result: Partial<Record<Name, string>> = {}
  for (const [name, values] of query.values) {
    // Every endpoint takes it (T10); its value is nobody else's business.
    if (name === tokenParameter) continue
    const known = legal.find(one => one === name)
    if (known === undefined)
      throw badParameter(
        name,
        values[0] ?? '',
        `The parameter ${quote(name)} is not known here; known are ${legal.join(', ')}.`,
        {
          legal,
          ...nearestMember(name, legal),
        },
      )
    if (values.length > 1)
      throw badParameter(
        name,
        values[1] ?? '',
        `The parameter ${name} is given ${values.length} times; give it once.`,
      )
    result[known] = values[0] ?? ''
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
  return new Problem('bad-parameter', detail, { members: { parameter, value: shorten(value), ...members } })
}

/** What the client sent, in an error: enough to recognise, not enough to flood a terminal. */
export const quote = (text: string): string => JSON.stringify(shorten(text))
const shorten = (text: string) => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

/** The legal name that is closest to a wrong one, if any is close. */
export function nearest(name: string, legal: readonly string[]): string | undefined {
  if (name.length > 100) return undefined
  let best: string | undefined
  let least = Math.max(2, Math.floor(name.length / 3)) + 1
  for (const one of legal) {
    const distance = editDistance(name.toLowerCase(), one.toLowerCase())
    if (distance < least) [best, least] = [one, distance]
  }
  return best
}

export const nearestMember = (name: string, legal: readonly string[]): { nearest?: string } => {
  const found = nearest(name, legal)
  return found === undefined ? {} : { nearest: found }
}

/** Levenshtein's distance, a row at a time. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [i, a] of [...one].entries()) {
    const next = [i + 1]
    for (let j = 0; j < other.length; j++)
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, (row[j] ?? 0) + (a === other[j] ? 0 : 1)))
    row = next
  }
  return row[other.length] ?? 0
}
