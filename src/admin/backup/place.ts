import { readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import type { FilesPlace } from '../../config/files-place.ts'
import { noStore } from '../../files/files.ts'
import { openFiles } from '../../files/open-files.ts'
import { databaseAddress } from '../../lib/database-address.ts'
import { makeFolder, syncToDisk } from '../../lib/durable-names.ts'
import { OperatorError } from '../../lib/errors.ts'
import { holdFile } from '../../lib/held-file.ts'
import type { Database } from '../../lib/sqlite.ts'
import { unlessMissing } from '../../lib/system-errors.ts'
import { restoringFolder } from '../../storage/copy/restored.ts'

/** The place that a store is restored to. */
export type Place = { readonly files: FilesPlace; readonly dataFolder: string } & (
  | { readonly kind: 'embedded' }
  | { readonly kind: 'postgres'; readonly url: string }
)

export interface ClaimedPlace {
  /** An empty folder on the same file system as the data folder. */
  readonly work: string
  /** Removes the files that a killed restore left. Nothing that was there before is changed until this is called. */
  begin(): Promise<void>
  /** Ends a restore whose store is complete. */
  finish(): Promise<void>
  /** Removes everything that was restored. Files that a killed restore left stay if this restore had not begun. */
  abandon(): Promise<void>
}

/**
 * Makes sure that a place is empty, and marks it, so that it is not mistaken for a store.
 * @throws OperatorError if it is not empty, or another restore is using it
 */
export async function claimPlace(place: Place): Promise<ClaimedPlace> {
  const mark = markOf(place)
  const files = await openFiles(place.files, noStore)
  const made = await missing([...(place.files.kind === 'folder' ? [place.files.folder] : []), dirname(mark)])
  await rm(endedMark(mark), { recursive: true, force: true })
  const wasMarked = (await unlessMissing(readdir(mark))) !== undefined
  // The database is put in place last. So a killed restore that left a database had only its mark left to remove.
  const isComplete = wasMarked && (await holdsStore(place))
  if (!isComplete) {
    await requireEmpty(place, wasMarked)
    await files.markRestoring(ownMark(place))
    makeFolder(mark)
  }
  const lock = holdMark(mark)
  const work = join(mark, 'work')
  try {
    // The previous holder of the lock may have removed it, or completed a store.
    if (!(await unlessMissing(stat(join(mark, 'lock')))))
      throw new OperatorError('another restore has just ended')
    if (isComplete) {
      await removeMark(mark)
      throw new OperatorError(
        `an earlier restore into ${nameOf(place)} was complete already; nothing was done`,
      )
    }
    await requireEmpty(place, true)
    await rm(work, { recursive: true, force: true })
    makeFolder(work)
  } catch (error) {
    lock.close()
    throw error
  }
  let begun = !wasMarked
  const clear = async () => {
    if (place.kind === 'embedded') await clearStore(place.dataFolder)
  }
  return {
    work,
    begin: async () => {
      begun = true
      await clear()
    },
    finish: () => removeMark(mark).finally(() => lock.close()),
    abandon: async () => {
      try {
        // The connection may have been lost while the database committed. In that case, the files are needed.
        if (place.kind === 'postgres' && (await holdsStore(place).catch(() => true))) return
        await rm(work, { recursive: true, force: true })
        if (!begun) return
        await clear()
        await files.clearRestored(ownMark(place))
        await removeMark(mark)
        for (const folder of made) await rmdir(folder).catch(() => {})
      } finally {
        lock.close()
      }
    },
  }
}

/** @returns the folders among these and their parents that don't exist, deepest first */
async function missing(folders: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>()
  for (const folder of folders)
    for (let path = folder; !(await unlessMissing(stat(path))); path = dirname(path)) found.add(path)
  return [...found].sort((one, other) => other.length - one.length)
}

/** Removes what a restore left beside the store if it was killed after its last step. */
export async function clearAfterRestore(place: Place): Promise<void> {
  const mark = markOf(place)
  await rm(endedMark(mark), { recursive: true, force: true })
  if ((await unlessMissing(stat(join(mark, 'lock')))) === undefined) return
  const lock = holdMark(mark)
  try {
    await removeMark(mark)
  } finally {
    lock.close()
  }
}

/**
 * The mark keeps two restores into one database apart, and is in the folder of files, which all nodes share.
 * For files in a bucket it is in the data folder, and what the bucket says has it (`ownMark`).
 */
const markOf = ({ kind, dataFolder, files }: Place): string =>
  join(kind === 'postgres' && files.kind === 'folder' ? files.folder : dataFolder, restoringFolder)

/** Returns the text that marks the files of a restore as its own. */
const ownMark = (place: Place): string =>
  place.kind === 'postgres' && place.files.kind === 'bucket'
    ? `${nameOf(place)} by ${hostname()} in ${place.dataFolder}`
    : nameOf(place)

/** Returns the path that the mark of a complete restore has while it is removed. */
const endedMark = (mark: string): string => join(dirname(mark), 'restored')

/** Returns a name of the place for messages, without a password. */
function nameOf(place: Place): string {
  return place.kind === 'embedded' ? place.dataFolder : databaseAddress(place.url).name
}

const holdMark = (mark: string): Database =>
  holdFile(
    join(mark, 'lock'),
    (why, cause) =>
      new OperatorError(`${mark} can't be locked: ${why}; another restore may be running`, { cause }),
  )

/** Removes the mark. A single rename decides, because removing may take long. The caller holds the lock. */
async function removeMark(mark: string): Promise<void> {
  await rename(mark, endedMark(mark))
  syncToDisk(dirname(mark))
  await rm(endedMark(mark), { recursive: true, force: true })
}

/** Names in the data folder that a restore creates. */
const storeFiles = ['carrel.db', 'entities', 'secret']

/** Removes the store's files. The database goes first, because the others are a store only together with it. */
async function clearStore(dataFolder: string): Promise<void> {
  for (const name of storeFiles) {
    await rm(join(dataFolder, name), { recursive: true, force: true })
    syncToDisk(dataFolder)
  }
}

async function holdsStore(place: Place): Promise<boolean> {
  if (place.kind === 'embedded')
    return (await unlessMissing(stat(join(place.dataFolder, 'carrel.db')))) !== undefined
  // The driver is loaded only if there is a database for it.
  const database = await import('../../storage/copy/to-postgres.ts')
  return database.hasStore(place.url)
}

/** @param isMarked true if a restore was interrupted here: then all files but the database are its own */
async function requireEmpty(place: Place, isMarked: boolean): Promise<void> {
  if (place.kind === 'postgres') {
    if (!(await holdsStore(place))) return
    throw new OperatorError(
      'the database has a store already; restore into a database without the schema `carrel`',
    )
  }
  const { dataFolder } = place
  const names = (await unlessMissing(readdir(dataFolder))) ?? []
  const found = names.filter(name => /^carrel\.db/.test(name))
  if (!isMarked && names.includes('secret')) found.push('secret')
  if (!isMarked && ((await unlessMissing(readdir(join(dataFolder, 'entities')))) ?? []).length > 0)
    found.push('entities')
  if (found.length > 0)
    throw new OperatorError(
      `the data folder is not empty: ${dataFolder} has ${found.join(', ')}; move it away, or set CARREL_DATA to another folder`,
    )
}
