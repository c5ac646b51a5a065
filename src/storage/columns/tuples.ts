/**
 * A set of tuples of small integers. Each pair of the first two gets a number, which makes a pair with the
 * next one, and so on.
 */
export class TupleSet {
  readonly #pairs: readonly Pairs[]

  /** @param sizes number of values at each place @param most maximum number of tuples */
  constructor(sizes: readonly number[], most: number) {
    this.#pairs = sizes.slice(1).map(size => new Pairs(size, most))
  }

  add(tuple: readonly number[]): void {
    let at = tuple[0] as number
    for (const [place, pairs] of this.#pairs.entries()) at = pairs.add(at, tuple[place + 1] as number)
  }

  has(tuple: readonly number[]): boolean {
    let at = tuple[0] as number
    for (const [place, pairs] of this.#pairs.entries()) {
      at = pairs.find(at, tuple[place + 1] as number)
      if (at < 0) return false
    }
    return true
  }
}

/** Numbers pairs in the order in which they are first met: a hash table with open addressing. */
export class Pairs {
  readonly #second: number
  #keys: Float64Array
  #numbers: Uint32Array
  #mask: number
  #size = 0

  /** @param second one more than the highest second number @param expected estimated number of pairs */
  constructor(second: number, expected: number) {
    this.#second = Math.max(1, second)
    this.#mask = 2 ** Math.min(20, Math.max(4, Math.ceil(Math.log2(expected * 2 + 1)))) - 1
    this.#keys = new Float64Array(this.#mask + 1).fill(-1)
    this.#numbers = new Uint32Array(this.#mask + 1)
  }

  get size(): number {
    return this.#size
  }

  /** @returns the number of the pair; -1 if it was never added */
  find(first: number, second: number): number {
    const at = this.#place(first * this.#second + second)
    return this.#keys[at] === -1 ? -1 : (this.#numbers[at] as number)
  }

  add(first: number, second: number): number {
    // Both are below 2^32, and one is the number of a record or a pair, so that the product is exact.
    const key = first * this.#second + second
    let at = this.#place(key)
    if (this.#keys[at] !== -1) return this.#numbers[at] as number
    if (2 * this.#size > this.#mask) {
      this.#grow()
      at = this.#place(key)
    }
    this.#keys[at] = key
    this.#numbers[at] = this.#size
    return this.#size++
  }

  #place(key: number): number {
    // Mixes both halves of the key by multiplying them with large odd numbers.
    const low = key >>> 0
    const high = Math.floor(key / 0x1_0000_0000)
    let hash = Math.imul(low, 0x9e37_79b1) ^ Math.imul(high, 0x85eb_ca6b)
    hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2_ae35)
    let at = (hash ^ (hash >>> 13)) & this.#mask
    while (this.#keys[at] !== -1 && this.#keys[at] !== key) at = (at + 1) & this.#mask
    return at
  }

  #grow(): void {
    const [keys, numbers] = [this.#keys, this.#numbers]
    this.#mask = 2 * this.#mask + 1
    this.#keys = new Float64Array(this.#mask + 1).fill(-1)
    this.#numbers = new Uint32Array(this.#mask + 1)
    for (const [from, key] of keys.entries()) {
      if (key === -1) continue
      const at = this.#place(key)
      this.#keys[at] = key
      this.#numbers[at] = numbers[from] as number
    }
  }
}
