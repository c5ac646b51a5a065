import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Flushes a file, or the names in a folder, to disk. */
export function sync(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
