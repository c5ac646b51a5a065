import type { Awaitable } from '../../lib/awaitable.ts'

interface Entry {
  readonly version: string
  readonly bytes: number
  /** A counter value from its last use. */
  used: number
  value: Awaitable<unknown>
}

/**
 * Caches what was computed from versions of entities, and evicts the least recently used entries when it is full. A
 * version never changes, so an entry is never stale.
 */
export class VersionCache {
  readonly #entries = new Map<string, Entry>()
  readonly #maxBytes: number
  #bytes = 0
  #uses = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Whether an entry of this size is worth caching: it must not evict everything else. */
  hasRoomFor(bytes: number): boolean {
    return bytes <= this.#maxBytes / 2
  }

  /**
   * @param what names the value within the version
   * @param bytes the size of the value
   * @param make computes the value if it is not cached; concurrent callers share its promise
   */
  get<T>(version: string, what: string, bytes: number, make: () => Promise<T>): Awaitable<T> {
    const key = `${version} ${what}`
    const cached = this.#entries.get(key)
    if (cached) {
      cached.used = ++this.#uses
      return cached.value as Awaitable<T>
    }
    const making = make()
    const entry: Entry = { version, bytes, used: ++this.#uses, value: making }
    this.#entries.set(key, entry)
    this.#bytes += bytes
    making.then(
      value => {
        entry.value = value
      },
      () => this.#remove(key),
    )
    // Hits are frequent and misses are rare, so sorting by last use is left to misses.
    const byUse =
      this.#bytes > this.#maxBytes ? [...this.#entries].sort(([, a], [, b]) => a.used - b.used) : []
    for (const [oldest] of byUse) {
      if (this.#bytes <= this.#maxBytes || oldest === key) break
      this.#remove(oldest)
    }
    return making
  }

  /** Removes the entries of all other versions. */
  keepOnly(versions: ReadonlySet<string>): void {
    for (const [key, { version }] of this.#entries) if (!versions.has(version)) this.#remove(key)
  }

  #remove(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0
    this.#entries.delete(key)
  }
}
