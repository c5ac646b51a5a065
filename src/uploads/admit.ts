import type { UploadLimits } from '../config/parts.ts'
import { Problem } from '../http/problems.ts'
import { freeIn, listUploads } from './folder.ts'

interface Parts {
  readonly folder: string
  readonly limits: UploadLimits
}

/**
 * Looks whether an upload may be, with the upload itself already there, so that of several at once none is overlooked.
 * @throws Problem 507
 */
export async function admitUpload(
  { folder, limits }: Parts,
  eperson: string,
  id: string,
  size: number,
): Promise<void> {
  const own = (await listUploads(folder)).filter(one => one.eperson === eperson)
  if (own.length > limits.count)
    throw new Problem('no-room', `An eperson may have ${limits.count} uploads (CARREL_UPLOAD_COUNT).`)
  const together = own.reduce((sum, one) => sum + one.size, 0)
  if (together > limits.quota)
    throw new Problem(
      'no-room',
      `With this one, your uploads would be ${megabytes(together)} together; ${megabytes(limits.quota)} is the limit (CARREL_UPLOAD_QUOTA).`,
    )
  // What others have announced needs its room as well.
  const awaited = (await listUploads(folder)).reduce((sum, one) => sum + one.size - one.offset, 0)
  if ((await freeIn(folder)) - awaited < limits.free)
    throw new Problem('no-room', `The disk has no room for ${megabytes(size)} more (CARREL_UPLOAD_FREE).`)
  if (!own.some(one => one.id === id)) throw new Problem('not-found', 'There is no upload with this id.')
}

const megabytes = (bytes: number) => `${Math.ceil(bytes / 1024 / 1024).toLocaleString('en')} MB`
