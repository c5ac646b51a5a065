import { closeSync, openSync, rmSync } from 'node:fs'
import { failing, writeAt } from '../lib/files-at.ts'

/**
 * A temporary file without a name, which disappears with the process, however that ends. Other threads use it
 * through its descriptor, which belongs to the whole process.
 */
interface Spool {
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
export function forget(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch {}
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
    this.#end += writeAt(this.descriptor, view, position)
    return position
  }
}
