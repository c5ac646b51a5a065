import { nearest } from '../../../../src/lib/nearest.ts'
import { type Mistake, type Node, QueryError } from '../../../../src/query/language/node.ts'
import { readPqlCondition } from '../../../../src/query/language/read-pql.ts'
import type { CarrelProblem } from '../../api.ts'
import type { Entity } from '../../entities.ts'

/** A fault of a condition, and its place in the text. */
export interface Refusal {
  /** A sentence in English. */
  readonly message: string
  /** Line and column, counted from 1; columns are code points. */
  readonly line?: number
  readonly column?: number
  readonly mistake?: Mistake | 'field' | undefined
  readonly found?: string | undefined
  readonly expected?: readonly string[] | undefined
  readonly legal?: readonly string[] | undefined
  readonly nearest?: string | undefined
}

const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
const texts = (value: unknown) =>
  Array.isArray(value) ? value.filter(one => typeof one === 'string') : undefined

const detailsOf = (members: Readonly<Record<string, unknown>>) => ({
  found: text(members.found),
  expected: texts(members.expected),
  legal: texts(members.legal),
  nearest: text(members.nearest),
})

/**
 * Reads a condition with the reader of the service, and looks for its fields. What is found here needs no
 * request, whose refusal browsers would log. The service checks the rest.
 *
 * @returns undefined if nothing wrong was found
 */
export function misread(entity: Entity, condition: string): Refusal | undefined {
  try {
    const node = readPqlCondition(condition)
    return node && unknownField(node, new Set(entity.fields.map(({ name }) => name)))
  } catch (error) {
    if (!(error instanceof QueryError) || !('line' in error.at)) throw error
    const { message, at, mistake, members } = error
    return { message: withoutPlace(message), ...at, mistake, ...detailsOf(members) }
  }
}

const joining = new Set(['and', 'or', 'not'])
const comparing = new Set(['=', '~', '~>', '<', '<=', '>', '>=', 'in', 'match', 'null?'])

/** Finds a field that the entity doesn't have. Paths and conditions on other entities are left to the service. */
function unknownField(node: Node, names: ReadonlySet<string>): Refusal | undefined {
  if (node.kind !== 'array') return undefined
  const [operator, ...rest] = node.items
  if (operator?.kind !== 'text') return undefined
  if (joining.has(operator.text))
    return rest.map(one => unknownField(one, names)).find(found => found !== undefined)
  const [fields] = comparing.has(operator.text) ? rest : []
  for (const field of fields?.kind === 'array' ? fields.items : [fields])
    if (field?.kind === 'text' && isPlain(field.text) && !names.has(field.text) && 'line' in field.at) {
      const meant = nearest(field.text, names)
      return { message: '', ...field.at, mistake: 'field', found: field.text, nearest: meant }
    }
  return undefined
}

const isPlain = (name: string) => /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(name)

/** @param prefix the part of the query before the condition */
export function refusalOf({ detail, members }: CarrelProblem, prefix: string): Refusal {
  const { line, column } = members
  const said = { message: withoutPlace(detail ?? ''), ...detailsOf(members) }
  if (typeof line !== 'number' || typeof column !== 'number') return said
  return { ...said, line, column: Math.max(1, column - (line === 1 ? [...prefix].length : 0)) }
}

const withoutPlace = (message: string) =>
  message.replace(/^(The query is wrong( at line \d+, column \d+:|\.)\s*)?(Line \d+, column \d+:)?\s*/, '')
