import { createHash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { maxBucketFile } from '../config/files-place.ts'
import { OperatorError, WrongAnswer } from '../lib/errors.ts'
import type { Content } from '../model/items.ts'
import type { BucketClient } from './bucket-client.ts'
import { openObject } from './bucket-read.ts'
import type { Opened } from './opened.ts'
import { examine } from './verify.ts'

/** Size of a part in bytes, the least that S3 takes. All parts but the last have the same. */
const partSize = 5 * 1024 * 1024
/** Number of parts for which each upload has memory: one fills while the other is sent. */
const ownBuffers = 2
/** Maximum number for a fast upload, and for all uploads together beyond two each. */
const maxBuffers = 4
const maxFurther = 8
/** Number of buffers that are kept for later uploads. */
const maxSpare = 4

/** Memory for the parts of all uploads of an event loop. */
export class PartMemory {
  readonly #spare: Buffer[] = []
  #further = 0

  /** Gives an upload its memory. All of it is given back before it is closed. */
  open() {
    const free: Buffer[] = []
    let own = 0
    const mayHaveMore = () => own < ownBuffers || (own < maxBuffers && this.#further < maxFurther)
    return {
      /** @returns undefined if a part has to be sent first */
      take: (): Buffer | undefined => {
        const kept = free.pop()
        if (kept || !mayHaveMore()) return kept
        if (++own > ownBuffers) this.#further++
        return this.#spare.pop() ?? Buffer.allocUnsafeSlow(partSize)
      },
      giveBack: (buffer: Buffer) => {
        free.push(buffer)
      },
      close: () => {
        this.#further -= Math.max(0, own - ownBuffers)
        this.#spare.push(...free.splice(0, maxSpare - this.#spare.length))
      },
    }
  }
}

/** An object that is sent in parts while its bytes arrive, under a key that is not yet that of its content. */
export class PartedUpload {
  readonly #client: BucketClient
  readonly #key: string
  readonly #buffers: ReturnType<PartMemory['open']>
  readonly #sum = createHash('sha256')
  readonly #tags: string[] = []
  readonly #sums: number[] = []
  readonly #sending = new Set<Promise<void>>()
  #buffer: Buffer | undefined
  #filled = 0
  #size = 0
  #id: string | undefined
  #failure: unknown
  #isComplete = false

  constructor(client: BucketClient, key: string, memory: PartMemory) {
    this.#client = client
    this.#key = key
    this.#buffers = memory.open()
  }

  async add(piece: Buffer): Promise<void> {
    this.#sum.update(piece)
    this.#size += piece.length
    for (let at = 0; at < piece.length; ) {
      // A file of one full part is sent by a single PUT.
      if (this.#buffer && this.#filled === partSize) await this.#flush(this.#buffer)
      this.#buffer ??= await this.#takeBuffer()
      const copied = piece.copy(this.#buffer, this.#filled, at)
      at += copied
      this.#filled += copied
    }
  }

  async #takeBuffer(): Promise<Buffer> {
    for (;;) {
      const taken = this.#buffers.take()
      if (taken) return taken
      await Promise.race(this.#sending)
    }
  }

  async #flush(part: Buffer): Promise<void> {
    this.#throwFailure()
    if (this.#size > maxBucketFile) throw new OperatorError('a file in a bucket may have at most 50,000 MB')
    this.#id ??= await this.#client.begin(this.#key)
    const bytes = part.subarray(0, this.#filled)
    this.#sums.push(crc32(bytes))
    const sent: Promise<void> = this.#send(part, bytes, this.#tags.push(''), this.#id).finally(() =>
      this.#sending.delete(sent),
    )
    this.#sending.add(sent)
    this.#buffer = undefined
    this.#filled = 0
  }

  /** Sends a part. A failure is thrown when the next part is full. */
  async #send(part: Buffer, bytes: Buffer, number: number, id: string): Promise<void> {
    try {
      this.#tags[number - 1] = await this.#client.sendPart(this.#key, id, number, bytes)
    } catch (error) {
      this.#failure ??= error
    }
    this.#buffers.giveBack(part)
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Ends the bytes. @returns all of them if they are so few that none was sent */
  async end(): Promise<{ readonly content: Content; readonly unsent: Buffer | undefined }> {
    const content = { sha256: this.#sum.digest('hex'), size: this.#size }
    this.#buffer ??= await this.#takeBuffer()
    if (this.#id === undefined) return { content, unsent: this.#buffer.subarray(0, this.#filled) }
    await this.#flush(this.#buffer)
    await Promise.all(this.#sending)
    this.#throwFailure()
    return { content, unsent: undefined }
  }

  get sent(): Sent {
    return { size: this.#size, partSize, sums: this.#sums }
  }

  /** Makes an object of the parts, which stays. */
  async complete(): Promise<void> {
    await this.#client.complete(this.#key, this.#id ?? '', this.#tags, this.#size)
    this.#id = undefined
  }

  /** Makes an object of the parts, and copies it. @returns true if the server has compared the copy */
  async copyTo(key: string, content: Content): Promise<boolean> {
    await this.complete()
    this.#isComplete = true
    return this.#client.copy(this.#key, key, content)
  }

  /** Gives the memory back, and removes what was sent. */
  async close(): Promise<void> {
    // The memory is used until the last part is sent.
    await Promise.all(this.#sending)
    if (this.#buffer) this.#buffers.giveBack(this.#buffer)
    this.#buffers.close()
    // If this fails, a sweep removes it later.
    if (this.#isComplete) await this.#client.remove([this.#key]).catch(() => {})
    else if (this.#id !== undefined) await this.#client.abort(this.#key, this.#id).catch(() => {})
  }
}

/** An object as it was sent: its size, and the CRC-32 of each part. All parts but the last have the same length. */
export interface Sent {
  readonly size: number
  readonly partSize: number
  readonly sums: readonly number[]
}

/** Maximum number of parts that are read again after they were sent; of more, the last and some by chance. */
const maxPartsAgain = 13
/** Number of those that are read at the same time: far from a bucket, each costs a round trip. */
const partsAtOnce = 3
const piece = 256 * 1024

/** Reads an object again that was just written. @throws WrongAnswer if the bucket hasn't kept what was sent */
export async function requireKept(
  client: BucketClient,
  key: string,
  { size, partSize, sums }: Sent,
): Promise<void> {
  const isAll = sums.length <= maxPartsAgain
  const parts = (isAll ? [...sums.keys()] : partsByChance(sums.length)).values()
  async function readOn(): Promise<void> {
    const buffer = Buffer.allocUnsafe(Math.min(piece, size))
    let file: Opened | undefined
    try {
      for (const part of parts) {
        const [start, end] = [part * partSize, Math.min(size, (part + 1) * partSize)]
        const last = isAll ? size - 1 : end - 1
        file?.expect(last)
        file ??= await openObject(client, key, { start, end: last }, size)
        if (!file) throw new WrongAnswer(`${key}: it is not there after it was written`)
        let sum = 0
        for (let at = start; at < end; ) {
          const { bytesRead } = await file.read(buffer, 0, Math.min(piece, end - at), at)
          sum = crc32(buffer.subarray(0, bytesRead), sum)
          at += bytesRead
        }
        if (sum !== sums[part])
          throw new WrongAnswer(`${key}: the bucket has kept other bytes than were sent`)
      }
    } finally {
      await file?.close()
    }
  }
  await Promise.all(Array.from({ length: isAll ? 1 : partsAtOnce }, readOn))
}

export const sentAtOnce = (bytes: Uint8Array): Sent => {
  const size = bytes.length
  return { size, partSize: size, sums: [crc32(bytes)] }
}

/** Writes an object and reads it again. */
export async function putAndCheck(client: BucketClient, key: string, bytes: Uint8Array): Promise<void> {
  await client.put(key, bytes)
  await requireKept(client, key, sentAtOnce(bytes))
}

/** True if the bucket has what was sent, as far as that is read again. */
export const isKept = (client: BucketClient, key: string, sent: Sent): Promise<boolean> =>
  requireKept(client, key, sent).then(
    () => true,
    error => {
      if (error instanceof WrongAnswer) return false
      throw error
    },
  )

/** True if an object was read whole, and is not the content. */
export async function isWrong(client: BucketClient, key: string, content: Content): Promise<boolean> {
  const found = await examine({ open: () => openObject(client, key) }, content).catch(() => undefined)
  return found?.reason !== undefined
}

/** @returns the first part, the last, and others, in their order */
const partsByChance = (count: number): readonly number[] => {
  const parts = new Set([0, count - 1])
  while (parts.size < maxPartsAgain) parts.add(randomInt(count))
  return [...parts].sort((one, other) => one - other)
}
