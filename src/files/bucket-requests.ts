import type { IncomingMessage } from 'node:http'
import type { Content } from '../model/items.ts'
import type { Measures } from '../model/measures.ts'

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

/** Requests to a bucket, as far as Carrel makes them. Each throws FilesUnavailable or a kind of it. */
export interface BucketClient {
  /** Size of an object in bytes; undefined if there is none. */
  size(key: string): Promise<number | undefined>
  /** Reads bytes into memory; undefined if there is no such object. */
  read(key: string, wanted: Wanted): Promise<Part | undefined>
  /** Begins to read them. The caller bounds the number of such answers. */
  stream(key: string, wanted: Wanted): Promise<StreamedPart | undefined>
  put(key: string, bytes: Uint8Array): Promise<void>
  /** @returns the id of a multipart upload */
  begin(key: string): Promise<string>
  /** Sends a part, numbered from 1. @returns its entity tag */
  sendPart(key: string, upload: string, number: number, bytes: Uint8Array): Promise<string>
  /** @param tags those of the parts, in their order @param size that of the object in bytes */
  complete(key: string, upload: string, tags: readonly string[], size: number): Promise<void>
  /** Removes a multipart upload, if it is still there. */
  abort(key: string, upload: string): Promise<void>
  /**
   * Copies an object inside of the server, and compares the size of what that has kept.
   * @param source its bucket, if it is another one @param length that of the parts, if it is to be copied in parts
   * @returns true if the server has computed the SHA-256 of the copy, and it is the right one
   */
  copy(from: string, to: string, content: Content, source?: string, length?: number): Promise<boolean>
  remove(keys: readonly string[]): Promise<void>
  /** Lists objects in pages. @param most the size of a page */
  list(prefix: string, most?: number): AsyncIterable<readonly (Listed & { readonly size: number })[]>
  /** Lists multipart uploads. @throws UnknownRequest if the server can't */
  uploads(prefix: string): AsyncGenerator<readonly (Listed & { readonly upload: string })[]>
  /** Signs the address of an object. @param seconds for which it is valid */
  sign(key: string, headers: SignedHeaders, seconds: number): Promise<string>
}

/** Headers of the answer of a signed address. */
interface SignedHeaders {
  readonly type: string
  readonly disposition: string
}

/** Called for each request when it has ended, for metrics. */
export type CountRequest = Measures['bucketRequest']
