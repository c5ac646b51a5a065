import { mayGoOn } from '../runtime/limits.ts'
import { bitsIn, hasRank, type RankSet, sizeOf, tableOf } from './rank-sets.ts'
import {
  allBits,
  compact,
  emptySelection,
  listBits,
  maxListed,
  noBits,
  partLength,
  type Selection,
  setBits,
} from './selections.ts'
import type { Column, Postings } from './stored-column.ts'
import type { Ranks } from './stored-field.ts'

/** A condition whose leaves are sets of ranks or of records. `most`: maximum number of matching records. */
export type Sought =
  | {
      readonly kind: 'ranks'
      readonly column: Column
      /** The numbers of all records by rank, if they are at hand. */
      readonly postings: Postings | null
      readonly ranks: RankSet
      readonly most: number
    }
  | { readonly kind: 'and' | 'or'; readonly of: readonly Sought[]; readonly most: number }
  | { readonly kind: 'records'; readonly selection: Selection; readonly most: number }

export const soughtRanks = (column: Column, postings: Postings | null, ranks: RankSet): Sought => ({
  kind: 'ranks',
  column,
  postings,
  ranks,
  most: sizeOf(ranks, column.starts),
})

export const soughtAll = (kind: 'and' | 'or', of: readonly Sought[], count: number): Sought => ({
  kind,
  of: of.toSorted((one, other) => one.most - other.most),
  most:
    kind === 'and'
      ? Math.min(count, ...of.map(({ most }) => most))
      : Math.min(
          count,
          of.reduce((sum, { most }) => sum + most, 0),
        ),
})

/**
 * Selects the records that match. If few records can match, they are collected from postings and only they
 * are tested further; otherwise it passes over the ranks of all records and sets a bit for each match.
 */
export function select(sought: Sought, count: number): Selection {
  mayGoOn()
  if (sought.most === 0) return emptySelection
  const isSparse = sought.most <= maxListed(count)
  switch (sought.kind) {
    case 'records':
      return sought.selection
    case 'ranks':
      return isSparse && sought.postings
        ? { kind: 'list', numbers: collected(sought.ranks, sought.column, sought.postings, count) }
        : compact(bitsOf(sought, count), count)
    case 'and':
      return selectAnd(sought.of, count)
    case 'or': {
      const words = noBits(count)
      for (const one of sought.of) addTo(words, select(one, count))
      return compact(words, count)
    }
  }
}

/** Estimates the number of records that `select` looks at. */
export function costOf(sought: Sought, count: number): number {
  switch (sought.kind) {
    case 'records':
      return sought.most
    case 'ranks':
      return sought.postings && sought.most <= maxListed(count) ? sought.most : count
    case 'and':
      return sought.of.reduce(
        (sum, one, at) =>
          sum + (at > 0 && sought.most <= maxListed(count) ? sought.most : costOf(one, count)),
        0,
      )
    case 'or':
      return sought.of.reduce((sum, one) => sum + costOf(one, count), 0)
  }
}

/** Maximum number of records that are scanned for the first matches. */
const maxScanned = 32_768

/**
 * Finds the first matches of a condition on one field: the number of all matches is known without a scan.
 * @param wanted maximum number
 * @returns undefined for other conditions, or if the first `maxScanned` records have too few
 */
export function firstOf(sought: Sought, count: number, wanted: number): Uint32Array | undefined {
  if (sought.kind !== 'ranks') return undefined
  const numbers = new Uint32Array(Math.min(wanted, sought.most))
  const test = tester(sought, numbers.length)
  const end = Math.min(count, maxScanned)
  let size = 0
  for (let n = 0; n < end && size < numbers.length; n++) if (test(n)) numbers[size++] = n
  return size === numbers.length ? numbers : undefined
}

function selectAnd([first, ...others]: readonly Sought[], count: number): Selection {
  if (!first) return { kind: 'bits', words: allBits(count) }
  let selection = select(first, count)
  for (const one of others) {
    if (selection.kind === 'list') {
      const test = tester(one, selection.numbers.length)
      selection = { kind: 'list', numbers: selection.numbers.filter(test) }
      continue
    }
    const other = select(one, count)
    if (other.kind === 'list') {
      const { words } = selection
      selection = { kind: 'list', numbers: other.numbers.filter(n => hasBit(words, n)) }
      continue
    }
    const words = selection.words.slice()
    for (let at = 0; at < words.length; at++) words[at] = (words[at] as number) & (other.words[at] as number)
    selection = compact(words, count)
  }
  return selection
}

function addTo(words: Uint32Array, selection: Selection): void {
  if (selection.kind === 'list') setBits(words, selection.numbers)
  else
    for (let at = 0; at < words.length; at++)
      words[at] = (words[at] as number) | (selection.words[at] as number)
}

const hasBit = (words: Uint32Array, n: number) => (((words[n >>> 5] as number) >>> (n & 31)) & 1) === 1

/** Returns a test of single records. @param times approximate number of calls */
function tester(sought: Sought, times: number): (n: number) => boolean {
  switch (sought.kind) {
    case 'records': {
      const { selection } = sought
      if (selection.kind === 'bits') return n => hasBit(selection.words, n)
      const known = new Set(selection.numbers)
      return n => known.has(n)
    }
    case 'ranks': {
      const { ranks: set, column } = sought
      const { distinct } = column
      const rankOf = column.reader(times)
      const [from = 0, end = 0] = set
      if (set.length <= 2)
        return n => {
          const rank = rankOf(n)
          return rank >= from && rank < end
        }
      if (times < distinct >>> 4) return n => hasRank(set, rankOf(n))
      const table = tableOf(set, distinct + 1)
      return n => table[rankOf(n)] === 1
    }
    case 'and':
    case 'or': {
      const tests = sought.of.map(one => tester(one, times))
      return sought.kind === 'or' ? n => tests.some(test => test(n)) : n => tests.every(test => test(n))
    }
  }
}

/** The numbers of the records with these ranks, ascending. */
function collected(set: RankSet, { starts }: Column, postings: Postings, count: number): Uint32Array {
  const [from = 0, end = 0] = set
  // The postings of one rank are ascending.
  if (set.length === 2 && end === from + 1) return postings.of(from, end).slice()
  const size = sizeOf(set, starts)
  const numbers = new Uint32Array(size)
  let length = 0
  for (let at = 0; at < set.length; at += 2) {
    const some = postings.of(set[at] as number, set[at + 1] as number)
    numbers.set(some, length)
    length += some.length
  }
  if (size <= fewNumbers) return numbers.sort()
  const words = noBits(count)
  setBits(words, numbers)
  listBits(words, numbers)
  return numbers
}

/** Maximum number of record numbers that are sorted; more are put in order by setting bits. */
const fewNumbers = 512

function bitsOf({ ranks: set, column }: Extract<Sought, { kind: 'ranks' }>, count: number): Uint32Array {
  const [from = 0, end = 0] = set
  const words = noBits(count)
  const table = set.length <= 2 ? undefined : bitsIn(set, column.distinct + 1)
  for (let first = 0; first < count; first += partLength) {
    const ranks = column.read(first, Math.min(count, first + partLength))
    const part = words.subarray(first >>> 5, (first + ranks.length + 31) >>> 5)
    if (table) setIn(part, ranks, table)
    else setBetween(part, ranks, from, end)
  }
  return words
}

/** Takes one comparison for each record: minus `from`, a lower rank is a large unsigned number. */
function setBetween(words: Uint32Array, ranks: Ranks, from: number, end: number): void {
  const length = end - from
  for (let at = 0, n = 0; at < words.length; at++) {
    const to = Math.min(n + 32, ranks.length)
    let word = 0
    for (let bit = 0; n < to; n++, bit++) word |= Number(((ranks[n] as number) - from) >>> 0 < length) << bit
    words[at] = word
  }
}

/** @param table a bit for each rank: of millions, a byte for each would not fit into a processor's cache */
function setIn(words: Uint32Array, ranks: Ranks, table: Uint32Array): void {
  for (let at = 0, n = 0; at < words.length; at++) {
    const to = Math.min(n + 32, ranks.length)
    let word = 0
    for (let bit = 0; n < to; n++, bit++) {
      const rank = ranks[n] as number
      word |= (((table[rank >>> 5] as number) >>> (rank & 31)) & 1) << bit
    }
    words[at] = word
  }
}
