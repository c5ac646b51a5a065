import { percentileOf } from '../../lib/percentiles.ts'
import type { Aggregate } from '../../model/plan.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { type Accumulator, type RanksIn, type Result, ranksIn } from './groups.ts'
import { type FieldFacts, numbersIn, required } from './leaves.ts'
import { noBits, type Part, partLength } from './selections.ts'
import type { Ranks } from './stored-field.ts'
import { ranksOfNumbers, summing } from './sums.ts'
import { jsonAt } from './values.ts'

/** @param facts of the field, with its values @param size number of groups */
export function accumulator(
  { name, part = '0' }: Omit<Aggregate, 'field'>,
  facts: FieldFacts,
  size: number,
  count: number,
): Accumulator {
  const room = new Uint32Array(Math.min(partLength, count))
  const ranks = (part: Part) => ranksIn(facts.column, part, room)
  switch (name) {
    case 'count':
      return countingValues(ranks, 0, facts.column.distinct, size)
    case 'count_distinct':
      return countingDistinct(ranks, facts.column.distinct, size)
    case 'min':
    case 'max':
      return extreme(name, facts, ranks, size)
    case 'sum':
    case 'avg':
      return summing(name, facts, ranks, size, count)
    case 'percentile':
      return percentile(part, facts, ranks, size)
  }
}

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

/** Counts the values with ranks from `from` to below `end`. */
function countingValues(ranksOf: RanksIn, from: number, end: number, size: number) {
  const counts = new Uint32Array(size)
  return {
    counts,
    take: (part: Part, ids: Ranks) => {
      const ranks = ranksOf(part)
      for (let at = 0; at < part.length; at++) {
        const rank = ranks[at] as number
        if (rank < from || rank >= end) continue
        counts[ids[at] as number] = (counts[ids[at] as number] as number) + 1
      }
    },
    result: () => countResult(counts),
  }
}

/** Maximum number of pairs of a group and a value for which there is a bit each. */
const maxBits = 2 ** 27

function countingDistinct(ranksOf: RanksIn, distinct: number, size: number): Accumulator {
  if (size * distinct > maxBits) return countingByGroup(ranksOf, distinct, size)
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
function countingByGroup(ranksOf: RanksIn, distinct: number, size: number): Accumulator {
  const { counts, take } = countingRecords(size)
  return {
    take,
    result: again => {
      const { sorted, ends } = ranksByGroup(counts, ranksOf, 0, distinct + 1, again)
      mayGoOn()
      const found = new Uint32Array(size)
      const marks = new Uint32Array(distinct)
      for (let id = 0, at = 0; id < size; id++)
        for (const end = ends[id] as number; at < end; at++) {
          const rank = sorted[at] as number
          if (rank === distinct || marks[rank] === id + 1) continue
          marks[rank] = id + 1
          found[id] = (found[id] as number) + 1
        }
      return countResult(found)
    },
  }
}

/** Lists the ranks from `from` to below `end` group by group. @param counts number of them in each group */
function ranksByGroup(
  counts: Uint32Array,
  ranksOf: RanksIn,
  from: number,
  end: number,
  again: Parameters<Accumulator['result']>[0],
) {
  const size = counts.length
  const next = new Uint32Array(size)
  for (let id = 1; id < size; id++) next[id] = (next[id - 1] as number) + (counts[id - 1] as number)
  const sorted = new Uint32Array(size === 0 ? 0 : (next[size - 1] as number) + (counts[size - 1] as number))
  again({
    take: (part, ids) => {
      const ranks = ranksOf(part)
      for (let at = 0; at < part.length; at++) {
        const rank = ranks[at] as number
        if (rank < from || rank >= end) continue
        const id = ids[at] as number
        sorted[next[id] as number] = rank
        next[id] = (next[id] as number) + 1
      }
    },
  })
  return { sorted, ends: next }
}

/** Ranks are in the order of the values, so a group's ranks are sorted when its percentile is wanted. */
function percentile(part: string, facts: FieldFacts, ranksOf: RanksIn, size: number): Accumulator {
  const values = required(facts)
  const { from, end } = numbersIn(facts)
  const { counts, take } = countingValues(ranksOf, from, end, size)
  return {
    take,
    result: again => {
      const { sorted, ends } = ranksByGroup(counts, ranksOf, from, end, again)
      const known = new Map<number, string>()
      const json = (id: number) => {
        const found = known.get(id)
        if (found !== undefined) return found
        const count = counts[id] as number
        if ((known.size & 0xff) === 0) mayGoOn()
        const own = sorted.subarray((ends[id] as number) - count, ends[id]).sort()
        const text =
          count === 0 ? 'null' : percentileOf(count, part, place => jsonAt(values, own[place] as number))
        known.set(id, text)
        return text
      }
      return { json, ranks: of => ranksOfNumbers(of, json) }
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
