import { decimalOf, instantOf, type Kind } from './oracle.ts'
import type { Row } from './query-oracle.ts'
import type { Cell } from './query-oracle-rows.ts'
import {
  compare,
  identity,
  type Place,
  placeOf,
  type Typed,
  type TypedField,
  textOf,
  valueAt,
} from './query-values.ts'
import { type Json, jsonNull } from './raw-json.ts'

/** Computes a function of a group; a part of the oracle for queries (query-oracle.ts). */
export function aggregateOf(
  name: string,
  place: Place | undefined,
  records: readonly Row[],
  percent?: Json,
): Cell {
  if (!place) return counted(records.length)
  const all = records.flatMap(record => valueAt(record, place) ?? [])
  if (name === 'count') return counted(all.length)
  if (name === 'count_distinct') return counted(new Set(all.map(one => identity(place.type, one))).size)
  // In JSON, only numbers count.
  const type = place.type === 'json' ? 'number' : place.type
  const values = place.type === 'json' ? all.filter(({ kind }) => kind === 'number') : all
  const typed: Typed = { ...place, type }
  const cell = (json: Json | undefined, as = type): Cell => ({
    type: as,
    ...(place.collation !== undefined && { collation: place.collation }),
    json: json ?? jsonNull,
    exact: false,
  })
  if (name === 'min' || name === 'max') {
    const [first, ...others] = values
    const sign = name === 'min' ? 1 : -1
    return cell(
      first && others.reduce((best, one) => (sign * compare(typed, one, best) < 0 ? one : best), first),
    )
  }
  if (name === 'median' || name === 'percentile')
    return cell(percentileOf(typed, values, percent?.raw ?? '50'), 'number')
  if (values.length === 0) return cell(undefined, name === 'avg' ? 'number' : type)
  const { digits, exponent } = sumOf(values)
  const isWhole = place.type !== 'number' && values.every(({ raw }) => isWholeNumber(raw))
  if (name === 'sum' && isWhole)
    return cell({ kind: 'number', raw: String(digits * 10n ** BigInt(exponent)) })
  const magnitude = values.reduce((sum, { raw }) => sum + Math.abs(Number(raw)), 0)
  const sum = Number(`${digits}e${exponent}`)
  const result = name === 'avg' ? sum / values.length : sum
  return {
    ...cell({ kind: 'number', raw: String(result) }, 'number'),
    within: magnitude * Number.EPSILON * 4,
  }
}

/** Interpolates between the two values next to the place, in whole numbers of one decimal place. */
function percentileOf(typed: Typed, values: readonly Json[], percent: string): Json | undefined {
  const sorted = values.toSorted((one, other) => compare(typed, one, other))
  if (sorted.length === 0) return undefined
  const { digits, exponent } = decimalOf(percent)
  const unit = 100n * 10n ** BigInt(Math.max(0, -exponent))
  const place = BigInt(sorted.length - 1) * digits * 10n ** BigInt(Math.max(0, exponent))
  const at = Number(place / unit)
  const [low, high] = [sorted[at], sorted[Math.min(at + 1, sorted.length - 1)]].map(one =>
    decimalOf((one as Json).raw),
  ) as [ReturnType<typeof decimalOf>, ReturnType<typeof decimalOf>]
  const least = Math.min(low.exponent, high.exponent)
  const [from, to] = [low, high].map(one => one.digits * 10n ** BigInt(one.exponent - least)) as [
    bigint,
    bigint,
  ]
  const hundredths = Math.max(0, -exponent) + 2
  const result = from * unit + (to - from) * (place % unit)
  return { kind: 'number', raw: String(Number(`${result}e${least - hundredths}`)) }
}

const counted = (count: number): Cell => ({
  type: 'integer',
  json: { kind: 'number', raw: String(count) },
  exact: true,
})

function isWholeNumber(raw: string): boolean {
  const { digits, exponent } = decimalOf(raw)
  return exponent >= 0 || digits % 10n ** BigInt(-exponent) === 0n
}

/** Adds exactly. If the sum is an integer, its exponent is 0. */
function sumOf(values: readonly Json[]): { readonly digits: bigint; readonly exponent: number } {
  const all = values.map(({ raw }) => decimalOf(raw))
  const least = Math.min(0, ...all.map(({ exponent }) => exponent))
  const digits = all.reduce((sum, one) => sum + one.digits * 10n ** BigInt(one.exponent - least), 0n)
  const unit = 10n ** BigInt(-least)
  return digits % unit === 0n ? { digits: digits / unit, exponent: 0 } : { digits, exponent: least }
}

/** Implements PostgreSQL's `to_char` for the few masks that the generators use. */
export function toText(value: Json, mask: string): Json {
  const text = value.kind === 'number' ? numberText(value.raw, mask) : instantText(value, mask)
  return { kind: 'text', raw: JSON.stringify(text), text }
}

/** Rounds half away from zero. */
function numberText(raw: string, mask: string): string {
  const { digits, exponent } = decimalOf(raw)
  const [unit, magnitude] = [10n ** BigInt(Math.max(0, -exponent)), digits < 0n ? -digits : digits]
  const whole = (2n * magnitude * 10n ** BigInt(Math.max(0, exponent)) + unit) / (2n * unit)
  const width = mask.replace('FM', '').length
  const written = String(whole).length > width ? '#'.repeat(width) : String(whole)
  const text = digits < 0n && whole > 0n ? `-${written}` : written
  return mask.startsWith('FM') ? text : text.padStart(width + 1)
}

function instantText(value: Json, mask: string): string {
  const units = instantOf(textOf(value)) ?? 0n
  const seconds = units / 10n ** 12n - (units % 10n ** 12n < 0n ? 1n : 0n)
  const iso = new Date(Number(seconds) * 1000).toISOString()
  return mask
    .replace('YYYY', iso.slice(0, 4))
    .replace('MM', iso.slice(5, 7))
    .replace('DD', iso.slice(8, 10))
    .replace('HH24', iso.slice(11, 13))
    .replace('MI', iso.slice(14, 16))
    .replace('SS', iso.slice(17, 19))
}

/** The masks that `toText` knows, by the type of the field. */
export const masks: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  'date-time': ['YYYY-MM', 'MM/DD', 'HH24:MI:SS'],
  integer: ['999'],
  number: ['FM9999'],
}

/** The lower bound of the bucket of a value; null for what has none. */
export function bucketOf(value: Json, by: Json): Json {
  if (by.kind === 'number') return value.kind === 'number' ? intervalOf(value.raw, by.raw) : jsonNull
  return value.kind === 'text' ? periodOf(value.text, textOf(by)) : jsonNull
}

function intervalOf(raw: string, width: string): Json {
  const [number, step] = [decimalOf(raw), decimalOf(width)]
  const exponent = Math.min(number.exponent, step.exponent)
  const units = number.digits * 10n ** BigInt(number.exponent - exponent)
  const by = step.digits * 10n ** BigInt(step.exponent - exponent)
  const times = units / by - (units % by < 0n ? 1n : 0n)
  return { kind: 'number', raw: `${times * by}e${exponent}` }
}

function periodOf(text: string, unit: string): Json {
  const units = instantOf(text) ?? 0n
  const at = new Date(Number(units / 10n ** 12n - (units % 10n ** 12n < 0n ? 1n : 0n)) * 1000)
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()]
  const starts: Readonly<Record<string, number>> = {
    year: Date.UTC(year, 0),
    quarter: Date.UTC(year, month - (month % 3)),
    month: Date.UTC(year, month),
    week: Date.UTC(year, month, day - ((at.getUTCDay() + 6) % 7)),
    day: Date.UTC(year, month, day),
    hour: Date.UTC(year, month, day, at.getUTCHours()),
  }
  const start = new Date(starts[unit] ?? Number.NaN).toISOString()
  return { kind: 'text', raw: JSON.stringify(start), text: start }
}

/** Widths and units of buckets that the generators use, as JSON, by the type of the field. */
export const bucketsBy: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  'date-time': ['"year"', '"quarter"', '"month"', '"week"', '"day"', '"hour"'],
  integer: ['1', '2', '10', '0.3', '3e3'],
  number: ['1', '0.1', '0.7', '1e-30', '1e5'],
  json: ['2', '0.1'],
}

/** True for a function that computes a value of one record. */
export const isComputed = (node: Json): boolean =>
  node.kind === 'array' && ['bucket', 'length'].includes(textOf(node.items[1] as Json))

/** Resolves the subject of a condition: a field, or a function of one. */
export function subjectOf(node: Json, fields: readonly TypedField[]): Place {
  if (node.kind !== 'array') return placeOf(textOf(node), fields)
  const [, name, field, by] = node.items as [Json, Json, Json, Json]
  const { name: whole, path, type } = placeOf(textOf(field), fields)
  const made = textOf(name) === 'bucket' ? (value: Json) => bucketOf(value, by) : lengthOf
  return { name: whole, path, made, type: type === 'date-time' ? 'date-time' : 'number' }
}

const lengthOf = (value: Json): Json =>
  value.kind === 'array' ? { kind: 'number', raw: String(value.items.length) } : jsonNull
