import { exactText, parseExact } from '../../lib/json.ts'
import type { Again, Part, RankedField } from '../../model/functions/function.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { ranksIn } from './groups.ts'
import { type FieldFacts, numbersIn, required } from './leaves.ts'
import { plainDigits } from './look-up.ts'
import { partLength } from './selections.ts'
import { noAmount, type Ranks } from './stored-field.ts'
import type { Values } from './stored-values.ts'
import { eachText, jsonAt, valueAt } from './values.ts'

/** The numbers of a field as doubles, by rank from the first one. */
interface Doubles {
  readonly doubles: Float64Array
  /** 1 for each whole number; true or false: for all of them. */
  readonly isWhole: Uint8Array | boolean
  /** False if a double does not hold each whole number exactly. */
  readonly isExact: boolean
}

function doublesOf(facts: FieldFacts, from: number, end: number): Doubles {
  const values = required(facts)
  const isNumber = facts.type === 'number'
  const stored = values.doubles(from, end)
  if (stored) return { doubles: stored, isWhole: !isNumber, isExact: true }
  const isJson = facts.type === 'json'
  const doubles = new Float64Array(end - from)
  const isWhole = new Uint8Array(end - from)
  let isExact = true
  eachText(values, from, end, (text, rank) => {
    const at = rank - from
    doubles[at] = Number(text)
    const isInteger = text.length <= plainDigits ? Number.isInteger(doubles[at]) : isWholeNumber(text)
    isWhole[at] = Number(!isNumber && isInteger)
    if (isWhole[at] === 1 && !Number.isSafeInteger(doubles[at])) isExact = false
  })
  return { doubles, isWhole: isJson || !isExact ? isWhole : !isNumber, isExact }
}

/** A field as aggregates read it. @param count of all records */
export function rankedField(facts: FieldFacts, count: number): RankedField {
  const room = new Uint32Array(Math.min(partLength, count))
  const ranks = (part: Part) => ranksIn(facts.column, part, room)
  return {
    distinct: facts.column.distinct,
    ranks,
    counted: () => numbersIn(facts),
    json: rank => jsonAt(required(facts), rank),
    adding: size => adding(facts, ranks, size, count),
    mayGoOn,
  }
}

type Adding = ReturnType<RankedField['adding']>

/**
 * Adds the numbers of groups. Integers are added exactly, whatever their size, and so are numbers with a few decimals,
 * as whole numbers of their smallest part. The rounding errors of others are summed separately (Neumaier's
 * sum), so that their order hardly matters.
 */
function adding(facts: FieldFacts, ranksOf: RankedField['ranks'], size: number, count: number): Adding {
  const values = required(facts)
  const { from, end } = numbersIn(facts)
  const { amounts } = facts.column
  if (amounts && hasExactSums(endsOf(values), amounts.scale, count))
    return addingWhole(amounts, 10 ** amounts.scale, size)
  const { doubles, isWhole, isExact: areExact } = doublesOf(facts, from, end)
  const scale = typeof isWhole === 'boolean' ? scaleOf(doubles) : -1
  if (hasExactSums(doubles, scale, count))
    return addingWhole({ table: scaled(doubles, scale), ranksOf }, 10 ** scale, size)
  const wholeAt = (at: number) => (typeof isWhole === 'boolean' ? isWhole : isWhole[at] === 1)
  const sums: Sums = {
    sums: new Float64Array(size),
    lost: new Float64Array(size),
    counts: new Uint32Array(size),
  }
  const hasDecimals = new Uint8Array(size).fill(isWhole === false ? 1 : 0)
  let isExact = areExact
  return {
    take: (part, ids) => {
      mayGoOn()
      const ranks = ranksOf(part)
      const largest = addAll(sums, ids, ranks, part.length, doubles, from, end)
      if (isWhole === false) return
      if (largest > Number.MAX_SAFE_INTEGER) isExact = false
      if (isWhole !== true)
        for (let at = 0; at < part.length; at++) {
          const rank = ranks[at] as number
          if (rank >= from && rank < end && isWhole[rank - from] === 0) hasDecimals[ids[at] as number] = 1
        }
    },
    result: again => {
      const large = isExact
        ? undefined
        : largeSums(again, ranksOf, rank =>
            rank >= from && rank < end && wholeAt(rank - from)
              ? wholeNumber(valueAt(values, rank))
              : undefined,
          )
      const rounded = (id: number) => {
        const sum = sums.sums[id] as number
        // An overflow can't be corrected.
        return Number.isFinite(sum) ? sum + (sums.lost[id] as number) : sum
      }
      return {
        sum: id => (hasDecimals[id] === 1 ? undefined : large?.get(id)) ?? rounded(id),
        count: id => sums.counts[id] as number,
      }
    },
  }
}

/** The smallest and the largest number. */
const endsOf = (values: Values): Float64Array =>
  Float64Array.from([0, values.length - 1], rank => values.doubles(rank, rank + 1)?.[0] ?? Number.NaN)

/** Whole numbers to add: of each record, or of each rank. */
type Whole =
  | { readonly read: (from: number, end: number) => Int32Array }
  | { readonly table: Float64Array; readonly ranksOf: RankedField['ranks'] }

/** Adds whole numbers whose sums a double holds exactly. @param unit by which the sum is divided at the end */
function addingWhole(whole: Whole, unit: number, size: number): Adding {
  const sums = new Float64Array(size)
  const counts = new Uint32Array(size)
  return {
    take: (part, ids) => {
      mayGoOn()
      if ('read' in whole) addAmounts(sums, counts, ids, whole.read(part.from, part.end), part)
      else addByRank(sums, counts, ids, whole.ranksOf(part), part.length, whole.table)
    },
    result: () => ({ sum: id => (sums[id] as number) / unit, count: id => counts[id] as number }),
  }
}

function addAmounts(
  sums: Float64Array,
  counts: Uint32Array,
  ids: Ranks,
  amounts: Int32Array,
  { length, places }: Part,
): void {
  for (let at = 0; at < length; at++) {
    const amount = amounts[places ? (places[at] as number) : at] as number
    if (amount === noAmount) continue
    const id = ids[at] as number
    sums[id] = (sums[id] as number) + amount
    counts[id] = (counts[id] as number) + 1
  }
}

function addByRank(
  sums: Float64Array,
  counts: Uint32Array,
  ids: Ranks,
  ranks: Ranks,
  length: number,
  table: Float64Array,
): void {
  for (let at = 0; at < length; at++) {
    const rank = ranks[at] as number
    if (rank >= table.length) continue
    const id = ids[at] as number
    sums[id] = (sums[id] as number) + (table[rank] as number)
    counts[id] = (counts[id] as number) + 1
  }
}

/** For each group, the sum so far, what rounding has lost of it, and the number of values. */
interface Sums {
  readonly sums: Float64Array
  readonly lost: Float64Array
  readonly counts: Uint32Array
}

/** @returns the largest absolute value of any sum on the way */
function addAll(
  { sums, lost, counts }: Sums,
  ids: Ranks,
  ranks: Ranks,
  length: number,
  doubles: Float64Array,
  from: number,
  end: number,
): number {
  let largest = 0
  for (let at = 0; at < length; at++) {
    const rank = ranks[at] as number
    if (rank < from || rank >= end) continue
    const id = ids[at] as number
    const value = doubles[rank - from] as number
    const sum = sums[id] as number
    const next = sum + value
    const before = Math.abs(sum)
    lost[id] = (lost[id] as number) + (before >= Math.abs(value) ? sum - next + value : value - next + sum)
    sums[id] = next
    counts[id] = (counts[id] as number) + 1
    largest = Math.max(largest, Math.abs(next))
  }
  return largest
}

const wholeNumber = (value: unknown): bigint => BigInt(exactText(value) ?? Number(value))

function isWholeNumber(json: string): boolean {
  const value = parseExact(json)
  const exact = exactText(value)
  return exact === undefined ? Number.isInteger(value) : /^-?\d+$/.test(exact)
}

/** Sums whole numbers by group if doubles can't hold the sums. */
function largeSums(
  again: Again,
  ranksOf: RankedField['ranks'],
  wholeAt: (rank: number) => bigint | undefined,
): ReadonlyMap<number, bigint> {
  const wholes = new Map<number, bigint>()
  const sums = new Map<number, bigint>()
  again({
    take: (part, ids) => {
      const ranks = ranksOf(part)
      for (let at = 0; at < part.length; at++) {
        const rank = ranks[at] as number
        const whole = wholes.get(rank) ?? wholeAt(rank)
        if (whole === undefined) continue
        wholes.set(rank, whole)
        const id = ids[at] as number
        sums.set(id, (sums.get(id) ?? 0n) + whole)
      }
    },
  })
  return sums
}

/** Most decimals of numbers that are added as whole numbers. */
const maxScale = 6

/**
 * Returns the number of decimals of the one that has most, so that all times ten to its power are whole.
 * @returns -1 if some have more than are added as whole numbers
 */
export function scaleOf(doubles: Float64Array): number {
  let scale = 0
  let power = 1
  for (let at = 0; at < doubles.length; at++) {
    const value = doubles[at] as number
    while (Math.round(value * power) / power !== value) {
      if (++scale > maxScale) return -1
      power *= 10
    }
  }
  return scale
}

/** Largest absolute value of the doubles; they are in order. */
const largestOf = (doubles: Float64Array): number =>
  doubles.length === 0 ? 0 : Math.max(Math.abs(doubles[0] as number), Math.abs(doubles.at(-1) as number))

/** True if a double holds any sum of `count` of the numbers, times a power of ten, exactly. */
const hasExactSums = (doubles: Float64Array, scale: number, count: number): boolean =>
  scale >= 0 && largestOf(doubles) * 10 ** scale * count <= Number.MAX_SAFE_INTEGER

/** Returns the numbers times a power of ten. */
export const scaled = (doubles: Float64Array, scale: number): Float64Array =>
  scale === 0 ? doubles : doubles.map(value => Math.round(value * 10 ** scale))

/** True if all numbers, times a power of ten, fit into 32 bits. */
export const fitAmounts = (doubles: Float64Array, scale: number): boolean =>
  largestOf(doubles) * 10 ** scale <= 0x7fff_ffff

/** Returns the number of each record. @param whole numbers by rank */
export function amountsOf(ranks: Uint32Array, whole: Int32Array): Int32Array {
  const amounts = new Int32Array(ranks.length)
  for (let n = 0; n < ranks.length; n++) {
    const rank = ranks[n] as number
    amounts[n] = rank < whole.length ? (whole[rank] as number) : noAmount
  }
  return amounts
}
