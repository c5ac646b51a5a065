import { opendir } from 'node:fs/promises'
import { StoreUnavailable } from '../lib/errors.ts'
import { unlessMissing } from '../lib/system-errors.ts'
import type { Repository } from '../storage/repository.ts'

/**
 * Requires that the folder of files is there. One that has lost everything counts as missing: it is the place
 * where another file system was mounted. Before there are files, no folder is needed.
 * @throws StoreUnavailable saying what to do
 */
export async function requireFolder(
  folder: string,
  { contents }: Pick<Repository, 'contents'>,
): Promise<void> {
  if (!(await isMissingOrEmpty(folder)) || (await contents('', 1)).length === 0) return
  throw new StoreUnavailable(
    `the folder of files ${folder} is missing or empty: put it back, mount it, or restore it from a backup; nothing needs a restart`,
  )
}

/** Uploads may have begun since the files were lost. */
async function isMissingOrEmpty(path: string): Promise<boolean> {
  const folder = await unlessMissing(opendir(path))
  if (!folder) return true
  for await (const { name } of folder) if (name !== 'uploads') return false
  return true
}
