import type { FilesPlace } from '../../config/files-place.ts'
import type { Backups } from './backups.ts'
import { manifestsIn, openToRead, openToWrite } from './folder.ts'
import type { Manifests } from './manifest.ts'

/**
 * Opens a place of backups to write, creating it if necessary, or to read.
 * @throws OperatorError if it holds something else, or is in use
 */
export async function openBackups(place: FilesPlace, mode: 'read' | 'write'): Promise<Backups> {
  if (place.kind === 'folder') return mode === 'write' ? openToWrite(place.folder) : openToRead(place.folder)
  const { openBucketOfBackups } = await import('./bucket.ts')
  return openBucketOfBackups(place, mode)
}

/** Returns the manifests of a place of backups, which is not locked to read them. */
export async function manifestsAt(place: FilesPlace): Promise<Manifests> {
  if (place.kind === 'folder') return manifestsIn(place.folder)
  const { manifestsInBucket } = await import('./bucket.ts')
  return manifestsInBucket(place)
}
