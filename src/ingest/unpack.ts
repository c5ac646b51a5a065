import { createWriteStream } from 'node:fs'
import { mkdir, open, readdir, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ImportError } from '../import/import-error.ts'
import { systemReason } from '../lib/system-errors.ts'
import { OperatorError } from '../model/errors.ts'
import { BrokenArchive, maxEntries, type Unpacker } from './packed.ts'
import { visible } from './similar-name.ts'

/**
 * Unpacks an archive that somebody has sent: nothing of it is trusted. It becomes plain files and folders below one folder,
 * and nothing else; what is anything else, or more than it may be, ends it.
 */
export interface Bounds {
  /** Bytes of all files together. */
  readonly size: number
  /** Throws if the disk has no room for more. */
  requireRoom(): Promise<void>
  readonly signal: AbortSignal
}

const maxName = 1_000
const maxDepth = 10
/** Text shrinks to a tenth or a twentieth; a bomb to a thousandth. It doesn't count for little. */
const maxRatio = 200
const small = 64 * 1024 * 1024
/** After so many bytes, there is a look at the disk. */
const roomStep = 64 * 1024 * 1024

export async function unpack(path: string, to: string, bounds: Bounds): Promise<void> {
  const { size: packedSize, kind } = await kindOf(path)
  const unpacker: Unpacker =
    kind === 'zip' ? (await import('./unpack-zip.ts')).readZip : (await import('./unpack-tar.ts')).readTar
  const most = Math.min(bounds.size, Math.max(small, packedSize * maxRatio))
  const names = new Map<string, 'file' | 'folder'>()
  let unpacked = 0
  let looked = 0
  let entries = 0

  async function* counted(content: AsyncIterable<Buffer>) {
    for await (const chunk of content) {
      bounds.signal.throwIfAborted()
      unpacked += chunk.length
      if (unpacked > most)
        throw new ImportError(
          most === bounds.size
            ? 'what is in the archive is larger than it may be'
            : `what is in the archive is more than ${maxRatio} times larger than the archive; pack it differently`,
        )
      if (unpacked - looked > roomStep) {
        looked = unpacked
        await bounds.requireRoom()
      }
      yield chunk
    }
  }

  await bounds.requireRoom()
  try {
    for await (const entry of unpacker(path)) {
      bounds.signal.throwIfAborted()
      if (++entries > maxEntries)
        throw new ImportError(
          `the archive has more than ${maxEntries.toLocaleString('en')} files and folders`,
        )
      const parts = partsOf(entry.name)
      if (parts.length === 0 || isOfMac(parts)) {
        entry.skip()
        continue
      }
      if (entry.kind === 'other')
        throw bad(entry.name, 'is a link or a special file; only files and folders can be taken')
      keepName(names, parts, entry.kind, entry.name)
      const place = join(to, ...parts)
      if (entry.kind === 'folder') {
        entry.skip()
        await mkdir(place, { recursive: true, mode: 0o700 })
        continue
      }
      await mkdir(dirname(place), { recursive: true, mode: 0o700 })
      // `wx` follows no link, and replaces nothing.
      const file = createWriteStream(place, { flags: 'wx', mode: 0o600 })
      await orBroken(pipeline(counted(await entry.content()), file))
      // A repeated ingest sees by it that a file has not changed.
      await utimes(place, entry.changed, entry.changed)
    }
  } catch (error) {
    throw asImportError(error)
  }
}

/** What a client is told of a broken archive, and of a disk. Everything else stays what it is. */
function asImportError(error: unknown): unknown {
  if (error instanceof ImportError || !(error instanceof Error) || error.name === 'AbortError') return error
  const reason = systemReason(error)
  if (reason !== undefined)
    return new ImportError(`the archive can't be unpacked: ${reason}`, { cause: error })
  const { code } = error as NodeJS.ErrnoException
  const isBroken = error instanceof BrokenArchive || code?.startsWith('Z_') === true
  return isBroken ? new ImportError(`the archive is damaged: ${error.message}`, { cause: error }) : error
}

/** What goes wrong with the content of a file, but for the disk, is the archive's. */
async function orBroken(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof Error) || error instanceof OperatorError || systemReason(error) !== undefined)
      throw error
    throw new BrokenArchive(error.message, { cause: error })
  }
}

/** @throws ImportError for a name that leads elsewhere, or nowhere */
function partsOf(name: string): readonly string[] {
  if (name.length > maxName) throw bad(name, `has a name of more than ${maxName} characters`)
  if (/[\p{Cc}\\]/u.test(name) || !name.isWellFormed())
    throw bad(name, 'has a control character or a backslash in its name')
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) throw bad(name, 'has an absolute path')
  const parts = name
    .split('/')
    .filter((part, at, all) => part !== '.' && !(part === '' && at === all.length - 1))
  if (parts.some(part => part === '' || part === '..'))
    throw bad(name, 'has a path that leads out of its folder')
  if (parts.length > maxDepth) throw bad(name, `is more than ${maxDepth} folders deep`)
  if (parts.some(part => Buffer.byteLength(part) > 255))
    throw bad(name, 'has a part of more than 255 bytes in its path')
  return parts
}

/** What macOS adds to archives. */
const isOfMac = (parts: readonly string[]) => parts[0] === '__MACOSX' || parts.at(-1) === '.DS_Store'

/** Two names that differ by case or by the form of their characters are one on some file systems. */
function keepName(
  names: Map<string, 'file' | 'folder'>,
  parts: readonly string[],
  kind: 'file' | 'folder',
  name: string,
): void {
  const key = (count: number) => parts.slice(0, count).join('/').normalize('NFC').toLowerCase()
  for (let count = 1; count < parts.length; count++) {
    if (names.get(key(count)) === 'file') throw bad(name, 'is in a folder that is a file as well')
    names.set(key(count), 'folder')
  }
  const known = names.get(key(parts.length))
  if (known === 'file' || (known === 'folder' && kind === 'file')) throw bad(name, 'is there twice')
  names.set(key(parts.length), kind)
  if (names.size > 2 * maxEntries) throw new ImportError('the archive has too many folders')
}

const bad = (name: string, what: string) =>
  new ImportError(`${visible(name.length > 200 ? `${name.slice(0, 200)}…` : name)} ${what}`)

async function kindOf(path: string): Promise<{ readonly size: number; readonly kind: 'zip' | 'tar' }> {
  const file = await open(path)
  try {
    const start = Buffer.alloc(512)
    const { bytesRead } = await file.read(start, 0, start.length, 0)
    const { size } = await file.stat()
    if (start.toString('latin1', 0, 2) === 'PK') return { size, kind: 'zip' }
    const isGzip = start[0] === 0x1f && start[1] === 0x8b
    if (isGzip || (bytesRead === 512 && start.toString('latin1', 257, 262) === 'ustar'))
      return { size, kind: 'tar' }
    throw new ImportError('this is neither a zip, nor a tar, nor a tar.gz')
  } finally {
    await file.close()
  }
}

/**
 * The folder of items: archives often have everything in one folder.
 * @returns its path, and its name where the archive has one
 */
export async function rootOf(folder: string): Promise<{ readonly path: string; readonly name?: string }> {
  let found: { path: string; name?: string } = { path: folder }
  for (let depth = 0; depth < 3; depth++) {
    const entries = (await readdir(found.path, { withFileTypes: true })).filter(
      ({ name }) => !name.startsWith('.'),
    )
    const [only, ...more] = entries
    if (!only?.isDirectory() || more.length > 0) return found
    const inside = join(found.path, only.name)
    if ((await readdir(inside)).includes('dublin_core.xml')) return found
    found = { path: inside, name: only.name }
  }
  return found
}
