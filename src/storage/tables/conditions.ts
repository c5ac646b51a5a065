import { foundIn, madeBy } from '../../model/operators/list.ts'
import type { Engine, Searched } from '../../model/operators/operator.ts'
import {
  type Condition,
  type Constant,
  differsIfMissing,
  type FieldRef,
  type Leaf,
  type Plan,
  type Rows,
  type ValueCondition,
} from '../../model/plan.ts'
import { listedField } from '../../model/plan-fields.ts'
import {
  type Bound,
  type Comparison,
  comparisonOf,
  digits,
  instantBound,
  integerBound,
  textBound,
} from './bounds.ts'
import { type Cell, joinBalanced } from './cells.ts'
import type { Dialect, Inner, InnerRows, Outer } from './dialect.ts'
import { keyOf } from './values.ts'

/** The values that a condition refers to, in a dialect. */
interface Scope {
  readonly dialect: Dialect
  /** The whole value of a field, or of a column of rows. */
  readonly cell: (field: FieldRef) => Cell
  /** The whole value of a JSON field, in the form that conditions read. */
  readonly parsed: (field: FieldRef) => string
  readonly inner: (plan: Plan) => Inner
  /** The condition `own` of a `Source`. */
  readonly own?: string | undefined
}

/** Compiles a condition to SQL (Q20, Q21). If it isn't true of a record, it is false or NULL. */
export const compileCondition = (condition: Condition, scope: Scope): string =>
  madeBy(statements(scope), condition)

const statements = (scope: Scope): Engine<string> => ({
  and: ({ of }, sql) => {
    const terms = of.map(one => `(${sql(one)})`)
    return joinBalanced(terms, 'AND') || 'true'
  },
  or: ({ of }, sql) => {
    // An index is chosen for each alternative: https://sqlite.org/optoverview.html#or_optimizations
    const own = scope.own === undefined ? '' : `${scope.own} AND `
    const terms = of.map(one => (own === '' ? `(${sql(one)})` : `(${own}(${sql(one)}))`))
    return joinBalanced(terms, 'OR') || 'false'
  },
  none: () => 'false',
  null: ({ field, negated }) => `${valueSql(field, scope)} IS ${negated ? 'NOT ' : ''}NULL`,
  value: condition =>
    scope.cell(condition.field).kind === 'json'
      ? scope.dialect.testJson(condition, scope.parsed(condition.field))
      : foundIn(plainValue(condition, scope), condition),
  fields: condition => compareFields(condition, scope),
  'in plan': condition => among(condition, scope.inner(condition.plan), scope),
  'in rows': condition => {
    const kinds = condition.fields.map(field => scope.cell(field).kind)
    return among(condition, scope.dialect.given(condition.rows, kinds), scope)
  },
  sample: ({ plan }) => {
    const fields = (plan.shape as Rows).columns.map((_, at) => listedField(plan, at))
    return among({ fields, negated: false }, scope.inner(plan), scope)
  },
  text: ({ fields, words, negated }) => {
    const values = fields.map(field => ({
      sql: valueSql(field, scope),
      isJson: scope.cell(field).kind === 'json',
    }))
    const found = scope.dialect.finds(values, words)
    // A record without any value doesn't match, negated or not.
    const known = values.map(({ sql }) => `(${sql}) IS NOT NULL`).join(' OR ')
    return negated ? `((${known}) AND NOT ${found})` : found
  },
})

/** The value as conditions read it. */
const valueSql = (field: FieldRef, { dialect, cell, parsed }: Scope): string =>
  cell(field).kind === 'json' ? dialect.memberOf(parsed(field), field.path) : cell(field).sql

/** A value that isn't JSON, as its operator finds it. */
function plainValue({ field, negated }: ValueCondition, { dialect, cell: find }: Scope): Searched<string> {
  const cell = find(field)
  const isThere = `${cell.sql} IS NOT NULL`
  const compared = (right: string, first: string | undefined) =>
    `${first === undefined ? '' : `${first} AND `}${keyOf(cell, dialect)} ${right}`
  function compare(operator: Comparison, constant: Constant): string {
    const bound = boundOf(cell, comparisonOf(operator, negated), constant, dialect)
    if (bound === 'none') return 'false'
    if (bound === 'all') return isThere
    const right = `${bound.comparison} ${dialect.constant(cell.kind, bound.value)}`
    return compared(right, dialect.indexTerm(cell, bound.comparison === '=' ? right : undefined))
  }
  return {
    equal: constants => {
      const [only] = constants
      if (only && constants.length === 1) return compare('=', only)
      const storable = constants.flatMap(constant => {
        const bound = boundOf(cell, '=', constant, dialect)
        return typeof bound === 'string' ? [] : [bound.value]
      })
      if (storable.length === 0) return negated ? isThere : 'false'
      const right = dialect.oneOf(cell.kind, storable, negated)
      return compared(right, negated ? undefined : dialect.indexTerm(cell, right))
    },
    ordered: compare,
    matching: expression => dialect.matches(cell.sql, expression, negated),
    tested: ({ sql }) => {
      const { bindText: bind } = dialect
      const matches = (value: string, expression: string) => dialect.matches(value, expression, false)
      return `${negated ? 'NOT ' : ''}(${sql({ value: cell.sql, isJson: false, bind, matches })})`
    },
  }
}

/** Compares two values of a row: as JSON, as numbers, or as what they are. */
function compareFields({ field, operator, other, negated }: Leaf<'fields'>, scope: Scope): string {
  const sides = [field, other].map(ref => ({ cell: scope.cell(ref), value: valueSql(ref, scope) }))
  const kinds = sides.map(({ cell }) => cell.kind)
  const isNumber = kinds.every(kind => kind === 'integer' || kind === 'number' || kind === 'numeric')
  const isJson = kinds.includes('json')
  const how = isJson && operator === '=' ? 'json' : isJson || isNumber ? 'number' : 'plain'
  const terms = sides.map(({ cell, value }) => scope.dialect.side(cell, value, how)).join(` ${operator} `)
  const known = sides.map(({ value }) => `${value} IS NOT NULL`).join(' AND ')
  return `${known} AND ${negated ? 'NOT ' : ''}coalesce(${terms}, false)`
}

/** Returns the equivalent comparison with a constant that a column of the kind can hold. */
function boundOf({ kind }: Cell, comparison: Comparison, value: Constant, dialect: Dialect): Bound {
  switch (kind) {
    case 'integer':
      if (value.kind === 'number') return integerBound(comparison, value.text)
      break
    case 'number':
    case 'numeric':
      if (value.kind === 'number') return dialect.numberBound(comparison, value.text)
      break
    case 'text':
      if (value.kind === 'text') return textBound(comparison, value.text, dialect.hasNul)
      break
    case 'time':
    case 'instant':
      if (value.kind === 'instant') return instantBound(comparison, value.text, digits[kind])
      break
    case 'boolean':
      if (value.kind === 'boolean') return { comparison, value: String(value.value) }
  }
  return comparison === '<>' ? 'all' : 'none'
}

/** The condition that the values are those of one of the inner rows (Q21). */
function among(
  { fields, negated }: Pick<Leaf<'in plan'>, 'fields' | 'negated'>,
  inner: Inner,
  scope: Scope,
): string {
  const { dialect } = scope
  const outer = fields.map((field, at): Outer => {
    const cell = scope.cell(field)
    const isJson = cell.kind === 'json' || inner.cells[at]?.kind === 'json'
    return { field, cell, value: valueSql(field, scope), isJson }
  })
  const values = inner.cells.map((cell, at) => dialect.comparable(cell, outer[at]?.isJson === true))
  const complete = inner.cells.map(({ sql }) => `${sql} IS NOT NULL`)
  const from = `(${inner.sql}) AS i`
  const [first] = outer
  if (first !== undefined && outer.length === 1 && first.cell.kind === 'json')
    return dialect.jsonAmong(first, selectOf({ from, values, complete }), negated)
  const known = outer.flatMap(({ field, value }) => (differsIfMissing(field) ? [] : [`${value} IS NOT NULL`]))
  return [...known, dialect.among(outer, { from, values, complete }, negated)].join(' AND ')
}

export const selectOf = ({ from, values, complete }: InnerRows): string =>
  `SELECT ${values.join(', ')} FROM ${from} WHERE ${complete.join(' AND ')}`
