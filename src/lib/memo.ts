/** Returns a function that computes a value from an object once, and keeps it for as long as the object lives. */
export function memo<Of extends object, Made>(make: (of: Of) => Made): (of: Of) => Made {
  const kept = new WeakMap<Of, Made>()
  return of => {
    let made = kept.get(of)
    if (made === undefined) {
      made = make(of)
      kept.set(of, made)
    }
    return made
  }
}

/** A limit of what a map holds, in bytes. */
interface Weighed<K, V> {
  readonly maxBytes: number
  /** Size of an entry in bytes, about. It never changes. */
  readonly sizeOf: (key: K, value: V) => number
}

/**
 * A map of at most `max` entries, and of at most `maxBytes` if they are weighed. When it is full, it drops the least
 * recently used ones.
 */
export class RecentlyUsed<K, V extends NonNullable<unknown>> {
  readonly #entries = new Map<K, V>()
  readonly #max: number
  readonly #dropped: (value: V) => void
  readonly #weighed: Weighed<K, V> | undefined
  #bytes = 0
  /** The key that was used last, whose entry is in its place: most clients repeat themselves. */
  #last: K | undefined

  /** @param dropped called with each value that is dropped */
  constructor(max: number, dropped: (value: V) => void = () => {}, weighed?: Weighed<K, V>) {
    this.#max = max
    this.#dropped = dropped
    this.#weighed = weighed
  }

  get size(): number {
    return this.#entries.size
  }

  get bytes(): number {
    return this.#bytes
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (value === undefined || key === this.#last) return value
    this.#last = key
    // A map keeps the order of insertion, so the first entry is always the one to drop.
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  /** Returns the value of an entry, which is added if it isn't there. */
  use(key: K, make: () => V): V {
    const known = this.get(key)
    if (known !== undefined) return known
    const made = make()
    this.add(key, made)
    return made
  }

  /** True if there is an entry. This is no use of it. */
  has(key: K): boolean {
    return this.#entries.has(key)
  }

  /** Adds an entry whose key is new. */
  add(key: K, value: V): void {
    this.#entries.set(key, value)
    this.#last = key
    this.#bytes += this.#weighed?.sizeOf(key, value) ?? 0
    const maxBytes = this.#weighed?.maxBytes ?? 0
    for (const [oldest, old] of this.#entries) {
      if (this.#entries.size <= this.#max && this.#bytes <= maxBytes) return
      this.delete(oldest)
      this.#dropped(old)
    }
  }

  delete(key: K): void {
    const value = this.#entries.get(key)
    if (value === undefined) return
    this.#entries.delete(key)
    this.#bytes -= this.#weighed?.sizeOf(key, value) ?? 0
  }

  /** Drops all entries. */
  clear(): void {
    for (const value of this.#entries.values()) this.#dropped(value)
    this.#entries.clear()
    this.#bytes = 0
  }
}
