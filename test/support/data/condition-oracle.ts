import type { Condition, Constant, FieldRef } from '../../../src/model/plan.ts'
import { compareCodePoints } from './oracle.ts'

/** What conditions mean, a second time and in the plainest way: record by record. Nothing here comes from src/ but types. */
export type PlainRecord = Readonly<Record<string, unknown>>

/** @param rowsOf the values that an inner plan lists */
export function matches(
  condition: Condition,
  record: PlainRecord,
  rowsOf: (
    plan: Extract<Condition, { kind: 'in plan' }>['plan'],
  ) => readonly (readonly unknown[])[] = () => [],
): boolean {
  switch (condition.kind) {
    case 'and':
      return condition.of.every(one => matches(one, record, rowsOf))
    case 'or':
      return condition.of.some(one => matches(one, record, rowsOf))
    case 'none':
      return false
    case 'null':
      return (valueIn(record, condition.field) === null) !== condition.negated
    case 'in plan': {
      const values = condition.fields.map(field => valueIn(record, field))
      if (values.includes(null)) return false
      const has = rowsOf(condition.plan).some(
        row =>
          !row.includes(null) &&
          row.every((one, at) => isEqual(condition.fields[at] as FieldRef, values[at], one)),
      )
      return has !== condition.negated
    }
    case 'in rows':
    case 'text':
      throw new Error('the oracle knows no such condition')
    default: {
      const value = valueIn(record, condition.field)
      return value === null ? false : isTrue(condition, value) !== condition.negated
    }
  }
}

export function valueIn(record: PlainRecord, { name, path }: FieldRef): unknown {
  let value: unknown = record[name] ?? null
  for (const step of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) !== (typeof step === 'number'))
      return null
    value = Object.hasOwn(value, step) ? (value as Record<string | number, unknown>)[step] : null
  }
  return value ?? null
}

type Leaf = Extract<Condition, { kind: 'compare' | 'in' | 'matches' | 'path matches' }>

function isTrue(condition: Leaf, value: unknown): boolean {
  const { field } = condition
  switch (condition.kind) {
    case 'path matches':
      return (
        Array.isArray(value) &&
        value.length === condition.elements.length &&
        condition.elements.every((element, at) =>
          typeof element === 'number'
            ? value[at] === element
            : typeof value[at] === 'string' && new RegExp(element, 'u').test(value[at]),
        )
      )
    case 'matches': {
      const expression = new RegExp(condition.expression, 'u')
      if (field.type !== 'json')
        return expression.test(typeof value === 'string' ? value : JSON.stringify(value))
      return [value, ...elements(value)].some(one => typeof one === 'string' && expression.test(one))
    }
    case 'in':
      return condition.values.some(constant => equals(field, value, constant))
    case 'compare': {
      if (condition.operator === '=') return equals(field, value, condition.value)
      const constant = plain(condition.value)
      if (field.type === 'json' && (typeof constant !== 'number' || typeof value !== 'number')) return false
      const order = compare(field, value, constant)
      return {
        '<': order < 0,
        '<=': order <= 0,
        '>': order > 0,
        '>=': order >= 0,
      }[condition.operator]
    }
  }
}

const elements = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const equals = (field: FieldRef, value: unknown, constant: Constant) =>
  field.type === 'json'
    ? [value, ...elements(value)].some(one => isSame(one, plain(constant)))
    : compare(field, value, plain(constant)) === 0

const isEqual = (field: FieldRef, value: unknown, other: unknown) =>
  field.type === 'json'
    ? [value, ...elements(value)].some(one => isSame(one, other))
    : compare(field, value, other) === 0

function plain(constant: Constant): unknown {
  if (constant.kind === 'boolean') return constant.value
  if (constant.kind === 'number') return Number(constant.text)
  return constant.kind === 'json' ? JSON.parse(constant.json) : constant.text
}

function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return one === other
  const [first, second] = [Object.entries(one), Object.entries(other)]
  return (
    Array.isArray(one) === Array.isArray(other) &&
    first.length === second.length &&
    first.every(([key, value]) => Object.hasOwn(other, key) && isSame(value, other[key as never]))
  )
}

/** Of two values of a field that is no JSON. */
export function compare({ type }: Pick<FieldRef, 'type'>, one: unknown, other: unknown): number {
  if (type === 'date-time') return Date.parse(String(one)) - Date.parse(String(other))
  if (type !== 'text') return Number(one) - Number(other)
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  return compareCodePoints(text(one), text(other))
}
