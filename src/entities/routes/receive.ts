import { randomUUID } from 'node:crypto'
import { closeSync, openSync, rmSync, write as writeDescriptor } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import type { FastifyRequest } from 'fastify'
import { allowSlowBody, bodyPieces, brokenBody, endSlowBody } from '../../http/body-pieces.ts'
import { Problem } from '../../http/problems.ts'
import { StoreUnavailable } from '../../lib/errors.ts'
import { gather } from '../../lib/gather.ts'

/** A body on disk, in a file without a name: it disappears with the process, however that ends. */
interface Received {
  readonly descriptor: number
  readonly bytes: number
  close(): void
}

export interface ReceiveParts {
  /** The folder for temporary files. */
  readonly folder: string
  /** Maximum size of a body in bytes. */
  readonly maxBytes: number
  /** Time in ms during which nothing may arrive before the request is ended. */
  readonly patience: number
}

/** Bytes that stay free on the disk, because everything else that the service writes has to fit, too. */
const reserve = 256 * 1024 * 1024
/** Bytes after which the free space is checked again. */
const lookAgain = 64 * 1024 * 1024
/** Time in ms for which the rest of a refused body is read, so that its client gets the answer. */
const linger = 5_000

/**
 * Writes the body of a request to disk, in constant memory.
 * @throws Problem 413, 408; StoreUnavailable (503) if the disk has no room for it
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

/** @throws Problem 408 if nothing arrives for too long, 400 if the connection breaks */
async function copy(
  { raw }: FastifyRequest,
  body: Readable,
  descriptor: number,
  { folder, maxBytes, patience }: ReceiveParts,
): Promise<number> {
  let bytes = 0
  let looked = 0
  let wrote = 0
  const stop = new AbortController()
  const timer = setTimeout(
    () => stop.abort(new Problem('request-timeout', `Nothing of the body came for ${patience / 1000} s.`)),
    patience,
  )
  async function* checked(): AsyncGenerator<Buffer> {
    for await (const piece of bodyPieces(body, stop.signal)) {
      bytes += piece.length
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      if (bytes - looked > lookAgain) {
        looked = bytes
        await requireRoom(folder, 0)
      }
      yield piece
      // Time spent on writing doesn't count against the client.
      timer.refresh()
    }
    if (!raw.complete) throw brokenBody()
  }
  try {
    await gather(checked(), async some => {
      await writeAll(descriptor, some, wrote)
      wrote += some.length
    })
    return bytes
  } finally {
    clearTimeout(timer)
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

/** Reads on for a moment, so that a client that reads only after sending gets the answer. */
function discard({ raw }: FastifyRequest, body: Readable): void {
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
