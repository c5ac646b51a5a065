import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type * as busboy from '@fastify/busboy'
import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy'
import { onDemand } from '../lib/own-files.ts'
import { arriving } from './body-pieces.ts'
import { Problem } from './problems.ts'
import { free } from './send-pieces.ts'

const library = onDemand<typeof busboy>('@fastify/busboy')

/** A file in a form (RFC 7578), as it arrives. */
interface SentFile {
  /**
   * The file name as the client sent it, possibly with a path; undefined if there was none. It is never used
   * to name a file on disk.
   */
  readonly name: string | undefined
  readonly mediaType: string
  /** Throws if the file breaks off, or is larger than allowed. */
  readonly pieces: AsyncIterable<Buffer>
}

interface Form<T> {
  /** Values by field name. */
  readonly fields: ReadonlyMap<string, string>
  /** The result of `take`; undefined if no file was sent. */
  readonly file: T | undefined
}

interface Bounds {
  /** Maximum size of the file in bytes. */
  readonly size: number
  /** Time in ms during which nothing may arrive before the request is ended. */
  readonly patience: number
}

/** Bounds of the fields: clients send one or two beside the file. */
const maxFields = 10
const maxFieldBytes = 256 * 1024
const maxFieldName = 100
/** Bounds of the headers of one part. */
const maxHeaderBytes = 16 * 1024
const maxHeaders = 20

const malformed = (why: string) => new Problem('bad-request', `The body is no well-formed form: ${why}.`)

/**
 * Reads a body of type `multipart/form-data` with at most one file, in the part `file`, at any place among
 * the fields. A file of any size takes constant memory: no more is read than `take` has taken.
 * @param take receives the file; its promise is awaited even if the body breaks off
 * @throws Problem 400, 408, 413 or 415
 */
export async function readMultipart<T>(
  body: IncomingMessage,
  { size, patience }: Bounds,
  take: (file: SentFile) => Promise<T>,
): Promise<Form<T>> {
  let taken: Promise<T> | undefined
  let stream: BusboyFileStream | undefined
  let fault: unknown
  const broken = new AbortController()
  const parser = parserOf(body, size)
  /** Memory of pieces of the body that have a buffer of their own. */
  const ofBody = new WeakSet<ArrayBufferLike>()

  /** Ends everything; only the first fault is kept. */
  function fail(error: unknown): void {
    fault ??= error
    stream?.destroy(fault as Error)
    parser.destroy()
    broken.abort()
  }

  async function* piecesOf(file: BusboyFileStream): AsyncIterable<Buffer> {
    let last: Buffer | undefined
    for await (const piece of arriving(file)) {
      if (file.truncated) break
      // Pieces come in order, so none of an earlier buffer is still waiting. Buffers of the parser itself are
      // not in `ofBody`.
      if (last && last.buffer !== piece.buffer && ofBody.has(last.buffer)) free(Buffer.from(last.buffer))
      last = piece
      yield piece
    }
    if (fault !== undefined) throw fault
    if (file.truncated) throw tooLarge(size)
  }

  const fields = collectFields(parser, fail)
  parser.on('file', (field, file, name, _encoding, mediaType) => {
    stream = file
    // Without a listener, an error would end the process.
    file.on('error', fail)
    file.on('limit', () => fail(tooLarge(size)))
    if (field === 'file') {
      taken = take({ name: name || undefined, mediaType, pieces: piecesOf(file) })
      taken.catch(fail)
    } else fail(malformed('a file belongs into the part "file"'))
  })
  const finished = once(parser, 'finish', { signal: broken.signal }).catch(() => {})

  const idle = setTimeout(
    () => fail(new Problem('request-timeout', `Nothing arrived for ${patience / 1000} s.`)),
    patience,
  )
  const gone = () => fail(new Problem('bad-request', 'The body broke off.'))
  body.once('aborted', gone).once('error', gone)
  if (body.destroyed) gone()
  try {
    await feed(body, parser, broken.signal, piece => {
      idle.refresh()
      if (piece.length === piece.buffer.byteLength) ofBody.add(piece.buffer)
    })
    if (fault === undefined) {
      parser.end()
      await finished
    }
    const file = await taken
    if (fault !== undefined) throw fault
    return { fields, file }
  } catch (error) {
    fail(error)
    // Whatever has been kept of the file is removed before the answer.
    await taken?.catch(() => {})
    discard(body, patience)
    throw fault
  } finally {
    clearTimeout(idle)
    body.off('aborted', gone).off('error', gone)
  }
}

/** Collects the values of the fields as they are parsed. @param fail is told what is wrong with the form */
function collectFields(parser: BusboyInstance, fail: (error: unknown) => void): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  parser.on('field', (name, value, _nameTruncated, isTruncated) => {
    if (typeof name !== 'string' || name.length > maxFieldName) fail(malformed('a field has no name'))
    else if (isTruncated) fail(malformed(`the field ${JSON.stringify(name)} is too long`))
    else if (fields.has(name)) fail(malformed(`the field ${JSON.stringify(name)} comes twice`))
    else fields.set(name, value)
  })
  parser.on('filesLimit', () => fail(malformed('it has more than one file')))
  for (const limit of ['fieldsLimit', 'partsLimit'] as const)
    parser.on(limit, () => fail(malformed('it has too many parts')))
  // The listener stays after the first error: an error without a listener would end the process.
  parser.on('error', error => fail(malformed(String((error as Error).message).replace(/\.$/, ''))))
  return fields
}

const tooLarge = (size: number) =>
  new Problem('body-too-large', `The file is larger than ${size} bytes, which is the maximum.`)

function parserOf(body: IncomingMessage, fileSize: number): BusboyInstance {
  if (!/^multipart\/form-data\s*;/i.test(body.headers['content-type'] ?? ''))
    throw new Problem('unsupported-media-type', 'The body must be multipart/form-data with a boundary.')
  try {
    return new (library().Busboy)({
      headers: { 'content-type': body.headers['content-type'] ?? '' },
      preservePath: true,
      limits: {
        fieldNameSize: maxFieldName,
        fieldSize: maxFieldBytes,
        fields: maxFields,
        files: 1,
        fileSize,
        parts: maxFields + 1,
        headerPairs: maxHeaders,
        headerSize: maxHeaderBytes,
      },
      isPartAFile: (field, _type, name) => name !== undefined || field === 'file',
    })
  } catch (error) {
    throw malformed((error as Error).message)
  }
}

/** Passes the body to the parser at the parser's pace, until all has arrived or `signal` is aborted. */
function feed(
  body: IncomingMessage,
  parser: BusboyInstance,
  signal: AbortSignal,
  arrived: (piece: Buffer) => void,
): Promise<void> {
  // Unlike a pipe or an iterator, this leaves the connection open for the answer.
  return new Promise(resolve => {
    const resume = () => body.resume()
    const take = (piece: Buffer) => {
      arrived(piece)
      if (parser.write(piece)) return
      body.pause()
      parser.once('drain', resume)
    }
    const stop = () => {
      body.off('data', take).off('end', stop)
      parser.off('drain', resume)
      resolve()
    }
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', stop, { once: true })
    body.on('data', take).once('end', stop)
  })
}

/** Lets the rest of a refused body arrive, so that its client reads the answer, but only for a limited time. */
function discard(body: IncomingMessage, patience: number): void {
  if (body.complete || body.destroyed) return
  const closing = setTimeout(() => body.socket.destroy(), patience).unref()
  body.once('close', () => clearTimeout(closing)).resume()
}
