import { rm } from 'node:fs/promises'
import { unlessMissing } from '../lib/system-errors.ts'
import { createFileStore } from './file-store.ts'
import type { Files, FilesStore } from './files.ts'
import { layoutOf } from './layout.ts'
import { claimFiles, clearRestored, markRestoring, ownedFolder, takeOver } from './owner.ts'
import { requireFolder } from './require-folder.ts'
import { clearIncoming, pauseSweeps, sweep } from './sweep.ts'

/** Files in a folder, which all nodes of a service share. */
export function openFolder(folder: string, store: FilesStore): Files {
  const owned = ownedFolder(folder)
  return {
    ...createFileStore(folder),
    place: folder,
    bucket: undefined,
    copyFrom: async () => false,
    sign: undefined,
    claim: () => claimFiles(owned, store),
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
    require: () => requireFolder(folder, store),
  }
}
