import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import * as s3 from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import type { BucketPlace } from '../config/files-place.ts'
import { WrongAnswer } from '../lib/errors.ts'
import type { Content } from '../model/items.ts'
import { locate, takeFrom } from './bucket-answers.ts'
import { translate } from './bucket-errors.ts'
import {
  attempts,
  BucketRequests,
  type CountRequest,
  type Listed,
  type Part,
  pagesOf,
  patience,
  type StreamedPart,
  settingsOf,
  type Wanted,
} from './bucket-requests.ts'

/** Time in ms for copies, during which the server may not answer anything. */
const copyLimit = 10 * 60_000
/** Pause in ms before an answer that has broken off is asked for again. */
const pause = 200

/**
 * Size in bytes up to which S3 copies an object by one request. Servers that share the bytes of copies do so only
 * then. Larger ones are copied in parts.
 */
const copyAtOnce = 5 * 1024 ** 3
/** Size of these parts in bytes, and number of them that are copied at the same time. */
const copiedPart = 1024 ** 3
const copiesAtOnce = 4

/** A bucket, as far as Carrel uses it. Each method throws FilesUnavailable or a kind of it. */
export class BucketClient {
  readonly #place: BucketPlace
  readonly #Bucket: string
  readonly #where: string
  readonly #client: s3.S3Client
  /** Waits for copies. */
  readonly #patient: s3.S3Client
  readonly #requests: BucketRequests
  /** False once the server has refused to compute the SHA-256 of a copy. */
  #computes = true

  constructor(place: BucketPlace, count: CountRequest) {
    this.#place = place
    this.#Bucket = place.bucket
    this.#where = `s3://${place.bucket}`
    const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY }
    const connections = { ...patience, throwOnRequestTimeout: true, httpAgent: agent, httpsAgent: agent }
    const clientWith = (requestHandler: typeof connections) =>
      new s3.S3Client({ ...settingsOf(place), requestHandler })
    this.#client = clientWith(connections)
    this.#patient = clientWith({ ...connections, requestTimeout: copyLimit })
    this.#requests = new BucketRequests(place, count)
  }

  /** Size of an object in bytes; undefined if there is none. */
  size(key: string): Promise<number | undefined> {
    return this.#requests.ask('read', options => this.#sizeOf(key, options))
  }

  async #sizeOf(Key: string, options: Options): Promise<number> {
    const command = new s3.HeadObjectCommand({ Bucket: this.#Bucket, Key })
    const { ContentLength } = await this.#client.send(command, options)
    if (ContentLength !== undefined) return ContentLength
    throw new WrongAnswer(`${this.#where}/${Key}: the answer to HEAD has no size`)
  }

  /** Reads bytes into memory; undefined if there is no such object. */
  read(key: string, wanted: Wanted): Promise<Part | undefined> {
    return this.#requests.ask('read', async options => {
      for (let left = attempts; ; ) {
        const { what, body, size, before, length } = await this.#get(key, wanted, options)
        try {
          return { size, before, bytes: await takeFrom(body, before, length, what) }
        } catch (error) {
          if (--left === 0 || options.abortSignal.aborted) throw error
          await delay(pause)
        }
      }
    })
  }

  /** Begins to read them. The caller bounds the number of such answers. */
  stream(key: string, wanted: Wanted): Promise<StreamedPart | undefined> {
    // The time limit is for the beginning of the answer.
    return this.#requests.ask('read', () => this.#get(key, wanted, {}))
  }

  /** Begins to read bytes. The answer may have others before them, and after. */
  async #get(Key: string, wanted: Wanted, options: Options) {
    const { start, end } = wanted
    const what = `${this.#where}/${Key}`
    const command = new s3.GetObjectCommand({ Bucket: this.#Bucket, Key, Range: `bytes=${start}-${end}` })
    const found = await this.#client.send(command, options).catch(error => {
      throw statusOf(error) === 416 ? new WrongAnswer(`${what}: it ends before byte ${start}`) : error
    })
    const body = found.Body as IncomingMessage
    try {
      return { what, body, ...(await locate(found, wanted, what, () => this.#sizeOf(Key, options))) }
    } catch (error) {
      body.destroy()
      throw error
    }
  }

  async put(Key: string, Body: Uint8Array): Promise<void> {
    const command = new s3.PutObjectCommand({ Bucket: this.#Bucket, Key, Body })
    await this.#requests.require('write', options => this.#client.send(command, options))
  }

  /** @returns the id of a multipart upload */
  async begin(Key: string): Promise<string> {
    const command = new s3.CreateMultipartUploadCommand({ Bucket: this.#Bucket, Key })
    const { UploadId } = await this.#requests.require('write', options => this.#client.send(command, options))
    return this.#given(UploadId, 'the id of an upload')
  }

  /** Sends a part, numbered from 1. @returns its entity tag */
  async sendPart(Key: string, UploadId: string, PartNumber: number, Body: Uint8Array): Promise<string> {
    const command = new s3.UploadPartCommand({ Bucket: this.#Bucket, Key, UploadId, PartNumber, Body })
    const { ETag } = await this.#requests.require('write', options => this.#client.send(command, options))
    return this.#given(ETag, 'the tag of a part')
  }

  /** Returns what an answer must have. */
  #given(value: string | undefined, name: string): string {
    if (value) return value
    throw new WrongAnswer(`${this.#where}: an answer lacks ${name}`)
  }

  /**
   * Makes an object of parts. The answer may be lost, and its repetition say that what it is made of is gone: the object
   * itself tells.
   * @param tags those of the parts, in their order @param size that of the object in bytes
   */
  async complete(Key: string, UploadId: string, tags: readonly string[], size: number): Promise<void> {
    const Parts = tags.map((ETag, at) => ({ ETag, PartNumber: at + 1 }))
    const parts = { Bucket: this.#Bucket, Key, UploadId, MultipartUpload: { Parts } }
    const command = new s3.CompleteMultipartUploadCommand(parts)
    try {
      await this.#requests.require('write', options => this.#patient.send(command, options), copyLimit)
    } catch (error) {
      const kept = await this.size(Key).catch(() => undefined)
      if (kept !== size) throw error
    }
  }

  /** Removes a multipart upload, if it is still there. */
  async abort(Key: string, UploadId: string): Promise<void> {
    const command = new s3.AbortMultipartUploadCommand({ Bucket: this.#Bucket, Key, UploadId })
    await this.#requests.ask('delete', options => this.#client.send(command, options))
  }

  /**
   * Copies an object inside of the server, and compares the size of what that has kept.
   * @param source its bucket, if it is another one @param length that of the parts, if it is to be copied in parts
   * @returns true if the server has computed the SHA-256 of the copy, and it is the right one
   */
  async copy(
    from: string,
    to: string,
    { sha256, size }: Content,
    source = this.#Bucket,
    length = copiedPart,
  ): Promise<boolean> {
    const CopySource = `${source}/${from.split('/').map(encodeURIComponent).join('/')}`
    const isAtOnce = length === copiedPart && size <= copyAtOnce
    const isCompared = isAtOnce && (await this.#copyWhole(CopySource, to, sha256))
    if (!isAtOnce) await this.#copyInParts(CopySource, to, size, length)
    const kept = await this.#requests.require('read', options => this.#sizeOf(to, options))
    if (kept === size) return isCompared
    throw new WrongAnswer(`${this.#where}/${to}: it was kept with ${kept} bytes instead of ${size}`)
  }

  /** @returns true if the server has computed the SHA-256 of the copy, and it is the expected one */
  async #copyWhole(CopySource: string, Key: string, sha256: string): Promise<boolean> {
    const { CopyObjectResult } = await this.#requests.require(
      'write',
      options => {
        const copyWith = (more: { readonly ChecksumAlgorithm?: 'SHA256' }) => {
          const command = new s3.CopyObjectCommand({ Bucket: this.#Bucket, Key, CopySource, ...more })
          return this.#patient.send(command, options)
        }
        if (!this.#computes) return copyWith({})
        return copyWith({ ChecksumAlgorithm: 'SHA256' }).catch(async error => {
          if (![400, 501].includes(statusOf(error))) throw error
          const copied = await copyWith({})
          this.#computes = false
          return copied
        })
      },
      copyLimit,
    )
    // One with a number behind it is made of those of parts.
    const digest = /^[\w+/]{43}=$/.exec(CopyObjectResult?.ChecksumSHA256 ?? '')?.[0]
    if (digest === undefined || digest === Buffer.from(sha256, 'hex').toString('base64'))
      return digest !== undefined
    throw new WrongAnswer(`${this.#where}/${Key}: the bucket has kept a copy with the SHA-256 ${digest}`)
  }

  async #copyInParts(CopySource: string, to: string, size: number, length: number): Promise<void> {
    const UploadId = await this.begin(to)
    try {
      const tags: string[] = []
      const numbers = Array.from({ length: Math.ceil(size / length) }, (_, at) => at).values()
      const copyNext = async () => {
        for (const at of numbers) {
          const end = Math.min(size, (at + 1) * length) - 1
          const CopySourceRange = `bytes=${at * length}-${end}`
          const part = { Bucket: this.#Bucket, Key: to, UploadId, PartNumber: at + 1 }
          const command = new s3.UploadPartCopyCommand({ ...part, CopySource, CopySourceRange })
          const { CopyPartResult } = await this.#requests.require(
            'write',
            options => this.#patient.send(command, options),
            copyLimit,
          )
          tags[at] = this.#given(CopyPartResult?.ETag, 'the tag of a part')
        }
      }
      await Promise.all(Array.from({ length: copiesAtOnce }, copyNext))
      await this.complete(to, UploadId, tags, size)
    } catch (error) {
      await this.abort(to, UploadId).catch(() => {})
      throw error
    }
  }

  async remove(keys: readonly string[]): Promise<void> {
    // One by one: servers differ in what they take of the request for several.
    for (const Key of keys) {
      const command = new s3.DeleteObjectCommand({ Bucket: this.#Bucket, Key })
      await this.#requests.ask('delete', options => this.#client.send(command, options))
    }
  }

  /** Lists objects in pages. @param MaxKeys the size of a page */
  list(Prefix: string, MaxKeys = 1000): AsyncGenerator<readonly (Listed & { readonly size: number })[]> {
    return pagesOf(`${this.#where}: the list of ${Prefix}`, async (ContinuationToken?: string) => {
      const wanted = { Bucket: this.#Bucket, Prefix, MaxKeys, ContinuationToken }
      const command = new s3.ListObjectsV2Command(wanted)
      const page = await this.#requests.require('list', options => this.#client.send(command, options))
      const { IsTruncated: isTruncated, NextContinuationToken: next, Contents = [] } = page
      const entries = Contents.map(({ Key: key = '', LastModified, Size: size = 0 }) => {
        return { key, size, modified: LastModified?.getTime() ?? 0 }
      })
      return { entries, isTruncated, next }
    })
  }

  /** Lists multipart uploads. @throws UnknownRequest if the server can't */
  uploads(Prefix: string): AsyncGenerator<readonly (Listed & { readonly upload: string })[]> {
    return pagesOf(`${this.#where}: the list of uploads in ${Prefix}`, async (after?: UploadMarker) => {
      const command = new s3.ListMultipartUploadsCommand({ Bucket: this.#Bucket, Prefix, ...after })
      const page = await this.#requests.require('list', options => this.#client.send(command, options))
      const { IsTruncated: isTruncated, NextKeyMarker, NextUploadIdMarker, Uploads = [] } = page
      const entries = Uploads.map(({ Key: key = '', UploadId: upload = '', Initiated }) => {
        return { key, upload, modified: Initiated?.getTime() ?? 0 }
      })
      const next = NextKeyMarker
        ? { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker }
        : undefined
      return { entries, isTruncated, next }
    })
  }

  /** Signs the address of an object. @param expiresIn seconds for which it is valid */
  sign(
    Key: string,
    { type, disposition }: { readonly type: string; readonly disposition: string },
    expiresIn: number,
  ): Promise<string> {
    const command = new s3.GetObjectCommand({
      Bucket: this.#Bucket,
      Key,
      ResponseContentType: type,
      ResponseContentDisposition: disposition,
      ResponseCacheControl: 'private, no-cache',
    })
    return getSignedUrl(this.#client, command, { expiresIn }).catch(error => {
      throw translate(error, this.#place)
    })
  }
}

type Options = { readonly abortSignal?: AbortSignal }
type UploadMarker = { readonly KeyMarker: string; readonly UploadIdMarker: string | undefined }

const statusOf = (error: unknown): number =>
  (error as { readonly $metadata?: { readonly httpStatusCode?: number } }).$metadata?.httpStatusCode ?? 0
