import { randomInt } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { TooMuch } from '../../lib/errors.ts'
import { readAt, writeAt } from '../../lib/files-at.ts'
import { sharedNumbers } from '../../lib/memory.ts'
import { temporaryName, writeIndex } from './word-file.ts'
import { type PackedWords, packedHeader, unpackWords } from './word-index.ts'

/** Places of words that are sorted at a time, of eight bytes each. */
const runLength = 2 ** 20

/** Values of the finished index that are put in order at a time. */
const windowLength = 2 ** 21

/** Maximum number of places of words in one field; in memory each takes four bytes, twice. */
const maxPlaces = { memory: 100_000_000, file: 1_000_000_000 } as const

/** Places of words, sorted by word. */
interface Run {
  /** For each word that was known, where its values start in the run. */
  readonly starts: Uint32Array
  read(): Uint32Array
}

/** Keeps the values of a run. @returns a function that reads them */
type Keep = (values: Uint32Array) => () => Uint32Array

/** Number of places after which an index is given up if most words occur only once, as in codes and addresses. */
const enoughPlaces = 500_000

/** Collects the words of a field. */
export class WordIndexBuilder {
  /** The distinct words, as they were met, and the hash of each. */
  readonly #met: string[] = []
  #hashes = new Uint32Array(1 << 10)
  /** The number of a word plus one, where its hash says or in the next free place. */
  #places = new Uint32Array(1 << 12)
  /** Makes hashes differ from those of other runs, so that a file can't be made of words that share one. */
  readonly #seed = randomInt(2 ** 32)
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
  constructor(
    keep: Keep = values => () => values,
    most: number = maxPlaces.memory,
    length: number = runLength,
  ) {
    this.#keep = keep
    this.#maxPlaces = most
    this.#runLength = length
  }

  /** True once it is clear that most words occur only once. */
  get hasRareWords(): boolean {
    return this.#total >= enoughPlaces && this.#met.length > this.#total / 2
  }

  /**
   * Adds the words of a value; values are added in ascending order.
   * @param searchable as `searchable` of src/model/text-query.ts makes it
   */
  add(value: number, searchable: string): void {
    const { length } = searchable
    for (let at = 0; at < length; ) {
      let code = searchable.charCodeAt(at)
      // Blanks are between words, and U+0001 is between texts.
      if (code <= blank) {
        at++
        continue
      }
      const from = at
      // FNV-1a
      let hash = this.#seed
      do {
        hash = Math.imul(hash ^ code, 0x0100_0193)
        code = ++at < length ? searchable.charCodeAt(at) : blank
      } while (code !== blank)
      this.#addWord(searchable, from, at, (hash ^ (hash >>> 15)) >>> 0, value)
    }
  }

  /** Returns the number of a word, which it gets if it is new. A string is made of new words alone. */
  #idOf(searchable: string, from: number, end: number, hash: number): number {
    const mask = this.#places.length - 1
    let place = hash & mask
    for (;;) {
      const found = this.#places[place] as number
      if (found === 0) break
      const word = this.#met[found - 1] as string
      if (word.length === end - from && searchable.startsWith(word, from)) return found - 1
      place = (place + 1) & mask
    }
    const id = this.#met.length
    // A part of a string would keep the whole of it.
    this.#met.push(Buffer.from(searchable.slice(from, end), 'utf16le').toString('utf16le'))
    this.#places[place] = id + 1
    if (id === this.#last.length) {
      this.#last = doubled(this.#last)
      this.#hashes = doubled(this.#hashes)
    }
    this.#hashes[id] = hash
    if (2 * id > mask) this.#growPlaces()
    return id
  }

  #growPlaces(): void {
    const places = new Uint32Array(2 * this.#places.length)
    const mask = places.length - 1
    for (let id = 0; id < this.#met.length; id++) {
      let place = (this.#hashes[id] as number) & mask
      while (places[place] !== 0) place = (place + 1) & mask
      places[place] = id + 1
    }
    this.#places = places
  }

  #addWord(searchable: string, from: number, end: number, hash: number, value: number): void {
    const before = this.#met.length
    const id = this.#idOf(searchable, from, end, hash)
    if (id < before && this.#last[id] === value) return
    this.#last[id] = value
    if (this.#length === this.#runLength) this.#endRun()
    if (this.#length === this.#words.length) {
      this.#words = doubled(this.#words)
      this.#values = doubled(this.#values)
    }
    this.#words[this.#length] = id
    this.#values[this.#length++] = value
    if (++this.#total > this.#maxPlaces)
      throw new TooMuch(
        `The words of a field are too many to be searched: they have over ${this.#maxPlaces / 1_000_000} million places.`,
      )
  }

  #endRun(): void {
    const words = this.#words.subarray(0, this.#length)
    const starts = new Uint32Array(this.#met.length + 1)
    for (let at = 0; at < words.length; at++) {
      const next = (words[at] as number) + 1
      starts[next] = (starts[next] as number) + 1
    }
    for (let id = 1; id < starts.length; id++)
      starts[id] = (starts[id] as number) + (starts[id - 1] as number)
    const next = starts.slice()
    const sorted = new Uint32Array(words.length)
    for (let at = 0; at < words.length; at++) {
      const id = words[at] as number
      const place = next[id] as number
      sorted[place] = this.#values[at] as number
      next[id] = place + 1
    }
    this.#runs.push({ starts, read: this.#keep(sorted) })
    this.#length = 0
  }

  /** Returns the words in order, where the values of each start, and these, part by part. */
  finish() {
    if (this.#length > 0) this.#endRun()
    const met = this.#met
    const ids = Uint32Array.from(met.keys()).sort((one, other) =>
      (met[one] as string) < (met[other] as string) ? -1 : 1,
    )
    const words = Array.from(ids, id => met[id] as string)
    const starts = new Uint32Array(words.length + 1)
    for (let place = 0; place < ids.length; place++) {
      const id = ids[place] as number
      let size = 0
      for (const run of this.#runs)
        if (id + 1 < run.starts.length) size += (run.starts[id + 1] as number) - (run.starts[id] as number)
      starts[place + 1] = (starts[place] as number) + size
    }
    return { words, starts, parts: () => this.#parts(ids, starts) }
  }

  *#parts(ids: Uint32Array, starts: Uint32Array): Iterable<Uint32Array> {
    for (let from = 0; from < ids.length; ) {
      const first = starts[from] as number
      let end = from + 1
      while (end < ids.length && (starts[end + 1] as number) - first <= windowLength) end++
      const part = new Uint32Array((starts[end] as number) - first)
      const next = starts.slice(from, end)
      for (const run of this.#runs) {
        const values = run.read()
        for (let place = from; place < end; place++) {
          const id = ids[place] as number
          if (id + 1 >= run.starts.length) continue
          const stop = run.starts[id + 1] as number
          let to = (next[place - from] as number) - first
          for (let at = run.starts[id] as number; at < stop; at++) part[to++] = values[at] as number
          next[place - from] = to + first
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

const blank = 0x20

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
    const keep: Keep = values => {
      const position = kept
      kept += writeAt(spool, values, position)
      const { length } = values
      return () => {
        const read = new Uint32Array(length)
        readAt(spool, read, position)
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
