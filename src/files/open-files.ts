import type { FilesPlace } from '../config/files-place.ts'
import type { Files, FilesStore } from './files.ts'

/** Opens the files of a store. Nothing is read or written yet. */
export async function openFiles(place: FilesPlace, store: FilesStore): Promise<Files> {
  if (place.kind === 'folder') {
    const { openFolder } = await import('./folder.ts')
    return openFolder(place.folder, store)
  }
  throw new Error('no buckets yet')
}
