import type { Entity, Field } from '../../model/entities.ts'
import type { Condition, FieldRef, TextQuery } from '../../model/plan.ts'
import type { Node } from '../language/node.ts'
import { wrong } from './wrong.ts'

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
  /** Number of comparisons that the query may still have. */
  leavesLeft: number
  /** Number of subqueries that the query may still have. */
  plansLeft: number
  /**
   * Characters of regular expressions that the query may still have. They take longer to read than anything
   * else.
   */
  expressionTextLeft: number
}

/** A checked condition; null if every record matches. */
export type Checked = Condition | null

/**
 * The names that a condition can use: the fields of one entity, or the columns of the rows that `having`
 * filters.
 */
export interface Scope {
  readonly shared: Shared
  /** The owner of the fields, as messages name it. */
  readonly name: string
  readonly fields: readonly Field[]
  /** The entity with the fields; null for the rows of a projection. */
  readonly entity: Entity | null
  /** Number of subqueries around the condition. */
  readonly depth: number
  /**
   * Name, for messages, of a condition that can't have subqueries or text searches; null if both are allowed.
   */
  readonly plainFor: string | null
  /** Fields that the conditions use. They decide about the default condition. */
  readonly mentioned: Set<string>
  /** Searches by `match`, for `relevance` and `highlight`. */
  readonly matches: Match[]
}

export interface Match {
  readonly fields: readonly FieldRef[]
  readonly words: TextQuery
}

export const sharedBy = (parts: Pick<Shared, 'entities' | 'mayRead' | 'condition'>): Shared => ({
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
})

/** Counts comparisons. @throws QueryError if the query has too many */
export function countLeaves(node: Node, scope: Scope, count = 1): void {
  scope.shared.leavesLeft -= count
  if (scope.shared.leavesLeft < 0)
    throw wrong(
      node,
      `A query has at most ${most.leaves.toLocaleString('en')} comparisons. To compare a field with many values, write ["in", field, ["array", [value, …]]].`,
      { most: most.leaves },
    )
}
