import { type Client, nobody } from '../../lib/fair-queue.ts'
import { RecentlyUsed } from '../../lib/memo.ts'
import type { RecordEntity } from '../entities.ts'
import { type Cacheable, cacheKey, type RecordCache } from '../runtime/version-cache.ts'
import type { RecordWork } from './record-source.ts'

/** The client whose turn it is, and the work that runs in it. */
export interface Turn {
  readonly work: RecordWork
  readonly client: Client
}

/** Bytes counted for each cache entry besides its own, so that small ones are bounded, too. */
export const entryBytes = 4_096

/** Runs work in the background, and resolves when it is done or has failed. */
export type RunLater = (work: (work: RecordWork) => Promise<unknown>) => Promise<unknown>

/** Values made from versions, each once at a time, and kept in the cache that all event loops share. */
export class KeptFacts {
  protected readonly cache: RecordCache
  readonly #making = new Map<string, Promise<Cacheable>>()
  /** Number of times that facts which were not at hand were wanted, by cache key. */
  readonly #wanted = new RecentlyUsed<string, { times: number; made?: Promise<unknown> }>(1_000)
  readonly #later: RunLater

  constructor(cache: RecordCache, later: RunLater) {
    this.cache = cache
    this.#later = later
  }

  peekKept<T extends Cacheable>(entity: RecordEntity, what: string): T | undefined {
    return this.cache.peek<T>(entity.source.version, what)
  }

  /**
   * Returns a value, which is made at most once at a time and cached if there is room.
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
          // Its client may have disconnected; those who still wait try it themselves.
          client.signal().throwIfAborted()
          continue
        }
      }
      const making = make()
      this.#making.set(key, making)
      const done = () => void this.#making.delete(key)
      try {
        const made = await making
        // Calls that come before the cache has the value get this one.
        this.keep(version, what, made, maxKept).then(done, done)
        return made
      } catch (error) {
        done()
        throw error
      }
    }
  }

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

  /**
   * Makes a value in the background once it has been wanted often enough, and not again: if the cache has no
   * room for it, making it again would not help.
   */
  makeLater(
    { source }: RecordEntity,
    what: string,
    times: number,
    enough: number,
    make: (turn: Turn) => Promise<unknown>,
  ): void {
    const key = cacheKey(source.version, what)
    const known = this.#wanted.get(key)
    const wanted: typeof known = known ?? { times: 0 }
    if (!known) this.#wanted.add(key, wanted)
    const before = wanted.times
    wanted.times += times
    if (before < enough && wanted.times >= enough)
      wanted.made = this.#later(work => make({ work, client: nobody }))
  }

  /** Waits for a value that is being made in the background. */
  async madeLater({ source }: RecordEntity, what: string): Promise<void> {
    await this.#wanted.get(cacheKey(source.version, what))?.made
  }
}

const asIs = <T>(value: T): T => value
