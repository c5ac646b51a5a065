import { isUtf8 } from 'node:buffer'
import { lstat, readFile, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, sep } from 'node:path'
import { mimeTypeOf } from '../files/mime-types.ts'
import type { ListedFile } from './contents.ts'
import { BadItem, type FoundFile } from './item.ts'

/** Files of a source are read from its folder only: a source may be a stranger's, and what is read may be for everybody. */
interface Located {
  /** Without links. */
  readonly path: string
  readonly size: number
  readonly modified: number
}

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
    if (!real.startsWith(folder.endsWith(sep) ? folder : folder + sep))
      throw new BadItem(`${path} is a link that leads out of the folder; put the file itself there`)
    const target = await stat(real)
    if (!target.isFile()) throw new BadItem(`${path} is no file`)
    return { path: real, size: target.size, modified: target.mtimeMs }
  } catch (error) {
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

/** @param folder without links */
export async function findFile(folder: string, listed: ListedFile): Promise<FoundFile> {
  const { path, size, modified } = await locate(folder, listed.path)
  const name = listed.path.split('/').at(-1) ?? ''
  return {
    path,
    size,
    modified,
    name,
    bundle: listed.bundle,
    description: listed.description,
    mimeType: mimeTypeOf(name),
    readers: listed.readers,
  }
}

const mostDescription = 1024 * 1024

/** The text of a file that describes the item. @throws BadItem */
export async function readText(folder: string, name: string): Promise<string> {
  const { path, size } = await locate(folder, name)
  if (size > mostDescription) throw new BadItem('it is larger than 1 MB')
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    throw asBadItem(error, name)
  }
  if (!isUtf8(bytes)) throw new BadItem('it is not UTF-8; convert it first, for instance with iconv')
  return bytes.toString().replace(/^\ufeff/, '')
}
