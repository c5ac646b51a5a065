import { TooMuch } from '../../lib/errors.ts'
import { sharedNumbers } from '../../lib/memory.ts'
import type { TextQuery } from '../../model/plan.ts'
import { patternOf } from '../../model/text-query.ts'
import { findPlace } from './look-up.ts'
import { countBits, listBits, noBits, setBits } from './selections.ts'

/**
 * The words of a field (docs/decisions/0038) in memory that threads share: the distinct words in order, and
 * for each the numbers of the values that contain it, ascending.
 */
export interface WordIndex {
  /** Number of distinct words. */
  readonly length: number
  /** The position where each word starts in `text`, and the end of the last. */
  readonly wordStarts: Uint32Array
  /** The position where the numbers of each word start in `values`, and the end of the last. */
  readonly starts: Uint32Array
  readonly values: Uint32Array
  /** The words in UTF-8, one after the other. */
  readonly text: Buffer
}

/** A word index as one array: three lengths, then the parts. */
export type PackedWords = Uint32Array<SharedArrayBuffer>

/** A list of numbers that grows. */
class Numbers {
  #numbers = new Uint32Array(1 << 10)
  length = 0

  push(number: number): void {
    if (this.length === this.#numbers.length) {
      const larger = new Uint32Array(2 * this.#numbers.length)
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers[this.length++] = number
  }

  at(place: number): number | undefined {
    return this.#numbers[place]
  }

  /** @param place of an existing number */
  set(place: number, number: number): void {
    this.#numbers[place] = number
  }

  get all(): Uint32Array {
    return this.#numbers.subarray(0, this.length)
  }
}

/** Maximum number of places of words in one field; each takes 12 bytes while the index is built. */
const maxPlaces = 100_000_000

export class WordIndexBuilder {
  readonly #ids = new Map<string, number>()
  /** The last value that contains each word. */
  readonly #last = new Numbers()
  /** For each place of a word, the word; the value is in `#values`. */
  readonly #words = new Numbers()
  readonly #values = new Numbers()

  /**
   * Adds the words of a value; values are added in ascending order.
   * @param searchable as `searchable` of src/model/text-query.ts makes it
   */
  add(value: number, searchable: string): void {
    let from = nextWord(searchable, 0)
    while (from < searchable.length) {
      let end = searchable.indexOf(' ', from)
      if (end === -1) end = searchable.length
      this.#addWord(searchable.slice(from, end), value)
      from = nextWord(searchable, end)
    }
  }

  #addWord(word: string, value: number): void {
    let id = this.#ids.get(word)
    if (id === undefined) {
      id = this.#ids.size
      this.#ids.set(word, id)
      this.#last.push(value)
    } else {
      if (this.#last.at(id) === value) return
      this.#last.set(id, value)
    }
    if (this.#words.length === maxPlaces)
      throw new TooMuch(
        'The words of a field are too many to be searched: they have over 100 million places.',
      )
    this.#words.push(id)
    this.#values.push(value)
  }

  finish(): PackedWords {
    const sorted = [...this.#ids.keys()].sort()
    const places = new Uint32Array(sorted.length)
    let bytes = 0
    for (const [place, word] of sorted.entries()) {
      places[this.#ids.get(word) as number] = place
      bytes += Buffer.byteLength(word)
    }
    const total = this.#words.length
    const index = allocate(sorted.length, total, bytes)
    const { wordStarts, starts, values, text } = index
    for (const [place, word] of sorted.entries()) {
      const from = wordStarts[place] as number
      wordStarts[place + 1] = from + text.write(word, from)
    }
    const words = this.#words.all
    for (let at = 0; at < total; at++) {
      const next = (places[words[at] as number] as number) + 1
      starts[next] = (starts[next] as number) + 1
    }
    for (let place = 1; place < starts.length; place++)
      starts[place] = (starts[place] as number) + (starts[place - 1] as number)
    const next = starts.slice()
    const given = this.#values.all
    for (let at = 0; at < total; at++) {
      const place = places[words[at] as number] as number
      values[next[place] as number] = given[at] as number
      next[place] = (next[place] as number) + 1
    }
    return index.packed
  }
}

/** Skips blanks, which are between words, and U+0001, which is between texts. */
function nextWord(searchable: string, from: number): number {
  let at = from
  while (at < searchable.length && searchable.charCodeAt(at) <= 0x20) at++
  return at
}

const header = 3

function allocate(
  words: number,
  places: number,
  bytes: number,
): WordIndex & { readonly packed: PackedWords } {
  const length = header + 2 * (words + 1) + places + Math.ceil(bytes / 4)
  const packed = sharedNumbers(length)
  packed.set([words, places, bytes])
  return { ...openWordIndex(packed), packed }
}

export function openWordIndex(packed: PackedWords): WordIndex {
  const [words = 0, places = 0, bytes = 0] = packed
  const afterWords = header + words + 1
  const afterStarts = afterWords + words + 1
  const text = packed.byteOffset + (afterStarts + places) * Uint32Array.BYTES_PER_ELEMENT
  return {
    length: words,
    wordStarts: packed.subarray(header, afterWords),
    starts: packed.subarray(afterWords, afterStarts),
    values: packed.subarray(afterStarts, afterStarts + places),
    text: Buffer.from(packed.buffer, text, bytes),
  }
}

/**
 * Finds the values that contain all phrases, ascending.
 * @param count number of values
 * @param searchableOf reads a value in the form of `searchable`, which alone tells if words are adjacent
 * @param tick called now and then; it may throw to stop
 */
export function lookUp(
  index: WordIndex,
  query: TextQuery,
  count: number,
  searchableOf: (value: number) => string,
  tick: () => void,
): Uint32Array {
  // The index narrows the values down before any is read.
  const candidates = intersection(
    query.flatMap(({ words, prefix }) =>
      words.map((word, at) => valuesWith(index, word, prefix && at === words.length - 1, count)),
    ),
  )
  const rows = query.filter(({ words }) => words.length > 1).map(patternOf)
  if (rows.length === 0) return candidates
  let read = 0
  return candidates.filter(value => {
    if ((read++ & 0x3ff) === 0) tick()
    const searchable = searchableOf(value)
    return rows.every(row => searchable.includes(row))
  })
}

function valuesWith(index: WordIndex, word: string, isPrefix: boolean, count: number): Uint32Array {
  const { starts, values, length } = index
  const from = placeOf(index, word)
  const slice = (place: number, end: number) => values.subarray(starts[place], starts[end])
  if (!isPrefix) return from < length && wordAt(index, from) === word ? slice(from, from + 1) : noValues
  // No word contains this noncharacter, which sorts after all characters of words.
  const end = placeOf(index, `${word}\uffff`)
  if (end - from <= 1) return slice(from, end)
  const bits = noBits(count)
  setBits(bits, slice(from, end))
  const found = new Uint32Array(countBits(bits))
  listBits(bits, found)
  return found
}

const noValues = new Uint32Array()

const wordAt = ({ text, wordStarts }: WordIndex, place: number): string =>
  text.toString('utf8', wordStarts[place], wordStarts[place + 1])

/** The place of the first word that does not sort before this one. */
const placeOf = (index: WordIndex, word: string): number =>
  findPlace(index.length, at => (wordAt(index, at) < word ? -1 : 1)).at

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
    at = isShort ? firstFrom(many, number, at) : walked(many, number, at)
    if (many[at] === number) found[size++] = number
  }
  return found.subarray(0, size)
}

function walked(numbers: Uint32Array, wanted: number, from: number): number {
  let at = from
  while (at < numbers.length && (numbers[at] as number) < wanted) at++
  return at
}

function firstFrom(numbers: Uint32Array, wanted: number, from: number): number {
  let [low, high] = [from, numbers.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((numbers[middle] as number) < wanted) low = middle + 1
    else high = middle
  }
  return low
}
