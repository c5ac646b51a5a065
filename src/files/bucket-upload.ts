import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { maxBucketFile } from '../config/files-place.ts'
import { FilesUnavailable, OperatorError, WrongAnswer } from '../lib/errors.ts'
import { type Client, createFairQueue, nobody, Overloaded } from '../lib/fair-queue.ts'
import { countPassed } from '../lib/memory.ts'
import type { Content } from '../model/items.ts'
import type { BucketClient } from './bucket-client.ts'
import { isKept, isWrong, requireKept, type Sent, sentAtOnce } from './bucket-read.ts'
import type { FilesStore } from './files.ts'

/** Size of a part in bytes, the least that S3 takes. All parts but the last have the same. */
const partSize = 5 * 1024 * 1024
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
/** Number of parts for which each upload has memory: one fills while the other is sent. */
const ownBuffers = 2
/** Maximum number for a fast upload, and for all uploads together beyond two each. */
const maxBuffers = 4
const maxFurther = 8
/** Number of buffers that are kept for later uploads. */
const maxSpare = 4

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
export function createBucketUploads({ client, store, keyOf, temporaryKey }: Parts) {
  const queue = createFairQueue({ max: maxUploads, maxWaiting: 200, maxWait: 20_000 })
  const spare: Buffer[] = []
  let further = 0

  /** The memory of an upload. All of its own is given back before it is closed. */
  function takeBuffers() {
    const free: Buffer[] = []
    let own = 0
    const mayHaveMore = () => own < ownBuffers || (own < maxBuffers && further < maxFurther)
    return {
      /** @returns undefined if a part has to be sent first */
      take: (): Buffer | undefined => {
        const kept = free.pop()
        if (kept || !mayHaveMore()) return kept
        if (++own > ownBuffers) further++
        return spare.pop() ?? Buffer.allocUnsafeSlow(partSize)
      },
      giveBack: (buffer: Buffer) => {
        free.push(buffer)
      },
      close: () => {
        further -= Math.max(0, own - ownBuffers)
        spare.push(...free.splice(0, maxSpare - spare.length))
      },
    }
  }

  const running = new Set<Arriving>()

  /** Waits for memory for parts, and takes it from a client that sends next to nothing, of this network first. */
  async function enter(from: Client): Promise<() => void> {
    const looking = setInterval(() => {
      const slow = [...running].filter(one => one.isSlow())
      const one = slow.find(({ network }) => network === from.network) ?? slow[0]
      one?.giveUp(new Overloaded('The file came too slowly while others waited. Retry in a moment.'))
    }, look).unref()
    try {
      return await queue.enter(from)
    } finally {
      clearInterval(looking)
    }
  }

  /** Waits until no sweep can delete the content. @returns true if the bucket has it already */
  async function claim({ sha256, size }: Content): Promise<boolean> {
    for (let waited = 0; !(await store.claimContent(sha256)); waited += claimPause) {
      if (waited >= maxClaimWait)
        throw new FilesUnavailable(`the content ${sha256} is being deleted; try again in some minutes`)
      await delay(claimPause)
    }
    return (await client.size(keyOf(sha256))) === size
  }

  const isInUse = async (sha256: string) => (await store.contentsInUse([sha256])).has(sha256)
  /**
   * Stores a content, unless the bucket has it. One that no bitstream has is read: it may be from an upload that ended
   * before that, or from one that is about to be acknowledged, which must not lose it.
   * @param write writes it, and returns true if that has compared it @param sent undefined if Carrel hasn't read it
   */
  async function keepNew(content: Content, write: (key: string) => Promise<boolean>, sent?: Sent) {
    const { sha256 } = content
    const key = keyOf(sha256)
    if ((await claim(content)) && ((await isInUse(sha256)) || (sent && (await isKept(client, key, sent)))))
      return content
    try {
      if (!(await write(key)) && sent) await requireKept(client, key, sent)
    } catch (error) {
      // Nothing may take it for the content. But if only an answer was wrong, another upload may rely on it.
      if (error instanceof WrongAnswer && !(await isInUse(sha256)) && (await isWrong(client, key, content)))
        await client.remove([key]).catch(() => {})
      throw error
    }
    return content
  }
  const putSmall = (content: Content, bytes: Uint8Array) =>
    keepNew(content, key => client.put(key, bytes).then(() => false), sentAtOnce(bytes))

  /** @param begun bytes that have arrived @param rest those that follow */
  async function putLarge(begun: readonly Buffer[], rest: Arriving): Promise<Content> {
    const sum = createHash('sha256')
    const key = temporaryKey()
    const tags: string[] = []
    const sums: number[] = []
    const buffers = takeBuffers()
    let buffer: Buffer | undefined
    let filled = 0
    let size = 0
    let upload: string | undefined
    const sending = new Set<Promise<void>>()
    let failure: unknown
    let isComplete = false

    /** Sends a part. A failure is thrown when the next part is full. */
    async function send(part: Buffer, length: number, number: number, id: string): Promise<void> {
      try {
        tags[number - 1] = await client.sendPart(key, id, number, part.subarray(0, length))
      } catch (error) {
        failure ??= error
      }
      buffers.giveBack(part)
    }
    async function flush(part: Buffer): Promise<void> {
      if (failure !== undefined) throw failure
      if (size > maxBucketFile) throw new OperatorError('a file in a bucket may have at most 50,000 MB')
      upload ??= await client.begin(key)
      sums.push(crc32(part.subarray(0, filled)))
      const sent: Promise<void> = send(part, filled, tags.push(''), upload).finally(() =>
        sending.delete(sent),
      )
      sending.add(sent)
      buffer = undefined
      filled = 0
    }
    async function bufferFor(): Promise<Buffer> {
      for (;;) {
        const taken = buffers.take()
        if (taken) return taken
        await Promise.race(sending)
      }
    }
    async function add(piece: Buffer): Promise<void> {
      sum.update(piece)
      size += piece.length
      for (let at = 0; at < piece.length; ) {
        // A file of one full part is sent by a single PUT.
        if (buffer && filled === partSize) await flush(buffer)
        buffer ??= await bufferFor()
        const copied = piece.copy(buffer, filled, at)
        at += copied
        filled += copied
      }
    }

    try {
      for (const piece of begun) await add(piece)
      for (let next = await rest.next(); !next.done; next = await rest.next()) {
        countPassed(next.value.length)
        await add(next.value)
      }
      const content = { sha256: sum.digest('hex'), size }
      const last = buffer ?? (await bufferFor())
      if (upload === undefined) return await putSmall(content, last.subarray(0, filled))
      await flush(last)
      await Promise.all(sending)
      if (failure !== undefined) throw failure
      const id = upload
      const write = async (to: string) => {
        await client.complete(key, id, tags, size)
        isComplete = true
        return client.copy(key, to, content)
      }
      return await keepNew(content, write, { size, partSize, sums })
    } finally {
      // The memory is used until the last part is sent.
      await Promise.all(sending)
      if (buffer) buffers.giveBack(buffer)
      buffers.close()
      // What can't be removed now is left to a sweep.
      if (isComplete) await client.remove([key]).catch(() => {})
      else if (upload !== undefined) await client.abort(key, upload).catch(() => {})
    }
  }

  return {
    claim,
    /** Copies a content inside of the server. @param bucket the one that has it */
    copy: (from: string, content: Content, bucket: string) =>
      keepNew(content, to => client.copy(from, to, content, bucket)),
    /** @param from the client that sends the content */
    put: async (pieces: AsyncIterable<Buffer>, from: Client): Promise<Content> => {
      const rest = pieces[Symbol.asyncIterator]()
      try {
        const begun: Buffer[] = []
        let held = 0
        while (held <= heldAtFirst) {
          const next = await rest.next()
          if (next.done) {
            const bytes = Buffer.concat(begun)
            return await putSmall(
              { sha256: createHash('sha256').update(bytes).digest('hex'), size: held },
              bytes,
            )
          }
          // The memory of a piece is used again once the next one is asked for.
          begun.push(Buffer.from(next.value))
          held += next.value.length
        }
        const leave = await enter(from)
        const arriving = createArriving(rest, from.network)
        // What Carrel reads itself is as fast as its source.
        if (from !== nobody) running.add(arriving)
        try {
          return await putLarge(begun, arriving)
        } finally {
          running.delete(arriving)
          leave()
        }
      } finally {
        await rest.return?.()
      }
    },
  }
}

/** Pause in ms between two looks at a content that is being deleted, and maximum time in ms to wait for it. */
const claimPause = 200
const maxClaimWait = 10_000

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
