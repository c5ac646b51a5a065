import { decimalKey } from '../../lib/decimals.ts'
import { exactText, parseExact } from '../../lib/json.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { hasExactSums, scaled, scaleOf } from './amounts.ts'
import type { Accumulator, RanksIn } from './groups.ts'
import { type FieldFacts, numbersIn, required } from './leaves.ts'
import { plainDigits } from './look-up.ts'
import type { Part } from './selections.ts'
import { noAmount, type Ranks } from './stored-field.ts'
import type { Values } from './stored-values.ts'
import { eachText, valueAt } from './values.ts'

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

/**
 * Sums and averages. Integers are added exactly, whatever their size, and so are numbers with a few decimals,
 * as whole numbers of their smallest part. The rounding errors of others are summed separately (Neumaier's
 * sum), so that their order hardly matters.
 */
export function summing(
  name: 'sum' | 'avg',
  facts: FieldFacts,
  ranksOf: RanksIn,
  size: number,
  count: number,
): Accumulator {
  const values = required(facts)
  const { from, end } = numbersIn(facts)
  const { amounts } = facts.column
  if (amounts && hasExactSums(endsOf(values), amounts.scale, count))
    return summingWhole(name, amounts, 10 ** amounts.scale, size)
  const { doubles, isWhole, isExact: areExact } = doublesOf(facts, from, end)
  const scale = typeof isWhole === 'boolean' ? scaleOf(doubles) : -1
  if (hasExactSums(doubles, scale, count))
    return summingWhole(name, { table: scaled(doubles, scale), ranksOf }, 10 ** scale, size)
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
      const sumOf = (id: number) => {
        const sum = sums.sums[id] as number
        // An overflow can't be corrected.
        return Number.isFinite(sum) ? sum + (sums.lost[id] as number) : sum
      }
      const json = (id: number) => {
        if (sums.counts[id] === 0) return 'null'
        const exact = hasDecimals[id] === 1 ? undefined : large?.get(id)
        if (name === 'sum') return exact === undefined ? JSON.stringify(sumOf(id)) : String(exact)
        return JSON.stringify((exact === undefined ? sumOf(id) : Number(exact)) / (sums.counts[id] as number))
      }
      return { json, ranks: of => ranksOfNumbers(of, json) }
    },
  }
}

/** The smallest and the largest number. */
const endsOf = (values: Values): Float64Array =>
  Float64Array.from([0, values.length - 1], rank => values.doubles(rank, rank + 1)?.[0] ?? Number.NaN)

/** Whole numbers to add: of each record, or of each rank. */
type Whole =
  | { readonly read: (from: number, end: number) => Int32Array }
  | { readonly table: Float64Array; readonly ranksOf: RanksIn }

/** Adds whole numbers whose sums a double holds exactly. @param unit by which the sum is divided at the end */
function summingWhole(name: 'sum' | 'avg', whole: Whole, unit: number, size: number): Accumulator {
  const sums = new Float64Array(size)
  const counts = new Uint32Array(size)
  return {
    take: (part, ids) => {
      mayGoOn()
      if ('read' in whole) addAmounts(sums, counts, ids, whole.read(part.from, part.end), part)
      else addByRank(sums, counts, ids, whole.ranksOf(part), part.length, whole.table)
    },
    result: () => {
      const json = (id: number) => {
        if (counts[id] === 0) return 'null'
        const sum = (sums[id] as number) / unit
        return JSON.stringify(name === 'sum' ? sum : sum / (counts[id] as number))
      }
      return { json, ranks: of => ranksOfNumbers(of, json) }
    },
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
  again: Parameters<Accumulator['result']>[0],
  ranksOf: RanksIn,
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

/** Ranks numbers that are written as JSON, nulls last. */
export function ranksOfNumbers(ids: Uint32Array, json: (id: number) => string): Uint32Array {
  const keys = Array.from(ids, id => {
    const text = json(id)
    return text === 'null' ? undefined : decimalKey(text)
  })
  const sorted = [...new Set(keys.filter(key => key !== undefined))].sort()
  const places = new Map(sorted.map((key, at) => [key, at]))
  return Uint32Array.from(keys, key => (key === undefined ? sorted.length : (places.get(key) ?? 0)))
}
