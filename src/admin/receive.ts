import { randomUUID } from 'node:crypto'
import { closeSync, createWriteStream, openSync, rmSync, type WriteStream } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
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
  const file = createWriteStream('', { fd: descriptor, autoClose: false, highWaterMark: 1024 * 1024 })
  await allowSlowBody(request)
  try {
    const bytes = await copy(body, file, { folder, maxBytes, patience })
    return { descriptor, bytes, close: () => closeSync(descriptor) }
  } catch (error) {
    await ended(file)
    closeSync(descriptor)
    discard(request, body)
    throw error
  } finally {
    await endSlowBody(request)
  }
}

function copy(
  body: Readable,
  file: WriteStream,
  { folder, maxBytes, patience }: ReceiveParts,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0
    let looked = 0
    const timer = setTimeout(
      () => fail(new Problem('request-timeout', `Nothing of the body came for ${patience / 1000} s.`)),
      patience,
    )
    const stop = () => {
      clearTimeout(timer)
      body.off('data', take).off('end', end).off('error', broken).off('close', broken)
      file.off('error', diskFails).on('error', () => {})
    }
    const fail = (error: unknown) => {
      stop()
      reject(error)
    }
    const broken = () =>
      fail(new Problem('bad-request', 'The connection broke before the whole body had come.'))
    const diskFails = (cause: NodeJS.ErrnoException) =>
      fail(
        new StoreUnavailable(
          cause.code === 'ENOSPC' || cause.code === 'EDQUOT' ? 'the disk is full' : 'the disk fails',
          { cause },
        ),
      )
    const take = (chunk: Buffer) => {
      timer.refresh()
      bytes += chunk.length
      if (bytes > maxBytes) return fail(tooLarge(maxBytes))
      if (bytes - looked > lookAgain) {
        looked = bytes
        requireRoom(folder, 0).catch(fail)
      }
      if (!file.write(chunk)) {
        body.pause()
        // A slow disk isn't the client's fault.
        clearTimeout(timer)
        file.once('drain', () => {
          timer.refresh()
          body.resume()
        })
      }
    }
    const end = () => {
      stop()
      file.once('error', reject)
      file.end(() => resolve(bytes))
    }
    file.on('error', diskFails)
    body.on('data', take).on('end', end).on('error', broken).on('close', broken)
  })
}

/** What is still being written of a body that is refused. */
const ended = (file: WriteStream) =>
  new Promise<void>(resolve => {
    if (file.destroyed) return resolve()
    file.once('close', () => resolve())
    file.destroy()
  })

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
