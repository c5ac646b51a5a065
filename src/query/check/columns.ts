import { quote } from '../../http/parameters.ts'
import type { FieldType } from '../../model/entities.ts'
import type { Aggregate, Column, Scalar } from '../../model/plan.ts'
import { type Node, uniqueNames } from '../language/node.ts'
import { type Found, findField, whole } from './fields.ts'
import { readFunction } from './functions.ts'
import { most, type Scope } from './scope.ts'
import { described, operatorOf, wrong } from './wrong.ts'

/** A column before it has its final name. */
interface Chosen {
  readonly name: string
  readonly value: Scalar | Aggregate
  readonly type: FieldType
  /** True if its values have an order. */
  readonly isSortable: boolean
  readonly node: Node
}

/** A column of the result. */
export type Shown = Column & Pick<Chosen, 'isSortable' | 'node'>

/** Reads the columns of `extract`: a list, or a single one; `[]` means all fields. */
export function readColumns(node: Node, scope: Scope): readonly Shown[] {
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
