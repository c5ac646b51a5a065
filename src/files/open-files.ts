import { opendir, rm } from 'node:fs/promises'
import type { FilesPlace } from '../config/files-place.ts'
import { StoreUnavailable } from '../lib/errors.ts'
import { unlessMissing } from '../lib/system-errors.ts'
import type { CountRequest } from './bucket-requests.ts'
import { derived, derivedInFolder } from './derived.ts'
import { createFileStore } from './file-store.ts'
import type { Files, FilesStore } from './files.ts'
import { layoutOf } from './layout.ts'
import { claimFiles, clearRestored, isOwner, markRestoring, ownedFolder, takeOver } from './owner.ts'
import { clearIncoming, pauseSweeps, sweep } from './sweep.ts'

/**
 * Opens the files of a store. Nothing is read or written yet.
 * @param count counts requests to a bucket, for metrics
 */
export async function openFiles(
  place: FilesPlace,
  store: FilesStore,
  count: CountRequest = () => {},
): Promise<Files> {
  if (place.kind === 'folder') return openFolder(place.folder, store)
  // The library of buckets takes longer to load than the rest of a command.
  const { openBucket } = await import('./bucket.ts')
  return openBucket(place, store, count)
}

/** Files in a folder, which all nodes of a service share. */
function openFolder(folder: string, store: FilesStore): Files {
  const owned = ownedFolder(folder)
  return {
    ...createFileStore(folder),
    place: folder,
    bucket: undefined,
    copyFrom: async () => false,
    sign: undefined,
    claim: () => claimFiles(owned, store),
    isOwned: () => isOwner(owned, store),
    takeOver: () => takeOver(owned, store),
    markRestoring: into => markRestoring(owned, into),
    clearRestored: into => clearRestored(owned, into),
    sweep: (progress, now) => sweep(folder, store, progress, now),
    remove: async sha256 => {
      const { placeOf } = layoutOf(folder)
      return (await unlessMissing(rm(placeOf(sha256)).then(() => true))) ?? false
    },
    clearIncoming: now => clearIncoming(folder, now),
    pauseSweeps: () => pauseSweeps(folder),
    derived: derivedInFolder(folder),
    require: () => requireFolder(folder, store),
  }
}

/**
 * Requires that the folder of files is there. One that has lost everything counts as missing: it is the place
 * where another file system was mounted. Before there are files, no folder is needed.
 * @throws StoreUnavailable saying what to do
 */
async function requireFolder(folder: string, { contents }: Pick<FilesStore, 'contents'>): Promise<void> {
  if (!(await isMissingOrEmpty(folder)) || (await contents('', 1)).length === 0) return
  throw new StoreUnavailable(
    `the folder of files ${folder} is missing or empty: put it back, mount it, or restore it from a backup; nothing needs a restart`,
  )
}

/** Uploads may have begun since the files were lost, and fields may have been derived. */
async function isMissingOrEmpty(path: string): Promise<boolean> {
  const folder = await unlessMissing(opendir(path))
  if (!folder) return true
  for await (const { name } of folder) if (name !== 'uploads' && name !== derived) return false
  return true
}
