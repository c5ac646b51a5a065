import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import type { FileStore } from '../../files/file-store.ts'
import { toStoreUnavailable } from '../../files/layout.ts'
import type { Content } from '../../model/items.ts'
import type { FoundFile, FoundItem } from './item.ts'
import { openFound, toBadItem } from './read-file.ts'

/** @throws BadItem if the file can't be read @throws StoreUnavailable if it can't be stored */
export async function keepFile(files: Pick<FileStore, 'keepOpened'>, file: FoundFile): Promise<Content> {
  const source = await openFound(file)
  try {
    return await files.keepOpened(source)
  } catch (error) {
    const { syscall } = error as NodeJS.ErrnoException
    throw syscall === 'read' ? toBadItem(error, file.path) : toStoreUnavailable(error)
  } finally {
    await source.close()
  }
}

/** @throws BadItem naming the first file that can't be read */
export async function checkReadable({ files }: FoundItem): Promise<void> {
  for (const { path } of files)
    await access(path, constants.R_OK).catch(error => {
      throw toBadItem(error, path)
    })
}
