import { inUtc } from '../../../src/lib/instants.ts'
import { exactText, parseExact } from '../../../src/lib/json.ts'
import { toChar } from '../../../src/lib/to-char.ts'
import type {
  Aggregate,
  Column,
  Condition,
  Constant,
  FieldRef,
  Plan,
  Rows,
  Scalar,
} from '../../../src/model/plan.ts'
import { highlight, matchesText, relevanceOf, searchable, textsIn } from '../../../src/model/text-query.ts'
import { compareCodePoints } from './oracle.ts'

/**
 * A plain second reading of plans, over the records that a viewer's lists show. It shares no code with the engines, but for
 * the words of texts, which have tests of their own.
 */

export type Shown = Readonly<Record<string, unknown>>
/** The records that the viewer sees, by entity, in the order of the key. */
export type World = (entity: string) => readonly Shown[]

/** Values as the plan means them; undefined is null. */
type Value = unknown

export function answer(
  plan: Plan,
  world: World,
): { readonly total: number; readonly rows: readonly string[] } {
  const records = world(plan.entity.name).filter(one => plan.where === null || holds(plan.where, one, world))
  const { offset, limit } = plan.page
  const cut = <T>(all: readonly T[]) => all.slice(offset, limit === null ? undefined : offset + limit)
  if (plan.shape.kind === 'records') {
    const order = plan.page.order.map(({ field, descending }) => ({
      of: (record: Shown) => sortable(record[field], plan, field),
      descending,
    }))
    const sorted = sortBy(records, order)
    return { total: sorted.length, rows: cut(sorted).map(one => JSON.stringify(one)) }
  }
  const rows = rowsOf(plan.shape, records)
  return {
    total: rows.length,
    rows: cut(rows).map(row => rowText(plan.shape as Rows, row)),
  }
}

const rowText = ({ columns }: Rows, row: readonly Value[]) =>
  `{${columns.map(({ name }, at) => `${JSON.stringify(name)}:${JSON.stringify(row[at] ?? null)}`).join()}}`

export function holds(condition: Condition, record: Shown, world: World): boolean {
  switch (condition.kind) {
    case 'and':
      return condition.of.every(one => holds(one, record, world))
    case 'or':
      return condition.of.some(one => holds(one, record, world))
    case 'none':
      return false
    case 'null':
      return (at(record, condition.field) === undefined) !== condition.negated
    case 'in plan': {
      const values = condition.fields.map(field => at(record, field))
      if (values.includes(undefined)) return false
      const { columns } = condition.plan.shape as Rows
      const inner = answer(condition.plan, world).rows.map(text => {
        const row = parseExact(text) as Shown
        return columns.map(({ name }) => row[name])
      })
      const found = inner.some(row =>
        row.every((one, n) => {
          if (one === null) return false
          const field = condition.fields[n]
          const theirs = columns[n]?.type === 'date-time' ? instantOf(String(one)) : one
          const ours = values[n]
          const mine = field?.type === 'date-time' ? instantOf(String(ours)) : ours
          return (Array.isArray(ours) && field?.type === 'json' ? [mine, ...ours] : [mine]).some(v =>
            equal(v, theirs),
          )
        }),
      )
      return found !== condition.negated
    }
    case 'text': {
      const texts = searchedIn(record, condition.fields)
      return texts.length > 0 && matchesText(texts, condition.words) !== condition.negated
    }
    case 'in rows':
      throw new Error('the check makes no such condition')
    default: {
      const value = at(record, condition.field)
      if (value === undefined) return false
      return leaf(condition, value) !== condition.negated
    }
  }
}

function leaf(
  condition: Extract<Condition, { kind: 'compare' | 'in' | 'matches' | 'path matches' }>,
  value: Value,
): boolean {
  const isJson = condition.field.type === 'json'
  const alternatives = isJson && Array.isArray(value) ? [value, ...(value as Value[])] : [value]
  if (condition.kind === 'matches') {
    const expression = new RegExp(condition.expression, 'u')
    return alternatives.some(one => typeof one === 'string' && expression.test(one))
  }
  if (condition.kind === 'path matches')
    return (
      Array.isArray(value) &&
      value.length === condition.elements.length &&
      condition.elements.every((element, n) => {
        const one = value[n] as Value
        return typeof element === 'number'
          ? equal(one, element)
          : typeof one === 'string' && new RegExp(element, 'u').test(one)
      })
    )
  const equals = (constant: Constant) =>
    condition.field.type === 'date-time'
      ? constant.kind === 'instant' && instantOf(String(value)) === instantOf(constant.text)
      : alternatives.some(one => equal(one, valueIn(constant)))
  if (condition.kind === 'in') return condition.values.some(equals)
  if (condition.operator === '=') return equals(condition.value)
  const sign = compareConstant(value, condition.value, condition.field)
  if (sign === undefined) return false
  if (condition.operator === '<') return sign < 0
  if (condition.operator === '<=') return sign <= 0
  return condition.operator === '>' ? sign > 0 : sign >= 0
}

function compareConstant(value: Value, constant: Constant, { type }: FieldRef): number | undefined {
  if (type === 'date-time')
    return constant.kind === 'instant'
      ? Number(instantOf(String(value)) - instantOf(constant.text))
      : undefined
  if (constant.kind === 'number') {
    const text = numberOf(value)
    return text === undefined ? undefined : compareNumbers(text, constant.text)
  }
  if (type === 'text' && constant.kind === 'text' && typeof value === 'string')
    return compareCodePoints(value, constant.text)
  return undefined
}

/** @returns undefined for null */
function at(record: Shown, { name, path }: Pick<FieldRef, 'name' | 'path'>): Value {
  let value: Value = record[name]
  for (const step of path) {
    const isList = Array.isArray(value)
    if (typeof step === 'number') value = isList ? (value as Value[])[step] : undefined
    else
      value =
        typeof value === 'object' && value !== null && !isList && Object.hasOwn(value, step)
          ? (value as Shown)[step]
          : undefined
  }
  return value ?? undefined
}

const valueIn = (constant: Constant): Value => {
  if (constant.kind === 'json') return parseExact(constant.json)
  if (constant.kind === 'number') return parseExact(constant.text)
  return constant.kind === 'boolean' ? constant.value : constant.text
}

const numberOf = (value: Value): string | undefined =>
  typeof value === 'number' ? String(value) : exactText(value)

function equal(one: Value, other: Value): boolean {
  if (typeof one === 'bigint') return one === other
  const [a, b] = [numberOf(one), numberOf(other)]
  if (a !== undefined && b !== undefined) return compareNumbers(a, b) === 0
  if (a !== undefined || b !== undefined) return false
  if (Array.isArray(one))
    return (
      Array.isArray(other) && one.length === other.length && one.every((item, n) => equal(item, other[n]))
    )
  if (typeof one !== 'object' || one === null) return one === other
  if (typeof other !== 'object' || other === null || Array.isArray(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every(key => Object.hasOwn(other, key) && equal((one as Shown)[key], (other as Shown)[key]))
  )
}

/** As a whole number of units of 10^-scale. */
function scaled(number: string, scale: number): bigint {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(number) ?? []
  return BigInt(`${sign}${whole}${fraction}`) * 10n ** BigInt(scale + Number(exponent) - fraction.length)
}
const maxScale = 1_200
export function compareNumbers(a: string, b: string): number {
  const difference = scaled(a, maxScale) - scaled(b, maxScale)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** In units of 10^-12 s. */
function instantOf(text: string): bigint {
  const [, head = '', fraction = '', zone = ''] = /^(.{19})(?:\.(\d+))?(.+)$/.exec(text) ?? []
  // A leap second is no instant of any other second.
  const isLeap = head.endsWith('60')
  const at = BigInt(Date.parse(`${head.replace(/60$/, '59')}${zone}`)) * 10n ** 9n
  return isLeap ? at + 10n ** 12n - 1n : at + BigInt(fraction.slice(0, 12).padEnd(12, '0'))
}

// Order -------------------------------------------------------------------------------------------------------

type SortValue = { readonly mark: number; readonly number?: string; readonly text?: string } | null

interface By<T> {
  readonly of: (item: T) => SortValue
  readonly descending: boolean
}

/** Whole values of JSON are sorted by their text. */
function sortable(value: Value, { entity }: Plan, name: string): SortValue {
  const type = entity.fields.find(field => field.name === name)?.type
  return sortValue(value, type === 'json' ? 'whole' : (type ?? 'text'))
}

function sortValue(value: Value, type: string): SortValue {
  if (value === null || value === undefined) return null
  if (type === 'whole') return { mark: 0, text: JSON.stringify(value) }
  const number = numberOf(value)
  if (number !== undefined) return { mark: 0, number }
  if (type === 'date-time') return { mark: 0, number: String(instantOf(String(value))) }
  if (typeof value === 'string') return { mark: 1, text: value }
  if (typeof value === 'boolean') return { mark: 2, number: String(Number(value)) }
  return { mark: 3, text: JSON.stringify(value) }
}

function compareSorted(a: SortValue, b: SortValue): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  if (a.mark !== b.mark) return a.mark - b.mark
  if (a.number !== undefined && b.number !== undefined) return compareNumbers(a.number, b.number)
  return compareCodePoints(a.text ?? '', b.text ?? '')
}

const sortBy = <T>(items: readonly T[], order: readonly By<T>[]): T[] =>
  items.toSorted((a, b) => {
    for (const { of, descending } of order) {
      const sign = compareSorted(of(a), of(b))
      if (sign !== 0) return descending ? -sign : sign
    }
    return 0
  })

// Rows --------------------------------------------------------------------------------------------------------

interface Row {
  readonly values: readonly Value[]
  readonly sort: readonly SortValue[]
  readonly last: readonly SortValue[]
}

const scalarValue = (scalar: Scalar, record: Shown): Value => {
  if (scalar.kind === 'relevance') return relevanceOf(searchedIn(record, scalar.fields), scalar.words)
  const value = at(record, scalar.field)
  if (scalar.kind === 'field') return value
  if (scalar.kind === 'highlight') return typeof value === 'string' ? highlight(value, scalar.words) : value
  if (scalar.field.type === 'date-time')
    return typeof value === 'string' ? toChar({ instant: inUtc(value) }, scalar.mask) : undefined
  const number = numberOf(value)
  return number === undefined ? undefined : toChar({ number }, scalar.mask)
}

/** Of the fields that have a value. How words are read, and values written by masks, has tests of its own. */
const searchedIn = (record: Shown, fields: readonly FieldRef[]) =>
  fields.flatMap(field => {
    const value = at(record, field)
    if (value === undefined) return []
    return searchable(typeof value === 'string' ? [value] : textsIn(value))
  })

const typeOf = (value: Scalar | Aggregate): string => {
  if (value.kind === 'to_string') return 'text'
  if (value.kind !== 'field') return 'number'
  return value.field.type === 'json' && value.field.path.length === 0 ? 'whole' : value.field.type
}

function rowsOf(shape: Rows, records: readonly Shown[]): readonly (readonly Value[])[] {
  const isGrouped = shape.groups !== null || shape.columns.some(({ value }) => value.kind === 'aggregate')
  const groups = shape.groups ?? []
  const buckets = isGrouped ? bucketsOf(records, groups) : records.map(one => [one])
  const rows = buckets.map((bucket): Row => {
    const [first = {}] = bucket
    const value = (of: Scalar | Aggregate): Value =>
      of.kind === 'aggregate'
        ? aggregate(of, bucket)
        : isGrouped
          ? shownOf(of, bucket)
          : scalarValue(of, first)
    const values = shape.columns.map(column => value(column.value))
    const sort = shape.order.map(({ by }) => {
      const named = typeof by === 'number' ? shape.columns[by]?.value : by
      // What is marked is sorted without its marks.
      const of = named?.kind === 'highlight' ? ({ kind: 'field', field: named.field } as const) : named
      return of === undefined ? null : sortValue(value(of), typeOf(of))
    })
    return { values, sort, last: groups.map(group => sortValue(value(group), typeOf(group))) }
  })
  const having = shape.having
  const kept =
    having === null
      ? rows
      : rows.filter(({ values }) => holds(having, memberNames(shape.columns, values), () => []))
  const sorted = sortBy(kept, [
    ...shape.order.map(({ descending }, n) => ({ of: (row: Row) => row.sort[n] ?? null, descending })),
    ...(isGrouped && !shape.distinct ? groups : []).map((_, n) => ({
      of: (row: Row) => row.last[n] ?? null,
      descending: false,
    })),
    ...(shape.distinct ? shape.columns : []).map(({ value }, n) => ({
      of: (row: Row) => sortValue(row.values[n], typeOf(value)),
      descending: false,
    })),
  ])
  if (!shape.distinct) return sorted.map(({ values }) => values)
  const seen: Value[][] = []
  for (const { values } of sorted) {
    const same = seen.find(one => one.every((value, n) => equal(value ?? null, values[n] ?? null)))
    if (same === undefined) seen.push([...values])
    else for (const [n, value] of values.entries()) same[n] = firstOf([same[n], value])
  }
  return seen
}

const memberNames = (columns: readonly Column[], values: readonly Value[]): Shown =>
  Object.fromEntries(columns.map(({ name }, n) => [name, values[n] ?? null]))

function bucketsOf(records: readonly Shown[], groups: readonly Scalar[]): Shown[][] {
  if (groups.length === 0) return [[...records]]
  const buckets: Shown[][] = []
  for (const record of records) {
    const found = buckets.find(([first = {}]) =>
      groups.every(group => equal(scalarValue(group, record) ?? null, scalarValue(group, first) ?? null)),
    )
    if (found) found.push(record)
    else buckets.push([record])
  }
  return buckets
}

/** Of equal values, the one whose JSON comes first. */
const shownOf = (group: Scalar, bucket: readonly Shown[]): Value =>
  firstOf(bucket.map(one => scalarValue(group, one)))

const firstOf = (values: readonly Value[]): Value =>
  values.toSorted((a, b) => compareCodePoints(JSON.stringify(a) ?? '', JSON.stringify(b) ?? ''))[0]

function aggregate({ name, field }: Aggregate, bucket: readonly Shown[]): Value {
  if (field === null) return bucket.length
  const values = bucket.map(one => at(one, field)).filter(value => value !== undefined)
  if (name === 'count') return values.length
  if (name === 'count_distinct')
    return values.filter((value, n) => values.findIndex(one => equal(one, value)) === n).length
  const isExtreme = name === 'min' || name === 'max'
  if (isExtreme && field.type !== 'json') {
    const sorted = sortBy(values, [{ of: value => sortValue(value, field.type), descending: name === 'max' }])
    return sorted[0]
  }
  const numbers = values.flatMap(value => numberOf(value) ?? [])
  if (numbers.length === 0) return undefined
  if (isExtreme) {
    const [best = '0'] = numbers.toSorted((a, b) => (name === 'min' ? 1 : -1) * compareNumbers(a, b))
    return parseExact(best)
  }
  const sum = numbers.reduce((all, one) => all + scaled(one, maxScale), 0n)
  const double = Number(`${sum}e-${maxScale}`)
  if (name === 'avg')
    return Number.isFinite(double)
      ? double / numbers.length
      : Number(`${sum / BigInt(numbers.length)}e-${maxScale}`)
  const unit = 10n ** BigInt(maxScale)
  const isWhole = numbers.every(one => scaled(one, maxScale) % unit === 0n)
  if (isWhole) return parseExact(String(sum / unit))
  if (Number.isFinite(double)) return double
  const digits = String(sum < 0n ? -sum : sum).padStart(maxScale + 1, '0')
  const decimal = `${digits.slice(0, -maxScale)}.${digits.slice(-maxScale)}`.replace(/0+$/, '')
  return parseExact(sum < 0n ? `-${decimal}` : decimal)
}
