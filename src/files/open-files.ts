import type { FilesPlace } from '../config/files-place.ts'
import type { CountRequest } from './bucket-requests.ts'
import type { Files, FilesStore } from './files.ts'

/**
 * Opens the files of a store. Nothing is read or written yet.
 * @param count counts requests to a bucket, for metrics
 */
export async function openFiles(
  place: FilesPlace,
  store: FilesStore,
  count: CountRequest = () => {},
): Promise<Files> {
  if (place.kind === 'folder') {
    const { openFolder } = await import('./folder.ts')
    return openFolder(place.folder, store)
  }
  // The library of buckets takes longer to load than the rest of a command.
  const { openBucket } = await import('./bucket.ts')
  return openBucket(place, store, count)
}
