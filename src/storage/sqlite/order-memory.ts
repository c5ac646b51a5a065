import type { Awaitable } from '../storage.ts'

/** Orders that were asked for, as long as there is room: the one not used for longest goes first. */
export class OrderMemory {
  readonly #orders = new Map<string, { version: string; bytes: number; numbers: Awaitable<Uint32Array> }>()
  readonly #most: number
  #bytes = 0

  /** @param most bytes to keep */
  constructor(most: number) {
    this.#most = most
  }

  /**
   * @param count records of the version
   * @param sort called when the order is not there; requests that come meanwhile wait for the same one
   */
  get(
    version: string,
    order: string,
    count: number,
    sort: () => Promise<Uint32Array>,
  ): Awaitable<Uint32Array> {
    const key = `${version} ${order}`
    const known = this.#orders.get(key)
    if (known) {
      // A Map keeps the order of insertion: the newest use is the last.
      this.#orders.delete(key)
      this.#orders.set(key, known)
      return known.numbers
    }
    const sorting = sort()
    const entry = {
      version,
      bytes: count * Uint32Array.BYTES_PER_ELEMENT,
      numbers: sorting as Awaitable<Uint32Array>,
    }
    this.#orders.set(key, entry)
    this.#bytes += entry.bytes
    sorting.then(
      numbers => {
        entry.numbers = numbers
      },
      () => this.#forget(key),
    )
    for (const oldest of this.#orders.keys()) {
      if (this.#bytes <= this.#most || oldest === key) break
      this.#forget(oldest)
    }
    return sorting
  }

  /** Forgets the orders of versions that are not among these. */
  keepOnly(versions: ReadonlySet<string>): void {
    for (const [key, { version }] of this.#orders) if (!versions.has(version)) this.#forget(key)
  }

  #forget(key: string): void {
    this.#bytes -= this.#orders.get(key)?.bytes ?? 0
    this.#orders.delete(key)
  }
}
