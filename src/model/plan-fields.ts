import { memo } from '../lib/memo.ts'
import type { Entity } from './entities.ts'
import type { Condition, FieldRef, Plan, Related, Rows, Scalar } from './plan.ts'

/** The fields that plans name, and those of them that are read in related records (docs/decisions/0078). */

interface Listed {
  readonly where?: Condition | null
  /** True for each row once. */
  readonly distinct?: boolean
  /** Maximum number of rows; null: all. */
  readonly limit?: number | null
}

/** A plan for rows of fields, in the columns of these names. */
export const rowsPlan = (
  entity: Plan['entity'],
  columns: Iterable<readonly [name: string | number, field: FieldRef]>,
  { where = null, distinct = false, limit = null }: Listed = {},
): Plan => ({
  entity,
  where,
  shape: {
    kind: 'rows',
    columns: Array.from(columns, ([name, field]) => ({
      name: String(name),
      value: { kind: 'field', field },
      type: field.type,
    })),
    groups: null,
    having: null,
    distinct,
    order: [],
  },
  page: { order: [], offset: 0, limit, total: false },
})

/** Puts other fields in place of those in a plan's own conditions and rows, but not inside of its subqueries. */
export function withFields(plan: Plan, change: (field: FieldRef) => FieldRef): Plan {
  const changed = (where: Condition): Condition => withParts(where, { condition: changed, field: change })
  return {
    ...plan,
    where: plan.where && changed(plan.where),
    shape: plan.shape.kind === 'records' ? plan.shape : rowsWith(plan.shape, change),
  }
}

/**
 * Puts other parts in place of those of a condition. Each part has a name of its own, whatever the condition:
 * conditions are in `of`, fields in `field`, `other` or `fields`, and a plan in `plan`.
 */
export function withParts<C extends Condition>(
  condition: C,
  change: {
    readonly condition: (one: Condition) => Condition
    readonly field?: (field: FieldRef) => FieldRef
    readonly plan?: (plan: Plan) => Plan
  },
): Condition {
  const { field = same, plan = same } = change
  return {
    ...condition,
    ...('of' in condition && { of: condition.of.map(change.condition) }),
    ...('field' in condition && { field: field(condition.field) }),
    ...('other' in condition && { other: field(condition.other) }),
    ...('fields' in condition && { fields: condition.fields.map(field) }),
    ...('plan' in condition && { plan: plan(condition.plan) }),
  }
}

const same = <T>(value: T): T => value

/** The conditions in a condition: those that `and` and `or` join, at any depth, or itself. */
export const leavesOf = (where: Condition | null): readonly Condition[] =>
  where === null ? [] : 'of' in where ? where.of.flatMap(leavesOf) : [where]

/** The plans in a condition. */
export const plansIn = (where: Condition | null): readonly Plan[] =>
  leavesOf(where).flatMap(leaf => ('plan' in leaf ? [leaf.plan] : []))

/** The conditions that all have to hold. */
export const termsOf = (where: Condition | null): readonly Condition[] =>
  where === null ? [] : where.kind === 'and' ? where.of : [where]

function rowsWith(rows: Rows, change: (field: FieldRef) => FieldRef): Rows {
  const scalar = (value: Scalar): Scalar =>
    'field' in value
      ? { ...value, field: change(value.field) }
      : { ...value, fields: value.fields.map(change) }
  return {
    ...rows,
    columns: rows.columns.map(({ value, ...column }) => ({
      ...column,
      value:
        value.kind === 'aggregate' ? { ...value, field: value.field && change(value.field) } : scalar(value),
    })),
    groups: rows.groups?.map(scalar) ?? null,
    order: rows.order.map(({ by, descending }) => ({
      by: typeof by === 'number' ? by : scalar(by),
      descending,
    })),
  }
}

/** The field that a plan lists in a column. @throws Error for any other column */
export function listedField({ shape }: Plan, at: number): FieldRef {
  const value = shape.kind === 'rows' ? shape.columns[at]?.value : undefined
  if (value?.kind !== 'field') throw new Error('a plan inside of another one lists what is no field')
  return value.field
}

/** The value that is read in a related record, as a field of its entity. */
export const valueField = ({ fields, of }: Related): FieldRef =>
  'rows' in of ? of.value : listedField(of, fields.length)

/** The values of related records in a plan's own conditions and rows, by the names of their fields. */
export const relatedIn = memo((plan: Plan): ReadonlyMap<string, Related> => {
  const found = new Map<string, Related>()
  withFields(plan, field => {
    if (field.related) found.set(field.name, field.related)
    return field
  })
  return found
})

/** Puts other values of related records in place of those of a plan. */
export function withRelated(plan: Plan, change: (related: Related) => Related): Plan {
  const all = relatedIn(plan)
  if (all.size === 0) return plan
  const changed = new Map([...all].map(([name, related]) => [name, change(related)]))
  return withFields(plan, field => {
    const related = field.related && changed.get(field.name)
    return related ? { ...field, related } : field
  })
}

/** The pages of a query share its condition. */
const entitiesInside = memo((where: Condition): readonly Entity[] => plansIn(where).flatMap(entitiesIn))

/** The entities that a plan reads, each once: its own, those of related records, and those of the plans in its conditions. */
export function entitiesIn(plan: Plan): readonly Entity[] {
  const related = [...relatedIn(plan).values()].flatMap(({ of }) => ('rows' in of ? [] : of))
  const inside = [...(plan.where ? entitiesInside(plan.where) : []), ...related.flatMap(entitiesIn)]
  return [...new Map([plan.entity, ...inside].map(one => [one.name, one])).values()]
}
