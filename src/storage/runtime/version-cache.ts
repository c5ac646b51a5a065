import type { Awaitable } from '../../lib/awaitable.ts'
import { RecentlyUsed } from '../../lib/memo.ts'

/** A cached value, in memory that all event loops of the process can share. */
export type Cacheable = Uint32Array<SharedArrayBuffer> | Uint8Array<SharedArrayBuffer>

/** A cache of values computed from versions of entities, which never change, so that no entry is stale. */
export interface RecordCache {
  /** True if an entry of this size is worth caching: it must not evict everything else. */
  hasRoomFor(bytes: number): boolean
  /** @returns the value if it is at hand; undefined if it has to be computed or is on its way */
  peek<T>(version: string, what: string): T | undefined
  /**
   * @param what names the value within the version
   * @param bytes the size of the value
   * @param make computes the value if it is not cached; concurrent callers share its promise
   * @param open converts the value, once, to the one that is returned
   */
  get<C extends Cacheable, T>(
    version: string,
    what: string,
    bytes: number,
    make: () => Promise<C>,
    open: (value: C) => T,
  ): Awaitable<T>
  /** Removes the entries of all other versions, except those that were held last. */
  keepOnly(versions: ReadonlySet<string>): void
  /** Notes that a version is read though a newer one may have replaced it. */
  hold(version: string): void
  /** True for one of the versions that were held last. */
  holds(version: string): boolean
}

/** Number of versions that are held: a snapshot reads two, a stored one and what is derived of it. */
const maxHeld = 16

interface Entry {
  readonly key: string
  readonly version: string
  readonly what: string
  readonly bytes: number
  /** A counter value from its last use. */
  used: number
  value: Awaitable<unknown>
}

/** The cache of one event loop. When it is full, it evicts the least recently used entries. */
export class VersionCache implements RecordCache {
  readonly #entries = new Map<string, Entry>()
  /** The entries by version and name: joining these for each look would take longer than the look. */
  readonly #versions = new Map<string, Map<string, Entry>>()
  readonly #maxBytes: number
  readonly #removed: (key: string) => void
  readonly #usage: Float64Array<ArrayBufferLike>
  readonly #found: (key: string) => void
  readonly #held = new RecentlyUsed<string, true>(maxHeld)
  #bytes = 0
  #uses = 0
  /** Entries by last use, oldest last. They are not sorted again at each miss, which would take long. */
  #sorted: { readonly key: string; readonly entry: Entry; readonly used: number }[] = []

  /**
   * @param removed is told which entries are gone
   * @param usage where its bytes and entries are added up
   * @param found is told which entries are used
   */
  constructor(
    maxBytes: number,
    removed: (key: string) => void = () => {},
    usage: Float64Array<ArrayBufferLike> = new Float64Array(2),
    found: (key: string) => void = () => {},
  ) {
    this.#maxBytes = maxBytes
    this.#removed = removed
    this.#usage = usage
    this.#found = found
  }

  hasRoomFor(bytes: number): boolean {
    return bytes <= this.#maxBytes / 2
  }

  peek<T>(version: string, what: string): T | undefined {
    const cached = this.#versions.get(version)?.get(what)
    if (!cached || cached.value instanceof Promise) return undefined
    this.#use(cached)
    return cached.value as T
  }

  get<C extends Cacheable, T>(
    version: string,
    what: string,
    bytes: number,
    make: () => Promise<C>,
    open: (value: C) => T,
  ): Awaitable<T> {
    const cached = this.#versions.get(version)?.get(what)
    if (cached) {
      this.#use(cached)
      return cached.value as Awaitable<T>
    }
    const key = cacheKey(version, what)
    const making = make().then(open)
    const entry: Entry = { key, version, what, bytes, used: ++this.#uses, value: making }
    this.#entries.set(key, entry)
    const named = this.#versions.get(version) ?? new Map<string, Entry>()
    this.#versions.set(version, named.set(what, entry))
    this.#count(bytes, 1)
    making.then(
      value => {
        entry.value = value
      },
      () => this.#remove(key, entry),
    )
    this.#evict(entry)
    return making
  }

  /** Hits are frequent and misses are rare, so only misses find out which entries were used last. */
  #evict(newest: Entry): void {
    while (this.#bytes > this.#maxBytes) {
      const oldest = this.#sorted.pop()
      if (!oldest) {
        this.#sorted = [...this.#entries]
          .map(([key, entry]) => ({ key, entry, used: entry.used }))
          .sort((one, other) => other.used - one.used)
        continue
      }
      const { key, entry, used } = oldest
      if (entry === newest) return
      // An entry that was used since is not among the oldest any more.
      if (entry.used === used) this.#remove(key, entry)
    }
  }

  #use(entry: Entry): void {
    entry.used = ++this.#uses
    this.#found(entry.key)
  }

  /** Notes that another loop has used the entry. */
  use(key: string): void {
    const entry = this.#entries.get(key)
    if (entry) entry.used = ++this.#uses
  }

  keepOnly(versions: ReadonlySet<string>): void {
    for (const [key, entry] of this.#entries)
      if (!versions.has(entry.version) && !this.holds(entry.version)) this.#remove(key, entry)
  }

  hold(version: string): void {
    if (this.#held.get(version) === undefined) this.#held.add(version, true)
  }

  holds(version: string): boolean {
    return this.#held.has(version)
  }

  /** Removes an entry that the main thread has dropped. */
  drop(key: string): void {
    const entry = this.#entries.get(key)
    if (entry) this.#remove(key, entry)
  }

  #remove(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return
    this.#count(-entry.bytes, -1)
    this.#entries.delete(key)
    const named = this.#versions.get(entry.version)
    named?.delete(entry.what)
    if (named?.size === 0) this.#versions.delete(entry.version)
    this.#removed(key)
  }

  #count(bytes: number, entries: number): void {
    this.#bytes += bytes
    this.#usage[0] = (this.#usage[0] ?? 0) + bytes
    this.#usage[1] = (this.#usage[1] ?? 0) + entries
  }
}

export const cacheKey = (version: string, what: string): string => `${version} ${what}`
