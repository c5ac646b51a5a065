import fc from 'fast-check'
import type { Ast } from './arbitrary-conditions.ts'
import { type AskedQuery, queries } from './arbitrary-queries.ts'
import type { World } from './query-oracle.ts'

/** An otherwise valid query with one mistake. */
export interface WrongQuery extends Pick<AskedQuery, 'entity' | 'ast'> {
  /** The place of the mistake as a JSON pointer. The problem must name this place or one inside it. */
  readonly pointer: string
}

export const wrongQueries = (world: World): fc.Arbitrary<WrongQuery> =>
  queries(world)
    .chain(query =>
      fc
        .constantFrom(...placesIn(query.ast, []))
        .chain(({ path, mistakes }) =>
          fc.constantFrom(...mistakes).map(mistake => broken(query, path, mistake)),
        ),
    )
    // null is how clients send no query.
    .filter(({ ast }) => ast !== null)

/** A part of a query, with mistakes that can replace it. */
interface Part {
  readonly path: readonly number[]
  readonly mistakes: readonly Ast[]
}

const number = (json: string): Ast => ({ json })
const isArray = (ast: Ast | undefined): ast is readonly Ast[] => Array.isArray(ast)

function placesIn(ast: Ast, path: readonly number[]): readonly Part[] {
  if (!isArray(ast)) return []
  const [operator, ...args] = ast
  if (typeof operator !== 'string') return []
  const inside = args.flatMap((one, at) => placesIn(one, [...path, at + 1]))
  if (operator === 'from') return [{ path, mistakes: wrongFrom(ast) }, ...inside]
  if (operator === 'extract') return [{ path, mistakes: wrongExtract(ast) }, ...inside]
  if (operator === 'having' || operator.startsWith('select_')) return inside
  if (logical.includes(operator)) return [{ path, mistakes: wrongConditions(ast) }, ...inside]
  return comparing.includes(operator)
    ? [{ path, mistakes: [...wrongConditions(ast), ...wrongComparisons(ast)] }, ...inside]
    : []
}

const logical = ['and', 'or', 'not', 'subquery', 'match', '~>']
const orders = ['<', '<=', '>', '>=']
const comparing = ['=', ...orders, '~', 'null?', 'in']

/** Mistakes at the place of a condition. */
const wrongConditions = (node: readonly Ast[]): readonly Ast[] => [
  ...([[], 'text', true, null, number('5'), number('{}'), [[]], [number('5'), 'x']] as const),
  ...(['==', '!=', 'AND', 'like', '!~', 'count', 'select_things'] as const).map(
    operator => [operator, ...node.slice(1)] as const,
  ),
  ...([['and'], ['or'], ['not'], ['not', node, node], ['and', 'x'], ['or', node, []]] as const),
  ...([
    ['and', ['order_by', ['x']]],
    ['or', ['limit', number('1')]],
    ['function', 'count'],
  ] as const),
  ...([
    ['=', 'no such field', number('1')],
    ['null?', 'no such field', true],
  ] as const),
  ...([
    ['=', ['function', 'count'], number('1')],
    ['=', number('1'), number('1')],
  ] as const),
  ...([
    ['in', 'no such field', ['array', []]],
    ['in', [], ['array', []]],
  ] as const),
  ...([['subquery'], ['subquery', 'no such entity', node], ['subquery', node]] as const),
]

/** Mistakes in a condition on any field. */
function wrongComparisons([operator = '', first = '', second = '']: readonly Ast[]): readonly Ast[] {
  const of = (...args: readonly Ast[]): Ast => [operator, ...args]
  const any = [of(), of(first), of(first, second, second), of(`${JSON.stringify(first)}!`, second)]
  if (operator === '=') return any
  if (operator === 'null?')
    return [...any, ...['true', null, number('1'), []].map(value => of(first, value as Ast))]
  if (operator === '~') {
    const expressions = ['(', '[', 'a**', '(?=a)', '\\1', 'x{2,1}', 'a{1001}', `${'a'.repeat(1_001)}`]
    return [...any, ...[null, number('1'), true, [], ...expressions].map(value => of(first, value as Ast))]
  }
  if (operator === 'in') {
    const lists = [[], 'x', ['array'], ['array', 'x'], ['array', [null]], ['array', [], []]] as const
    const queries = [
      ['from', 'no such entity', ['extract', 'x']],
      ['extract', 'x', ['select_nothing']],
      ['select_things'],
      ['and', second],
    ] as const
    return [...any, ...[...lists, ...queries].map(list => of(first, list))]
  }
  return [...any, ...[null, true, [], number('{}')].map(value => of(first, value as Ast))]
}

function wrongFrom(node: readonly Ast[]): readonly Ast[] {
  const rest = node.slice(2)
  const clauses: readonly Ast[] = [
    ...['0', '-1', '1.5', '1e400', '"2"', 'null', '[]', '9007199254740993'].map(
      (n): Ast => ['limit', number(n)],
    ),
    ...['-1', '0.5', '"0"', 'true'].map((n): Ast => ['offset', number(n)]),
    ...(['x', [[]], [['x', 'DESC']], ['no such field'], [number('1')], [null]] as const).map(
      (list): Ast => ['order_by', list],
    ),
    ...([['limit'], ['offset', number('1'), number('1')], ['order_by']] as const),
    ...([['include_total', true], ['group_by', 'x'], ['having', ['=', 'x', 'x']], 'x', null, []] as const),
  ]
  const others = rest.filter(
    one => !isArray(one) || !['limit', 'offset', 'order_by'].includes(String(one[0])),
  )
  return [
    ...clauses.map((clause): Ast => ['from', node[1] ?? '', ...others, clause]),
    ['from'],
    ['from', 'no such entity', ...rest],
    ['from', number('1'), ...rest],
    ['from', node[1] ?? '', ...others, ['limit', number('1')], ['limit', number('1')]],
    ['from', node[1] ?? '', ['and', ['no operator']], ...rest],
  ]
}

function wrongExtract(node: readonly Ast[]): readonly Ast[] {
  const rest = node.slice(2)
  const columns: readonly Ast[] = [
    ...(['no such field', ['no such field'], [null], [number('1')], [[]], true] as const),
    ...(['nothing', 'count_all', 'sum', 'avg', 'min', 'to_string', 'highlight'] as const).map(
      (name): Ast => ['function', name],
    ),
    ...([['function'], ['function', 'sum', 'no such field'], ['function', 'count', 'x', 'y']] as const),
  ]
  return [
    ...columns.map((column): Ast => ['extract', column, ...rest]),
    ['extract'],
    [...node, ['group_by']],
    [...node, ['group_by', 'no such field']],
    [...node, ['group_by', ['function', 'count']]],
    [...node, ['having', ['=', 'no such column', number('1')]]],
    [...node, ['distinct', true]],
    [...node, ['limit', number('1')]],
  ]
}

function broken({ entity, ast }: AskedQuery, path: readonly number[], mistake: Ast): WrongQuery {
  return { entity, ast: replaced(ast, path, mistake), pointer: path.map(step => `/${step}`).join('') }
}

function replaced(ast: Ast, [step, ...rest]: readonly number[], other: Ast): Ast {
  if (step === undefined || !isArray(ast)) return other
  return ast.map((one, at) => (at === step ? replaced(one, rest, other) : one))
}
