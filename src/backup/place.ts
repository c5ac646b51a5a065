import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessMissing } from '../files/layout.ts'
import { clearRestored, markRestoring } from '../files/owner.ts'
import { makeFolder } from '../lib/make-folder.ts'
import { openSqlite } from '../lib/sqlite.ts'
import { OperatorError } from '../model/errors.ts'
import { restoringFolder } from '../storage/copy/restored.ts'

/** Where a store is restored to. */
export type Place = { readonly filesFolder: string } & (
  | { readonly kind: 'embedded'; readonly dataFolder: string }
  | { readonly kind: 'postgres'; readonly url: string }
)

export interface ClaimedPlace {
  /** An empty folder on the same file system as the data folder. */
  readonly work: string
  /** Removes what was needed in between. */
  finish(): Promise<void>
  /** Removes everything that was restored. */
  abandon(): Promise<void>
}

/**
 * Makes sure that a place is empty, and marks it, so that nobody takes it for a store. What a killed restore has left is
 * removed.
 * @throws OperatorError if it is not empty, or another restore is using it
 */
export async function claimPlace(place: Place): Promise<ClaimedPlace> {
  const mark = join(place.kind === 'embedded' ? place.dataFolder : place.filesFolder, restoringFolder)
  const isMarked = (await unlessMissing(readdir(mark))) !== undefined
  await requireEmpty(place, isMarked)
  if (!(await markRestoring(place.filesFolder)))
    throw new OperatorError(
      `the folder of files is not empty: ${place.filesFolder}; move it away, or set CARREL_FILES to another folder`,
    )
  makeFolder(mark)
  const lock = openSqlite(
    join(mark, 'lock'),
    { mode: 'write' },
    (why, cause) =>
      new OperatorError(`${mark} can't be locked: ${why}; another restore may be running`, { cause }),
  )
  const work = join(mark, 'work')
  const removeWork = async () => {
    lock.close()
    await rm(mark, { recursive: true, force: true })
  }
  const clear = async () => {
    await rm(work, { recursive: true, force: true })
    if (place.kind === 'embedded')
      for (const name of storeFiles) await rm(join(place.dataFolder, name), { recursive: true, force: true })
  }
  try {
    lock.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
    // The restore that had the lock before may have removed the lock, or made a store.
    if (!(await unlessMissing(stat(join(mark, 'lock')))))
      throw new OperatorError('another restore has just ended')
    await requireEmpty(place, true)
    await clear()
    makeFolder(work)
  } catch (error) {
    lock.close()
    throw error
  }
  return {
    work,
    finish: removeWork,
    abandon: async () => {
      // The connection may have been lost while the database committed. Then the files are needed.
      if (place.kind === 'postgres' && !(await hasNoStore(place.url))) return lock.close()
      await clear()
      await clearRestored(place.filesFolder)
      await removeWork()
    },
  }
}

/** What a restore puts into the data folder before the database. */
const storeFiles = ['entities', 'secret']

/** The driver is loaded where there is a database for it. */
async function requireNoStore(url: string): Promise<void> {
  const database = await import('../storage/copy/into-postgres.ts')
  await database.requireNoStore(url)
}

const hasNoStore = (url: string): Promise<boolean> =>
  requireNoStore(url).then(
    () => true,
    () => false,
  )

/** @param isMarked whether a restore was interrupted here: then all but the database is its own */
async function requireEmpty(place: Place, isMarked: boolean): Promise<void> {
  if (place.kind === 'postgres') return requireNoStore(place.url)
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
