import { countSharedIn } from '../../lib/memory.ts'
import type { Calls } from '../../lib/threads/calls.ts'
import { type Cacheable, cacheKey, type RecordCache, VersionCache } from './version-cache.ts'

export interface CacheHandlers {
  /** @returns 'make' to the loop that has to compute the value for `cachePut`, or to call `cacheFail` */
  cacheGet(version: string, what: string, bytes: number): Promise<Cacheable | 'make'>
  cachePut(key: string, value: Cacheable): void
  cacheFail(key: string): void
  cacheUse(keys: readonly string[]): void
  cacheKeepOnly(versions: readonly string[]): void
  cacheHold(version: string): void
  [name: string]: (...args: never[]) => unknown
}

interface Making {
  readonly loop: object
  readonly resolve: (value: Cacheable) => void
  readonly reject: (error: Error) => void
}

/**
 * One cache for all event loops of a process: its bytes are counted once, and each value is computed by one
 * loop and read by all. The main thread keeps the entries; each loop keeps views of those that it has used.
 * @param maxBytes the size of the cache @param usage where its bytes and entries are added up
 */
export function createCacheServer(maxBytes: number, usage?: Float64Array<ArrayBufferLike>) {
  const loops = new Map<object, (key: string) => void>()
  const making = new Map<string, Making>()
  const dropEverywhere = (key: string) => {
    for (const drop of loops.values()) drop(key)
  }
  const cache = new VersionCache(maxBytes, dropEverywhere, usage)

  async function get(
    loop: object,
    version: string,
    what: string,
    bytes: number,
  ): Promise<Cacheable | 'make'> {
    const key = cacheKey(version, what)
    for (;;) {
      let isOurs = false
      const make = () => {
        isOurs = true
        const { promise, resolve, reject } = Promise.withResolvers<Cacheable>()
        making.set(key, { loop, resolve, reject })
        return promise
      }
      const value = cache.get(version, what, bytes, make, made => made)
      if (isOurs) {
        // If it fails, those who wait for it try themselves.
        if (value instanceof Promise) value.catch(() => {})
        return 'make'
      }
      try {
        return await value
      } catch {}
    }
  }

  /** Takes a pending value. Only the loop that was told to make it may give it. */
  function take(loop: object, key: string): Making | undefined {
    const found = making.get(key)
    if (found?.loop !== loop) return undefined
    making.delete(key)
    return found
  }

  return {
    /**
     * @param drop tells the loop that entries are gone
     * @returns what the loop may call, and `leave`, to call when the loop has ended
     */
    join: (drop: (key: string) => void): { readonly handlers: CacheHandlers; leave(): void } => {
      const loop = {}
      loops.set(loop, drop)
      return {
        handlers: {
          cacheGet: (version, what, bytes) => get(loop, version, what, bytes),
          cachePut: (key, value) => {
            // Otherwise this thread, which does little, would hardly ever collect what it has dropped.
            countSharedIn(value)
            take(loop, key)?.resolve(value)
          },
          cacheFail: key => take(loop, key)?.reject(new Error('the value could not be computed')),
          cacheUse: keys => {
            for (const key of keys) cache.use(key)
          },
          cacheKeepOnly: versions => cache.keepOnly(new Set(versions)),
          cacheHold: version => cache.hold(version),
        },
        leave: () => {
          loops.delete(loop)
          for (const [key, one] of making)
            if (one.loop === loop) take(loop, key)?.reject(new Error('the loop has ended'))
        },
      }
    },
  }
}

/** Time between two reports of a loop on the entries that it has used, in ms. */
const reportInterval = 1_000

/**
 * A loop's side of the cache.
 * @returns the cache, and `drop`, to call with what the main thread has removed
 */
export function joinCache(
  server: Calls<CacheHandlers>,
  maxBytes: number,
): RecordCache & { drop(key: string): void } {
  /** The loop's views, without a limit: the main thread decides which entries are dropped. */
  const known = new VersionCache(Number.POSITIVE_INFINITY, undefined, undefined, noteUse)
  let used = new Set<string>()

  function noteUse(key: string): void {
    if (used.size === 0) setTimeout(report, reportInterval).unref()
    used.add(key)
  }
  function report(): void {
    const keys = [...used]
    used = new Set()
    server.call('cacheUse', keys).catch(() => {})
  }

  async function fetch(
    version: string,
    what: string,
    bytes: number,
    make: () => Promise<Cacheable>,
  ): Promise<Cacheable> {
    const found = await server.call('cacheGet', version, what, bytes)
    if (found !== 'make') return found
    const key = cacheKey(version, what)
    try {
      const made = await make()
      await server.call('cachePut', key, made)
      return made
    } catch (error) {
      server.call('cacheFail', key).catch(() => {})
      throw error
    }
  }

  return {
    hasRoomFor: bytes => bytes <= maxBytes / 2,
    peek: (version, what) => known.peek(version, what),
    get: <C extends Cacheable, T>(
      version: string,
      what: string,
      bytes: number,
      make: () => Promise<C>,
      open: (value: C) => T,
    ) => {
      const fetched = async () => (await fetch(version, what, bytes, make)) as C
      return known.get(version, what, bytes, fetched, open)
    },
    keepOnly: versions => {
      known.keepOnly(versions)
      server.call('cacheKeepOnly', [...versions]).catch(() => {})
    },
    hold: version => {
      if (!known.holds(version)) server.call('cacheHold', version).catch(() => {})
      known.hold(version)
    },
    holds: version => known.holds(version),
    drop: key => known.drop(key),
  }
}
