import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import * as s3 from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { type BucketPlace, placeText } from '../config/files-place.ts'
import { FilesUnavailable } from '../lib/errors.ts'
import { createFairQueue, nobody } from '../lib/fair-queue.ts'
import type { BucketOperation, Measures } from '../model/measures.ts'
import { isMissing, translate } from './bucket-errors.ts'

/** An object or an upload, as lists show it. */
interface Listed {
  readonly key: string
  /** In ms since 1970. */
  readonly modified: number
}

/** Bytes of an object. */
export interface Part {
  /** Size of the whole object in bytes. */
  readonly size: number
  readonly bytes: Buffer
}

/** Bytes of an object at the pace of their reader, who has the connection until they have ended or are destroyed. */
export interface StreamedPart extends Pick<Part, 'size'> {
  readonly body: IncomingMessage
}

/** Requests to a bucket, as far as Carrel makes them. Each throws FilesUnavailable or MisconfiguredFiles. */
export interface BucketClient {
  /** Size of an object in bytes; undefined if there is none. */
  size(key: string): Promise<number | undefined>
  /** Reads bytes from `start` to `end` into memory; undefined if there is no such object. */
  read(key: string, start: number, end: number): Promise<Part | undefined>
  /** Begins to read them. The caller bounds the number of such answers. */
  stream(key: string, start: number, end: number): Promise<StreamedPart | undefined>
  put(key: string, bytes: Uint8Array): Promise<void>
  /** @returns the id of a multipart upload */
  begin(key: string): Promise<string>
  /** Sends a part, numbered from 1. @returns its entity tag */
  sendPart(key: string, upload: string, number: number, bytes: Uint8Array): Promise<string>
  /** @param tags those of the parts, in their order */
  complete(key: string, upload: string, tags: readonly string[]): Promise<void>
  /** Removes a multipart upload, if it is still there. */
  abort(key: string, upload: string): Promise<void>
  /** Copies an object inside of the server. @param source its bucket, if it is another one */
  copy(from: string, to: string, size: number, source?: string): Promise<void>
  remove(keys: readonly string[]): Promise<void>
  /** Lists objects in pages. @param most the size of a page */
  list(prefix: string, most?: number): AsyncIterable<readonly (Listed & { readonly size: number })[]>
  uploads(prefix: string): AsyncIterable<readonly (Listed & { readonly upload: string })[]>
  /** Signs the address of an object. @param seconds for which it is valid */
  sign(key: string, headers: SignedHeaders, seconds: number): Promise<string>
}

/** Headers of the answer of a signed address. */
export interface SignedHeaders {
  readonly type: string
  readonly disposition: string
}

/** Called for each request when it has ended, for metrics. */
export type CountRequest = Measures['bucketRequest']

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
  const client = clientWith(patience.requestTimeout)
  const patient = clientWith(copyLimit)

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
      throw translate(error, place)
    } finally {
      leave()
    }
  }
  const get = (Key: string, start: number, end: number) =>
    new s3.GetObjectCommand({ Bucket, Key, Range: `bytes=${start}-${end}` })

  /** Makes a request about something that must be there. */
  async function require<T>(...request: Parameters<typeof ask<T>>): Promise<T> {
    const answer = await ask<T>(...request)
    if (answer !== undefined) return answer
    throw new FilesUnavailable(`${placeText(place)}: what was being written was removed meanwhile`)
  }

  async function begin(Key: string): Promise<string> {
    const { UploadId } = await require('write', options =>
      client.send(new s3.CreateMultipartUploadCommand({ Bucket, Key }), options))
    return UploadId ?? ''
  }
  async function complete(Key: string, UploadId: string, tags: readonly string[]): Promise<void> {
    const Parts = tags.map((ETag, at) => ({ ETag, PartNumber: at + 1 }))
    const command = new s3.CompleteMultipartUploadCommand({
      ...{ Bucket, Key, UploadId },
      MultipartUpload: { Parts },
    })
    await require('write', options => patient.send(command, options), copyLimit)
  }
  async function abort(Key: string, UploadId: string): Promise<void> {
    await ask('delete', options =>
      client.send(new s3.AbortMultipartUploadCommand({ Bucket, Key, UploadId }), options),
    )
  }

  async function copyInParts(CopySource: string, to: string, size: number): Promise<void> {
    const UploadId = await begin(to)
    try {
      const tags: string[] = []
      const numbers = Array.from({ length: Math.ceil(size / copiedPart) }, (_, at) => at).values()
      const copyNext = async () => {
        for (const at of numbers) {
          const end = Math.min(size, (at + 1) * copiedPart) - 1
          const CopySourceRange = `bytes=${at * copiedPart}-${end}`
          const part = { Bucket, Key: to, UploadId, PartNumber: at + 1, CopySource, CopySourceRange }
          const command = new s3.UploadPartCopyCommand(part)
          const { CopyPartResult } = await require('write', options =>
            patient.send(command, options), copyLimit)
          tags[at] = CopyPartResult?.ETag ?? ''
        }
      }
      await Promise.all(Array.from({ length: copiesAtOnce }, copyNext))
      await complete(to, UploadId, tags)
    } catch (error) {
      await abort(to, UploadId).catch(() => {})
      throw error
    }
  }

  return {
    begin,
    complete,
    abort,
    size: async Key => {
      const found = await ask('read', options =>
        client.send(new s3.HeadObjectCommand({ Bucket, Key }), options),
      )
      return found?.ContentLength
    },
    read: (...part) =>
      ask('read', async options => {
        for (let left = attempts; ; ) {
          const found = await client.send(get(...part), options)
          try {
            return { size: sizeOf(found), bytes: Buffer.concat(await bodyOf(found).toArray()) }
          } catch (error) {
            if (--left === 0 || options.abortSignal.aborted) throw error
            await delay(pause)
          }
        }
      }),
    stream: async (...part) => {
      // The time limit is for the beginning of the answer.
      const found = await ask('read', () => client.send(get(...part)))
      return found && { size: sizeOf(found), body: bodyOf(found) }
    },
    put: async (Key, Body) => {
      await require('write', options => client.send(new s3.PutObjectCommand({ Bucket, Key, Body }), options))
    },
    sendPart: async (Key, UploadId, PartNumber, Body) => {
      const command = new s3.UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body })
      const { ETag } = await require('write', options => client.send(command, options))
      return ETag ?? ''
    },
    copy: async (from, to, size, source = Bucket) => {
      const CopySource = `${source}/${from.split('/').map(encodeURIComponent).join('/')}`
      if (size > copyAtOnce) return copyInParts(CopySource, to, size)
      const command = new s3.CopyObjectCommand({ Bucket, Key: to, CopySource })
      await require('write', options => patient.send(command, options), copyLimit)
    },
    remove: async keys => {
      // One by one: servers differ in what they take of the request for several.
      for (const Key of keys)
        await ask('delete', options => client.send(new s3.DeleteObjectCommand({ Bucket, Key }), options))
    },
    list: async function* (Prefix, MaxKeys = 1000) {
      for (let ContinuationToken: string | undefined; ; ) {
        const command = new s3.ListObjectsV2Command({ Bucket, Prefix, MaxKeys, ContinuationToken })
        const page = await require('list', options => client.send(command, options))
        yield (page.Contents ?? []).map(({ Key: key = '', LastModified, Size: size = 0 }) => ({
          ...{ key, size, modified: LastModified?.getTime() ?? 0 },
        }))
        ContinuationToken = page.NextContinuationToken
        if (ContinuationToken === undefined) return
      }
    },
    uploads: async function* (Prefix) {
      for (let after = {}; ; ) {
        const command = new s3.ListMultipartUploadsCommand({ Bucket, Prefix, ...after })
        const page = await require('list', options => client.send(command, options))
        yield (page.Uploads ?? []).map(({ Key: key = '', UploadId: upload = '', Initiated }) => ({
          ...{ key, upload, modified: Initiated?.getTime() ?? 0 },
        }))
        if (page.IsTruncated !== true) return
        after = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
      }
    },
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

const bodyOf = ({ Body }: s3.GetObjectCommandOutput) => Body as IncomingMessage
const sizeOf = ({ ContentRange, ContentLength }: s3.GetObjectCommandOutput): number =>
  Number(/\/(\d+)$/.exec(ContentRange ?? '')?.[1] ?? ContentLength)

/** Only Amazon's regions have to be right; other servers take any. */
const regionOf = ({ endpoint, region }: BucketPlace): { region?: string } => {
  const given = region ?? (endpoint === null ? null : (process.env.AWS_REGION ?? 'us-east-1'))
  return given === null ? {} : { region: given }
}
