import { isComputed } from './query-functions.ts'
import { partsOf } from './query-oracle.ts'
import { textOf } from './query-values.ts'
import { type Json, operatorOf } from './raw-json.ts'

/**
 * Writes a query whose AST begins with `from` in PQL.
 *
 * @returns undefined if PQL can't express the query
 */
export function printPql(query: Json): string | undefined {
  try {
    return from(query)
  } catch (error) {
    if (error instanceof Unsayable) return undefined
    throw error
  }
}

class Unsayable extends Error {}

function from(query: Json): string {
  const [, entity, ...rest] = partsOf(query)
  const clause = (name: string) => rest.find(one => operatorOf(one) === name)
  const body = rest.find(one => !['limit', 'offset', 'order_by'].includes(operatorOf(one) ?? ''))
  const [, columns, ...parts] = operatorOf(body) === 'extract' ? partsOf(body) : []
  const part = (name: string) => parts.find(one => operatorOf(one) === name)
  const where = columns
    ? parts.find(one => !['group_by', 'having', 'distinct', 'with_empty'].includes(operatorOf(one) ?? ''))
    : body
  const groups = partsOf(part('group_by')).slice(1)
  const shown = columns ? list(columns).map(item) : []
  const order = partsOf(partsOf(clause('order_by'))[1]).map(node => entry(node, shown))
  const inside = [
    where && condition(where),
    groups.length > 0 && `group by ${groups.map(item).join(', ')}`,
    part('having') && `having ${condition(partsOf(part('having'))[1] as Json)}`,
    order.length > 0 && `order by ${order.join(', ')}`,
    ...['limit', 'offset'].map(name => clause(name) && `${name} ${partsOf(clause(name))[1]?.raw}`),
  ].filter(one => one)
  const distinct = part('distinct') ? 'distinct ' : ''
  const projection = columns ? `[${distinct}${shown.join(', ')}]` : ''
  return `${textOf(entity as Json)}${projection} { ${inside.join(' ')} }`
}

/** Writes a field. The second column of a path has a name that PQL can't write as a path. */
function field(node: Json): string {
  const name = textOf(node)
  if (/[.[].*_\d$/.test(name)) throw new Unsayable()
  return name
}

const list = (columns: Json): readonly Json[] =>
  columns.kind === 'array' && operatorOf(columns) !== 'function' ? columns.items : [columns]

function item(node: Json): string {
  if (operatorOf(node) === 'field') return field(partsOf(node)[1] as Json)
  if (node.kind !== 'array' || operatorOf(node) !== 'function') return field(node)
  const [, name, about, ...more] = partsOf(node)
  if (textOf(name as Json) === 'bucket') return `${field(about as Json)} by ${textOf(more[0] as Json)}`
  return `${textOf(name as Json)}(${[...(about ? [field(about)] : []), ...more.map(({ raw }) => raw)].join(', ')})`
}

/** Writes an order. PQL can sort by a function only if it is a column. */
function entry(node: Json, shown: readonly string[]): string {
  const isPair = node.kind === 'array' && operatorOf(node) !== 'function'
  const [by, direction] = isPair ? node.items : [node]
  const name = item(by as Json)
  if (by?.kind === 'array' && !isComputed(by) && !shown.includes(name)) throw new Unsayable()
  return `${name}${direction ? ` ${textOf(direction)}` : ''}`
}

function condition(node: Json): string {
  const [, ...args] = partsOf(node)
  const [first, second] = args as [Json, Json]
  const operator = operatorOf(node) ?? ''
  switch (operator) {
    case 'and':
    case 'or':
      return `(${args.map(condition).join(` ${operator} `)})`
    case 'not':
      return negation(first)
    case 'null?':
      return `${item(first)} is ${second.raw === 'true' ? '' : 'not '}null`
    case 'subquery':
      return `${textOf(first)} { ${second ? condition(second) : ''} }`
    case 'in':
      return `${first.kind === 'array' && !isComputed(first) ? `[${first.items.map(field).join(', ')}]` : item(first)} in ${values(second)}`
    default:
      return `${item(first)} ${operator} ${literal(second)}`
  }
}

function negation(node: Json): string {
  const operator = operatorOf(node)
  const [, about, value] = partsOf(node)
  if ((operator === '=' || operator === '~') && about && value)
    return `${item(about)} !${operator} ${literal(value)}`
  return `!(${condition(node)})`
}

function values(node: Json): string {
  const [, all] = partsOf(node)
  if (operatorOf(node) === 'array') return literal(all as Json)
  if (operatorOf(node) === 'from') return from(node)
  throw new Unsayable()
}

function literal(node: Json): string {
  if (['field', 'function'].includes(operatorOf(node) ?? '')) return item(node)
  if (node.kind === 'null' || node.kind === 'object') throw new Unsayable()
  return node.kind === 'array' ? `[${node.items.map(literal).join(', ')}]` : node.raw
}
