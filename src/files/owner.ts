import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder } from '../lib/make-folder.ts'
import type { Repository } from '../storage/repository.ts'
import { asUnwritable, isSha256, type Layout, layoutOf, orUndefined, ownName, syncFolder } from './layout.ts'

/** What was asked needs a folder of this store's own; nothing was done. */
export class OtherStore extends Error {
  constructor(folder: string) {
    super(
      `no files were cleared away: ${folder} belongs to another store, which clears away what has no bitstream there; ` +
        'set CARREL_FILES, and CARREL_DATABASE_URL or CARREL_DATA, to what belongs together',
    )
  }
}

type Store = Pick<Repository, 'storeId' | 'contents'>

/**
 * Makes the folder this store's if it is nobody's, before anything is put into it or cleared away: which contents nothing
 * refers to, only the store can say that they are from. Any other would say it of all of them.
 * @returns whether it is this store's
 * @throws StoreUnavailable when that can't be written down
 */
export async function claim(folder: string, store: Store): Promise<boolean> {
  const layout = layoutOf(folder)
  const id = await store.storeId()
  const owner = await orUndefined(readFile(ownerFile(layout), 'utf8'))
  if (owner !== undefined) return owner.trim() === id
  // Restored without this one file, or rid of it on purpose: it goes to the store that its contents are known to.
  if ((await holdsContents(layout)) && !(await holdsSomeOf(layout, store))) return false
  try {
    await writeOwner(layout, id)
  } catch (error) {
    throw asUnwritable(error)
  }
  return true
}

const ownerFile = ({ folder }: Layout) => join(folder, 'store')

async function writeOwner(layout: Layout, id: string): Promise<void> {
  makeFolder(layout.incoming)
  await syncFolder(dirname(layout.folder))
  const temporary = ownName(layout.incoming)
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(`${id}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    // Whole or not at all; the nodes of a store all write the same.
    await rename(temporary, ownerFile(layout))
    await syncFolder(layout.folder)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

async function holdsContents({ folder, orphans }: Layout): Promise<boolean> {
  const names = async (path: string) => (await orUndefined(readdir(path))) ?? []
  return (
    (await names(folder)).some(name => /^[0-9a-f]{2}$/.test(name)) ||
    (await names(orphans)).some(name => isSha256(name.slice(0, 64)))
  )
}

/** Of so many of a store's contents one is there, unless the folder is another's. */
const enough = 100

async function holdsSomeOf(layout: Layout, store: Store): Promise<boolean> {
  for (const { sha256 } of await store.contents('', enough))
    for (const place of [layout.placeOf(sha256), layout.orphanOf(sha256)])
      if (await orUndefined(stat(place))) return true
  return false
}
