import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { Content } from '../model/items.ts'

/** An open file, as far as `FileHandle` reads it. */
export interface Readable {
  /** Reads at most `length` bytes, and none only at the end of the file. */
  read(into: Buffer, offset: number, length: number, position: number): Promise<{ bytesRead: number }>
}

export interface Opened extends Readable {
  /** In bytes. */
  readonly size: number
  /** Announces that all bytes up to this one are read next, so that no others are asked for. */
  expect(last: number): void
  close(): Promise<void>
}

/** An open file of the disk. Closing it closes the handle. */
export async function openedFile(handle: FileHandle): Promise<Opened> {
  try {
    const { size } = await handle.stat()
    return {
      size,
      read: (into, offset, length, position) => handle.read(into, offset, length, position),
      expect: () => {},
      close: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Reads a small file to its end, which may have moved since it was opened. */
export async function readWhole(file: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of chunksOf(file)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/**
 * Hashes a file by reading it to its end into one buffer. A stream would make a buffer for each piece, and
 * these become garbage faster than they are collected.
 * @param take receives each chunk, which is overwritten afterwards
 */
export async function readThrough(file: Readable, take?: (chunk: Buffer) => Promise<void>): Promise<Content> {
  const sum = createHash('sha256')
  const buffer = Buffer.allocUnsafeSlow(readAtOnce)
  for (let size = 0; ; ) {
    const { bytesRead } = await file.read(buffer, 0, readAtOnce, size)
    if (bytesRead === 0) return { sha256: sum.digest('hex'), size }
    const chunk = buffer.subarray(0, bytesRead)
    const taking = take?.(chunk)
    sum.update(chunk)
    await taking
    size += bytesRead
  }
}

/** Reads a file to its end, each chunk into its own memory. */
export async function* chunksOf(file: Readable): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0; ; ) {
    const buffer = Buffer.allocUnsafeSlow(readAtOnce)
    const { bytesRead } = await file.read(buffer, 0, readAtOnce, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Size of the buffer in bytes. */
const readAtOnce = 256 * 1024
