import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { maxBucketFile } from '../config/files-place.ts'
import { OperatorError } from '../lib/errors.ts'
import type { Content } from '../model/items.ts'
import type { BucketClient } from './bucket-client.ts'
import type { Sent } from './bucket-read.ts'

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

  /** Makes an object of the parts, and copies it. @returns true if the server has compared the copy */
  async copyTo(key: string, content: Content): Promise<boolean> {
    await this.#client.complete(this.#key, this.#id ?? '', this.#tags, this.#size)
    this.#isComplete = true
    return this.#client.copy(this.#key, key, content)
  }

  /** Gives the memory back, and removes what was sent. */
  async close(): Promise<void> {
    // The memory is used until the last part is sent.
    await Promise.all(this.#sending)
    if (this.#buffer) this.#buffers.giveBack(this.#buffer)
    this.#buffers.close()
    // What can't be removed now is left to a sweep.
    if (this.#isComplete) await this.#client.remove([this.#key]).catch(() => {})
    else if (this.#id !== undefined) await this.#client.abort(this.#key, this.#id).catch(() => {})
  }
}
