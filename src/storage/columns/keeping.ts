import type { Client } from '../../lib/fair-queue.ts'
import type { RecordEntity } from '../entities.ts'
import { type Cacheable, cacheKey, type RecordCache } from '../runtime/version-cache.ts'
import type { RecordWork } from './record-source.ts'

/** For whom something is made, in whose turn. */
export interface Turn {
  readonly work: RecordWork
  readonly client: Client
}

/** What an entry takes in the cache besides its bytes, so that small ones have an end, too. */
export const entryBytes = 4_096

/** What was made of versions, in the cache that all event loops share. */
export class Keeping {
  protected readonly cache: RecordCache
  readonly #making = new Map<string, Promise<Cacheable>>()

  constructor(cache: RecordCache) {
    this.cache = cache
  }

  peekKept<T extends Cacheable>(entity: RecordEntity, what: string): T | undefined {
    return this.cache.peek<T>(entity.source.version, what)
  }

  /**
   * A value that is made at most once at a time, and kept if there is room.
   * @param what names it within the version
   */
  async kept<T extends Cacheable>(
    { client }: Turn,
    { source }: RecordEntity,
    what: string,
    make: () => Promise<T>,
    maxKept = Number.POSITIVE_INFINITY,
  ): Promise<T> {
    const { version } = source
    const key = cacheKey(version, what)
    for (;;) {
      const known = this.cache.peek<T>(version, what)
      if (known) return known
      const running = this.#making.get(key)
      if (running) {
        try {
          return (await running) as T
        } catch {
          // Perhaps its client has gone: who still waits tries it.
          client.signal().throwIfAborted()
          continue
        }
      }
      const making = make()
      this.#making.set(key, making)
      const done = () => void this.#making.delete(key)
      try {
        const made = await making
        // Who asks before the cache has it gets the same.
        this.keep(version, what, made, maxKept).then(done, done)
        return made
      } catch (error) {
        done()
        throw error
      }
    }
  }

  /** Keeps a value if there is room. */
  protected async keep(
    version: string,
    what: string,
    made: Cacheable,
    maxKept = Number.POSITIVE_INFINITY,
  ): Promise<void> {
    const bytes = made.byteLength + entryBytes
    if (bytes > maxKept || !this.cache.hasRoomFor(bytes)) return
    await this.cache.get(version, what, bytes, async () => made, asIs)
  }
}

const asIs = <T>(value: T): T => value
