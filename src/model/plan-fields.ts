import { memo } from '../lib/memo.ts'
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
export const withFields = (plan: Plan, change: (field: FieldRef) => FieldRef): Plan => ({
  ...plan,
  where: plan.where && conditionWith(plan.where, change),
  shape: plan.shape.kind === 'records' ? plan.shape : rowsWith(plan.shape, change),
})

function conditionWith(where: Condition, change: (field: FieldRef) => FieldRef): Condition {
  switch (where.kind) {
    case 'and':
    case 'or':
      return { ...where, of: where.of.map(one => conditionWith(one, change)) }
    case 'none':
    case 'sample':
      return where
    case 'in plan':
    case 'in rows':
    case 'text':
      return { ...where, fields: where.fields.map(change) }
    case 'fields':
      return { ...where, field: change(where.field), other: change(where.other) }
    default:
      return { ...where, field: change(where.field) }
  }
}

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
