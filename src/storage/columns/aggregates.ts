import { exactText, parseExact } from '../../lib/json.ts'
import { decimalKey } from '../../lib/sort-keys.ts'
import type { Aggregate } from '../../model/plan.ts'
import type { Grouping } from './groups.ts'
import { type FieldFacts, numbersIn, required } from './leaves.ts'
import { plainDigits } from './look-up.ts'
import { eachText, jsonAt, valueAt } from './values.ts'

/** A value of each group. */
export interface Result {
  /** The value of a group as JSON. */
  json(id: number): string
  /** Ranks of the groups, for sorting; nulls last. */
  ranks(ids: Uint32Array): Uint32Array
}

/** A grouping with the numbers of its records (undefined: all), and the number of records in each group. */
export interface Grouped extends Grouping {
  readonly numbers: Uint32Array | undefined
  readonly counts: Uint32Array
}

/**
 * @param facts of the field, with its values; undefined: records are counted
 * @param tick called now and then; it may throw to stop
 */
export function aggregate(
  name: Aggregate['name'],
  facts: FieldFacts | undefined,
  groups: Grouped,
  tick: () => void,
): Result {
  if (!facts) return countResult(groups.counts)
  const { ranks, distinct } = facts.column
  switch (name) {
    case 'count':
      return countResult(counted(ranks, distinct, groups))
    case 'count_distinct':
      return countResult(countedDistinct(ranks, distinct, groups, tick))
    case 'min':
    case 'max':
      return extreme(name, facts, groups)
    case 'sum':
    case 'avg':
      return summed(name, facts, groups, tick)
  }
}

const countResult = (counts: Uint32Array): Result => ({
  json: id => String(counts[id]),
  ranks: ids => ids.map(id => counts[id] as number),
})

function counted(ranks: Uint32Array, distinct: number, { ids, size, numbers }: Grouped): Uint32Array {
  const counts = new Uint32Array(size)
  for (let at = 0; at < ids.length; at++)
    if ((ranks[numbers ? (numbers[at] as number) : at] as number) < distinct)
      counts[ids[at] as number] = (counts[ids[at] as number] as number) + 1
  return counts
}

/** Counts group by group, so that one mark for each rank is enough. */
function countedDistinct(
  ranks: Uint32Array,
  distinct: number,
  { ids, size, numbers, counts }: Grouped,
  tick: () => void,
): Uint32Array {
  const next = new Uint32Array(size)
  for (let id = 1; id < size; id++) next[id] = (next[id - 1] as number) + (counts[id - 1] as number)
  const sorted = new Uint32Array(ids.length)
  for (let at = 0; at < ids.length; at++) {
    const id = ids[at] as number
    sorted[next[id] as number] = ranks[numbers ? (numbers[at] as number) : at] as number
    next[id] = (next[id] as number) + 1
  }
  tick()
  const found = new Uint32Array(size)
  const marks = new Uint32Array(distinct)
  for (let id = 0, at = 0; id < size; id++)
    for (const end = next[id] as number; at < end; at++) {
      const rank = sorted[at] as number
      if (rank === distinct || marks[rank] === id + 1) continue
      marks[rank] = id + 1
      found[id] = (found[id] as number) + 1
    }
  return found
}

function extreme(name: 'min' | 'max', facts: FieldFacts, { ids, size, numbers }: Grouped): Result {
  const { ranks } = facts.column
  const values = required(facts)
  const { from, end } = numbersIn(facts)
  const none = values.length
  const found = new Uint32Array(size).fill(none)
  for (let at = 0; at < ids.length; at++) {
    const rank = ranks[numbers ? (numbers[at] as number) : at] as number
    if (rank < from || rank >= end) continue
    const id = ids[at] as number
    const known = found[id] as number
    if (known === none || (name === 'min' ? rank < known : rank > known)) found[id] = rank
  }
  return {
    json: id => (found[id] === none ? 'null' : jsonAt(values, found[id] as number)),
    ranks: of => of.map(id => found[id] as number),
  }
}

/**
 * Sums and averages. Integers are added exactly, whatever their size. The rounding errors of decimals are
 * summed separately (Neumaier's sum), so that their order hardly matters.
 */
function summed(name: 'sum' | 'avg', facts: FieldFacts, groups: Grouped, tick: () => void): Result {
  const { ids, size, numbers } = groups
  const { ranks } = facts.column
  const values = required(facts)
  const { from, end } = numbersIn(facts)
  const doubles = new Float64Array(end - from)
  const isWhole = new Uint8Array(end - from)
  let isExact = true
  eachText(values, from, end, tick, (text, rank) => {
    const at = rank - from
    doubles[at] = Number(text)
    const isInteger = text.length <= plainDigits ? Number.isInteger(doubles[at]) : isWholeNumber(text)
    isWhole[at] = Number(facts.type !== 'number' && isInteger)
    if (isWhole[at] === 1 && !Number.isSafeInteger(doubles[at])) isExact = false
  })
  const sums = new Float64Array(size)
  const lost = new Float64Array(size)
  const counts = new Uint32Array(size)
  const hasDecimals = new Uint8Array(size)
  for (let at = 0; at < ids.length; at++) {
    const rank = ranks[numbers ? (numbers[at] as number) : at] as number
    if (rank < from || rank >= end) continue
    const id = ids[at] as number
    const value = doubles[rank - from] as number
    const sum = sums[id] as number
    const next = sum + value
    lost[id] =
      (lost[id] as number) + (Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum)
    if (isWhole[rank - from] === 0) hasDecimals[id] = 1
    else if (next > Number.MAX_SAFE_INTEGER || next < -Number.MAX_SAFE_INTEGER) isExact = false
    sums[id] = next
    counts[id] = (counts[id] as number) + 1
  }
  const large = isExact
    ? undefined
    : largeSums(groups, ranks, rank =>
        isWhole[rank - from] === 1 ? wholeNumber(valueAt(values, rank)) : undefined,
      )
  const sumOf = (id: number) => {
    const sum = sums[id] as number
    // An overflow can't be corrected.
    return Number.isFinite(sum) ? sum + (lost[id] as number) : sum
  }
  const json = (id: number) => {
    if (counts[id] === 0) return 'null'
    const exact = hasDecimals[id] === 1 ? undefined : large?.get(id)
    if (name === 'sum') return exact === undefined ? JSON.stringify(sumOf(id)) : String(exact)
    return JSON.stringify((exact === undefined ? sumOf(id) : Number(exact)) / (counts[id] as number))
  }
  return { json, ranks: of => ranksOfNumbers(of, json) }
}

const wholeNumber = (value: unknown): bigint => BigInt(exactText(value) ?? Number(value))

function isWholeNumber(json: string): boolean {
  const value = parseExact(json)
  const exact = exactText(value)
  return exact === undefined ? Number.isInteger(value) : /^-?\d+$/.test(exact)
}

/** Sums whole numbers by group if doubles can't hold the sums. */
function largeSums(
  { ids, numbers }: Grouped,
  ranks: Uint32Array,
  wholeAt: (rank: number) => bigint | undefined,
): ReadonlyMap<number, bigint> {
  const wholes = new Map<number, bigint>()
  const sums = new Map<number, bigint>()
  for (let at = 0; at < ids.length; at++) {
    const rank = ranks[numbers ? (numbers[at] as number) : at] as number
    const whole = wholes.get(rank) ?? wholeAt(rank)
    if (whole === undefined) continue
    wholes.set(rank, whole)
    const id = ids[at] as number
    sums.set(id, (sums.get(id) ?? 0n) + whole)
  }
  return sums
}

/** Ranks numbers that are written as JSON, nulls last. */
function ranksOfNumbers(ids: Uint32Array, json: (id: number) => string): Uint32Array {
  const keys = Array.from(ids, id => {
    const text = json(id)
    return text === 'null' ? undefined : decimalKey(text)
  })
  const sorted = [...new Set(keys.filter(key => key !== undefined))].sort()
  const places = new Map(sorted.map((key, at) => [key, at]))
  return Uint32Array.from(keys, key => (key === undefined ? sorted.length : (places.get(key) ?? 0)))
}
