import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readdir, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { ImportError } from '../../import/import-error.ts'
import { OperatorError } from '../../lib/errors.ts'
import { systemReason } from '../../lib/system-errors.ts'
import { BrokenArchive, macFolder, maxEntries, type Packed, type Unpacker } from './packed.ts'
import { visible } from './similar-name.ts'

/**
 * Bounds for unpacking an archive, none of which is trusted. It becomes plain files and folders below one
 * folder, and nothing else; an entry of another kind, or one beyond these bounds, ends the unpacking.
 */
interface Bounds {
  /** Maximum bytes of all files together. */
  readonly size: number
  /** Throws if the disk has no room for more. */
  requireRoom(): Promise<void>
  readonly signal: AbortSignal
}

const maxName = 1_000
const maxDepth = 10
/**
 * Maximum ratio of unpacked to packed size. Text shrinks to a tenth or a twentieth, a bomb to a thousandth.
 * Archives that unpack to at most `small` bytes are exempt.
 */
const maxRatio = 200
const small = 64 * 1024 * 1024
/** Number of bytes after which the free space of the disk is checked again. */
const roomStep = 64 * 1024 * 1024

/**
 * Unpacks an archive into a folder.
 * @throws ImportError naming the faulty entry, before anything is written if the archive's list shows the fault
 */
export async function unpack(path: string, to: string, bounds: Bounds): Promise<void> {
  const { size: packedSize, kind } = await kindOf(path)
  const unpacker: Unpacker =
    kind === 'zip' ? (await import('./unpack-zip.ts')).readZip : await tarReader(kind === 'tar.gz')
  const most = Math.min(bounds.size, Math.max(small, packedSize * maxRatio))
  try {
    await bounds.requireRoom()
    await lookThrough(unpacker(path, bounds.signal), most, bounds)
    await write(unpacker(path, bounds.signal), to, most, bounds)
  } catch (error) {
    throw asImportError(error)
  }
}

async function tarReader(isZipped: boolean): Promise<Unpacker> {
  const { readTar } = await import('../../lib/tar.ts')
  return async function* (path, signal) {
    const input = createReadStream(path, { signal })
    const broken = (why: string, cause?: Error) => new BrokenArchive(why, { cause })
    for await (const entry of readTar({
      input,
      ...(isZipped && { unpack: createGunzip() }),
      whole: false,
      broken,
    }))
      yield { ...entry, name: entry.name.includes('\ufffd') ? null : entry.name, shown: visible(entry.name) }
  }
}

const tooLarge = (most: number, { size }: Bounds) =>
  new ImportError(
    most === size
      ? 'what is in the archive is larger than it may be'
      : `what is in the archive is more than ${maxRatio} times larger than the archive; pack it differently`,
  )

/** Maximum number of names that a message lists. */
const maxShown = 20

/**
 * Checks all entries first, which ends a hostile archive in seconds: writing files takes a hundred times
 * as long as skipping them.
 */
async function lookThrough(entries: AsyncIterable<Packed>, most: number, bounds: Bounds): Promise<void> {
  const names = new Map<string, 'file' | 'folder'>()
  const unreadable: string[] = []
  let count = 0
  let unreadableCount = 0
  let size = 0
  for await (const entry of entries) {
    bounds.signal.throwIfAborted()
    if (++count > maxEntries)
      throw new ImportError(`the archive has more than ${maxEntries.toLocaleString('en')} files and folders`)
    size += entry.kind === 'file' ? entry.size : 0
    if (size > most) throw tooLarge(most, bounds)
    entry.skip()
    if (entry.name === null) {
      if (++unreadableCount <= maxShown) unreadable.push(shortened(entry.shown))
      continue
    }
    const parts = partsOf(entry.name)
    if (parts.length === 0 || isOfMac(parts)) continue
    if (entry.kind === 'other')
      throw bad(entry.name, 'is a link or a special file; only files and folders can be taken')
    keepName(names, parts, entry.kind, entry.name)
  }
  if (unreadableCount > 0)
    throw new ImportError(
      `the archive has names that are not UTF-8, so it can't be known what they are: ${unreadable.join(', ')}` +
        `${unreadableCount > maxShown ? ` and ${unreadableCount - maxShown} more` : ''}; pack it with names in UTF-8`,
    )
}

async function write(
  entries: AsyncIterable<Packed>,
  to: string,
  most: number,
  bounds: Bounds,
): Promise<void> {
  const folders = new Set<string>()
  let unpacked = 0
  let looked = 0

  async function* counted(content: AsyncIterable<Buffer>) {
    for await (const chunk of content) {
      bounds.signal.throwIfAborted()
      unpacked += chunk.length
      if (unpacked > most) throw tooLarge(most, bounds)
      if (unpacked - looked > roomStep) {
        looked = unpacked
        await bounds.requireRoom()
      }
      yield chunk
    }
  }

  async function makeFolder(path: string): Promise<void> {
    if (folders.has(path)) return
    await mkdir(path, { recursive: true, mode: 0o700 })
    folders.add(path)
  }

  for await (const entry of entries) {
    bounds.signal.throwIfAborted()
    const parts = partsOf(entry.name ?? '')
    if (parts.length === 0 || isOfMac(parts)) {
      entry.skip()
      continue
    }
    const place = join(to, ...parts)
    if (entry.kind !== 'file') {
      entry.skip()
      await makeFolder(place)
      continue
    }
    await makeFolder(dirname(place))
    // The flag `wx` follows no link, and replaces nothing.
    const file = createWriteStream(place, { flags: 'wx', mode: 0o600 })
    await orBroken(entry.shown, pipeline(counted(entry.content()), file))
    // The time tells a repeated ingest that a file has not changed.
    await utimes(place, entry.changed, entry.changed)
  }
}

/** Turns errors of a broken archive and of the disk into messages for the client. All other errors stay unchanged. */
function asImportError(error: unknown): unknown {
  if (error instanceof ImportError || !(error instanceof Error) || error.name === 'AbortError') return error
  const reason = systemReason(error)
  if (reason !== undefined)
    return new ImportError(`the archive can't be unpacked: ${reason}`, { cause: error })
  const { code } = error as NodeJS.ErrnoException
  const isBroken = error instanceof BrokenArchive || code?.startsWith('Z_') === true
  return isBroken ? new ImportError(`the archive is damaged: ${error.message}`, { cause: error }) : error
}

/** Blames the archive for errors with the content of a file, except for errors of the disk. */
async function orBroken(shown: string, work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof Error) || error instanceof OperatorError || systemReason(error) !== undefined)
      throw error
    if (error.name === 'AbortError') throw error
    throw new BrokenArchive(`${shortened(shown)}: ${error.message}`, { cause: error })
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

/** True for an entry that macOS adds to archives. */
const isOfMac = (parts: readonly string[]) => parts.includes(macFolder) || parts.at(-1) === '.DS_Store'

/**
 * Records a name, and refuses one that is taken. Two names that differ only by case or by Unicode
 * normalization are the same on some file systems.
 */
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

const bad = (name: string, what: string) => new ImportError(`${shortened(visible(name))} ${what}`)

const shortened = (shown: string) => (shown.length > 200 ? `${shown.slice(0, 200)}…"` : shown)

async function kindOf(
  path: string,
): Promise<{ readonly size: number; readonly kind: 'zip' | 'tar' | 'tar.gz' }> {
  const file = await open(path)
  try {
    const start = Buffer.alloc(512)
    const { bytesRead } = await file.read(start, 0, start.length, 0)
    const { size } = await file.stat()
    if (start.toString('latin1', 0, 2) === 'PK') return { size, kind: 'zip' }
    if (start[0] === 0x1f && start[1] === 0x8b) return { size, kind: 'tar.gz' }
    if (bytesRead === 512 && start.toString('latin1', 257, 262) === 'ustar') return { size, kind: 'tar' }
    throw new ImportError('this is neither a zip, nor a tar, nor a tar.gz')
  } finally {
    await file.close()
  }
}

/**
 * Returns the folder of items, because archives often have everything in one folder.
 * @returns its path, and its name if the archive has one
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
