import { badParameter } from '../../http/parameters.ts'
import { type Node, QueryError } from '../language/node.ts'
import { readAst } from '../language/read-ast.ts'

const members = ['failures', 'successes', 'noops', 'skips'] as const

export type Counts = Readonly<Record<(typeof members)[number], number>>

const comparisons = {
  '=': (one: number, other: number) => one === other,
  '>': (one: number, other: number) => one > other,
  '<': (one: number, other: number) => one < other,
  '>=': (one: number, other: number) => one >= other,
  '<=': (one: number, other: number) => one <= other,
} as const

/** Maximum length in characters, ample for comparisons of four numbers. */
const maxLength = 2_000

type Filter = (counts: Counts) => boolean

/**
 * Reads a condition on counts, such as `[">", "failures", 0]`.
 * @throws Problem 400
 */
export function countsFilter(text: string | undefined): Filter {
  if (text === undefined) return () => true
  if (text.length > maxLength)
    throw badParameter(
      'counts_filter',
      text,
      `The parameter counts_filter has at most ${maxLength.toLocaleString('en')} characters.`,
    )
  try {
    return filterOf(readAst(text))
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    const place = 'pointer' in error.at && error.at.pointer !== '' ? ` at ${error.at.pointer}` : ''
    throw badParameter(
      'counts_filter',
      text,
      `The parameter counts_filter is wrong${place}: ${error.message}`,
      {
        ...error.at,
      },
    )
  }
}

function filterOf(node: Node): Filter {
  const [operator, ...given] = node.kind === 'array' ? node.items : []
  if (operator?.kind !== 'text')
    throw new QueryError('It must be an array such as [">", "failures", 0].', node.at)
  if (operator.text === 'and' || operator.text === 'or') {
    const filters = given.map(filterOf)
    return operator.text === 'and'
      ? count => filters.every(filter => filter(count))
      : count => filters.some(filter => filter(count))
  }
  const [first, second] = given
  if (operator.text === 'not' && first && given.length === 1) {
    const filter = filterOf(first)
    return count => !filter(count)
  }
  const compare = Object.entries(comparisons).find(([name]) => name === operator.text)?.[1]
  if (!compare)
    throw new QueryError(
      `The operators are and, or, not, ${Object.keys(comparisons).join(', ')}.`,
      operator.at,
    )
  const member = members.find(one => first?.kind === 'text' && one === first.text)
  if (member === undefined)
    throw new QueryError(`A count is one of ${members.join(', ')}.`, first?.at ?? node.at)
  if (second?.kind !== 'number' || given.length !== 2)
    throw new QueryError('A count is compared with one number.', second?.at ?? node.at)
  const number = Number(second.text)
  return count => compare(count[member], number)
}
