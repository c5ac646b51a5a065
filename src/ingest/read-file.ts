import { isUtf8 } from 'node:buffer'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, sep } from 'node:path'
import { isMissing } from '../files/layout.ts'
import { mimeTypeOf } from '../files/mime-types.ts'
import type { ListedFile } from './contents.ts'
import { BadItem, checkFiles, type FoundFile } from './item.ts'
import { hintFor } from './similar-name.ts'

/** Files of a source are read from its folder only: a source may be a stranger's, and what is read may be for everybody. */
interface Located {
  /** Without links. */
  readonly path: string
  readonly size: number
  readonly modified: number
}

const isIn = (folder: string, path: string) => path.startsWith(folder.endsWith(sep) ? folder : folder + sep)

/**
 * @param folder without links
 * @throws BadItem when there is no such file, or it is outside of the folder
 */
async function locate(folder: string, path: string): Promise<Located> {
  if (path === '') throw new BadItem('a file without a name')
  if (path.includes('\0')) throw new BadItem(`${JSON.stringify(path)} has a NUL character`)
  if (isAbsolute(path) || path.split(/[/\\]/).includes('..'))
    throw new BadItem(`${path} leads out of the folder; name files by their paths in it`)
  const full = join(folder, path)
  try {
    const found = await lstat(full)
    if (found.isFile() && !path.includes('/'))
      return { path: full, size: found.size, modified: found.mtimeMs }
    const real = await realpath(full)
    if (!isIn(folder, real))
      throw new BadItem(`${path} is a link that leads out of the folder; put the file itself there`)
    const target = await stat(real)
    if (!target.isFile()) throw new BadItem(`${path} is no file`)
    return { path: real, size: target.size, modified: target.mtimeMs }
  } catch (error) {
    if (isMissing(error))
      throw new BadItem(`there is no file ${path}${await hintFor(folder, path)}`, { cause: error })
    throw asBadItem(error, path)
  }
}

/** What the operating system says of a file that can't be read makes the item bad, and nothing else. */
export function asBadItem(error: unknown, path: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === undefined || syscall === undefined) return error
  const reason =
    code === 'ENOENT' || code === 'ENOTDIR' ? `there is no file ${path}` : `${path} can't be read (${code})`
  return new BadItem(reason, { cause: error })
}

/**
 * Opens what was found before, and looks at what was opened: the source may have changed meanwhile, on purpose, too.
 * @param folder without links
 * @param path in it, without links
 * @throws BadItem when it is not a file in the folder any more
 */
export async function openFound({ folder, path }: Pick<FoundFile, 'folder' | 'path'>): Promise<FileHandle> {
  try {
    // O_NONBLOCK: without it a FIFO is not open before somebody writes to it.
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      if (!(await file.stat()).isFile() || !isIn(folder, await placeOf(file, path)))
        throw new BadItem(`${path} has become something else while it was read; run the command again`)
      return file
    } catch (error) {
      await file.close()
      throw error
    }
  } catch (error) {
    throw asBadItem(error, path)
  }
}

/** O_NOFOLLOW looks at the last part of the path only. Linux says where a file is that is open; others are asked again. */
const placeOf = (file: FileHandle, path: string): Promise<string> =>
  readlink(`/proc/self/fd/${file.fd}`).catch(() => realpath(path))

/** @param folder without links */
export async function openListed(folder: string, name: string): Promise<FileHandle> {
  const { path } = await locate(folder, name)
  return openFound({ folder, path })
}

/**
 * One after the other: the items of a batch are under way at once already.
 * @param folder without links
 * @throws BadItem for the list before the first file is looked for, then for the first that is none
 */
export async function findFiles(folder: string, listed: readonly ListedFile[]): Promise<FoundFile[]> {
  const named = listed.map(one => ({ ...one, name: one.path.split('/').at(-1) ?? '' }))
  checkFiles(named)
  const found: FoundFile[] = []
  for (const { path: listedPath, name, bundle, description, readers } of named) {
    const { path, size, modified } = await locate(folder, listedPath)
    const mimeType = mimeTypeOf(name)
    // The order of these is part of the fingerprint.
    found.push({ path, folder, size, modified, name, bundle, description, mimeType, readers })
  }
  return found
}

const maxDescription = 1024 * 1024

/** The text of a file that describes the item. @throws BadItem */
export async function readText(folder: string, name: string): Promise<string> {
  const file = await openListed(folder, name)
  const chunks: Buffer[] = []
  try {
    // No further, however long it may have become.
    for await (const chunk of file.createReadStream({ end: maxDescription })) chunks.push(chunk as Buffer)
  } catch (error) {
    throw asBadItem(error, name)
  }
  const bytes = Buffer.concat(chunks)
  if (bytes.length > maxDescription) throw new BadItem('it is larger than 1 MB')
  if (!isUtf8(bytes)) throw new BadItem('it is not UTF-8; convert it first, for instance with iconv')
  return bytes.toString().replace(/^\ufeff/, '')
}
