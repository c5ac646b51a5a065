import { randomUUID } from 'node:crypto'
import { closeSync, openSync, rmSync, write as writeDescriptor } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import type { FastifyRequest } from 'fastify'
import { Problem } from '../http/problems.ts'
import { allowSlowBody, endSlowBody } from '../http/slow-bodies.ts'
import { StoreUnavailable } from '../model/errors.ts'

/** A body on disk, in a file without a name: it disappears with the process, however that ends. */
export interface Received {
  readonly descriptor: number
  readonly bytes: number
  close(): void
}

export interface ReceiveParts {
  /** For temporary files. */
  readonly folder: string
  /** Bytes of a body. */
  readonly maxBytes: number
  /** In ms, how long nothing may come of a body. */
  readonly patience: number
}

/** Bytes that stay free on the disk: whatever else the service writes has to fit. */
const reserve = 256 * 1024 * 1024
/** Bytes that are written at once. */
const pieceSize = 256 * 1024
/** Bytes after which the free space is looked at again. */
const lookAgain = 64 * 1024 * 1024
/** In ms: so long the rest of a body that is refused is read, so that its client gets to see why. */
const linger = 5_000

/**
 * Writes the body of a request to disk, in constant memory.
 * @throws Problem 413, 408; StoreUnavailable (503) where the disk has no room for it
 */
export async function receive(
  request: FastifyRequest,
  body: Readable,
  { folder, maxBytes, patience }: ReceiveParts,
): Promise<Received> {
  const length = Number(request.headers['content-length'] ?? 0)
  if (length > maxBytes) throw tooLarge(maxBytes)
  await requireRoom(folder, length)
  const descriptor = openUnnamed(join(folder, `upload-${randomUUID()}`))
  await allowSlowBody(request)
  try {
    const bytes = await copy(request, body, descriptor, { folder, maxBytes, patience })
    return { descriptor, bytes, close: () => closeSync(descriptor) }
  } catch (error) {
    closeSync(descriptor)
    discard(request, body)
    throw error
  } finally {
    await endSlowBody(request)
  }
}

async function copy(
  { raw }: FastifyRequest,
  body: Readable,
  descriptor: number,
  { folder, maxBytes, patience }: ReceiveParts,
): Promise<number> {
  let pieces: Buffer[] = []
  let waiting = 0
  let bytes = 0
  let looked = 0
  const flush = async () => {
    const some = Buffer.concat(pieces)
    pieces = []
    waiting = 0
    await writeAll(descriptor, some, bytes - some.length)
  }
  for await (const chunk of piecesOf(body, patience)) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    pieces.push(chunk)
    waiting += chunk.length
    if (waiting >= pieceSize) await flush()
    if (bytes - looked > lookAgain) {
      looked = bytes
      await requireRoom(folder, 0)
    }
  }
  if (!raw.complete) throw broken()
  await flush()
  return bytes
}

/** @throws Problem 408 when nothing comes for too long, 400 when the connection breaks */
async function* piecesOf(body: Readable, patience: number): AsyncGenerator<Buffer> {
  // It isn't destroyed when somebody stops reading: its connection is still to carry the answer.
  const iterator = body.iterator({ destroyOnReturn: false })
  let tooLate = (_: Problem) => {}
  const late = new Promise<never>((_, reject) => {
    tooLate = reject
  })
  late.catch(() => {})
  const timer = setTimeout(
    () => tooLate(new Problem('request-timeout', `Nothing of the body came for ${patience / 1000} s.`)),
    patience,
  )
  let isWaiting = false
  try {
    for (;;) {
      isWaiting = true
      const next = iterator.next().catch(() => {
        throw broken()
      })
      const { done, value } = await Promise.race([next, late])
      isWaiting = false
      if (done === true) return
      yield value as Buffer
      // Writing may have taken a while.
      timer.refresh()
    }
  } finally {
    clearTimeout(timer)
    // Until it has let go of the body, nobody else can read the rest.
    if (!isWaiting) await iterator.return?.()
  }
}

async function writeAll(descriptor: number, bytes: Buffer, position: number): Promise<void> {
  try {
    for (let at = 0; at < bytes.length; )
      at += (await write(descriptor, bytes, at, bytes.length - at, position + at)).bytesWritten
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const isFull = code === 'ENOSPC' || code === 'EDQUOT'
    throw new StoreUnavailable(isFull ? 'the disk is full' : 'the folder for temporary files fails', {
      cause,
    })
  }
}

const write = promisify(writeDescriptor)

const broken = () => new Problem('bad-request', 'The connection broke before the whole body had come.')

/** Reads on for a moment, so that a client that sends first and reads then gets the answer. */
export function discard({ raw }: FastifyRequest, body: Readable): void {
  if (raw.complete || raw.destroyed) return
  body.on('error', () => {}).resume()
  const closing = setTimeout(() => raw.socket.destroy(), linger).unref()
  raw.once('close', () => clearTimeout(closing))
  raw.once('end', () => clearTimeout(closing))
}

async function requireRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < bytes + reserve)
    throw new StoreUnavailable('the disk has no room for records that are to be imported')
}

function openUnnamed(path: string): number {
  try {
    const descriptor = openSync(path, 'wx+', 0o600)
    rmSync(path, { force: true })
    return descriptor
  } catch (cause) {
    throw new StoreUnavailable('the folder for temporary files fails', { cause })
  }
}

const tooLarge = (maxBytes: number) =>
  new Problem(
    'body-too-large',
    `The body is larger than ${(maxBytes / 1024 / 1024).toLocaleString('en')} MB, the maximum for records (CARREL_IMPORT_SIZE). Pack it with gzip, or send it in parts with mode=update.`,
  )
