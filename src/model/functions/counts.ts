import type { Accumulator, Again, AggregateFunction, Part, RankedField, Result } from './function.ts'

export const count: AggregateFunction = {
  kind: 'aggregate',
  documentation: 'how many records, or values that are not null',
  field: 'optional',
  type: () => 'integer',
  counts: true,
  fold: (field, size) => countingValues(field, 0, field.distinct, size),
  sql: value => `count(${value})`,
}

export const countDistinct: AggregateFunction = {
  kind: 'aggregate',
  documentation: 'how many different values',
  type: () => 'integer',
  counts: true,
  fold: countingDistinct,
  sql: (_, key) => `count(DISTINCT ${key()})`,
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
export function countingValues(field: RankedField, from: number, end: number, size: number) {
  const counts = new Uint32Array(size)
  return {
    counts,
    take: (part: Part, ids: Uint16Array | Uint32Array) => {
      const ranks = field.ranks(part)
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

function countingDistinct(field: RankedField, size: number): Accumulator {
  const { distinct } = field
  if (size * distinct > maxBits) return countingByGroup(field, size)
  const counts = new Uint32Array(size)
  const bits = new Uint32Array((size * distinct + 31) >>> 5)
  return {
    take: (part, ids) => {
      const ranks = field.ranks(part)
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
function countingByGroup(field: RankedField, size: number): Accumulator {
  const { distinct } = field
  const { counts, take } = countingRecords(size)
  return {
    take,
    result: again => {
      const { sorted, ends } = ranksByGroup(counts, field, 0, distinct + 1, again)
      field.mayGoOn()
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
export function ranksByGroup(
  counts: Uint32Array,
  field: RankedField,
  from: number,
  end: number,
  again: Again,
) {
  const size = counts.length
  const next = new Uint32Array(size)
  for (let id = 1; id < size; id++) next[id] = (next[id - 1] as number) + (counts[id - 1] as number)
  const sorted = new Uint32Array(size === 0 ? 0 : (next[size - 1] as number) + (counts[size - 1] as number))
  again({
    take: (part, ids) => {
      const ranks = field.ranks(part)
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
