import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type * as busboy from '@fastify/busboy'
import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy'
import { onDemand } from '../lib/on-demand.ts'
import { arriving } from './body-pieces.ts'
import { Problem } from './problems.ts'
import { free } from './send-pieces.ts'

const library = onDemand<typeof busboy>('@fastify/busboy')

/** A file in a form (RFC 7578), as it arrives. */
export interface SentFile {
  /** The file name as the client sent it, possibly with a path; undefined if there was none. No file on disk is named after it. */
  readonly name: string | undefined
  readonly mediaType: string
  /** Throws where the file breaks off, and where it is larger than it may be. */
  readonly pieces: AsyncIterable<Buffer>
}

export interface Form<T> {
  /** By name. */
  readonly fields: ReadonlyMap<string, string>
  /** What was made of the file; undefined: none was sent. */
  readonly file: T | undefined
}

interface Bounds {
  /** Bytes of the file. */
  readonly size: number
  /** In ms: how long nothing may arrive. */
  readonly patience: number
}

/** Clients send one or two fields beside the file. */
const maxFields = 10
const maxFieldBytes = 256 * 1024
const maxFieldName = 100
/** Of one part. */
const maxHeaderBytes = 16 * 1024
const maxHeaders = 20

const malformed = (why: string) => new Problem('bad-request', `The body is no well-formed form: ${why}.`)

/**
 * Reads a body of type `multipart/form-data` with at most one file, in the part `file`, whatever its place among the
 * fields. A file of any size takes constant memory: no more is read than `take` has taken.
 * @param take its promise is awaited, also after the body has broken off
 * @throws Problem 400, 408, 413 or 415
 */
export async function readMultipart<T>(
  body: IncomingMessage,
  { size, patience }: Bounds,
  take: (file: SentFile) => Promise<T>,
): Promise<Form<T>> {
  const fields = new Map<string, string>()
  let taken: Promise<T> | undefined
  let stream: BusboyFileStream | undefined
  let fault: unknown
  const broken = new AbortController()
  const parser = parserOf(body, size)
  /** The memory of what has arrived, where each piece has its own. */
  const ofBody = new WeakSet<ArrayBufferLike>()

  /** Ends everything: the first fault is the one that counts. */
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
      // Pieces come in order, so nothing of another buffer waits any more. The parser's own ones are not among the body's.
      if (last && last.buffer !== piece.buffer && ofBody.has(last.buffer)) free(Buffer.from(last.buffer))
      last = piece
      yield piece
    }
    if (fault !== undefined) throw fault
    if (file.truncated) throw tooLarge(size)
  }

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
  parser.on('field', (name, value, _nameTruncated, isTruncated) => {
    if (typeof name !== 'string' || name.length > maxFieldName) fail(malformed('a field has no name'))
    else if (isTruncated) fail(malformed(`the field ${JSON.stringify(name)} is too long`))
    else if (fields.has(name)) fail(malformed(`the field ${JSON.stringify(name)} comes twice`))
    else fields.set(name, value)
  })
  parser.on('filesLimit', () => fail(malformed('it has more than one file')))
  for (const limit of ['fieldsLimit', 'partsLimit'] as const)
    parser.on(limit, () => fail(malformed('it has too many parts')))
  // Also what comes after the first error: without a listener, it would end the process.
  parser.on('error', error => fail(malformed(String((error as Error).message).replace(/\.$/, ''))))
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
    // What has arrived of the file is removed before the answer.
    await taken?.catch(() => {})
    discard(body, patience)
    throw fault
  } finally {
    clearTimeout(idle)
    body.off('aborted', gone).off('error', gone)
  }
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

/** Gives the parser what arrives, no faster than it takes it, until all has arrived or something is wrong. */
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

/** Lets the rest of a refused body arrive, so that its client reads the answer; but not for ever. */
function discard(body: IncomingMessage, patience: number): void {
  if (body.complete || body.destroyed) return
  const closing = setTimeout(() => body.socket.destroy(), patience).unref()
  body.once('close', () => clearTimeout(closing)).resume()
}
