import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { sync } from './sync.ts'

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
  sync(dirname(folder))
}
