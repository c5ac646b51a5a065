import type { TextQuery } from '../../model/plan.ts'
import { patternOf } from '../../model/text-query.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { lastUpTo, merged } from './edits.ts'
import { openChanges, type RevisedField } from './field-changes.ts'
import { findPlace } from './look-up.ts'
import { countBits, listBits, noBits, setBits } from './selections.ts'
import { FileNumbers, readFile, readHeader } from './stored-field.ts'

/** The words of a field (docs/decisions/0038). */
interface WordIndex {
  /**
   * Returns the numbers of the values that contain a word, or one that begins with it, ascending.
   * @param count number of values
   */
  valuesWith(word: string, isPrefix: boolean, count: number): Uint32Array
}

/** The distinct words of a field in order, and for each the numbers of the values that contain it, ascending. */
interface WordList {
  /** Number of distinct words. */
  readonly length: number
  wordAt(place: number): string
  /** The values with the words from place `from` to below `end`, one word after the other. */
  valuesOf(from: number, end: number): Uint32Array
}

/** A word index as one array in memory that threads share: three lengths, then the parts. */
export type PackedWords = Uint32Array<SharedArrayBuffer>

/** A word index in a file. */
export interface StoredWords {
  readonly path: string
  /** Number of distinct words. */
  readonly length: number
  /** Number of values in all lists. */
  readonly total: number
  /** Positions in the file: of the values; of where those of each word start; of where each word starts; of the words. */
  readonly values: number
  readonly starts: number
  readonly wordStarts: number
  readonly text: number
}

/** The words of a changed version: those of its base, and an index of the written values. */
export interface RevisedWords {
  readonly base: PackedWords | StoredWords
  readonly written: PackedWords
  readonly field: RevisedField
}

export type GivenWords = PackedWords | StoredWords | RevisedWords

export const wordKind = 'carrel words 1\n'

/** @returns undefined if there is no such file, or it belongs to another field */
export function openStoredWords(path: string): StoredWords | undefined {
  const numbers = readHeader(wordKind, path)
  if (!numbers) return undefined
  const [length = 0, total = 0, values = 0, starts = 0, wordStarts = 0, text = 0] = numbers
  return { path, length, total, values, starts, wordStarts, text }
}

/** Lengths before the parts of a packed index. */
export const packedHeader = 3

/** The parts of a packed index. */
export function unpackWords(packed: PackedWords) {
  const [length = 0, total = 0, bytes = 0] = packed
  const afterWords = packedHeader + length + 1
  const afterStarts = afterWords + length + 1
  const text = packed.byteOffset + (afterStarts + total) * Uint32Array.BYTES_PER_ELEMENT
  return {
    length,
    wordStarts: packed.subarray(packedHeader, afterWords),
    starts: packed.subarray(afterWords, afterStarts),
    values: packed.subarray(afterStarts, afterStarts + total),
    text: Buffer.from(packed.buffer, text, bytes),
  }
}

export function openWordIndex(given: GivenWords): WordIndex {
  if ('base' in given) return openRevisedWords(given)
  const list = openWordList(given)
  return { valuesWith: (word, isPrefix, count) => valuesWith(list, word, isPrefix, count) }
}

function openRevisedWords({ base, written, field }: RevisedWords): WordIndex {
  const [before, added] = [openWordIndex(base), openWordIndex(written)]
  const { values } = openChanges(field)
  const places = values.places()
  return {
    valuesWith: (word, isPrefix) => {
      const kept = values.keptOf(before.valuesWith(word, isPrefix, field.base.distinct))
      const items = added.valuesWith(word, isPrefix, places.length)
      return merged(
        kept,
        items.map(item => places[item] as number),
      )
    },
  }
}

export function openWordList(given: PackedWords | StoredWords): WordList {
  if ('path' in given) return openWordFile(given)
  const { length, wordStarts, starts, values, text } = unpackWords(given)
  return {
    length,
    wordAt: place => text.toString('utf8', wordStarts[place], wordStarts[place + 1]),
    valuesOf: (from, end) => values.subarray(starts[from], starts[end]),
  }
}

function openWordFile({ path, length, total, ...at }: StoredWords): WordList {
  const wordStarts = new FileNumbers(path, at.wordStarts, length + 1)
  const starts = new FileNumbers(path, at.starts, length + 1)
  const values = new FileNumbers(path, at.values, total)
  return {
    length,
    wordAt: place => {
      const [from = 0, end = 0] = wordStarts.slice(place, place + 2)
      const text = Buffer.allocUnsafe(end - from)
      readFile(path, text, at.text + from)
      return text.toString()
    },
    valuesOf: (from, end) => {
      const first = starts.at(from)
      return values.slice(first, starts.at(end)).slice()
    },
  }
}

/**
 * Finds the values that contain all phrases, ascending.
 * @param count number of values
 * @param searchableOf reads a value in the form of `searchable`, which alone tells if words are adjacent
 */
export function lookUp(
  index: WordIndex,
  query: TextQuery,
  count: number,
  searchableOf: (value: number) => string,
): Uint32Array {
  // The index narrows the values down before any is read.
  const candidates = intersection(
    query.flatMap(({ words, prefix }) =>
      words.map((word, at) => index.valuesWith(word, prefix && at === words.length - 1, count)),
    ),
  )
  const rows = query.filter(({ words }) => words.length > 1).map(patternOf)
  if (rows.length === 0) return candidates
  let read = 0
  return candidates.filter(value => {
    if ((read++ & 0x3ff) === 0) mayGoOn()
    const searchable = searchableOf(value)
    return rows.every(row => searchable.includes(row))
  })
}

function valuesWith(index: WordList, word: string, isPrefix: boolean, count: number): Uint32Array {
  const from = placeOf(index, word)
  if (!isPrefix)
    return from < index.length && index.wordAt(from) === word ? index.valuesOf(from, from + 1) : noValues
  // No word contains this noncharacter, which sorts after all characters of words.
  const end = placeOf(index, `${word}\uffff`)
  if (end - from <= 1) return index.valuesOf(from, end)
  const bits = noBits(count)
  setBits(bits, index.valuesOf(from, end))
  const found = new Uint32Array(countBits(bits))
  listBits(bits, found)
  return found
}

const noValues = new Uint32Array()

/** The place of the first word that does not sort before this one. */
const placeOf = (index: WordList, word: string): number =>
  findPlace(index.length, at => (index.wordAt(at) < word ? -1 : 1)).at

/** Intersects one or more ascending lists. */
function intersection(lists: readonly Uint32Array[]): Uint32Array {
  const [first = noValues, ...others] = lists.toSorted((one, other) => one.length - other.length)
  return others.reduce(common, first)
}

/** Looks up the numbers of a list that is much shorter than the other; otherwise walks both. */
function common(few: Uint32Array, many: Uint32Array): Uint32Array {
  const isShort = few.length * 16 < many.length
  const found = new Uint32Array(few.length)
  let size = 0
  let at = 0
  for (let n = 0; n < few.length; n++) {
    const number = few[n] as number
    at = isShort ? lastUpTo(many, number - 1, at) + 1 : walked(many, number, at)
    if (many[at] === number) found[size++] = number
  }
  return found.subarray(0, size)
}

function walked(numbers: Uint32Array, wanted: number, from: number): number {
  let at = from
  while (at < numbers.length && (numbers[at] as number) < wanted) at++
  return at
}
