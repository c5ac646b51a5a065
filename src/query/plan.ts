import { badParameter } from '../http/parameters.ts'
import type { Problem } from '../http/problems.ts'
import type { Entity } from '../model/entities.ts'
import { listOf, type Plan } from '../model/plan.ts'
import { type Context, check } from './check/check.ts'
import { markerOf } from './language/marker.ts'
import { type Node, QueryError } from './language/node.ts'
import { readAst } from './language/read-ast.ts'
import { readPql } from './language/read-pql.ts'
import { type Asked, orderOf, pageOf } from './parse.ts'

export interface Known extends Pick<Context, 'entities' | 'mayRead'> {
  /** The entity of the address; null at the query base, where the query names one. */
  readonly entity: Entity | null
}

/**
 * @param also a condition of the address, which every record fulfils besides those of the query
 * @throws Problem 400 that says what is wrong, where, and what would be right (Q7, Q14)
 */
export function planOf(asked: Asked, known: Known, also?: Node): Plan {
  const { entity } = known
  if (entity && asked.query === undefined && also === undefined && entity.defaultCondition === undefined)
    return listOf(entity, pageOf(asked, entity))
  const { order, limit, offset, total, query } = asked
  const given: Context['given'] = {
    ...(order !== undefined && { order: sortable => orderOf(order, sortable) }),
    ...(limit !== undefined && { limit }),
    ...(offset !== undefined && { offset }),
    total,
  }
  return telling(query ?? '', () => {
    const node = query === undefined ? null : readQuery(query, entity)
    return check(also === undefined ? node : narrowed(node, also), { ...known, given })
  })
}

/** At an entity, a query is an AST; at the base it may be PQL, too (Q14). */
export function readQuery(text: string, entity: Entity | null): Node {
  if (/^\s*\[/.test(text)) return readAst(text)
  if (entity === null) return readPql(text)
  throw new QueryError(
    `A query at ${entity.name} is a JSON array such as ["=", "${entity.fields[0]?.name ?? 'name'}", "value"]. PQL goes to the query base.`,
    { pointer: '' },
  )
}

/** @throws Problem 400 for a QueryError */
export function telling<T>(query: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof QueryError ? problemOf(error, query) : error
  }
}

function problemOf({ message, at, members }: QueryError, query: string): Problem {
  const place =
    'pointer' in at
      ? at.pointer === ''
        ? ''
        : ` at ${at.pointer}`
      : ` at line ${at.line}, column ${at.column}`
  const marker = markerOf(query, at)
  const shown = marker === undefined ? {} : { marker }
  return badParameter('query', query, `The query is wrong${place}: ${message}`, {
    ...at,
    ...shown,
    ...members,
  })
}

/** @returns the query with another condition, which it keeps however it is projected */
export function narrowed(query: Node | null, also: Node): Node {
  if (query === null) return also
  const { at } = query
  const both = (one: Node): Node => ({ kind: 'array', items: [text('and', at), one, also], at })
  if (query.kind !== 'array' || operatorOf(query) !== 'extract') return both(query)
  const [operator, columns, ...rest] = query.items
  if (operator === undefined || columns === undefined) return query
  const place = rest.findIndex(one => !clauses.has(operatorOf(one)))
  const condition = rest[place]
  const others = rest.filter((_, n) => n !== place)
  const items = [operator, columns, condition === undefined ? also : both(condition), ...others]
  return { kind: 'array', items, at }
}

/** @returns these columns of what the query lists */
export function projected(query: Node | null, columns: Node, ...clauses: readonly Node[]): Node {
  const { at } = columns
  return {
    kind: 'array',
    items: [text('extract', at), columns, ...(query === null ? [] : [query]), ...clauses],
    at,
  }
}

/** What may follow the columns of an `extract` besides its condition. */
const clauses = new Set<string | undefined>(['group_by', 'having', 'distinct'])

const text = (word: string, at: Node['at']): Node => ({ kind: 'text', text: word, at })

function operatorOf(node: Node): string | undefined {
  const [first] = node.kind === 'array' ? node.items : []
  return first?.kind === 'text' ? first.text : undefined
}
