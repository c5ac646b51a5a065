import { isUtf8 } from 'node:buffer'
import { constants } from 'node:fs'
import { access, type FileHandle, lstat, open, readlink, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, sep } from 'node:path'
import type { FileStore } from '../../files/file-store.ts'
import { toStoreUnavailable } from '../../files/layout.ts'
import { openedFile } from '../../files/opened.ts'
import { mimeTypeOf } from '../../files/presentation.ts'
import { fileName } from '../../lib/file-name.ts'
import { isMissing } from '../../lib/system-errors.ts'
import type { Content } from '../../model/items.ts'
import { BadItem, checkFiles, type FoundFile, type FoundItem } from './item.ts'
import type { ListedFile } from './item-folder.ts'
import { hintFor } from './similar-name.ts'

/**
 * A file that was found in the source's folder. Files elsewhere are never read, because the source may be
 * from elsewhere, and items may be public.
 */
interface Located {
  /** Path without links. */
  readonly path: string
  readonly size: number
  readonly modified: number
}

const isIn = (folder: string, path: string) => path.startsWith(folder.endsWith(sep) ? folder : folder + sep)

/** @param folder path without links @throws BadItem if there is no such file, or it is outside the folder */
async function locate(folder: string, path: string): Promise<Located> {
  if (path === '') throw new BadItem('the name of a file is empty')
  if (path.includes('\0')) throw new BadItem(`${JSON.stringify(path)} contains a NUL character`)
  if (isAbsolute(path) || path.split(/[/\\]/).includes('..'))
    throw new BadItem(`${path} is outside the folder; use a path relative to it`)
  const full = join(folder, path)
  try {
    const found = await lstat(full)
    if (found.isFile() && !path.includes('/'))
      return { path: full, size: found.size, modified: found.mtimeMs }
    const real = await realpath(full)
    if (!isIn(folder, real))
      throw new BadItem(`${path} is a link to a place outside the folder; put the file itself there`)
    const target = await stat(real)
    if (!target.isFile()) throw new BadItem(`${path} is not a file`)
    return { path: real, size: target.size, modified: target.mtimeMs }
  } catch (error) {
    if (isMissing(error))
      throw new BadItem(`there is no file ${path}${await hintFor(folder, path)}`, { cause: error })
    throw toBadItem(error, path)
  }
}

/** Turns an operating system's error about reading a file into a BadItem. Other errors are returned unchanged. */
export function toBadItem(error: unknown, path: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === undefined || syscall === undefined) return error
  const reason =
    code === 'ENOENT' || code === 'ENOTDIR' ? `there is no file ${path}` : `can't read ${path} (${code})`
  return new BadItem(reason, { cause: error })
}

/**
 * Opens a file that was found before, and checks the opened file, because the source may have
 * changed since, even on purpose.
 * @param folder path without links
 * @param path path in the folder, without links
 * @throws BadItem if it is no longer a file in the folder
 */
export async function openFound({ folder, path }: Pick<FoundFile, 'folder' | 'path'>): Promise<FileHandle> {
  try {
    // Without O_NONBLOCK, opening a FIFO would wait for a writer.
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      if (!(await file.stat()).isFile() || !isIn(folder, await pathOf(file, path)))
        throw new BadItem(`${path} was replaced while it was being read; run the command again`)
      return file
    } catch (error) {
      await file.close()
      throw error
    }
  } catch (error) {
    throw toBadItem(error, path)
  }
}

/**
 * Returns the path of an open file, because O_NOFOLLOW checks only the last part of a path. Linux provides
 * it; elsewhere the path is resolved again.
 */
const pathOf = (file: FileHandle, path: string): Promise<string> =>
  readlink(`/proc/self/fd/${file.fd}`).catch(() => realpath(path))

/** @param folder path without links */
export async function openListed(folder: string, name: string): Promise<FileHandle> {
  const { path } = await locate(folder, name)
  return openFound({ folder, path })
}

/**
 * Finds listed files one after the other, because the items of a batch are processed concurrently.
 * @param folder path without links
 * @throws BadItem for a bad list, before the first file is looked up, or naming the first missing file
 */
export async function findFiles(folder: string, listed: readonly ListedFile[]): Promise<FoundFile[]> {
  const named = listed.map(one => {
    const given = one.path.split('/').at(-1) ?? ''
    return { ...one, ...fileName(given), given }
  })
  checkFiles(named)
  const found: FoundFile[] = []
  for (const { path: listedPath, name, bundle, description, readers, isChanged, given } of named) {
    const { path, size, modified } = await locate(folder, listedPath)
    const mimeType = mimeTypeOf(name)
    // The order of these members is part of the fingerprint.
    const file = { path, folder, size, modified, name, bundle, description, mimeType, readers }
    found.push({ ...file, given: isChanged ? given : null })
  }
  return found
}

const maxDescription = 1024 * 1024

/** Reads a file that describes the item. @throws BadItem */
export async function readText(folder: string, name: string): Promise<string> {
  const file = await openListed(folder, name)
  const chunks: Buffer[] = []
  try {
    // The size is bounded, even if the file grows while it is read.
    for await (const chunk of file.createReadStream({ end: maxDescription })) chunks.push(chunk as Buffer)
  } catch (error) {
    throw toBadItem(error, name)
  }
  const bytes = Buffer.concat(chunks)
  if (bytes.length > maxDescription) throw new BadItem('it is larger than 1 MB')
  if (!isUtf8(bytes)) throw new BadItem('it is not UTF-8; convert it, for example with iconv')
  return bytes.toString().replace(/^\ufeff/, '')
}

/** @throws BadItem if the file can't be read @throws StoreUnavailable if it can't be stored */
export async function keepFile(files: Pick<FileStore, 'keepOpened'>, file: FoundFile): Promise<Content> {
  const source = await openFound(file)
  try {
    return await files.keepOpened(await openedFile(source))
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
