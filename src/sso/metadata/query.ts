import { createFairQueue, nobody, Overloaded } from '../../lib/fair-queue.ts'
import { isEntityId } from './entities.ts'
import { fetchMetadata } from './fetch.ts'
import type { Idp } from './idp.ts'
import { oneOf, readMetadata } from './read.ts'

/** Metadata of single entities from a server (MDQ, draft-young-md-query). */
export interface MetadataQuery {
  /**
   * Finds the metadata of an identity provider.
   * @param network of the client; networks take turns
   * @returns undefined if the server doesn't know the entity; the reason as a text if the server can't be
   *   asked
   */
  find(entityId: string, network: string): Promise<Idp | string | undefined>
  close(): void
}

/** An answer, and the time until which it isn't asked for again (in ms since 1970). */
interface Kept<T> {
  readonly value: T
  readonly until: number
}

type Answer = Idp | string | undefined

const maxKept = 1_000
const maxAtOnce = 8
const maxAtOnceOfOne = 4
const maxWaiting = 64
/** Maximum length of an answer in bytes; one entity has a few thousand. */
const maxAnswer = 1024 * 1024
/** Times in ms. */
const timeToAnswer = 10_000
const rememberUnknown = 10 * 60_000
const rememberFailure = 30_000
const usual = 3_600_000
const shortest = 60_000
const longest = 24 * 3_600_000

/** @param certificates PEM; if there are none, the signatures aren't checked */
export function createMetadataQuery(base: string, certificates: readonly string[]): MetadataQuery {
  const idps = new Map<string, Kept<Idp>>()
  // Kept apart from identity providers, which they must not displace: anyone can ask for names that don't
  // exist.
  const misses = new Map<string, Kept<string | undefined>>()
  const asking = new Map<string, Promise<Answer>>()
  const waiting = new Map<string, Promise<Answer>>()
  const closing = new AbortController()
  const queue = createFairQueue({
    max: maxAtOnce,
    maxOfOne: maxAtOnceOfOne,
    maxWaiting,
    maxWait: timeToAnswer,
  })

  /** @returns undefined if the server has to be asked */
  function remembered(entityId: string): { readonly answer: Answer } | undefined {
    const now = Date.now()
    const known = idps.get(entityId)
    if (known && known.until > now) {
      keep(idps, entityId, known)
      return { answer: known.value }
    }
    const miss = misses.get(entityId)
    // Outdated metadata is better than none; its user checks if it has expired.
    return miss && miss.until > now ? { answer: known?.value ?? miss.value } : undefined
  }

  async function ask(entityId: string): Promise<Answer> {
    try {
      const url = `${base.replace(/\/$/, '')}/entities/${encodeURIComponent(entityId)}`
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeToAnswer)])
      const fetched = await fetchMetadata(url, {}, signal)
      if (fetched.kind !== 'fresh') {
        idps.delete(entityId)
        keep(misses, entityId, { value: undefined, until: Date.now() + rememberUnknown })
        return undefined
      }
      const wanted = { entityIds: new Set([entityId]), only: false, others: false, letsIn: () => false }
      const reading = await readMetadata(atMost(maxAnswer, fetched.body), certificates, wanted)
      const idp = oneOf(reading, entityId)
      if (typeof idp === 'string') throw new Error(idp)
      const duration = reading.cacheDuration === null ? usual : reading.cacheDuration * 1000
      const until = Date.now() + Math.min(longest, Math.max(shortest, duration))
      keep(idps, entityId, { value: idp, until: Math.min(until, idp.metadata.validUntil ?? until) })
      return idp
    } catch (error) {
      const why = (error as Error).message
      keep(misses, entityId, { value: why, until: Date.now() + rememberFailure })
      return idps.get(entityId)?.value ?? why
    }
  }

  async function askInTurn(entityId: string, network: string): Promise<Answer> {
    try {
      return await queue.run({ ...nobody, network }, async () => {
        const here = remembered(entityId)
        return here ? here.answer : await shared(asking, entityId, () => ask(entityId))
      })
    } catch (error) {
      if (!(error instanceof Overloaded)) throw error
      return idps.get(entityId)?.value ?? 'too many requests wait for the metadata query server'
    }
  }

  return {
    find: async (entityId, network) => {
      if (!canBeAsked(entityId)) return undefined
      const here = remembered(entityId)
      if (here) return here.answer
      // Waiting requests are shared within a network only, or others would wait in the line of a network that
      // floods the queue.
      return (
        asking.get(entityId) ?? shared(waiting, `${network} ${entityId}`, () => askInTurn(entityId, network))
      )
    },
    close: () => closing.abort(),
  }
}

/**
 * True if the entity id can be part of a path: dots alone would lead to other addresses, such as that of all
 * entities.
 */
const canBeAsked = (entityId: string): boolean => isEntityId(entityId) && !/^\.\.?$/.test(entityId)

function shared<T>(running: Map<string, Promise<T>>, key: string, work: () => Promise<T>): Promise<T> {
  const same = running.get(key)
  if (same) return same
  const own = work().finally(() => running.delete(key))
  running.set(key, own)
  return own
}

/** Keeps a value as the newest, and drops the oldest if there are too many. */
function keep<T>(entries: Map<string, T>, key: string, value: T): void {
  entries.delete(key)
  entries.set(key, value)
  const [oldest] = entries.size > maxKept ? entries.keys() : []
  if (oldest !== undefined) entries.delete(oldest)
}

async function* atMost(max: number, chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > max) throw new Error(`its answer is larger than ${max / 1024 / 1024} MiB`)
    yield chunk
  }
}
