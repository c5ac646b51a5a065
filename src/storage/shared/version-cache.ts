import type { Awaitable } from '../../lib/awaitable.ts'

interface Kept {
  readonly version: string
  readonly bytes: number
  /** The number of its last use. */
  used: number
  value: Awaitable<unknown>
}

/**
 * What was worked out from versions of entities, as long as there is room: what was not used for longest goes first.
 * A version never changes, so nothing here is ever stale.
 */
export class VersionCache {
  readonly #kept = new Map<string, Kept>()
  readonly #most: number
  #bytes = 0
  #uses = 0

  /** @param most bytes to keep */
  constructor(most: number) {
    this.#most = most
  }

  /** Whether something of this size is worth keeping: it must not drive out everything else. */
  hasRoomFor(bytes: number): boolean {
    return bytes <= this.#most / 2
  }

  /**
   * @param what within the version
   * @param bytes that the value takes
   * @param make called when it is not there; requests that come meanwhile get the same promise
   */
  get<T>(version: string, what: string, bytes: number, make: () => Promise<T>): Awaitable<T> {
    const key = `${version} ${what}`
    const known = this.#kept.get(key)
    if (known) {
      known.used = ++this.#uses
      return known.value as Awaitable<T>
    }
    const making = make()
    const entry: Kept = { version, bytes, used: ++this.#uses, value: making }
    this.#kept.set(key, entry)
    this.#bytes += bytes
    making.then(
      value => {
        entry.value = value
      },
      () => this.#forget(key),
    )
    // Using is frequent and making rare: what was not used for longest is looked for here.
    const byUse = this.#bytes > this.#most ? [...this.#kept].sort(([, a], [, b]) => a.used - b.used) : []
    for (const [oldest] of byUse) {
      if (this.#bytes <= this.#most || oldest === key) break
      this.#forget(oldest)
    }
    return making
  }

  /** Forgets what belongs to versions that are not among these. */
  keepOnly(versions: ReadonlySet<string>): void {
    for (const [key, { version }] of this.#kept) if (!versions.has(version)) this.#forget(key)
  }

  #forget(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0
    this.#kept.delete(key)
  }
}
