import { exactText, parseExact } from '../../lib/json.ts'
import { decimalKey } from '../../lib/sort-keys.ts'
import type { Aggregate } from '../../model/plan.ts'
import { ranksIn } from './groups.ts'
import { type FieldFacts, numbersIn, required } from './leaves.ts'
import { plainDigits } from './look-up.ts'
import { noBits, type Part, partLength } from './selections.ts'
import type { Ranks } from './stored-field.ts'
import { eachText, jsonAt, valueAt } from './values.ts'

/** A value of each group. */
export interface Result {
  /** The value of a group as JSON. */
  json(id: number): string
  /** Ranks of the groups, for sorting; nulls last. */
  ranks(ids: Uint32Array): Uint32Array
}

/** An aggregate that takes the records part by part. */
export interface Accumulator {
  /** @param ids the group of each record of the part */
  take(part: Part, ids: Ranks): void
  /** @param again takes all parts once more, with another accumulator */
  result(again: (accumulator: Pick<Accumulator, 'take'>) => void): Result
}

/** @param facts of the field, with its values; undefined: records are counted @param size number of groups */
export function accumulator(
  name: Aggregate['name'],
  facts: FieldFacts | undefined,
  size: number,
  count: number,
  tick: () => void,
): Accumulator {
  if (!facts) return countingRecords(size)
  const room = new Uint32Array(Math.min(partLength, count))
  const ranks = (part: Part) => ranksIn(facts.column, part, room)
  switch (name) {
    case 'count':
      return countingValues(ranks, facts.column.distinct, size)
    case 'count_distinct':
      return countingDistinct(ranks, facts.column.distinct, size, tick)
    case 'min':
    case 'max':
      return extreme(name, facts, ranks, size)
    case 'sum':
    case 'avg':
      return summing(name, facts, ranks, size, tick)
  }
}

type RanksIn = (part: Part) => Ranks

const countResult = (counts: Uint32Array): Result => ({
  json: id => String(counts[id]),
  ranks: ids => ids.map(id => counts[id] as number),
})

export function countingRecords(size: number): Accumulator & { readonly counts: Uint32Array } {
  const counts = new Uint32Array(size)
  return {
    counts,
    take: ({ length }, ids) => {
      for (let at = 0; at < length; at++)
        counts[ids[at] as number] = (counts[ids[at] as number] as number) + 1
    },
    result: () => countResult(counts),
  }
}

function countingValues(ranksOf: RanksIn, distinct: number, size: number): Accumulator {
  const counts = new Uint32Array(size)
  return {
    take: (part, ids) => {
      const ranks = ranksOf(part)
      for (let at = 0; at < part.length; at++)
        if ((ranks[at] as number) < distinct)
          counts[ids[at] as number] = (counts[ids[at] as number] as number) + 1
    },
    result: () => countResult(counts),
  }
}

/** Maximum number of pairs of a group and a value for which there is a bit each. */
const maxBits = 2 ** 27

function countingDistinct(ranksOf: RanksIn, distinct: number, size: number, tick: () => void): Accumulator {
  if (size * distinct > maxBits) return countingByGroup(ranksOf, distinct, size, tick)
  const counts = new Uint32Array(size)
  const bits = noBits(size * distinct)
  return {
    take: (part, ids) => {
      const ranks = ranksOf(part)
      for (let at = 0; at < part.length; at++) {
        const rank = ranks[at] as number
        if (rank === distinct) continue
        const id = ids[at] as number
        const pair = id * distinct + rank
        const word = bits[pair >>> 5] as number
        const bit = 1 << (pair & 31)
        if ((word & bit) !== 0) continue
        bits[pair >>> 5] = word | bit
        counts[id] = (counts[id] as number) + 1
      }
    },
    result: () => countResult(counts),
  }
}

/** Sorts the ranks by group, so that one mark for each rank is enough. */
function countingByGroup(ranksOf: RanksIn, distinct: number, size: number, tick: () => void): Accumulator {
  const { counts, take } = countingRecords(size)
  return {
    take,
    result: again => {
      const next = new Uint32Array(size)
      for (let id = 1; id < size; id++) next[id] = (next[id - 1] as number) + (counts[id - 1] as number)
      const sorted = new Uint32Array(
        size === 0 ? 0 : (next[size - 1] as number) + (counts[size - 1] as number),
      )
      again({
        take: (part, ids) => {
          const ranks = ranksOf(part)
          for (let at = 0; at < part.length; at++) {
            const id = ids[at] as number
            sorted[next[id] as number] = ranks[at] as number
            next[id] = (next[id] as number) + 1
          }
        },
      })
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
      return countResult(found)
    },
  }
}

function extreme(name: 'min' | 'max', facts: FieldFacts, ranksOf: RanksIn, size: number): Accumulator {
  const values = required(facts)
  const { from, end } = numbersIn(facts)
  const none = values.length
  const found = new Uint32Array(size).fill(none)
  return {
    take: (part, ids) => {
      const ranks = ranksOf(part)
      for (let at = 0; at < part.length; at++) {
        const rank = ranks[at] as number
        if (rank < from || rank >= end) continue
        const id = ids[at] as number
        const known = found[id] as number
        if (known === none || (name === 'min' ? rank < known : rank > known)) found[id] = rank
      }
    },
    result: () => ({
      json: id => (found[id] === none ? 'null' : jsonAt(values, found[id] as number)),
      ranks: of => of.map(id => found[id] as number),
    }),
  }
}

/** The numbers of a field as doubles, by rank from the first one. */
interface Doubles {
  readonly doubles: Float64Array
  /** 1 for each whole number; true or false: for all of them. */
  readonly isWhole: Uint8Array | boolean
  /** False if a double does not hold each whole number exactly. */
  readonly isExact: boolean
}

function doublesOf(facts: FieldFacts, from: number, end: number, tick: () => void): Doubles {
  const values = required(facts)
  const isNumber = facts.type === 'number'
  const stored = values.doubles()
  if (stored) return { doubles: stored.subarray(from, end), isWhole: !isNumber, isExact: true }
  const doubles = new Float64Array(end - from)
  const isWhole = new Uint8Array(end - from)
  let isExact = true
  eachText(values, from, end, tick, (text, rank) => {
    const at = rank - from
    doubles[at] = Number(text)
    const isInteger = text.length <= plainDigits ? Number.isInteger(doubles[at]) : isWholeNumber(text)
    isWhole[at] = Number(!isNumber && isInteger)
    if (isWhole[at] === 1 && !Number.isSafeInteger(doubles[at])) isExact = false
  })
  return { doubles, isWhole, isExact }
}

/**
 * Sums and averages. Integers are added exactly, whatever their size. The rounding errors of decimals are
 * summed separately (Neumaier's sum), so that their order hardly matters.
 */
function summing(
  name: 'sum' | 'avg',
  facts: FieldFacts,
  ranksOf: RanksIn,
  size: number,
  tick: () => void,
): Accumulator {
  const values = required(facts)
  const { from, end } = numbersIn(facts)
  const { doubles, isWhole, isExact: areExact } = doublesOf(facts, from, end, tick)
  const wholeAt = (at: number) => (typeof isWhole === 'boolean' ? isWhole : isWhole[at] === 1)
  const sums = new Float64Array(size)
  const lost = new Float64Array(size)
  const counts = new Uint32Array(size)
  const hasDecimals = new Uint8Array(size)
  let isExact = areExact
  return {
    take: (part, ids) => {
      tick()
      const ranks = ranksOf(part)
      for (let at = 0; at < part.length; at++) {
        const rank = ranks[at] as number
        if (rank < from || rank >= end) continue
        const id = ids[at] as number
        const value = doubles[rank - from] as number
        const sum = sums[id] as number
        const next = sum + value
        lost[id] =
          (lost[id] as number) + (Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum)
        if (!wholeAt(rank - from)) hasDecimals[id] = 1
        else if (next > Number.MAX_SAFE_INTEGER || next < -Number.MAX_SAFE_INTEGER) isExact = false
        sums[id] = next
        counts[id] = (counts[id] as number) + 1
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
    },
  }
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
function ranksOfNumbers(ids: Uint32Array, json: (id: number) => string): Uint32Array {
  const keys = Array.from(ids, id => {
    const text = json(id)
    return text === 'null' ? undefined : decimalKey(text)
  })
  const sorted = [...new Set(keys.filter(key => key !== undefined))].sort()
  const places = new Map(sorted.map((key, at) => [key, at]))
  return Uint32Array.from(keys, key => (key === undefined ? sorted.length : (places.get(key) ?? 0)))
}
