import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder } from '../lib/durable-names.ts'
import { OperatorError } from '../lib/errors.ts'
import { unlessMissing } from '../lib/system-errors.ts'
import type { Repository } from '../storage/repository.ts'
import { isSha256, type Layout, layoutOf, syncFolder, temporaryIn, toStoreUnavailable } from './layout.ts'

/** The folder of files belongs to another store, so nothing was removed. */
export class OtherStore extends OperatorError {
  constructor(folder: string) {
    super(
      `no files were cleaned up: ${folder} belongs to another store; ` +
        "set CARREL_FILES to this store's folder, or CARREL_DATABASE_URL or CARREL_DATA to that folder's store",
    )
  }
}

/**
 * The folder still belongs to the store that this one is a copy of (docs/decisions/0016); nothing was done.
 */
export class UnfinishedCopy extends OperatorError {
  constructor(folder: string) {
    super(
      `${folder} still belongs to the store that this one was copied from; run \`carrel copy --finish\` first`,
    )
  }
}

type Store = Pick<Repository, 'storeId' | 'contents' | 'copiedFrom'>

/**
 * Records this store as the folder's owner if it has none, before files are added or removed. Only the owner
 * knows which contents are unreferenced; to any other store all of them would look so.
 * @returns true if the folder belongs to this store
 * @throws StoreUnavailable if the owner can't be recorded
 * @throws UnfinishedCopy if the folder belongs to the store that this one is a copy of
 */
export async function claimFolder(folder: string, store: Store): Promise<boolean> {
  const layout = layoutOf(folder)
  const id = await store.storeId()
  const owner = await ownerIn(layout)
  if (owner !== undefined && !owner.startsWith(restoring)) {
    if (owner === id) return true
    if (owner === (await store.copiedFrom())) throw new UnfinishedCopy(folder)
    return false
  }
  // The owner file may be missing after a restore, or removed on purpose. Then the store that knows the
  // contents gets it.
  if ((await holdsContents(layout)) && !(await holdsSomeOf(layout, store)))
    // Another upload to this store may have claimed the folder since, and added the first contents.
    return (await ownerIn(layout)) === id
  try {
    await writeOwner(layout, id)
  } catch (error) {
    throw toStoreUnavailable(error)
  }
  return true
}

/**
 * Takes the folder over from the store that this one is a copy of. One rename decides: from then on, the
 * other store deletes nothing.
 * @returns true if the folder belongs to this store
 */
export async function takeOver(folder: string, store: Store): Promise<boolean> {
  try {
    return await claimFolder(folder, store)
  } catch (error) {
    if (!(error instanceof UnfinishedCopy)) throw error
  }
  try {
    await writeOwner(layoutOf(folder), await store.storeId())
  } catch (error) {
    throw toStoreUnavailable(error)
  }
  return true
}

/**
 * Begins the text in place of an owner if the folder is being filled from a backup, or if that was
 * interrupted. The place that is restored into follows, so that two restores can't fill one folder, and
 * delete each other's files.
 */
const restoring = 'restoring '
const markOf = (into: string) => `${restoring}${into}`

/**
 * Marks an empty folder before it is filled from a backup. A store that knows its contents may claim it
 * afterwards.
 * @param into the place of the store, without a password
 * @throws OperatorError if the folder has contents or an owner, unless this restore marked it before
 */
export async function markRestoring(folder: string, into: string): Promise<void> {
  const layout = layoutOf(folder)
  const owner = await ownerIn(layout)
  if (owner === markOf(into)) return
  if (owner?.startsWith(restoring))
    throw new OperatorError(
      `${folder} has files of a restore into ${owner.slice(restoring.length)}, which is not finished; run that one again, ` +
        'or set CARREL_FILES to another folder',
    )
  if (owner !== undefined || (await holdsContents(layout)))
    throw new OperatorError(
      `the folder of files is not empty: ${folder}; move it away, or set CARREL_FILES to another folder`,
    )
  await writeOwner(layout, markOf(into))
}

/** Removes all files of an unfinished restore from a marked folder. @param into as in the mark */
export async function clearRestored(folder: string, into: string): Promise<void> {
  const layout = layoutOf(folder)
  if ((await ownerIn(layout)) !== markOf(into)) return
  for (const name of await readdir(folder))
    if (/^([0-9a-f]{2}|incoming|orphans)$/.test(name)) await rm(join(folder, name), { recursive: true })
  // The mark goes last, so that a repeated restore finishes this after a SIGKILL.
  await rm(ownerFile(layout))
}

const ownerFile = ({ folder }: Layout) => join(folder, 'store')

const ownerIn = async (layout: Layout): Promise<string | undefined> =>
  (await unlessMissing(readFile(ownerFile(layout), 'utf8')))?.trim()

async function writeOwner(layout: Layout, id: string): Promise<void> {
  makeFolder(layout.incoming)
  await syncFolder(dirname(layout.folder))
  const temporary = temporaryIn(layout)
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(`${id}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    // The rename is atomic, and all nodes of a store write the same text.
    await rename(temporary, ownerFile(layout))
    await syncFolder(layout.folder)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

async function holdsContents({ folder, orphans }: Layout): Promise<boolean> {
  const names = async (path: string) => (await unlessMissing(readdir(path))) ?? []
  return (
    (await names(folder)).some(name => /^[0-9a-f]{2}$/.test(name)) ||
    (await names(orphans)).some(name => isSha256(name.slice(0, 64)))
  )
}

/**
 * Number of the store's contents that are looked for. If none of them is in the folder, it belongs to another
 * store.
 */
const sampleSize = 100

async function holdsSomeOf(layout: Layout, store: Store): Promise<boolean> {
  for (const { sha256 } of await store.contents('', sampleSize))
    for (const place of [layout.placeOf(sha256), layout.orphanOf(sha256)])
      if (await unlessMissing(stat(place))) return true
  return false
}
