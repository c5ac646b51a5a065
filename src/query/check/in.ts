import { listed, quote, suggestion } from '../../http/parameters.ts'
import { type Condition, differsIfMissing } from '../../model/plan.ts'
import type { Node } from '../language/node.ts'
import { readExtract, readFrom, readPaging } from './clauses.ts'
import { elementFor } from './constants.ts'
import { type Found, fieldNamed, findField, lowered, type Subject, subjectOf } from './fields.ts'
import { combined, oneOf } from './normal-form.ts'
import { type Checked, countLeaves, findEntity, most, type Scope } from './scope.ts'
import { innerFields, innerPlan, innerScope } from './subqueries.ts'
import {
  type ArrayNode,
  argumentsOf,
  described,
  inLanguage,
  operatorOf,
  requireCount,
  wrong,
} from './wrong.ts'

const forms = ['array', 'extract', 'from'] as const

/** `["in", field | [field, …], ["array", […]] | ["from", …] | ["extract", …, ["select_entity", …]]]` */
export function isIn(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  requireCount(node, 2, '["in", field, ["array", [value, …]]]')
  const [, subject = node, values = node] = node.items
  const fields = subjects(subject, scope)
  const operator = operatorOf(values)
  if (values.kind !== 'array' || !forms.some(one => one === operator)) throw wrongValues(values)
  if (operator === 'array') return inArray(values, fields, negated, scope)
  countLeaves(node, scope)
  if (scope.plainFor !== null) throw wrong(values, `${scope.plainFor} can't have subqueries.`)
  const plan = operator === 'from' ? fromPlan(values, fields, scope) : selectPlan(values, fields, scope)
  return { kind: 'in plan', fields: fields.map(({ ref }) => ref), plan, negated }
}

function wrongValues(node: Node): Error {
  const operator = operatorOf(node)
  const form =
    'Write ["array", [value, …]], or a subquery: ["from", "entity", ["extract", "field", condition]].'
  if (operator === undefined)
    return wrong(node, `The second argument of in is ${described(node)}. ${form}`, { legal: forms })
  const { hint, members } = suggestion(operator, forms)
  const what = operator.startsWith('select_')
    ? `${quote(operator)} stands in ["extract", "field", ["${operator}", condition]].`
    : `in has no ${quote(operator)}.${hint}`
  return wrong(node, `${what} ${form}`, members)
}

/** Reads the compared fields: one, or a list. */
function subjects(node: Node, scope: Scope): readonly Subject[] {
  if (node.kind !== 'array' || isParameter(node, scope) || operatorOf(node) === 'function')
    return [subjectOf(node, scope)]
  if (node.items.length === 0 || node.items.length > most.fields)
    throw wrong(node, `in compares 1 to ${most.fields} fields.`, {
      legal: listed(scope.fields.map(({ name }) => name)),
    })
  return node.items.map(item => {
    const found = findField(item, scope)
    scope.mentioned.add(found.field.name)
    return found
  })
}

const isParameter = (node: ArrayNode, scope: Scope) =>
  operatorOf(node) === 'parameter' && !fieldNamed('parameter', scope)

function inArray(node: ArrayNode, fields: readonly Subject[], negated: boolean, scope: Scope): Checked {
  const [list, more] = argumentsOf(node)
  if (list?.kind !== 'array' || more)
    throw wrong(more ?? list ?? node, 'array takes one list of values. Write ["array", [value, …]].', {
      form: '["array", [value, …]]',
    })
  const mostValues = scope.entity === null ? most.valuesOfRows : most.values
  if (list.items.length > mostValues)
    throw wrong(list, `in takes at most ${mostValues.toLocaleString('en')} values here.`, {
      most: mostValues,
    })
  const [field] = fields
  if (field && fields.length === 1) {
    countLeaves(node, scope)
    const values = list.items.map(item => elementFor(field, lowered(item, field), scope))
    return oneOf(field.ref, values, negated)
  }
  countLeaves(list, scope, Math.max(1, list.items.length) * fields.length)
  return oneOfRows(list.items, fields, negated, scope)
}

/**
 * Compares several fields at once, like the rows of a subquery: a record with a null in one of them, other
 * than within JSON, matches neither the condition nor its negation.
 */
function oneOfRows(rows: readonly Node[], fields: readonly Found[], negated: boolean, scope: Scope): Checked {
  const matching = rows.map(row => {
    if (row.kind !== 'array' || row.items.length !== fields.length)
      throw wrong(row, `${fields.length} fields are compared, so each value is a list of ${fields.length}.`)
    const parts = fields.map((field, at) =>
      oneOf(field.ref, [elementFor(field, row.items[at] ?? row, scope)], negated),
    )
    return combined(negated ? 'or' : 'and', parts)
  })
  if (!negated) return combined('or', matching)
  const present = fields.flatMap(({ ref }): Condition[] =>
    differsIfMissing(ref) ? [] : [{ kind: 'null', field: ref, negated: true }],
  )
  return combined('and', [...present, ...matching])
}

/** `["from", entity, ["extract", field | [field, …], condition?], clause…]` */
function fromPlan(node: ArrayNode, outer: readonly Found[], scope: Scope) {
  const { entity, query, clauses } = readFrom(node)
  if (clauses.sample) throw wrong(clauses.sample, 'A subquery has no sample. Sample the query around it.')
  const inner = innerScope(findEntity(entity, scope.shared), node, scope)
  if (query?.kind !== 'array' || operatorOf(query) !== 'extract')
    throw wrong(
      query ?? node,
      `A subquery says by which fields it is compared: ${inLanguage(node, '["from", "entity", ["extract", "field", condition]]', 'entity[field] { condition }')}.`,
    )
  const extract = readExtract(query)
  const grouped =
    extract.clauses.group_by ??
    extract.clauses.having ??
    extract.clauses.distinct ??
    extract.clauses.with_empty
  if (grouped) throw wrong(grouped, `A subquery has no ${operatorOf(grouped)}: equal rows count once anyway.`)
  return innerPlan(query, outer, innerFields(extract.columns, inner), {
    query: extract.where,
    scope: inner,
    paging: readPaging(clauses),
  })
}

/** `["extract", field | [field, …], ["select_<entity>", condition?]]` */
function selectPlan(node: ArrayNode, outer: readonly Found[], scope: Scope) {
  const [columns = node, select, more] = argumentsOf(node)
  const operator = operatorOf(select)
  if (select?.kind !== 'array' || !operator?.startsWith('select_') || more)
    throw wrong(
      more ?? select ?? node,
      'This extract takes fields and a subquery: ["extract", "field", ["select_entity", condition]].',
    )
  const [, query = null, another] = select.items
  if (another) throw wrong(another, `${operator} takes one condition. Join conditions with and.`)
  const name: Node = {
    kind: 'text',
    text: operator.slice('select_'.length),
    at: (select.items[0] ?? select).at,
  }
  const inner = innerScope(findEntity(name, scope.shared), select, scope)
  return innerPlan(node, outer, innerFields(columns, inner), { query, scope: inner })
}
