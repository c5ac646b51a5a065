import { randomUUID } from 'node:crypto'
import { mkdir, open, rename, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { StoreUnavailable } from '../lib/errors.ts'
import { processIdInName } from '../lib/process-ids.ts'
import { systemReason, unlessMissing } from '../lib/system-errors.ts'

/**
 * Paths in the folder of files: contents are at `ab/cd/<sha256>`, at `incoming/<random>` while they are
 * written, and at `orphans/<sha256>` before they are deleted (sweep.ts says why). All are on one file system,
 * so that a rename moves them atomically. The file `store` names the store that owns the folder (owner.ts).
 */
export interface Layout {
  readonly folder: string
  readonly incoming: string
  readonly orphans: string
  placeOf(sha256: string): string
  orphanOf(sha256: string): string
}

export function layoutOf(folder: string): Layout {
  const orphans = join(folder, 'orphans')
  return {
    folder,
    incoming: join(folder, 'incoming'),
    orphans,
    placeOf: sha256 => join(folder, sha256.slice(0, 2), sha256.slice(2, 4), sha256),
    orphanOf: sha256 => join(orphans, sha256),
  }
}

/**
 * Chooses the modes of new files and folders. Only the service's own user reads them, unless a group may read
 * the folder: then it may also read what is added. A proxy that sends files needs that.
 */
export async function modesIn(folder: string): Promise<{ readonly file: number; readonly folder: number }> {
  const forGroup = 0o050
  const { mode } = await stat(folder)
  return (mode & forGroup) === forGroup ? { file: 0o640, folder: 0o750 } : { file: 0o600, folder: 0o700 }
}

export const isSha256 = (name: string): boolean => /^[0-9a-f]{64}$/.test(name)

/** A path that no other process uses, so that a file renamed to it can't be reached by others. */
export const uniqueName = (folder: string, prefix = ''): string => join(folder, `${prefix}${randomUUID()}`)

/** The path of a file that is being written; its name says by which program. */
export const temporaryIn = ({ incoming }: Layout): string => `${uniqueName(incoming)}.${processIdInName()}`

/** Time in ms that an unreferenced file is left alone: an ingest may have written it and not committed yet. */
export const graceMilliseconds = 60 * 60 * 1000

/** Sets the file's time to now. @returns false if there is no such file */
export const touch = (path: string): Promise<boolean> => {
  const now = new Date()
  return wasPresent(utimes(path, now, now))
}

/** @returns false if there is no such file */
export const move = (from: string, to: string): Promise<boolean> => wasPresent(rename(from, to))

/** Moves a content from the orphans back to its place. @returns true if it was there */
export async function restoreOrphan(layout: Layout, sha256: string): Promise<boolean> {
  const orphan = layout.orphanOf(sha256)
  const place = layout.placeOf(sha256)
  // The time is set first, so that the next sweep doesn't set the content aside again.
  if (!(await touch(orphan))) return false
  const { folder: mode } = await modesIn(layout.folder)
  await mkdir(dirname(place), { recursive: true, mode })
  if (!(await move(orphan, place))) return false
  await syncFolder(dirname(place))
  return true
}

/** A rename is durable once its folder is synced. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** @returns false if there was no such file */
async function wasPresent(work: Promise<unknown>): Promise<boolean> {
  return (await unlessMissing(work.then(() => true))) ?? false
}

/** Turns an operating system's error about writing into StoreUnavailable. Other errors are returned as they are. */
export function toStoreUnavailable(error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === undefined || syscall === undefined) return error
  return new StoreUnavailable(`the folder of files can't be written: ${systemReason(error) ?? code}`, {
    cause: error,
  })
}
