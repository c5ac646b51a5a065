import { randomUUID } from 'node:crypto'
import { mkdir, open, rename, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { systemReason } from '../lib/system-errors.ts'
import { StoreUnavailable } from '../model/errors.ts'

/**
 * Where contents lie in the folder of files, all on one file system, so that a rename moves them in one step:
 * `ab/cd/<sha256>`, `incoming/<random>` while they are written, and `orphans/<sha256>` before they are deleted
 * (sweep.ts says why there is a step between). `store` says whose they are (owner.ts).
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

export const isSha256 = (name: string): boolean => /^[0-9a-f]{64}$/.test(name)

/** A name that nobody else has: who renames a file to it has that file alone. */
export const ownName = (folder: string, begin = ''): string => join(folder, `${begin}${randomUUID()}`)

/** Contents and what else nobody refers to is left alone for so long: somebody may be about to. */
export const graceMilliseconds = 60 * 60 * 1000

/** From now on, not old. @returns false when it isn't there */
export const touch = (path: string): Promise<boolean> => {
  const now = new Date()
  return isThere(utimes(path, now, now))
}

/** @returns false when there is nothing to move */
export const move = (from: string, to: string): Promise<boolean> => isThere(rename(from, to))

/** Brings a content back from the orphans. @returns whether it was among them */
export async function restoreOrphan(layout: Layout, sha256: string): Promise<boolean> {
  const orphan = layout.orphanOf(sha256)
  const place = layout.placeOf(sha256)
  // First of all young again: the next sweep leaves it where it is put.
  if (!(await touch(orphan))) return false
  await mkdir(dirname(place), { recursive: true, mode: 0o700 })
  if (!(await move(orphan, place))) return false
  await syncFolder(dirname(place))
  return true
}

/** A rename is on disk when the folder is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** @returns false when there was no such file */
export async function isThere(work: Promise<unknown>): Promise<boolean> {
  return (await orUndefined(work.then(() => true))) ?? false
}

/** @returns undefined when there was no such file */
export async function orUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')

/** What the operating system says of writing into the folder; anything else stays what it is. */
export function asUnwritable(error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === undefined || syscall === undefined) return error
  return new StoreUnavailable(`the folder of files can't be written: ${systemReason(error) ?? code}`, {
    cause: error,
  })
}
