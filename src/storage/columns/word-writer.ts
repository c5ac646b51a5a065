import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { TooMuch } from '../../lib/errors.ts'
import { sharedNumbers } from '../../lib/memory.ts'
import { processIdInName } from '../../lib/process-ids.ts'
import { writeAt } from './field-writer.ts'
import { headerLength, headerOf, readFileAt } from './stored-field.ts'
import { type PackedWords, packedHeader, unpackWords, wordKind } from './word-index.ts'

/** Places of words that are sorted at a time, of eight bytes each. */
const runLength = 2 ** 21

/** Values of the finished index that are put in order at a time. */
const windowLength = 2 ** 22

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
const enoughPlaces = 20_000

/** Collects the words of a field. */
export class WordIndexBuilder {
  readonly #ids = new Map<string, number>()
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
    return this.#total >= enoughPlaces && this.#ids.size > this.#total / 2
  }

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
      if (id === this.#last.length) this.#last = doubled(this.#last)
    } else if (this.#last[id] === value) return
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
    const starts = new Uint32Array(this.#ids.size + 1)
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
    const words = [...this.#ids.keys()].sort()
    const ids = Uint32Array.from(words, word => this.#ids.get(word) as number)
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

/** Skips blanks, which are between words, and U+0001, which is between texts. */
function nextWord(searchable: string, from: number): number {
  let at = from
  while (at < searchable.length && searchable.charCodeAt(at) <= 0x20) at++
  return at
}

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
  const writing = `${path}.${randomBytes(4).toString('hex')}.${processIdInName()}`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const spool = openSync(writing, 'wx+', 0o600)
  rmSync(writing)
  const descriptor = openSync(writing, 'wx', 0o600)
  try {
    let kept = 0
    const keep: Keep = values => {
      const position = kept
      kept += writeAt(spool, values, position)
      const { length } = values
      return () => {
        const read = new Uint32Array(length)
        readFileAt(spool, path, read, position)
        return read
      }
    }
    const builder = new WordIndexBuilder(keep, maxPlaces.file, length)
    fill(builder)
    const { words, starts, parts } = builder.finish()
    let end = headerLength
    const append = (view: NodeJS.ArrayBufferView) => {
      const position = end
      end += writeAt(descriptor, view, position)
      return position
    }
    for (const part of parts()) append(part)
    const startPosition = append(starts)
    const wordStarts = new Uint32Array(words.length + 1)
    for (const [place, word] of words.entries())
      wordStarts[place + 1] = (wordStarts[place] as number) + Buffer.byteLength(word)
    const wordPosition = append(wordStarts)
    const text = append(Buffer.from(words.join('')))
    fsyncSync(descriptor)
    const numbers = [words.length, starts.at(-1) as number, headerLength, startPosition, wordPosition, text]
    writeAt(descriptor, headerOf(wordKind, path, [end, ...numbers]), 0)
    renameSync(writing, path)
  } catch (error) {
    rmSync(writing, { force: true })
    throw error
  } finally {
    closeSync(spool)
    closeSync(descriptor)
  }
}
