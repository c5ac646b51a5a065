import type { Entity, Field } from '../../model/entities.ts'
import type { Condition, FieldRef, TextQuery } from '../../model/plan.ts'
import type { Node } from '../language/node.ts'
import { wrong } from './wrong.ts'

/** Bounds of what is checked; the readers have their own. */
export const most = {
  leaves: 1_000,
  expressions: 100,
  expressionText: 20_000,
  searched: 1_000,
  /** In each other. */
  subqueries: 10,
  /** Altogether. PostgreSQL takes seconds to plan 500 of them. */
  plans: 100,
  values: 50_000,
  /** Of a list in `having`, which is compared group by group. */
  valuesOfRows: 1_000,
  /** The length of a value of JSON. */
  json: 10_000,
  columns: 1_000,
  /** Among the columns. PostgreSQL takes seconds to plan 1,000 of them. */
  functions: 100,
  /** That the same value is shown: a row can't be much larger than its record. */
  times: 10,
  fields: 100,
  orders: 100,
} as const

/** What all parts of one check share. */
export interface Shared {
  readonly entities: ReadonlyMap<string, Entity>
  readonly mayRead: (entity: Entity) => boolean
  /** Checks a condition. It is here so that the operators can check their arguments. */
  readonly condition: (node: Node, negated: boolean, scope: Scope) => Checked
  /** How many more comparisons the query may have. */
  leavesLeft: number
  /** How many more subqueries. */
  plansLeft: number
  /** How many more characters of regular expressions, which take longer to read than anything else. */
  expressionTextLeft: number
}

/** null: every record matches. */
export type Checked = Condition | null

/** Where names are looked up: the fields of one entity, or the members of the rows that `having` filters. */
export interface Scope {
  readonly shared: Shared
  /** What has the fields, as messages name it. */
  readonly name: string
  readonly fields: readonly Field[]
  /** null: the rows of a projection. */
  readonly entity: Entity | null
  /** How many subqueries are around it. */
  readonly depth: number
  /** Why subqueries, shorthands and text searches have no place here; null: they have. */
  readonly plainFor: string | null
  /** The fields in its conditions, for its default condition. */
  readonly mentioned: Set<string>
  /** What was searched for by `match`, for `relevance` and `highlight`. */
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

/** @throws QueryError if the query has too many comparisons */
export function countLeaves(node: Node, scope: Scope, count = 1): void {
  scope.shared.leavesLeft -= count
  if (scope.shared.leavesLeft < 0)
    throw wrong(
      node,
      `A query has at most ${most.leaves.toLocaleString('en')} comparisons. To compare a field with many values, write ["in", field, ["array", [value, …]]].`,
      { most: most.leaves },
    )
}
