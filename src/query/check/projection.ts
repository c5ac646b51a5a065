import { quote } from '../../http/parameters.ts'
import type { Field } from '../../model/entities.ts'
import { computedValue } from '../../model/functions/functions.ts'
import type { Column, Condition, Scalar } from '../../model/plan.ts'
import { type Node, uniqueNames } from '../language/node.ts'
import { type Extract, onlyArgument } from './clauses.ts'
import { type Found, fieldNamed, findField, whole } from './fields.ts'
import { type Called, readFunction } from './functions.ts'
import { most, type Scope } from './scope.ts'
import { type ArrayNode, argumentsOf, described, operatorOf, wrong } from './wrong.ts'

/** The result of `extract`, apart from the order of its rows. */
export interface Projection {
  readonly columns: readonly Shown[]
  readonly groups: readonly Group[] | null
  readonly having: Condition | null
  readonly distinct: boolean
  readonly withEmpty: boolean
  /** True if each row summarizes a group of records. */
  readonly isGrouped: boolean
}

/** A value that rows are grouped by, with the name by which clauses refer to it. */
type Group = Pick<Chosen, 'name' | 'isSortable'> & { readonly value: Scalar }

export function readProjection({ columns: listed, clauses }: Extract, scope: Scope): Projection {
  const columns = readColumns(listed, scope)
  const groups = clauses.group_by ? readGroups(clauses.group_by, columns, scope) : null
  const isAggregated = columns.some(({ value }) => value.kind === 'aggregate')
  const isGrouped = groups !== null || isAggregated
  if (isGrouped) requireGrouped(columns, groups ?? [])
  if (isGrouped || clauses.distinct) requireOfManyRecords(columns, clauses.group_by)
  if (clauses.having && !isGrouped)
    throw wrong(
      clauses.having,
      'having filters groups, and there are none: add group_by or a function such as count.',
    )
  for (const clause of [clauses.distinct, clauses.with_empty])
    if (clause && clause.items.length > 1)
      throw wrong(clause, `${operatorOf(clause)} takes no arguments. Write ["${operatorOf(clause)}"].`, {
        form: `["${operatorOf(clause)}"]`,
      })
  if (clauses.with_empty) requireBuckets(clauses.with_empty, columns, groups ?? [], clauses)
  return {
    columns,
    groups,
    having: clauses.having ? readHaving(clauses.having, columns, scope) : null,
    distinct: clauses.distinct !== undefined,
    withEmpty: clauses.with_empty !== undefined,
    isGrouped,
  }
}

function readGroups(clause: ArrayNode, columns: readonly Shown[], scope: Scope): readonly Group[] {
  const nodes = argumentsOf(clause)
  if (nodes.length === 0)
    throw wrong(clause, 'group_by names fields: ["group_by", "field", …].', {
      form: '["group_by", field, …]',
    })
  if (nodes.length > most.fields) throw wrong(clause, `group_by has at most ${most.fields} fields.`)
  const groups = nodes.map(one => readGroup(one, columns, scope))
  return [...new Map(groups.map(group => [JSON.stringify(group.value), group])).values()]
}

function readGroup(node: Node, columns: readonly Shown[], scope: Scope): Group {
  if (node.kind === 'array' && operatorOf(node) === 'function') {
    const { name, value, isSortable } = readFunction(node, scope)
    if (value.kind === 'aggregate')
      throw wrong(node, `Rows can't be grouped by ${name}, because it is made of the whole group.`)
    return { name, value, isSortable }
  }
  if (node.kind !== 'text')
    throw wrong(
      node,
      `Rows are grouped by the name of a field or by ["function", "to_string", …], not ${described(node)}.`,
    )
  const column = fieldNamed(node.text, scope) ? undefined : columns.find(({ name }) => name === node.text)
  if (column && column.value.kind !== 'aggregate') return { ...column, value: column.value }
  const { ref, field } = findField(node, scope)
  return { name: node.text, value: { kind: 'field', field: ref }, isSortable: field.sortable !== false }
}

/** Buckets without records are added to the rows of one group, in its order. */
function requireBuckets(
  clause: ArrayNode,
  columns: readonly Shown[],
  [group, more]: readonly Group[],
  { having, distinct }: Extract['clauses'],
): void {
  const computed = group?.value.kind === 'field' ? group.value.field.computed : undefined
  const isBucket = computed && computedValue(computed).next !== undefined
  if (!group || more || !isBucket)
    throw wrong(
      clause,
      'with empty adds the buckets without records, so rows are grouped by one bucket alone, such as year by 10.',
    )
  if (!columns.some(({ value }) => JSON.stringify(value) === JSON.stringify(group.value)))
    throw wrong(
      clause,
      `with empty shows the buckets: add ${quote(group.name)} and its width to the columns.`,
    )
  const other = having ?? distinct
  if (other) throw wrong(other, `${operatorOf(other)} can't stand beside with empty.`)
}

/** A row of many records can show only values that all of them share. */
function requireGrouped(columns: readonly Shown[], groups: readonly Group[]): void {
  const grouped = new Set(groups.map(({ value }) => JSON.stringify(value)))
  const loose = columns.find(({ value }) => value.kind !== 'aggregate' && !grouped.has(JSON.stringify(value)))
  if (loose)
    throw wrong(
      loose.node,
      `${quote(loose.name)} is shown beside what is made of many records: add it to group_by.`,
      { form: '["group_by", field, …]' },
    )
}

/** Refuses values of a search in rows of many records, because a search rates and marks single records. */
function requireOfManyRecords(columns: readonly Shown[], clause: ArrayNode | undefined): void {
  const ofOne = columns.find(({ value }) => isOfSearch(value.kind))
  if (ofOne)
    throw wrong(
      ofOne.node,
      `${quote(ofOne.name)} is known of single records only: leave out group_by and distinct.`,
    )
  const named = clause && argumentsOf(clause).find(isCallOfSearch)
  if (named) throw wrong(named, "Rows can't be grouped by relevance or highlight.")
}

const isOfSearch = (kind: string) => kind === 'relevance' || kind === 'highlight'

const isCallOfSearch = (node: Node) =>
  node.kind === 'array' && node.items[1]?.kind === 'text' && isOfSearch(node.items[1].text)

/** @returns null if every row matches */
function readHaving(clause: ArrayNode, columns: readonly Shown[], { shared }: Scope): Condition | null {
  const condition = onlyArgument(clause, '["having", [">", "count", 1]]')
  const fields = columns.map(
    ({ name, type, isSortable, value }): Field => ({
      name,
      type,
      nullable: true,
      ...(value.kind === 'field' && value.field.list && { list: true }),
      ...(isSortable ? {} : { sortable: false }),
    }),
  )
  const rows: Scope = {
    shared,
    name: 'The result',
    fields,
    entity: null,
    depth: 0,
    plainFor: 'having',
    mentioned: new Set(),
    matches: [],
    related: new Map(),
  }
  if (condition.kind !== 'array')
    throw wrong(condition, `having takes a condition, not ${described(condition)}.`)
  return shared.condition(condition, false, rows)
}

/** A column before it has its final name. */
type Chosen = Called & { readonly node: Node }

/** A column of the result. */
type Shown = Column & Pick<Chosen, 'isSortable' | 'node'>

/** Reads the columns of `extract`: a list, or a single one; `[]` means all fields. */
function readColumns(node: Node, scope: Scope): readonly Shown[] {
  const nameFor = uniqueNames()
  const shown = new Map<string, number>()
  return chosen(node, scope).map(one => {
    const value = JSON.stringify(one.value)
    const times = (shown.get(value) ?? 0) + 1
    shown.set(value, times)
    if (times > most.times)
      throw wrong(one.node, `${quote(one.name)} is shown more than ${most.times} times.`)
    return { ...one, name: nameFor(one.name) }
  })
}

export const allColumns = (node: Node, scope: Scope): readonly Chosen[] =>
  scope.fields.map(field => fieldColumn(field.name, whole(field), node))

function chosen(node: Node, scope: Scope): readonly Chosen[] {
  if (node.kind !== 'array' || operatorOf(node) === 'function') return [columnOf(node, scope)]
  if (node.items.length === 0) return allColumns(node, scope)
  if (node.items.length > most.columns)
    throw wrong(
      node,
      `extract shows at most ${most.columns.toLocaleString('en')} columns, not ${node.items.length}.`,
    )
  const functions = node.items.filter(item => item.kind === 'array')
  if (functions.length > most.functions)
    throw wrong(
      functions[most.functions] ?? node,
      `extract shows at most ${most.functions} functions, not ${functions.length}.`,
    )
  return node.items.map(item => columnOf(item, scope))
}

function columnOf(node: Node, scope: Scope): Chosen {
  if (node.kind === 'text') return fieldColumn(node.text, findField(node, scope), node)
  if (node.kind === 'array' && operatorOf(node) === 'function') return { ...readFunction(node, scope), node }
  throw wrong(
    node,
    `A column is the name of a field or ["function", name, …], not ${node.kind === 'array' && operatorOf(node) ? quote(operatorOf(node) ?? '') : described(node)}.`,
  )
}

const fieldColumn = (name: string, { ref, field }: Found, node: Node): Chosen => ({
  name,
  value: { kind: 'field', field: ref },
  type: ref.type,
  isSortable: field.sortable !== false,
  node,
})
