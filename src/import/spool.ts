import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { StoreUnavailable } from '../lib/errors.ts'

/**
 * A temporary file without a name, which disappears with the process, however that ends. Other threads use it
 * through its descriptor, which belongs to the whole process.
 */
export interface Spool {
  readonly descriptor: number
  close(): void
}

export function openSpool(file: string): Spool {
  forget(file)
  const descriptor = failing(() => openSync(file, 'w+', 0o600))
  forget(file)
  return {
    descriptor,
    close: () => {
      closeSync(descriptor)
      forget(file)
    },
  }
}

/**
 * Removes the file's name. Some systems can't remove an open file; there it is removed after it is closed.
 */
function forget(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch {}
}

/** @throws StoreUnavailable if the disk is full or fails */
export function writeAt(descriptor: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.byteLength; )
    done += failing(() => writeSync(descriptor, bytes, done, bytes.byteLength - done, position + done))
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

/** Appends to a file that only one thread writes. */
export class Appender {
  readonly descriptor: number
  #end = 0

  constructor(descriptor: number) {
    this.descriptor = descriptor
  }

  /** @returns the position of the bytes */
  append(view: ArrayBufferView<ArrayBufferLike>): number {
    const position = this.#end
    writeAt(this.descriptor, new Uint8Array(view.buffer, view.byteOffset, view.byteLength), position)
    this.#end += view.byteLength
    return position
  }
}

function failing<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason =
      code === 'ENOSPC' || code === 'EDQUOT'
        ? 'the disk is full'
        : `the folder for temporary files fails (${code ?? message})`
    throw new StoreUnavailable(reason, { cause: error })
  }
}
