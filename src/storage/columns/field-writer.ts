import { closeSync, fsyncSync, ftruncateSync, mkdirSync, openSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { release } from '../../lib/memory.ts'
import { amountsOf, fitAmounts, scaled } from './amounts.ts'
import { headerLength, headerOfField, type Ranks, readFileAt } from './stored-field.ts'
import { aligned, type WrittenValues, writeAt } from './value-writer.ts'

/** Maximum number of distinct values for ranks of two bytes, one of which is null's. */
const maxNarrow = 0xffff

/**
 * Adds the ranks to the values of a field, and gives the file its name.
 * @param ranks of all records; that of records without a value is the number of values
 * @param path that the file gets
 */
export function finishField(values: WrittenValues, ranks: Uint32Array, path: string): void {
  const { writing, distinct, places, doubles, scale } = values
  const descriptor = openSync(writing, 'r+')
  let end = aligned(values.end)
  const append = (view: Ranks) => {
    const position = end
    end = aligned(end + writeAt(descriptor, view, end))
    return position
  }
  const appendAndFree = (view: Ranks) => {
    const position = append(view)
    release(view)
    return position
  }
  try {
    const isNarrow = distinct < maxNarrow
    const position = isNarrow ? appendAndFree(narrowed(ranks)) : append(ranks)
    const counted = countRanks(ranks, distinct)
    const starts = append(counted)
    const postings = end
    for (const some of byRank(ranks, counted)) writeAt(descriptor, some.numbers, postings + 4 * some.from)
    end = aligned(postings + 4 * ranks.length)
    release(counted)
    let amounts = 0
    if (!isNarrow && scale >= 0) {
      const numbers = new Float64Array(distinct)
      readFileAt(descriptor, path, numbers, doubles)
      if (fitAmounts(numbers, scale)) {
        amounts = end
        const whole = scaled(numbers, scale)
        for (let from = 0; from < ranks.length; from += partLength)
          end += writeAt(descriptor, amountsOf(ranks.subarray(from, from + partLength), whole), end)
        end = aligned(end)
      }
    }
    ftruncateSync(descriptor, end)
    const field = {
      count: ranks.length,
      distinct,
      width: isNarrow ? 2 : 4,
      ranks: position,
      starts,
      postings,
      places,
      json: headerLength,
      doubles,
      amounts,
      scale,
    }
    // A file without its header, of a machine that failed, counts as missing.
    fsyncSync(descriptor)
    writeAt(descriptor, headerOfField(field, end, path), 0)
  } finally {
    closeSync(descriptor)
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  renameSync(writing, path)
}

function narrowed(ranks: Uint32Array): Ranks {
  const narrow = new Uint16Array(ranks.length)
  for (let n = 0; n < ranks.length; n++) narrow[n] = ranks[n] as number
  return narrow
}

/** For each rank, including null's, the number of records with a lower one; then the number of all. */
function countRanks(ranks: Uint32Array, distinct: number): Uint32Array {
  const starts = new Uint32Array(distinct + 2)
  for (let n = 0; n < ranks.length; n++) {
    const next = (ranks[n] as number) + 1
    starts[next] = (starts[next] as number) + 1
  }
  for (let rank = 1; rank < starts.length; rank++)
    starts[rank] = (starts[rank] as number) + (starts[rank - 1] as number)
  return starts
}

/** Record numbers that are sorted by rank at a time, unless one rank has more. */
const partLength = 2 ** 21

/**
 * Sorts record numbers by rank, part by part.
 * @param starts where the records of each rank start; overwritten
 */
function* byRank(ranks: Uint32Array, starts: Uint32Array) {
  const count = ranks.length
  for (let low = 0; low < starts.length - 1; ) {
    const from = starts[low] as number
    let high = low + 1
    while (high < starts.length - 1 && (starts[high + 1] as number) - from <= partLength) high++
    const numbers = new Uint32Array((starts[high] as number) - from)
    if (numbers.length > 0)
      for (let n = 0; n < count; n++) {
        const rank = ranks[n] as number
        if (rank < low || rank >= high) continue
        const at = starts[rank] as number
        numbers[at - from] = n
        starts[rank] = at + 1
      }
    yield { from, numbers }
    low = high
  }
}
