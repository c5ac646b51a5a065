import {
  compareCodePoints,
  compareJson,
  compareJsonSizes,
  compareNumbers,
  decimalOf,
  instantOf,
  type Kind,
} from './oracle.ts'
import type { Json } from './raw-json.ts'

/** A field. This part of the oracle (query-oracle.ts) defines values and their comparison. */
export interface TypedField {
  readonly name: string
  readonly type: Kind
  /** The collation of text; without it, text is sorted by code points. */
  readonly collation?: string
  /** True for JSON whose values are lists, in which conditions look at the elements. */
  readonly list?: boolean
  /** True for JSON from a database column: numbers inside of structures keep their trailing zeros. */
  readonly keepsZeros?: boolean
  /** The entity of a field of the related record. */
  readonly related?: string
}

/** A field or, with a path, a value inside a field of JSON. */
export interface Place extends TypedField {
  /** Keys, indexes, and `*` in an array for all its elements. */
  readonly path: readonly (string | number | readonly ['*'])[]
  /** Computes the value of the one that is there; null for none. */
  readonly made?: (value: Json) => Json
}

/** Returns a value as text. In a text field, other values count as their JSON. */
export const textOf = (json: Json): string => (json.kind === 'text' ? json.text : json.raw)

/** Returns the same text for values that are equal as JSON: by kind and value, with members in any order. */
export function canonical(json: Json): string {
  switch (json.kind) {
    case 'number':
      return canonicalNumber(json.raw)
    case 'text':
      return JSON.stringify(json.text)
    case 'array':
      return `[${json.items.map(canonical).join()}]`
    case 'object':
      return `{${[...json.members]
        .map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`)
        .toSorted()
        .join()}}`
    default:
      return json.raw
  }
}

function canonicalNumber(raw: string): string {
  let { digits, exponent } = decimalOf(raw)
  if (digits === 0n) return '0'
  while (digits % 10n === 0n) {
    digits /= 10n
    exponent++
  }
  return `${digits}e${exponent}`
}

/** Returns the text that a regular expression is applied to. */
export function seenText(json: Json, keepsZeros = false): string {
  const inside = (one: Json): string => {
    switch (one.kind) {
      case 'number':
        return digitsOf(one.raw, keepsZeros)
      case 'text':
        return JSON.stringify(one.text)
      case 'array':
        return `[${one.items.map(inside).join(', ')}]`
      case 'object': {
        const bytes = (name: string) => Buffer.from(name)
        const members = [...one.members].toSorted(
          ([a], [b]) => bytes(a).length - bytes(b).length || bytes(a).compare(bytes(b)),
        )
        return `{${members.map(([name, member]) => `${JSON.stringify(name)}: ${inside(member)}`).join(', ')}}`
      }
      default:
        return one.raw
    }
  }
  if (json.kind === 'text') return json.text
  return json.kind === 'number' ? digitsOf(json.raw, false) : inside(json)
}

/** Writes a number in digits, without an exponent. */
function digitsOf(raw: string, keepsZeros: boolean): string {
  const { digits, exponent } = decimalOf(raw)
  const places = Math.max(0, -exponent)
  const unit = 10n ** BigInt(places)
  const all = exponent > 0 ? digits * 10n ** BigInt(exponent) : digits
  const size = all < 0n ? -all : all
  const fraction = String(size % unit).padStart(places, '0')
  const shown = keepsZeros ? fraction : fraction.replace(/0+$/, '')
  return `${all < 0n ? '-' : ''}${size / unit}${places === 0 || shown === '' ? '' : `.${shown}`}`
}

/** Returns the same text for values that are equal as values of this type. */
export function identity(type: Kind, json: Json): string {
  if (json.kind === 'null') return 'null'
  if (type === 'text') return JSON.stringify(textOf(json))
  if (type === 'date-time') return String(instant(json))
  return canonical(json)
}

/** Compares two values that are not null. */
export function compare({ type, collation, keepsZeros }: Typed, one: Json, other: Json): number {
  if (type === 'text') {
    const [first, second] = [textOf(one), textOf(other)]
    const inLanguage = collation === undefined ? 0 : collator(collation).compare(first, second)
    return inLanguage || compareCodePoints(first, second)
  }
  if (type === 'date-time') {
    const difference = instant(one) - instant(other)
    return difference < 0n ? -1 : Number(difference > 0n)
  }
  if (type === 'json') {
    // Tables sort nested values of the same size by their text.
    const isNested = one.kind === 'array' || one.kind === 'object'
    if (isNested && keepsZeros) return compareJsonSizes(one, other) || compareCodePoints(one.raw, other.raw)
    return compareJson(one, other)
  }
  if (type === 'boolean') return Number(one.raw === 'true') - Number(other.raw === 'true')
  return compareNumbers(one.raw, other.raw)
}

export type Typed = Pick<TypedField, 'type' | 'collation' | 'keepsZeros'>

const collators = new Map<string, Intl.Collator>()

function collator(collation: string): Intl.Collator {
  const made = collators.get(collation) ?? new Intl.Collator(collation)
  collators.set(collation, made)
  return made
}

function instant(json: Json): bigint {
  const found = json.kind === 'text' ? instantOf(json.text) : undefined
  if (found === undefined) throw new Error(`not a date-time: ${json.raw}`)
  return found
}

/**
 * Converts a constant to the date-time that it stands for. Without a zone it is in UTC; a number is in ms
 * since 1970. It knows the forms that the generators use.
 */
export function instantConstant(json: Json): Json {
  const text = json.kind === 'number' ? new Date(Number(json.raw)).toISOString() : withAllParts(textOf(json))
  return { kind: 'text', raw: JSON.stringify(text), text }
}

function withAllParts(text: string): string {
  const [date = '', time] = text.split(/[Tt ]/)
  const day = `${date}${'-01-01'.slice(date.length === 4 ? 0 : date.length === 7 ? 3 : 6)}`
  if (time === undefined) return `${day}T00:00:00Z`
  const [, clock = '', fraction = '', zone = ''] = /^([\d:]+)([.,]\d+)?([Zz]|[-+][\d:]+)?$/.exec(time) ?? []
  return `${day}T${clock}${':00'.repeat(3 - clock.split(':').length)}${fraction.replace(',', '.')}${zone || 'Z'}`
}

/** Resolves a name. A field of exactly this name takes precedence over a path. */
export function placeOf(name: string, fields: readonly TypedField[]): Place {
  const field = fields.find(one => one.name === name)
  if (field) return { ...field, path: [] }
  const parent = fields
    .filter(
      one => one.type === 'json' && name.startsWith(one.name) && /[.[]/.test(name[one.name.length] ?? ''),
    )
    .toSorted((one, other) => other.name.length - one.name.length)[0]
  if (!parent) throw new Error(`there is no field ${name}`)
  const path: (string | number | readonly ['*'])[] = []
  for (const [, quoted, key, index] of name
    .slice(parent.name.length)
    .matchAll(/\."(.*?)"(?=[.[]|$)|\.([^.[]+)|\[(\d+|\*)\]/gy))
    path.push(index === undefined ? (quoted ?? key ?? '') : index === '*' ? ['*'] : Number(index))
  const list = path.some(step => typeof step === 'object')
  return {
    name: parent.name,
    type: 'json',
    path,
    ...(list && { list }),
    ...(parent.keepsZeros && { keepsZeros: true }),
  }
}

/** @returns undefined for null and for a missing value */
export function valueAt(row: ReadonlyMap<string, Json>, { name, path, made }: Place): Json | undefined {
  const value = memberOf(row.get(name), path)
  const result = value && made ? made(value) : value
  return result?.kind === 'null' ? undefined : result
}

function memberOf(whole: Json | undefined, path: Place['path']): Json | undefined {
  let value = whole
  for (const [at, step] of path.entries()) {
    if (typeof step === 'object') {
      const rest = path.slice(at + 1)
      const isOfLists = rest.some(one => typeof one === 'object')
      const items = (value?.kind === 'array' ? value.items : []).flatMap(item => {
        const found = memberOf(item, rest)
        return isOfLists && found?.kind === 'array' ? found.items : (found ?? [])
      })
      return items.length === 0
        ? undefined
        : { kind: 'array', raw: `[${items.map(({ raw }) => raw).join()}]`, items }
    }
    if (value?.kind === 'array') value = typeof step === 'number' ? value.items[step] : undefined
    else if (value?.kind === 'object') value = typeof step === 'string' ? value.members.get(step) : undefined
    else return undefined
  }
  return value?.kind === 'null' ? undefined : value
}
