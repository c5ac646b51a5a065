import { closeSync, openSync, statSync } from 'node:fs'

/** A file that is read through its descriptor. */
export interface KeptOpen {
  readonly descriptor: number
  close(): void
}

const kept = new Map<string, { readonly descriptor: number; users: number }>()

/**
 * Opens a file that has locks for reading, once for all readers. A process that closes any descriptor of a
 * file loses all its POSIX locks on that file (fcntl(2), "Advisory record locking"), and so does one whose
 * worker thread ends with such a descriptor. So only the main thread may open it, and the last user closes it
 * after everything that locks it.
 */
export function keepOpen(path: string): KeptOpen {
  const id = fileId(path)
  const file = kept.get(id) ?? { descriptor: openSync(path, 'r'), users: 0 }
  file.users++
  kept.set(id, file)
  return {
    descriptor: file.descriptor,
    close: () => {
      if (--file.users > 0) return
      kept.delete(id)
      closeSync(file.descriptor)
    },
  }
}

/** @returns the descriptor of a file that this thread keeps open, for its workers */
export function descriptorOf(path: string): number {
  const file = kept.get(fileId(path))
  if (!file) throw new Error(`${path} is not kept open`)
  return file.descriptor
}

/** Returns device and inode, because two paths may lead to the same file. */
export function fileId(path: string): string {
  const { dev, ino } = statSync(path, { bigint: true })
  return `${dev}:${ino}`
}
