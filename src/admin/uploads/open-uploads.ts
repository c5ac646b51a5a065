import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import type { CountRequest } from '../../files/bucket-requests.ts'
import { openFolderOfUploads, uploadsIn } from './folder.ts'
import type { UploadPlace } from './place.ts'

/** @param count counts requests to a bucket, for metrics */
export async function openUploads(
  config: UploadConfig,
  count: CountRequest = () => {},
): Promise<UploadPlace> {
  const { sharedFiles: shared, uploads } = config
  const local = uploadsIn(config.dataFolder)
  if (!shared) return localUploads(config)
  if (shared.kind === 'folder')
    return openFolderOfUploads(join(shared.folder, 'uploads'), { absent, local, patience: heldFor })
  const { openBucketOfUploads } = await import('./bucket.ts')
  return openBucketOfUploads(shared, count, { absent, local, patience: heldFor, spare: uploads.free })
}

const absent = 'There is no upload with this id.'
/** Time in ms after which the silent program of another machine counts as ended, as the owner of a process does. */
const heldFor = 60_000

/** The folder of uploads of this node alone. */
export function localUploads({ dataFolder, database }: UploadConfig): UploadPlace {
  const local = uploadsIn(dataFolder)
  const alone = `${absent.slice(0, -1)} on this node, ${hostname()}. Nodes share uploads if CARREL_FILES names a folder or a bucket that all of them use; without it, the proxy must send all requests of an upload to one node.`
  return openFolderOfUploads(local, {
    local,
    patience: Number.POSITIVE_INFINITY,
    absent: database.kind === 'embedded' ? absent : alone,
  })
}

export type UploadConfig = Pick<Config, 'dataFolder' | 'database' | 'sharedFiles' | 'uploads'>
