import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder } from '../lib/durable-names.ts'
import { OperatorError } from '../lib/errors.ts'
import { unlessMissing } from '../lib/system-errors.ts'
import type { FilesStore } from './files.ts'
import { isSha256, type Layout, layoutOf, syncFolder, temporaryIn, toStoreUnavailable } from './layout.ts'

/** The files belong to another store, so nothing was removed. */
export class OtherStore extends OperatorError {
  constructor(place: string) {
    super(
      `no files were cleaned up: ${place} belongs to another store; ` +
        "set CARREL_FILES to this store's files, or CARREL_DATABASE_URL or CARREL_DATA to the store of those",
    )
  }
}

/** The files still belong to the store that this one is a copy of (docs/decisions/0016); nothing was done. */
class UnfinishedCopy extends OperatorError {
  constructor(place: string) {
    super(
      `${place} still belongs to the store that this one was copied from; run \`carrel copy --finish\` first`,
    )
  }
}

type Store = Pick<FilesStore, 'storeId' | 'contents' | 'copiedFrom'>

/** A place of files that has an owner: the text that names it, and what is there. */
export interface OwnedPlace {
  readonly place: string
  owner(): Promise<string | undefined>
  /** @throws StoreUnavailable if it can't be written */
  setOwner(text: string): Promise<void>
  hasContents(): Promise<boolean>
  has(sha256: string): Promise<boolean>
  /** Removes all contents, and the owner last, so that a repeated restore finishes this after a SIGKILL. */
  clear(): Promise<void>
}

/**
 * Records this store as the owner of a place if it has none, before files are added or removed. Only the owner
 * knows which contents are unreferenced; to any other store all of them would look so.
 * @returns true if the place belongs to this store
 * @throws StoreUnavailable if the owner can't be recorded
 * @throws UnfinishedCopy if the place belongs to the store that this one is a copy of
 */
export async function claimFiles(files: OwnedPlace, store: Store): Promise<boolean> {
  const id = await store.storeId()
  const owner = await files.owner()
  if (owner !== undefined && !owner.startsWith(restoring)) {
    if (owner === id) return true
    if (owner === (await store.copiedFrom())) throw new UnfinishedCopy(files.place)
    return false
  }
  // The owner may be missing after a restore, or removed on purpose. Then the store that knows the contents
  // gets the place.
  if ((await files.hasContents()) && !(await holdsSomeOf(files, store)))
    // Another upload to this store may have claimed the place since, and added the first contents.
    return (await files.owner()) === id
  await files.setOwner(id)
  return true
}

/** True if the place belongs to this store. */
export const isOwner = async (
  files: Pick<OwnedPlace, 'owner'>,
  store: Pick<Store, 'storeId'>,
): Promise<boolean> => (await files.owner()) === (await store.storeId())

/**
 * Takes the place over from the store that this one is a copy of. One write decides: from then on, the
 * other store deletes nothing.
 * @returns true if the place belongs to this store
 */
export async function takeOver(files: OwnedPlace, store: Store): Promise<boolean> {
  try {
    return await claimFiles(files, store)
  } catch (error) {
    if (!(error instanceof UnfinishedCopy)) throw error
  }
  await files.setOwner(await store.storeId())
  return true
}

/**
 * Begins the text in place of an owner if the place is being filled from a backup, or if that was interrupted. The
 * place that is restored into follows, so that two restores can't fill one place, and delete each other's files.
 */
const restoring = 'restoring '
const markOf = (into: string) => `${restoring}${into}`

/**
 * Marks an empty place before it is filled from a backup. A store that knows its contents may claim it afterwards.
 * @param into the place of the store, without a password
 * @throws OperatorError if the place has contents or an owner, unless this restore marked it before
 */
export async function markRestoring(files: OwnedPlace, into: string): Promise<void> {
  const owner = await files.owner()
  if (owner === markOf(into)) return
  const { place } = files
  if (owner?.startsWith(restoring))
    throw new OperatorError(
      `${place} has files of a restore into ${owner.slice(restoring.length)}, which is not finished; run that one again, ` +
        'or set CARREL_FILES to another place',
    )
  if (owner !== undefined || (await files.hasContents()))
    throw new OperatorError(
      `the place of files is not empty: ${place}; move it away, or set CARREL_FILES to another place`,
    )
  await files.setOwner(markOf(into))
}

/** Removes all files of an unfinished restore from a marked place. @param into as in the mark */
export async function clearRestored(files: OwnedPlace, into: string): Promise<void> {
  if ((await files.owner()) === markOf(into)) await files.clear()
}

/** Number of the store's contents that are looked for. If none of them is in the place, it belongs to another store. */
const sampleSize = 100

async function holdsSomeOf(files: OwnedPlace, store: Store): Promise<boolean> {
  for (const { sha256 } of await store.contents('', sampleSize)) if (await files.has(sha256)) return true
  return false
}

/** A folder, whose file `store` names its owner. */
export function ownedFolder(folder: string): OwnedPlace {
  const layout = layoutOf(folder)
  const ownerFile = join(folder, 'store')
  const names = async (path: string) => (await unlessMissing(readdir(path))) ?? []
  return {
    place: folder,
    owner: async () => (await unlessMissing(readFile(ownerFile, 'utf8')))?.trim(),
    setOwner: text =>
      writeOwner(layout, ownerFile, text).catch(error => {
        throw toStoreUnavailable(error)
      }),
    hasContents: async () =>
      (await names(folder)).some(name => /^[0-9a-f]{2}$/.test(name)) ||
      (await names(layout.orphans)).some(name => isSha256(name.slice(0, 64))),
    has: async sha256 => {
      for (const place of [layout.placeOf(sha256), layout.orphanOf(sha256)])
        if (await unlessMissing(stat(place))) return true
      return false
    },
    clear: async () => {
      for (const name of await readdir(folder))
        if (/^([0-9a-f]{2}|incoming|orphans)$/.test(name)) await rm(join(folder, name), { recursive: true })
      await rm(ownerFile)
    },
  }
}

async function writeOwner(layout: Layout, ownerFile: string, text: string): Promise<void> {
  makeFolder(layout.incoming)
  await syncFolder(dirname(layout.folder))
  const temporary = temporaryIn(layout)
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(`${text}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    // The rename is atomic, and all nodes of a store write the same text.
    await rename(temporary, ownerFile)
    await syncFolder(layout.folder)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}
