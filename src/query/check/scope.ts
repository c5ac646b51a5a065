import { commaList, quote, suggestion } from '../../http/parameters.ts'
import type { Entity, Field } from '../../model/entities.ts'
import type { Condition, FieldRef, TextQuery } from '../../model/plan.ts'
import type { Node } from '../language/node.ts'
import { described, inLanguage, wrong } from './wrong.ts'

/** Bounds of a checked query; the readers have their own. */
export const most = {
  leaves: 1_000,
  expressions: 100,
  expressionText: 20_000,
  searched: 1_000,
  /** Depth of nested subqueries. */
  subqueries: 10,
  /** Number of subqueries. PostgreSQL takes seconds to plan 500 of them. */
  plans: 100,
  values: 50_000,
  /** Values of a list in `having`, which are compared for every group. */
  valuesOfRows: 1_000,
  /** Characters of a JSON value. */
  json: 10_000,
  columns: 1_000,
  /** Functions among the columns. PostgreSQL takes seconds to plan 1,000 of them. */
  functions: 100,
  /** Times that a value is shown in a row, which therefore can't be much larger than its record. */
  times: 10,
  fields: 100,
  orders: 100,
} as const

/** State that all parts of one check share. */
export interface Shared {
  readonly entities: ReadonlyMap<string, Entity>
  readonly mayRead: (entity: Entity) => boolean
  /** Checks a condition. It is here so that the operators can check their arguments. */
  readonly condition: (node: Node, negated: boolean, scope: Scope) => Checked
  /** Reads a function of one record as the field that it computes; undefined for any other node. */
  readonly computed: (node: Node, scope: Scope) => Known | undefined
  /** Reads a field of a related entity, such as `artists.name`; undefined if no entity has the name before the point. */
  readonly related: (node: Text, scope: Scope) => Known | undefined
  /** Number of comparisons that the query may still have. */
  leavesLeft: number
  /** Number of subqueries that the query may still have. */
  plansLeft: number
  /** Characters of regular expressions that the query may still have. They take longer to read than anything else. */
  expressionTextLeft: number
}

type Text = Extract<Node, { kind: 'text' }>

/** A value that is computed of a field, or read in a related record, and that field. */
interface Known {
  readonly ref: FieldRef
  readonly field: Field
}

/** A checked condition; null if every record matches. */
export type Checked = Condition | null

/** The names that a condition can use: the fields of one entity, or the columns of the rows that `having` filters. */
export interface Scope {
  readonly shared: Shared
  /** The owner of the fields, as messages name it. */
  readonly name: string
  readonly fields: readonly Field[]
  /** The entity with the fields; null for the rows of a projection. */
  readonly entity: Entity | null
  /** Number of subqueries around the condition. */
  readonly depth: number
  /** Name, for messages, of a condition that can't have subqueries or text searches; null if both are allowed. */
  readonly plainFor: string | null
  /** Fields that the conditions use. They decide about the default condition. */
  readonly mentioned: Set<string>
  /** Searches by `match`, for `relevance` and `highlight`. */
  readonly matches: Match[]
  /** Fields of related entities, by the names that the query gives them. */
  readonly related: Map<string, Known>
}

export interface Match {
  readonly fields: readonly FieldRef[]
  readonly words: TextQuery
}

export const sharedBy = (
  parts: Pick<Shared, 'entities' | 'mayRead' | 'condition' | 'computed' | 'related'>,
): Shared => ({
  ...parts,
  leavesLeft: most.leaves,
  plansLeft: most.plans,
  expressionTextLeft: most.expressionText,
})

export const entityScope = (
  entity: Entity,
  shared: Shared,
  depth: number,
  plainFor: string | null = null,
): Scope => ({
  shared,
  name: entity.name,
  fields: entity.fields,
  entity,
  depth,
  plainFor,
  mentioned: new Set(),
  matches: [],
  related: new Map(),
})

/** Counts comparisons. @throws QueryError if the query has too many */
export function countLeaves(node: Node, scope: Scope, count = 1): void {
  scope.shared.leavesLeft -= count
  if (scope.shared.leavesLeft < 0)
    throw wrong(
      node,
      `A query has at most ${most.leaves.toLocaleString('en')} comparisons. To compare a field with many values, write ${inLanguage(node, '["in", field, ["array", [value, …]]]', 'field in [value, …]')}.`,
      { most: most.leaves },
    )
}

/**
 * Finds the entity that a query names, with `_` and `-` alike. An entity that the caller may not read gets
 * the same answer as one that doesn't exist (Q14).
 */
export function findEntity(node: Node, shared: Shared): Entity {
  if (node.kind !== 'text')
    throw wrong(node, `The name of an entity is text, not ${described(node)}.`, { legal: readable(shared) })
  const entity = entityNamed(node.text, shared)
  if (entity) return entity
  const names = readable(shared)
  const { hint, members } = suggestion(node.text, names)
  const legal = names.length === 0 ? 'You may read no entity.' : `You may read ${commaList(names)}.`
  throw wrong(node, `There is no entity ${quote(node.text)}.${hint} ${legal}`, members)
}

/** Maximum length in characters of a name that is searched for; no entity has a longer one. */
const maxLength = 1_000

export function entityNamed(name: string, { entities, mayRead }: Shared): Entity | undefined {
  const exact = entities.get(name)
  if (exact && mayRead(exact)) return exact
  if (name.length > maxLength) return undefined
  const wanted = dashed(name)
  return [...entities.values()].find(one => dashed(one.name) === wanted && mayRead(one))
}

const dashed = (name: string) => name.replaceAll('_', '-')

const readable = ({ entities, mayRead }: Shared) =>
  [...entities.values()].filter(mayRead).map(({ name }) => name)
