import { randomInt } from 'node:crypto'

/**
 * Pieces of texts between blanks and other ASCII characters that are in no word, and the words in each. A piece
 * that was met before needs no look at what its characters are, nor a string.
 */

/** Maximum number of pieces that are remembered, and of their bytes; each takes about 40 bytes. */
const maxPieces = 2 ** 18
const maxBytes = 64

/** For each byte of UTF-8, what stands for it in a piece: letters are small; 0 is between pieces. */
const folded = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80) return byte
  const character = String.fromCharCode(byte).toLowerCase()
  return /[0-9a-z]/.test(character) ? character.charCodeAt(0) : 0
})

/** Stands for a list of words, or none, instead of a single one. */
const several = 0xffff_ffff

export class KnownPieces {
  readonly #wordsIn: (piece: string) => readonly number[]
  /** Makes hashes differ from those of other runs, so that a file can't be made of pieces that share one. */
  readonly #seed = randomInt(2 ** 32)
  /** The number of a piece plus one, where its hash says or in the next free place. */
  #places = new Uint32Array(1 << 10)
  #hashes = new Uint32Array(1 << 9)
  /** Where each piece starts and ends among the bytes. */
  #starts = new Uint32Array((1 << 9) + 1)
  #bytes = new Uint8Array(1 << 13)
  /** The word in each piece. */
  #words = new Uint32Array(1 << 9)
  readonly #lists = new Map<number, readonly number[]>()
  #length = 0

  /** @param wordsIn returns the numbers of the words in a piece */
  constructor(wordsIn: (piece: string) => readonly number[]) {
    this.#wordsIn = wordsIn
  }

  /**
   * Calls `take` with the number of each word of a text.
   * @param bytes has the text from `from` to below `end`, as UTF-8
   */
  each(bytes: Uint8Array, from: number, end: number, take: (word: number) => void): void {
    for (let at = from; at < end; ) {
      let code = folded[bytes[at] as number] as number
      if (code === 0) {
        at++
        continue
      }
      const first = at
      // FNV-1a
      let hash = this.#seed
      do {
        hash = Math.imul(hash ^ code, 0x0100_0193)
        code = ++at < end ? (folded[bytes[at] as number] as number) : 0
      } while (code !== 0)
      this.#take(bytes, first, at, (hash ^ (hash >>> 15)) >>> 0, take)
    }
  }

  #take(bytes: Uint8Array, from: number, end: number, hash: number, take: (word: number) => void): void {
    const piece = this.#find(bytes, from, end, hash)
    if (piece < 0) {
      const words = this.#wordsIn(Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from).toString())
      if (this.#length < maxPieces && end - from <= maxBytes) this.#add(bytes, from, end, hash, words)
      for (const word of words) take(word)
      return
    }
    const word = this.#words[piece] as number
    if (word !== several) take(word)
    else for (const one of this.#lists.get(piece) ?? []) take(one)
  }

  /** @returns the number of a piece; -1 if it is not known */
  #find(bytes: Uint8Array, from: number, end: number, hash: number): number {
    const mask = this.#places.length - 1
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const piece = (this.#places[place] as number) - 1
      if (piece < 0) return -1
      const start = this.#starts[piece] as number
      if ((this.#starts[piece + 1] as number) - start !== end - from) continue
      let at = from
      while (at < end && folded[bytes[at] as number] === this.#bytes[start + at - from]) at++
      if (at === end) return piece
    }
  }

  #add(bytes: Uint8Array, from: number, end: number, hash: number, words: readonly number[]): void {
    const piece = this.#length++
    if (piece === this.#words.length) this.#grow()
    const start = this.#starts[piece] as number
    const next = start + end - from
    if (next > this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#bytes.length)
      larger.set(this.#bytes)
      this.#bytes = larger
    }
    for (let at = from; at < end; at++) this.#bytes[start + at - from] = folded[bytes[at] as number] as number
    this.#starts[piece + 1] = next
    this.#hashes[piece] = hash
    this.#place(piece)
    const [word] = words
    this.#words[piece] = words.length === 1 && word !== undefined ? word : several
    if (words.length > 1) this.#lists.set(piece, words)
  }

  #place(piece: number): void {
    const mask = this.#places.length - 1
    let place = (this.#hashes[piece] as number) & mask
    while (this.#places[place] !== 0) place = (place + 1) & mask
    this.#places[place] = piece + 1
  }

  #grow(): void {
    const length = 2 * this.#words.length
    const [words, hashes] = [new Uint32Array(length), new Uint32Array(length)]
    const starts = new Uint32Array(length + 1)
    words.set(this.#words)
    hashes.set(this.#hashes)
    starts.set(this.#starts)
    ;[this.#words, this.#hashes, this.#starts] = [words, hashes, starts]
    this.#places = new Uint32Array(2 * length)
    for (let piece = 0; piece < this.#length - 1; piece++) this.#place(piece)
  }
}
