import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import type { FileStore } from '../files/file-store.ts'
import { asUnwritable } from '../files/layout.ts'
import type { Content } from '../model/items.ts'
import type { FoundFile, FoundItem } from './item.ts'
import { asBadItem, openFound } from './read-file.ts'

/** @throws BadItem when the file can't be read; StoreUnavailable when it can't be kept */
export async function keepFile(files: Pick<FileStore, 'keepOpened'>, file: FoundFile): Promise<Content> {
  const source = await openFound(file)
  try {
    return await files.keepOpened(source)
  } catch (error) {
    const { syscall } = error as NodeJS.ErrnoException
    throw syscall === 'read' ? asBadItem(error, file.path) : asUnwritable(error)
  } finally {
    await source.close()
  }
}

/** @throws BadItem for the first file that can't be read */
export async function checkReadable({ files }: FoundItem): Promise<void> {
  for (const { path } of files)
    await access(path, constants.R_OK).catch(error => {
      throw asBadItem(error, path)
    })
}
