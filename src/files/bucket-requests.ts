import type { IncomingMessage } from 'node:http'
import { type BucketPlace, placeText } from '../config/files-place.ts'
import { FilesUnavailable, WrongAnswer } from '../lib/errors.ts'
import { createFairQueue, nobody } from '../lib/fair-queue.ts'
import type { BucketOperation, Measures } from '../model/measures.ts'
import { isMissing, translate } from './bucket-errors.ts'

/** An object or an upload, as lists show it. */
export interface Listed {
  readonly key: string
  /** In ms since 1970. */
  readonly modified: number
}

/** Bytes of an object. */
export interface Part {
  /** Size of the whole object in bytes. */
  readonly size: number
  /** Number of bytes before them that have come, too, because the server ignores ranges. */
  readonly before: number
  readonly bytes: Buffer
}

/**
 * Bytes of an object at the pace of their reader, who has the connection until they have ended or are destroyed. The
 * bytes before them come first, and others may follow them.
 */
export interface StreamedPart extends Pick<Part, 'size' | 'before'> {
  readonly body: IncomingMessage
}

/** Bytes to be read. */
export interface Wanted {
  readonly start: number
  readonly end: number
  /** Size of the object, if it is known; an object with another one is refused. */
  readonly size?: number | undefined
  /** Maximum number of bytes that are read in vain. */
  readonly mostBefore?: number
}

/** Called for each request when it has ended, for metrics. */
export type CountRequest = Measures['bucketRequest']

type Options = { readonly abortSignal: AbortSignal }

/** Time in ms for a connection, for the headers of an answer, and without any byte. */
export const patience = { connectionTimeout: 5_000, requestTimeout: 10_000, socketTimeout: 20_000 }
/** Number of times that a request is made before it fails, and time in ms after which no other begins. */
export const attempts = 4
const limit = 30_000
/**
 * Maximum number of requests that are under way for a bucket, and time in ms that another waits for its turn.
 * It waits here, not for a connection of the library's pool: the library counts that time as the server's.
 */
const maxRequests = 128
const maxWait = 30_000

/** Settings of the library for a bucket. */
export const settingsOf = (place: BucketPlace) =>
  ({
    ...(place.endpoint === null ? {} : { endpoint: place.endpoint }),
    ...regionOf(place),
    forcePathStyle: place.pathStyle,
    maxAttempts: attempts,
    retryMode: 'standard',
    // Bodies are signed with their SHA-256; many servers know no other checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Parts are small, and some servers don't answer `Expect`.
    expectContinueHeader: false,
    // The library's own lines would go to standard error.
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, trace: () => {} },
  }) as const

/** Only Amazon's regions have to be right; other servers take any. */
const regionOf = ({ endpoint, region }: BucketPlace): { region?: string } => {
  const given = region ?? (endpoint === null ? null : (process.env.AWS_REGION ?? 'us-east-1'))
  return given === null ? {} : { region: given }
}

/** Makes requests to a bucket, a limited number at a time. Each throws FilesUnavailable or a kind of it. */
export class BucketRequests {
  readonly #place: BucketPlace
  readonly #count: CountRequest
  readonly #queue = createFairQueue({ max: maxRequests, maxOfOne: maxRequests, maxWait })

  constructor(place: BucketPlace, count: CountRequest) {
    this.#place = place
    this.#count = count
  }

  /** Makes a request. @returns undefined if there is no such object or upload */
  async ask<T>(
    operation: BucketOperation,
    request: (options: Options) => Promise<T>,
    time = limit,
  ): Promise<T | undefined> {
    const leave = await this.#queue.enter(nobody)
    try {
      const answer = await request({ abortSignal: AbortSignal.timeout(time) })
      this.#count(operation, 'success')
      return answer
    } catch (error) {
      const isAbsent = isMissing(error)
      this.#count(operation, isAbsent ? 'success' : 'failure')
      if (isAbsent) return undefined
      if (error instanceof FilesUnavailable) throw error
      throw translate(error, this.#place)
    } finally {
      leave()
    }
  }

  /** Makes a request about something that must be there. */
  async require<T>(...request: Parameters<typeof this.ask<T>>): Promise<T> {
    const answer = await this.ask<T>(...request)
    if (answer !== undefined) return answer
    throw new FilesUnavailable(`${placeText(this.#place)}: what was being written was removed meanwhile`)
  }
}

/** A page of a list, in the order of its keys. */
interface Page<Entry, Marker> {
  readonly entries: readonly Entry[]
  /** True if more pages follow; undefined if the answer isn't a page. */
  readonly isTruncated: boolean | undefined
  readonly next: Marker | undefined
}

/** Number of pages in a row without a new key after which a list counts as endless. */
const maxIdle = 20

/**
 * Follows the pages of a list. Each costs its owner money, so it ends, whatever the server says: with an error if a page
 * doesn't say where the next one begins, or if further pages bring no further keys.
 * @param what the list, for errors
 */
export async function* pagesOf<Entry extends { readonly key: string }, Marker>(
  what: string,
  ask: (after: Marker | undefined) => Promise<Page<Entry, Marker>>,
): AsyncGenerator<readonly Entry[], void, undefined> {
  let last = ''
  let idle = 0
  for (let after: Marker | undefined; ; ) {
    const { entries, isTruncated, next } = await ask(after)
    if (isTruncated === undefined) throw new WrongAnswer(`${what}: the answer is no list`)
    yield entries
    if (!isTruncated) return
    if (next === undefined)
      throw new WrongAnswer(`${what}: a page says that more follows, but not where; the rest is not known`)
    const key = entries.at(-1)?.key ?? ''
    idle = key > last ? 0 : idle + 1
    if (key > last) last = key
    if (idle > maxIdle || JSON.stringify(next) === JSON.stringify(after))
      throw new WrongAnswer(`${what}: its pages repeat after ${JSON.stringify(last)}; the rest is not known`)
    after = next
  }
}
