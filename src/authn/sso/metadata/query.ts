import { fetchMetadata } from './fetch.ts'
import type { Idp } from './idp.ts'
import { oneOf, readMetadata } from './read.ts'

/** Metadata of one entity a request (MDQ, draft-young-md-query). */
export interface MetadataQuery {
  /** @returns undefined for an entity that the server doesn't know; why it can't be asked, as a text */
  find(entityId: string): Promise<Idp | string | undefined>
  close(): void
}

interface Kept {
  readonly idp: Idp | undefined
  /** Milliseconds since 1970, when it is asked for again. */
  readonly until: number
}

const maxKept = 1_000
const maxAtOnce = 8
const maxWaiting = 64
/** Bytes; one entity has a few thousand. */
const maxAnswer = 1024 * 1024
/** Milliseconds. */
const timeToAnswer = 10_000
const rememberUnknown = 10 * 60_000
const rememberFailure = 30_000
const usual = 3_600_000
const shortest = 60_000
const longest = 24 * 3_600_000

/** @param certificates PEM; none: the signatures aren't checked */
export function createMetadataQuery(base: string, certificates: readonly string[]): MetadataQuery {
  const kept = new Map<string, Kept>()
  const failed = new Map<string, { readonly why: string; readonly until: number }>()
  const asking = new Map<string, Promise<Idp | string | undefined>>()
  const closing = new AbortController()
  let running = 0
  const waiting: (() => void)[] = []

  async function turn<T>(work: () => Promise<T>): Promise<T> {
    if (running === maxAtOnce) await new Promise<void>(resolve => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }

  async function ask(entityId: string): Promise<Idp | string | undefined> {
    const old = kept.get(entityId)?.idp
    try {
      const url = `${base.replace(/\/$/, '')}/entities/${encodeURIComponent(entityId)}`
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeToAnswer)])
      const fetched = await fetchMetadata(url, {}, signal)
      if (fetched.kind !== 'fresh') {
        keep(kept, entityId, { idp: undefined, until: Date.now() + rememberUnknown })
        return undefined
      }
      const wanted = { entityIds: new Set([entityId]), only: false, others: false, letsIn: () => false }
      const reading = await readMetadata(atMost(maxAnswer, fetched.body), certificates, wanted)
      const idp = oneOf(reading, entityId)
      if (typeof idp === 'string') throw new Error(idp)
      const duration = reading.cacheDuration === null ? usual : reading.cacheDuration * 1000
      const until = Date.now() + Math.min(longest, Math.max(shortest, duration))
      keep(kept, entityId, { idp, until: Math.min(until, idp.metadata.validUntil ?? until) })
      return idp
    } catch (error) {
      const why = (error as Error).message
      keep(failed, entityId, { why, until: Date.now() + rememberFailure })
      // The old one is better than none; its user looks whether it has expired.
      return old ?? why
    }
  }

  return {
    find: async entityId => {
      const now = Date.now()
      const known = kept.get(entityId)
      if (known && known.until > now) return known.idp
      const failure = failed.get(entityId)
      if (failure && failure.until > now) return known?.idp ?? failure.why
      const same = asking.get(entityId)
      if (same) return same
      if (waiting.length >= maxWaiting) return 'too many requests wait for the metadata query server'
      const answer = turn(() => ask(entityId)).finally(() => asking.delete(entityId))
      asking.set(entityId, answer)
      return answer
    },
    close: () => closing.abort(),
  }
}

/** Drops the oldest where there are too many. */
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
