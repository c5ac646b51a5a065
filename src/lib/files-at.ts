import { readSync, writeSync } from 'node:fs'
import { StoreUnavailable } from './errors.ts'

/** Writes all of a view. @returns its bytes @throws StoreUnavailable if the disk is full or fails */
export function writeAt(
  descriptor: number,
  { buffer, byteOffset, byteLength }: ArrayBufferView<ArrayBufferLike>,
  position: number,
): number {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength)
  for (let done = 0; done < byteLength; )
    done += failing(() => writeSync(descriptor, bytes, done, byteLength - done, position + done))
  return byteLength
}

/** Fills the array, or the part of it up to the end of the file. @returns the number of bytes read */
export function readAt(descriptor: number, into: ArrayBufferView<ArrayBufferLike>, position: number): number {
  const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength)
  let done = 0
  while (done < bytes.byteLength) {
    const from = done
    const read = failing(() => readSync(descriptor, bytes, from, bytes.byteLength - from, position + from))
    if (read === 0) break
    done += read
  }
  return done
}

export function failing<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason =
      code === 'ENOSPC' || code === 'EDQUOT'
        ? 'the disk is full'
        : `the folder for temporary files, or the data folder, fails (${code ?? message})`
    throw new StoreUnavailable(reason, { cause: error })
  }
}
