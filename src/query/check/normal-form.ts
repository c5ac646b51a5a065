import { createHash } from 'node:crypto'
import { memo } from '../../lib/memo.ts'
import { equality } from '../../model/operators/list.ts'
import { type Condition, type Constant, differsIfMissing, type FieldRef } from '../../model/plan.ts'
import type { Checked } from './scope.ts'

/**
 * The normal form of conditions: equal questions have equal plans, so that they share cached results
 * (docs/decisions/0034).
 */

const nothing: Condition = { kind: 'none' }

/**
 * Maximum length of a key in characters. Longer ones are replaced by digests, because keys contain those of
 * operands.
 */
const maxKey = 500

/**
 * Makes a text that is the same for equal conditions only. Entities are represented by their names. Keys are
 * kept, because conditions never change, and each is compared again on every level above it.
 */
const keyOf: (condition: Condition) => string = memo(condition => shortened(writeKey(condition)))

const shortened = (key: string) =>
  key.length <= maxKey ? key : createHash('sha256').update(key).digest('base64')

function writeKey(condition: Condition): string {
  if ('of' in condition) return `{"kind":"${condition.kind}","of":[${condition.of.map(keyOf).join()}]}`
  if (!('plan' in condition && 'fields' in condition)) return JSON.stringify(condition)
  const { kind, fields, plan, negated } = condition
  const { entity, where, shape, page } = plan
  const inner = JSON.stringify([kind, fields, negated, entity.name, shape, page])
  return `${inner}${where ? keyOf(where) : ''}`
}

/** Sorts values by their keys, and leaves out duplicates. */
function inOrder<Value>(values: readonly Value[], keyFor: (value: Value) => string): readonly Value[] {
  const unique = new Map(values.map(value => [keyFor(value), value]))
  return [...unique.keys()].sort().flatMap(key => unique.get(key) ?? [])
}

/** Joins any number of conditions by `and` or `or`, in the shortest form. */
export function combined(kind: 'and' | 'or', parts: readonly Checked[]): Checked {
  const flat = parts.flatMap((part): readonly Checked[] => (part?.kind === kind ? part.of : [part]))
  // A condition that matches nothing decides an `and`, one that matches everything an `or`; in the other it
  // has no effect.
  const decides = (part: Checked) => (kind === 'and' ? part?.kind === 'none' : part === null)
  if (flat.some(decides)) return kind === 'and' ? nothing : null
  const left = flat.filter(part => part !== null && part.kind !== 'none')
  const of = inOrder(mergedValues(kind, left), keyOf)
  if (of.length === 0) return kind === 'and' ? null : nothing
  const [only] = of
  return of.length === 1 && only ? only : { kind, of }
}

/** Merges comparisons: `x = 1 or x = 2` is `x in [1, 2]`; negated, it is the same with `and`. */
function mergedValues(kind: 'and' | 'or', parts: readonly Condition[]): readonly Condition[] {
  const fields = new Map<string, { readonly field: FieldRef; readonly values: Constant[] }>()
  const rest: Condition[] = []
  const negated = kind === 'and'
  for (const part of parts) {
    const values = equality(part)
    if (values?.negated !== negated) {
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

/** Matches any of the values, in any order. There may be none. */
export function oneOf(field: FieldRef, values: readonly Constant[], negated: boolean): Checked {
  if (values.length > 0) return oneOfSome(field, values, negated)
  if (!negated) return nothing
  // A comparison with null is unknown, even if there are no values to compare with.
  return differsIfMissing(field) ? null : { kind: 'null', field, negated: true }
}

function oneOfSome(field: FieldRef, values: readonly Constant[], negated: boolean): Condition {
  const sorted = inOrder(values, value => JSON.stringify(value))
  const [only] = sorted
  if (only && sorted.length === 1) return { kind: 'compare', field, operator: '=', value: only, negated }
  return { kind: 'in', field, values: sorted, negated }
}
