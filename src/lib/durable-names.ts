import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Flushes a file, or the names in a folder, to disk. */
export function syncToDisk(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/**
 * Makes a folder and its missing parents, and syncs the folders that contain them, so that they survive
 * a power failure. Node's own `recursive` never returns if the system answers ENOENT below a folder
 * that exists, as in /proc.
 */
export function makeFolder(folder: string): void {
  try {
    make(folder)
  } catch (error) {
    const parent = dirname(folder)
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === folder) throw error
    makeFolder(parent)
    make(folder)
  }
}

function make(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error
    return
  }
  syncToDisk(dirname(folder))
}
