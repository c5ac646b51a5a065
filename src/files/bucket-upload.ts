import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { FilesUnavailable, WrongAnswer } from '../lib/errors.ts'
import { type Client, createFairQueue, nobody, Overloaded } from '../lib/fair-queue.ts'
import { countPassed } from '../lib/memory.ts'
import type { Content } from '../model/items.ts'
import type { BucketClient } from './bucket-client.ts'
import {
  isKept,
  isWrong,
  PartedUpload,
  PartMemory,
  requireKept,
  type Sent,
  sentAtOnce,
} from './bucket-parts.ts'
import type { FilesStore } from './files.ts'

/** Bytes that an upload holds before it waits for memory for parts, which slow clients would keep from others. */
const heldAtFirst = 64 * 1024
/** Maximum number of uploads of an event loop that have memory for parts: 12 times 10 MiB, and 40 MiB more. */
const maxUploads = 12
/**
 * While another waits, an upload gives its memory up if its client brought fewer bytes than this in the time in
 * ms that Carrel waited for it. The others are asked every `look` ms.
 */
const leastBytes = 128 * 1024
const leastTime = 10_000
const look = 1_000
/** Pause in ms between two looks at a content that is being deleted, and maximum time in ms to wait for it. */
const claimPause = 200
const maxClaimWait = 10_000

interface Parts {
  readonly client: BucketClient
  readonly store: Pick<FilesStore, 'claimContent' | 'contentsInUse'>
  /** The key of a content. */
  readonly keyOf: (sha256: string) => string
  /** Makes a key for an upload whose content is not known yet. */
  readonly temporaryKey: () => string
}

/**
 * Stores contents in a bucket while they arrive (docs/decisions/0080). An upload holds two to four parts in memory,
 * which fill and are sent in turn. A client that sends slowly holds no connection to the bucket.
 */
export class BucketUploads {
  readonly #parts: Parts
  readonly #queue = createFairQueue({ max: maxUploads, maxWaiting: 200, maxWait: 20_000 })
  readonly #memory = new PartMemory()
  readonly #running = new Set<Arriving>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** @param from the client that sends the content */
  async put(pieces: AsyncIterable<Buffer>, from: Client): Promise<Content> {
    const rest = pieces[Symbol.asyncIterator]()
    try {
      const begun: Buffer[] = []
      let held = 0
      while (held <= heldAtFirst) {
        const next = await rest.next()
        if (next.done) {
          const bytes = Buffer.concat(begun)
          return await this.#putSmall(
            { sha256: createHash('sha256').update(bytes).digest('hex'), size: held },
            bytes,
          )
        }
        // The memory of a piece is used again once the next one is asked for.
        begun.push(Buffer.from(next.value))
        held += next.value.length
      }
      const leave = await this.#enter(from)
      const arriving = createArriving(rest, from.network)
      // Only clients can be too slow; Carrel's own files arrive as fast as they are read.
      if (from !== nobody) this.#running.add(arriving)
      try {
        return await this.#putLarge(begun, arriving)
      } finally {
        this.#running.delete(arriving)
        leave()
      }
    } finally {
      await rest.return?.()
    }
  }

  /** Waits for memory for parts, and takes it from a client that sends next to nothing, of this network first. */
  async #enter(from: Client): Promise<() => void> {
    const looking = setInterval(() => {
      const slow = [...this.#running].filter(one => one.isSlow())
      const one = slow.find(({ network }) => network === from.network) ?? slow[0]
      one?.giveUp(new Overloaded('The file came too slowly while others waited. Retry in a moment.'))
    }, look).unref()
    try {
      return await this.#queue.enter(from)
    } finally {
      clearInterval(looking)
    }
  }

  #putSmall(content: Content, bytes: Uint8Array): Promise<Content> {
    const { client } = this.#parts
    return this.#keepNew(content, key => client.put(key, bytes).then(() => false), sentAtOnce(bytes))
  }

  /** @param begun bytes that have arrived @param rest those that follow */
  async #putLarge(begun: readonly Buffer[], rest: Arriving): Promise<Content> {
    const { client, temporaryKey } = this.#parts
    const upload = new PartedUpload(client, temporaryKey(), this.#memory)
    try {
      for (const piece of begun) await upload.add(piece)
      for (let next = await rest.next(); !next.done; next = await rest.next()) {
        countPassed(next.value.length)
        await upload.add(next.value)
      }
      const { content, unsent } = await upload.end()
      if (unsent) return await this.#putSmall(content, unsent)
      return await this.#keepNew(content, to => upload.copyTo(to, content), upload.sent)
    } finally {
      await upload.close()
    }
  }

  /** Copies a content inside of the server. @param bucket the one that has it */
  copy(from: string, content: Content, bucket: string): Promise<Content> {
    return this.#keepNew(content, to => this.#parts.client.copy(from, to, content, bucket))
  }

  /**
   * Stores a content, unless the bucket has it. One that no bitstream has is read: it may be from an upload that ended
   * before that, or from one that is about to be acknowledged, which must not lose it.
   * @param write writes it, and returns true if that has compared it @param sent undefined if Carrel hasn't read it
   */
  async #keepNew(content: Content, write: (key: string) => Promise<boolean>, sent?: Sent): Promise<Content> {
    const { client, keyOf } = this.#parts
    const { sha256 } = content
    const key = keyOf(sha256)
    if (
      (await this.claim(content)) &&
      ((await this.#isInUse(sha256)) || (sent && (await isKept(client, key, sent))))
    )
      return content
    try {
      if (!(await write(key)) && sent) await requireKept(client, key, sent)
    } catch (error) {
      // Nothing may take it for the content. But if only an answer was wrong, another upload may rely on it.
      if (
        error instanceof WrongAnswer &&
        !(await this.#isInUse(sha256)) &&
        (await isWrong(client, key, content))
      )
        await client.remove([key]).catch(() => {})
      throw error
    }
    return content
  }

  async #isInUse(sha256: string): Promise<boolean> {
    return (await this.#parts.store.contentsInUse([sha256])).has(sha256)
  }

  /** Waits until no sweep can delete the content. @returns true if the bucket has it already */
  async claim({ sha256, size }: Content): Promise<boolean> {
    const { client, keyOf, store } = this.#parts
    for (let waited = 0; !(await store.claimContent(sha256)); waited += claimPause) {
      if (waited >= maxClaimWait)
        throw new FilesUnavailable(`the content ${sha256} is being deleted; try again in some minutes`)
      await delay(claimPause)
    }
    return (await client.size(keyOf(sha256))) === size
  }
}

/** Pieces that arrive, and how fast. */
interface Arriving {
  readonly network: string
  next(): Promise<IteratorResult<Buffer>>
  isSlow(): boolean
  /** Ends the wait for the next piece. */
  giveUp(reason: Error): void
}

function createArriving(pieces: AsyncIterator<Buffer>, network: string): Arriving {
  /** Time in ms spent waiting for the client, and bytes that came in it. */
  let waited = 0
  let came = 0
  let wasSlow = false
  let since: number | undefined
  let reject = (_: Error) => {}
  const isLate = (time: number) => time >= leastTime && came < leastBytes
  return {
    network,
    next: async () => {
      const begun = performance.now()
      since = begun
      try {
        const next = await new Promise<IteratorResult<Buffer>>((resolve, fail) => {
          reject = fail
          pieces.next().then(resolve, fail)
        })
        waited += performance.now() - begun
        if (!next.done) came += next.value.length
        if (waited >= leastTime) {
          wasSlow = isLate(waited)
          waited = 0
          came = 0
        }
        return next
      } finally {
        since = undefined
      }
    },
    // While a piece is being used, it is the bucket that is waited for.
    isSlow: () => since !== undefined && (wasSlow || isLate(waited + performance.now() - since)),
    giveUp: reason => reject(reason),
  }
}
