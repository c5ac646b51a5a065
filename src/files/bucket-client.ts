import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import * as s3 from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { type BucketPlace, placeText } from '../config/files-place.ts'
import { FilesUnavailable, WrongAnswer } from '../lib/errors.ts'
import { createFairQueue, nobody } from '../lib/fair-queue.ts'
import type { BucketOperation } from '../model/measures.ts'
import { locate, takeFrom } from './bucket-answers.ts'
import { isMissing, translate } from './bucket-errors.ts'
import { pagesOf } from './bucket-lists.ts'
import type { BucketClient, CountRequest, Wanted } from './bucket-requests.ts'

/** Time in ms for a connection, for the headers of an answer, and without any byte. */
const patience = { connectionTimeout: 5_000, requestTimeout: 10_000, socketTimeout: 20_000 }
/** Number of times that a request is made before it fails, and time in ms after which no other begins. */
const attempts = 4
const limit = 30_000
/** Time in ms for copies, during which the server may not answer anything. */
const copyLimit = 10 * 60_000
/**
 * Maximum number of requests that are under way for a bucket, and time in ms that another waits for its turn.
 * It waits here, not for a connection of the library's pool: the library counts that time as the server's.
 */
const maxRequests = 128
const maxWait = 30_000
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

export function createBucketClient(place: BucketPlace, count: CountRequest): BucketClient {
  const { bucket: Bucket, endpoint, pathStyle } = place
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY }
  const requests = createFairQueue({ max: maxRequests, maxOfOne: maxRequests, maxWait })
  const settings: s3.S3ClientConfig = {
    ...(endpoint === null ? {} : { endpoint }),
    ...regionOf(place),
    forcePathStyle: pathStyle,
    maxAttempts: attempts,
    retryMode: 'standard',
    // Bodies are signed with their SHA-256; many servers know no other checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Parts are small, and some servers don't answer `Expect`.
    expectContinueHeader: false,
    // The library's own lines would go to standard error.
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, trace: () => {} },
  }
  const clientWith = (requestTimeout: number) =>
    new s3.S3Client({
      ...settings,
      requestHandler: {
        ...patience,
        requestTimeout,
        throwOnRequestTimeout: true,
        httpAgent: agent,
        httpsAgent: agent,
      },
    })
  const where = `s3://${Bucket}`
  const client = clientWith(patience.requestTimeout)
  const patient = clientWith(copyLimit)
  /** False once the server has refused to compute the SHA-256 of a copy. */
  let computes = true

  /** Makes a request. @returns undefined if there is no such object or upload */
  async function ask<T>(
    operation: BucketOperation,
    request: (abortSignal: { readonly abortSignal: AbortSignal }) => Promise<T>,
    time = limit,
  ): Promise<T | undefined> {
    const leave = await requests.enter(nobody)
    try {
      const answer = await request({ abortSignal: AbortSignal.timeout(time) })
      count(operation, 'success')
      return answer
    } catch (error) {
      if (isMissing(error)) {
        count(operation, 'success')
        return undefined
      }
      count(operation, 'failure')
      if (error instanceof FilesUnavailable) throw error
      throw translate(error, place)
    } finally {
      leave()
    }
  }

  async function sizeOf(Key: string, options: Options = {}): Promise<number> {
    const { ContentLength } = await client.send(new s3.HeadObjectCommand({ Bucket, Key }), options)
    if (ContentLength !== undefined) return ContentLength
    throw new WrongAnswer(`${where}/${Key}: the answer to HEAD has no size`)
  }

  /** Begins to read bytes. The answer may have others before them, and after. */
  async function get(Key: string, wanted: Wanted, options: Options = {}) {
    const { start, end } = wanted
    const what = `${where}/${Key}`
    const command = new s3.GetObjectCommand({ Bucket, Key, Range: `bytes=${start}-${end}` })
    const found = await client.send(command, options).catch(error => {
      throw statusOf(error) === 416 ? new WrongAnswer(`${what}: it ends before byte ${start}`) : error
    })
    const body = found.Body as IncomingMessage
    try {
      return { what, body, ...(await locate(found, wanted, what, () => sizeOf(Key, options))) }
    } catch (error) {
      body.destroy()
      throw error
    }
  }

  /** Returns what an answer must have. */
  function given(value: string | undefined, name: string): string {
    if (value) return value
    throw new WrongAnswer(`${where}: an answer lacks ${name}`)
  }

  /** Makes a request about something that must be there. */
  async function require<T>(...request: Parameters<typeof ask<T>>): Promise<T> {
    const answer = await ask<T>(...request)
    if (answer !== undefined) return answer
    throw new FilesUnavailable(`${placeText(place)}: what was being written was removed meanwhile`)
  }

  async function begin(Key: string): Promise<string> {
    const { UploadId } = await require('write', options =>
      client.send(new s3.CreateMultipartUploadCommand({ Bucket, Key }), options))
    return given(UploadId, 'the id of an upload')
  }
  /**
   * Makes an object. The answer may be lost, and its repetition say that what it is made of is gone: the object
   * itself tells.
   */
  async function make(Key: string, size: number, request: () => Promise<unknown>): Promise<void> {
    try {
      await request()
    } catch (error) {
      const kept = await ask('read', options => sizeOf(Key, options)).catch(() => undefined)
      if (kept !== size) throw error
    }
  }

  async function complete(Key: string, UploadId: string, tags: readonly string[], size: number) {
    const Parts = tags.map((ETag, at) => ({ ETag, PartNumber: at + 1 }))
    const parts = { Bucket, Key, UploadId, MultipartUpload: { Parts } }
    const command = new s3.CompleteMultipartUploadCommand(parts)
    await make(Key, size, () => require('write', options => patient.send(command, options), copyLimit))
  }
  async function abort(Key: string, UploadId: string): Promise<void> {
    const command = new s3.AbortMultipartUploadCommand({ Bucket, Key, UploadId })
    await ask('delete', options => client.send(command, options))
  }

  /** @returns true if the server has computed the SHA-256 of the copy, and it is the expected one */
  async function copyWhole(CopySource: string, Key: string, sha256: string): Promise<boolean> {
    const { CopyObjectResult } = await require('write', options => {
      const copyWith = (more: { readonly ChecksumAlgorithm?: 'SHA256' }) =>
        patient.send(new s3.CopyObjectCommand({ Bucket, Key, CopySource, ...more }), options)
      if (!computes) return copyWith({})
      return copyWith({ ChecksumAlgorithm: 'SHA256' }).catch(async error => {
        if (![400, 501].includes(statusOf(error))) throw error
        const copied = await copyWith({})
        computes = false
        return copied
      })
    }, copyLimit)
    // One with a number behind it is made of those of parts.
    const digest = /^[\w+/]{43}=$/.exec(CopyObjectResult?.ChecksumSHA256 ?? '')?.[0]
    if (digest === undefined || digest === Buffer.from(sha256, 'hex').toString('base64'))
      return digest !== undefined
    throw new WrongAnswer(`${where}/${Key}: the bucket has kept a copy with the SHA-256 ${digest}`)
  }

  async function copyInParts(CopySource: string, to: string, size: number, length: number): Promise<void> {
    const UploadId = await begin(to)
    try {
      const tags: string[] = []
      const numbers = Array.from({ length: Math.ceil(size / length) }, (_, at) => at).values()
      const copyNext = async () => {
        for (const at of numbers) {
          const end = Math.min(size, (at + 1) * length) - 1
          const CopySourceRange = `bytes=${at * length}-${end}`
          const part = { Bucket, Key: to, UploadId, PartNumber: at + 1, CopySource, CopySourceRange }
          const command = new s3.UploadPartCopyCommand(part)
          const { CopyPartResult } = await require('write', options =>
            patient.send(command, options), copyLimit)
          tags[at] = given(CopyPartResult?.ETag, 'the tag of a part')
        }
      }
      await Promise.all(Array.from({ length: copiesAtOnce }, copyNext))
      await complete(to, UploadId, tags, size)
    } catch (error) {
      await abort(to, UploadId).catch(() => {})
      throw error
    }
  }

  return {
    begin,
    complete,
    abort,
    size: Key => ask('read', options => sizeOf(Key, options)),
    read: (Key, wanted) =>
      ask('read', async options => {
        for (let left = attempts; ; ) {
          const { what, body, size, before, length } = await get(Key, wanted, options)
          try {
            return { size, before, bytes: await takeFrom(body, before, length, what) }
          } catch (error) {
            if (--left === 0 || options.abortSignal.aborted) throw error
            await delay(pause)
          }
        }
      }),
    // The time limit is for the beginning of the answer.
    stream: (Key, wanted) => ask('read', () => get(Key, wanted)),
    put: async (Key, Body) => {
      await require('write', options => client.send(new s3.PutObjectCommand({ Bucket, Key, Body }), options))
    },
    sendPart: async (Key, UploadId, PartNumber, Body) => {
      const command = new s3.UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body })
      const { ETag } = await require('write', options => client.send(command, options))
      return given(ETag, 'the tag of a part')
    },
    copy: async (from, to, { sha256, size }, source = Bucket, length = copiedPart) => {
      const CopySource = `${source}/${from.split('/').map(encodeURIComponent).join('/')}`
      const isAtOnce = length === copiedPart && size <= copyAtOnce
      const isCompared = isAtOnce && (await copyWhole(CopySource, to, sha256))
      if (!isAtOnce) await copyInParts(CopySource, to, size, length)
      const kept = await require('read', options => sizeOf(to, options))
      if (kept === size) return isCompared
      throw new WrongAnswer(`${where}/${to}: it was kept with ${kept} bytes instead of ${size}`)
    },
    remove: async keys => {
      // One by one: servers differ in what they take of the request for several.
      for (const Key of keys)
        await ask('delete', options => client.send(new s3.DeleteObjectCommand({ Bucket, Key }), options))
    },
    list: (Prefix, MaxKeys = 1000) =>
      pagesOf(`${where}: the list of ${Prefix}`, async (ContinuationToken?: string) => {
        const command = new s3.ListObjectsV2Command({ Bucket, Prefix, MaxKeys, ContinuationToken })
        const page = await require('list', options => client.send(command, options))
        const { IsTruncated: isTruncated, NextContinuationToken: next, Contents = [] } = page
        const entries = Contents.map(({ Key: key = '', LastModified, Size: size = 0 }) => ({
          ...{ key, size, modified: LastModified?.getTime() ?? 0 },
        }))
        return { entries, isTruncated, next }
      }),
    uploads: Prefix =>
      pagesOf(`${where}: the list of uploads in ${Prefix}`, async (after?: UploadMarker) => {
        const command = new s3.ListMultipartUploadsCommand({ Bucket, Prefix, ...after })
        const page = await require('list', options => client.send(command, options))
        const { IsTruncated: isTruncated, NextKeyMarker, NextUploadIdMarker, Uploads = [] } = page
        const entries = Uploads.map(({ Key: key = '', UploadId: upload = '', Initiated }) => ({
          ...{ key, upload, modified: Initiated?.getTime() ?? 0 },
        }))
        const next = NextKeyMarker
          ? { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker }
          : undefined
        return { entries, isTruncated, next }
      }),
    sign: (Key, { type, disposition }, expiresIn) =>
      getSignedUrl(
        client,
        new s3.GetObjectCommand({
          ...{ Bucket, Key },
          ResponseContentType: type,
          ResponseContentDisposition: disposition,
          ResponseCacheControl: 'private, no-cache',
        }),
        { expiresIn },
      ).catch(error => {
        throw translate(error, place)
      }),
  }
}

type Options = { readonly abortSignal?: AbortSignal }
type UploadMarker = { readonly KeyMarker: string; readonly UploadIdMarker: string | undefined }

const statusOf = (error: unknown): number =>
  (error as { readonly $metadata?: { readonly httpStatusCode?: number } }).$metadata?.httpStatusCode ?? 0

/** Only Amazon's regions have to be right; other servers take any. */
const regionOf = ({ endpoint, region }: BucketPlace): { region?: string } => {
  const given = region ?? (endpoint === null ? null : (process.env.AWS_REGION ?? 'us-east-1'))
  return given === null ? {} : { region: given }
}
