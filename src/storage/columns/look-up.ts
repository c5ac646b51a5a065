import { constantValue } from '../../model/json-values.ts'
import type { Constant } from '../../model/plan.ts'
import { type Ordered, orderOf } from '../../model/value-order.ts'
import type { Values } from './stored-values.ts'
import { typedAt } from './values.ts'

/** The place of a value among the distinct ones, or the one that it would have. */
export interface Place {
  readonly at: number
  readonly isThere: boolean
}

/** Runs a binary search. @param compare returns less than 0 if the value comes before the wanted one */
export function findPlace(length: number, compare: (at: number) => number): Place {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    const compared = compare(middle)
    if (compared === 0) return { at: middle, isThere: true }
    if (compared < 0) low = middle + 1
    else high = middle
  }
  return { at: low, isThere: false }
}

/** Finds constants among the values of a field. Most texts and numbers are compared without parsing JSON. */
export function placesIn(values: Values, field: Ordered, constants: readonly Constant[]): Place[] {
  const order = orderOf(field)
  const isPlainText = field.type === 'text' && field.collation === undefined
  const isNumber = field.type === 'integer' || field.type === 'number'
  return constants.map(constant => {
    const wanted = constantValue(constant)
    // Made only if it is needed, because bytes are nearly always compared.
    let key: ReturnType<typeof order.key> | undefined
    const slowly = (rank: number) => {
      key ??= order.key(wanted)
      return order.compare(order.key(typedAt(values, rank, field.type)), key)
    }
    if (isPlainText && typeof wanted === 'string' && wanted.isWellFormed()) {
      const bytes = Buffer.from(wanted)
      return findPlace(values.length, rank => compareText(values.bytesAt(rank), bytes) ?? slowly(rank))
    }
    if (isNumber && typeof wanted === 'number')
      return findPlace(values.length, rank => compareNumber(values.bytesAt(rank), wanted) ?? slowly(rank))
    return findPlace(values.length, slowly)
  })
}

/** Compares UTF-8, whose order is that of code points. @returns undefined for an escape, or for no text */
function compareText(json: Uint8Array, bytes: Uint8Array): number | undefined {
  let at = 0
  const end = json.length - 1
  if (json[at++] !== quoteMark) return undefined
  let n = 0
  for (; at < end && n < bytes.length; at++, n++) {
    const byte = json[at] as number
    if (byte === backslash) return undefined
    if (byte !== bytes[n]) return byte - (bytes[n] as number)
  }
  return end - at - (bytes.length - n)
}

/** @returns undefined if a double may not hold the value exactly */
function compareNumber(json: Buffer, wanted: number): number | undefined {
  if (json.length > plainDigits) return undefined
  const isNegative = json[0] === minus
  let number = 0
  for (let at = isNegative ? 1 : 0; at < json.length; at++) {
    const digit = (json[at] as number) - zero
    if (digit < 0 || digit > 9) return Number(json.toString('latin1')) - wanted
    number = 10 * number + digit
  }
  return (isNegative ? -number : number) - wanted
}

const quoteMark = 0x22
const backslash = 0x5c
const minus = 0x2d
const zero = 0x30

/** Number of decimal digits that a double holds exactly. */
export const plainDigits = 15

/** Approximate number of values that a look-up reads. */
export const readsOfLookup = 20
