/** A map of at most `max` entries. When it is full, it drops the least recently used one. */
export class RecentlyUsed<K, V extends NonNullable<unknown>> {
  readonly #entries = new Map<K, V>()
  readonly #max: number
  readonly #dropped: (value: V) => void

  /** @param dropped called with each value that is dropped */
  constructor(max: number, dropped: (value: V) => void = () => {}) {
    this.#max = max
    this.#dropped = dropped
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (value === undefined) return undefined
    // A map keeps the order of insertion, so the first entry is always the one to drop.
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  /** Adds an entry whose key is new. */
  add(key: K, value: V): void {
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#max) return
    for (const [oldest, old] of this.#entries) {
      this.#entries.delete(oldest)
      this.#dropped(old)
      return
    }
  }
}
