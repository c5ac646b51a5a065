import { createRequire } from 'node:module'

/**
 * Returns a function that computes a value from an object once, and keeps it for as long as the object lives.
 */
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

/**
 * Returns a function that loads a package on first use. Each event loop keeps its own copy of what it has
 * loaded, and most of them never need regular expressions or forms with files.
 * @returns a function with the result of `require`
 */
export function onDemand<Package>(name: string): () => Package {
  let loaded: Package | undefined
  return () => {
    loaded ??= createRequire(import.meta.url)(name) as Package
    return loaded
  }
}
