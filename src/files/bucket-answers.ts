import type { IncomingMessage } from 'node:http'
import { WrongAnswer } from '../lib/errors.ts'
import type { Wanted } from './bucket-requests.ts'

/** The head of an answer with bytes of an object, as far as it decides which ones they are. */
interface Head {
  readonly $metadata: { readonly httpStatusCode?: number | undefined }
  readonly ContentRange?: string | undefined
  readonly ContentLength?: number | undefined
  readonly ContentEncoding?: string | undefined
}

/** Places in an object of the first and the last byte of an answer, and the object's size, if the answer says it. */
interface Answered {
  readonly first: number
  readonly last: number
  readonly size: number | undefined
}

/**
 * Reads which bytes an answer has. What it says decides, not what was asked for: servers, caches and gateways may
 * ignore a range (RFC 9110 §14.2), and 206 may have another one (§15.3.7).
 * @param what the object, for errors
 */
function answeredIn(head: Head, what: string): Answered {
  const { ContentRange: range = '', ContentLength: length, ContentEncoding: encoding = '' } = head
  const status = head.$metadata.httpStatusCode
  // Some servers keep the encoding of a request as that of the object.
  if (!/^(identity|aws-chunked)?$/.test(encoding))
    throw new WrongAnswer(`${what}: the answer is encoded as ${encoding}, which was not asked for`)
  if (status === 200) return { first: 0, last: (length ?? Number.MAX_SAFE_INTEGER) - 1, size: length }
  const numbers = /^bytes (\d{1,15})-(\d{1,15})\/(?:(\d{1,15})|\*)$/.exec(range)
  const [first, last, size] = (numbers ?? [])
    .slice(1)
    .map(text => (text === undefined ? undefined : Number(text)))
  const isRight =
    status === 206 && first !== undefined && last !== undefined && first <= last && last < (size ?? Infinity)
  if (!isRight || (length !== undefined && length !== last - first + 1))
    throw new WrongAnswer(
      `${what}: the answer has status ${status}, ${length} bytes and the range ${JSON.stringify(range)}`,
    )
  return { first, last, size }
}

/** Maximum number of bytes of an answer that are read in vain, if the server ignores ranges. */
export const maxBefore = 64 * 1024 ** 2

/**
 * Finds the wanted bytes in an answer.
 * @param sizeOf asks for the size of the object, which an answer may leave open
 * @returns the size of the object, the number of bytes that come before the wanted ones, and the number of those
 * @throws WrongAnswer if it lacks some of them, or too many come before
 */
export async function locate(
  head: Head,
  { start, end: asked, size: known, mostBefore = maxBefore }: Wanted,
  what: string,
  sizeOf: () => Promise<number>,
) {
  const answered = answeredIn(head, what)
  const size = answered.size ?? known ?? (await sizeOf())
  if (size !== (known ?? size)) throw new WrongAnswer(`${what}: it has ${size} bytes instead of ${known}`)
  const end = Math.min(asked, size - 1)
  const { first } = answered
  const last = Math.min(answered.last, size - 1)
  // An empty object has no last byte.
  if (first > start || (last < Math.max(start, end) && (size > 0 || start > 0)))
    throw new WrongAnswer(`${what}: the answer has the bytes ${first}-${last} instead of ${start}-${end}`)
  const before = start - first
  if (before > mostBefore)
    throw new WrongAnswer(
      `${what}: the answer to a request for the bytes ${start}-${end} begins ${before} bytes before them: the bucket, ` +
        'or a cache or gateway in front of it, ignores ranges',
    )
  return { size, before, length: end - start + 1 }
}

/** Reads some bytes of an answer, after those that come before them. @throws WrongAnswer if it ends early */
export async function takeFrom(
  body: IncomingMessage,
  before: number,
  length: number,
  what: string,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let skipped = 0
  let left = length
  for await (const chunk of body as AsyncIterable<Buffer>) {
    // Leaving the loop ends the connection, on which the rest would come.
    if (left === 0) break
    const part = chunk.subarray(before - skipped)
    skipped += chunk.length - part.length
    chunks.push(part.subarray(0, left))
    left -= Math.min(left, part.length)
  }
  if (left > 0) throw new WrongAnswer(`${what}: the answer ends ${left} bytes early`)
  return Buffer.concat(chunks)
}
