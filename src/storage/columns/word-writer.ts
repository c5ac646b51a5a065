import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { TooMuch } from '../../lib/errors.ts'
import { readAt, writeAt } from '../../lib/files-at.ts'
import { sharedNumbers } from '../../lib/memory.ts'
import { spacedWords } from '../../lib/words.ts'
import { KnownPieces } from './known-pieces.ts'
import { countRanks, summedUp } from './ranks-in-order.ts'
import { temporaryName, writeIndex } from './word-file.ts'
import { type PackedWords, packedHeader, unpackWords } from './word-index.ts'

/** Places of words that are sorted at a time, of eight bytes each. */
const runLength = 2 ** 20

/** Values of the finished index that are put in order at a time. */
const windowLength = 2 ** 20

/** Maximum number of places of words in one field; in memory each takes four bytes, twice. */
const maxPlaces = { memory: 100_000_000, file: 1_000_000_000 } as const

/** Maximum number of distinct words, which is that of entries in a map of V8. */
const maxWords = 2 ** 24

/** Places of words, sorted by word. */
interface Run {
  /** For each word that was known, where its values start in the run, and the values. */
  readonly starts: Kept
  readonly values: Kept
  /** Number of these words. */
  readonly words: number
}

/** Reads numbers that were kept, from `from` to below `end`. They are valid until the next call. */
type Kept = (from: number, end: number) => Uint32Array

/** Keeps numbers until the end. */
type Keep = (numbers: Uint32Array) => Kept

const inMemory: Keep = numbers => (from, end) => numbers.subarray(from, end)

/** Number of places after which an index is given up if most words occur only once, as in codes and addresses. */
const enoughPlaces = 500_000

/** Collects the words of a field. */
export class WordIndexBuilder {
  /** The distinct words, each with its number, as they were met. */
  readonly #met = new Map<string, number>()
  readonly #pieces = new KnownPieces(piece => this.#wordsIn(spacedWords(piece)))
  /** The last value that contains each word. */
  #last = new Uint32Array(1 << 10)
  #words = new Uint32Array(1 << 10)
  #values = new Uint32Array(1 << 10)
  #length = 0
  #total = 0
  readonly #runs: Run[] = []
  readonly #keep: Keep
  readonly #maxPlaces: number
  readonly #runLength: number

  /** @param keep keeps sorted values until the end @param length number of places sorted at a time */
  constructor(keep: Keep = inMemory, most: number = maxPlaces.memory, length: number = runLength) {
    this.#keep = keep
    this.#maxPlaces = most
    this.#runLength = length
  }

  /** True once it is clear that most words occur only once. */
  get hasRareWords(): boolean {
    return this.#total >= enoughPlaces && this.#met.size > this.#total / 2
  }

  /**
   * Adds the words of a value; values are added in ascending order.
   * @param bytes has its text from `from` to below `end`, as UTF-8
   */
  addText(value: number, bytes: Uint8Array, from: number, end: number): void {
    this.#pieces.each(bytes, from, end, word => this.#addWord(word, value))
  }

  /** Adds the words of a value of several texts; values are added in ascending order. */
  add(value: number, texts: readonly string[]): void {
    for (const text of texts) for (const word of this.#wordsIn(spacedWords(text))) this.#addWord(word, value)
  }

  /** Returns the number of each word; new ones get theirs. */
  #wordsIn(spaced: string): number[] {
    const words = spaced.trim()
    return words === '' ? [] : words.split('  ').map(word => this.#met.get(word) ?? this.#meet(word))
  }

  #meet(word: string): number {
    const number = this.#met.size
    if (number === maxWords)
      throw new TooMuch('The words of a field are too many to be searched: over 16 million are different.')
    // A part of a string would keep the whole of it.
    this.#met.set(Buffer.from(word, 'utf16le').toString('utf16le'), number)
    if (number === this.#last.length) this.#last = doubled(this.#last)
    this.#last[number] = none
    return number
  }

  #addWord(word: number, value: number): void {
    if (this.#last[word] === value) return
    this.#last[word] = value
    if (this.#length === this.#runLength) this.#endRun()
    if (this.#length === this.#words.length) {
      this.#words = doubled(this.#words)
      this.#values = doubled(this.#values)
    }
    this.#words[this.#length] = word
    this.#values[this.#length++] = value
    if (++this.#total > this.#maxPlaces)
      throw new TooMuch(
        `The words of a field are too many to be searched: they have over ${this.#maxPlaces / 1_000_000} million places.`,
      )
  }

  #endRun(): void {
    const words = this.#words.subarray(0, this.#length)
    const starts = countRanks(words, new Uint32Array(this.#met.size + 1))
    const next = starts.slice()
    const sorted = new Uint32Array(words.length)
    for (let at = 0; at < words.length; at++) {
      const word = words[at] as number
      const place = next[word] as number
      sorted[place] = this.#values[at] as number
      next[word] = place + 1
    }
    this.#keepRun(starts, sorted)
    this.#length = 0
  }

  #keepRun(starts: Uint32Array, values: Uint32Array): void {
    this.#runs.push({ starts: this.#keep(starts), words: starts.length - 1, values: this.#keep(values) })
  }

  /** Returns the words in order, where the values of each start, and these, part by part. */
  finish() {
    if (this.#length > 0) this.#endRun()
    this.#words = this.#values = new Uint32Array()
    const met = [...this.#met.keys()]
    const numbers = Uint32Array.from(met.keys()).sort((one, other) =>
      (met[one] as string) < (met[other] as string) ? -1 : 1,
    )
    const starts = new Uint32Array(met.length + 1)
    const runs = this.#runs.splice(0)
    for (let run = runs.shift(); run; run = runs.shift()) this.#arrange(run, numbers, starts)
    summedUp(starts)
    return {
      words: Array.from(numbers, number => met[number] as string),
      starts,
      parts: () => this.#parts(starts),
    }
  }

  /** Puts the values of a run into the order of the words, and counts them. @param numbers of the words in order */
  #arrange(run: Run, numbers: Uint32Array, sizes: Uint32Array): void {
    const from = run.starts(0, run.words + 1).slice()
    const values = run.values(0, from[run.words] as number)
    const starts = new Uint32Array(numbers.length + 1)
    const arranged = new Uint32Array(values.length)
    let to = 0
    for (let place = 0; place < numbers.length; place++) {
      const number = numbers[place] as number
      if (number < run.words) {
        const first = to
        const end = from[number + 1] as number
        for (let at = from[number] as number; at < end; at++) arranged[to++] = values[at] as number
        sizes[place + 1] = (sizes[place + 1] as number) + to - first
      }
      starts[place + 1] = to
    }
    this.#keepRun(starts, arranged)
  }

  *#parts(starts: Uint32Array): Iterable<Uint32Array> {
    const length = starts.length - 1
    for (let from = 0; from < length; ) {
      const first = starts[from] as number
      let end = from + 1
      while (end < length && (starts[end + 1] as number) - first <= windowLength) end++
      const part = new Uint32Array((starts[end] as number) - first)
      const next = starts.slice(from, end)
      for (const run of this.#runs) {
        const of = run.starts(from, end + 1).slice()
        const base = of[0] as number
        const values = run.values(base, of[end - from] as number)
        for (let place = 0; place < next.length; place++) {
          const stop = (of[place + 1] as number) - base
          let to = (next[place] as number) - first
          for (let at = (of[place] as number) - base; at < stop; at++) part[to++] = values[at] as number
          next[place] = to + first
        }
      }
      yield part
      from = end
    }
  }
}

function doubled(numbers: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(2 * numbers.length)
  larger.set(numbers)
  return larger
}

/** Stands for no value. */
const none = 0xffff_ffff

/** Packs an index in memory. */
export function packWords(builder: WordIndexBuilder): PackedWords {
  const { words, starts, parts } = builder.finish()
  const bytes = words.reduce((sum, word) => sum + Buffer.byteLength(word), 0)
  const total = starts.at(-1) as number
  const packed = sharedNumbers(packedHeader + 2 * (words.length + 1) + total + Math.ceil(bytes / 4))
  packed.set([words.length, total, bytes])
  const index = unpackWords(packed)
  index.starts.set(starts)
  for (const [place, word] of words.entries()) {
    const from = index.wordStarts[place] as number
    index.wordStarts[place + 1] = from + index.text.write(word, from)
  }
  let at = 0
  for (const part of parts()) {
    index.values.set(part, at)
    at += part.length
  }
  return packed
}

/**
 * Writes an index to a file (docs/decisions/0070). Its runs are in a file without a name until then.
 * @param fill adds the words of all values
 * @param length number of places sorted at a time
 */
export function writeWords(
  path: string,
  fill: (builder: WordIndexBuilder) => void,
  length: number = runLength,
): void {
  const spooled = temporaryName(path)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const spool = openSync(spooled, 'wx+', 0o600)
  rmSync(spooled)
  try {
    let kept = 0
    let room = new Uint32Array()
    const keep: Keep = numbers => {
      const position = kept
      kept += writeAt(spool, numbers, position)
      return (from, end) => {
        if (end - from > room.length) room = new Uint32Array(end - from)
        const read = room.subarray(0, end - from)
        readAt(spool, read, position + from * Uint32Array.BYTES_PER_ELEMENT)
        return read
      }
    }
    const builder = new WordIndexBuilder(keep, maxPlaces.file, length)
    fill(builder)
    const { words, starts, parts } = builder.finish()
    writeIndex(path, parts(), () => ({ words, starts }))
  } finally {
    closeSync(spool)
  }
}
