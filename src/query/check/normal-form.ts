import { createHash } from 'node:crypto'
import { memo } from '../../lib/memo.ts'
import { type Condition, type Constant, differsIfMissing, type FieldRef } from '../../model/plan.ts'
import type { Checked } from './scope.ts'

/**
 * The normal form of conditions: equal questions have equal plans, so that they share what is kept for them
 * (docs/decisions/0034).
 */
export const nothing: Condition = { kind: 'none' }

/** Longer keys are replaced by their digests, because those of conditions contain those of their operands. */
const maxKey = 500

/**
 * A text that is the same for equal conditions only. Entities count by their names. Conditions never change, and each is
 * compared again on every level above it.
 */
export const keyOf: (condition: Condition) => string = memo(condition => shortened(writeKey(condition)))

const shortened = (key: string) =>
  key.length <= maxKey ? key : createHash('sha256').update(key).digest('base64')

function writeKey(condition: Condition): string {
  if (condition.kind === 'and' || condition.kind === 'or')
    return `{"kind":"${condition.kind}","of":[${condition.of.map(keyOf).join()}]}`
  if (condition.kind !== 'in plan') return JSON.stringify(condition)
  const { kind, fields, plan, negated } = condition
  const { entity, where, shape, page } = plan
  const inner = JSON.stringify([kind, fields, negated, entity.name, shape, page])
  return `${inner}${where ? keyOf(where) : ''}`
}

/** Each once, in the order of their keys. */
function inOrder<Value>(values: readonly Value[], keyFor: (value: Value) => string): readonly Value[] {
  const unique = new Map(values.map(value => [keyFor(value), value]))
  return [...unique.keys()].sort().flatMap(key => unique.get(key) ?? [])
}

/** `and` or `or` of any number of conditions, as short as it can be said. */
export function combined(kind: 'and' | 'or', parts: readonly Checked[]): Checked {
  const flat = parts.flatMap((part): readonly Checked[] => (part?.kind === kind ? part.of : [part]))
  // One that no record matches decides an `and`, one that all match an `or`; the other one says nothing there.
  const decides = (part: Checked) => (kind === 'and' ? part?.kind === 'none' : part === null)
  if (flat.some(decides)) return kind === 'and' ? nothing : null
  const left = flat.filter(part => part !== null && part.kind !== 'none')
  const of = inOrder(mergedValues(kind, left), keyOf)
  if (of.length === 0) return kind === 'and' ? null : nothing
  const [only] = of
  return of.length === 1 && only ? only : { kind, of }
}

/** `x = 1 or x = 2` is `x in [1, 2]`; negated, it is the same with `and`. */
function mergedValues(kind: 'and' | 'or', parts: readonly Condition[]): readonly Condition[] {
  const fields = new Map<string, { readonly field: FieldRef; readonly values: Constant[] }>()
  const rest: Condition[] = []
  const negated = kind === 'and'
  for (const part of parts) {
    const values = valuesOf(part, negated)
    if (!values) {
      rest.push(part)
      continue
    }
    const key = JSON.stringify(values.field)
    const found = fields.get(key) ?? { field: values.field, values: [] }
    for (const value of values.values) found.values.push(value)
    fields.set(key, found)
  }
  for (const { field, values } of fields.values()) rest.push(oneOfSome(field, values, negated))
  return rest
}

function valuesOf(condition: Condition, negated: boolean) {
  if (condition.kind === 'in' && condition.negated === negated) return condition
  if (condition.kind === 'compare' && condition.operator === '=' && condition.negated === negated)
    return { field: condition.field, values: [condition.value] }
  return undefined
}

/** @param values any number of them, in any order */
export function oneOf(field: FieldRef, values: readonly Constant[], negated: boolean): Checked {
  if (values.length > 0) return oneOfSome(field, values, negated)
  if (!negated) return nothing
  // A comparison with null is unknown, even if there is nothing to compare with.
  return differsIfMissing(field) ? null : { kind: 'null', field, negated: true }
}

function oneOfSome(field: FieldRef, values: readonly Constant[], negated: boolean): Condition {
  const sorted = inOrder(values, value => JSON.stringify(value))
  const [only] = sorted
  if (only && sorted.length === 1) return { kind: 'compare', field, operator: '=', value: only, negated }
  return { kind: 'in', field, values: sorted, negated }
}
