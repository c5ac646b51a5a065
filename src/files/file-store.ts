import { createHash, hash } from 'node:crypto'
import {
  chmod,
  type FileHandle,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
} from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import type { Client } from '../lib/fair-queue.ts'
import { gather } from '../lib/gather.ts'
import { unlessMissing } from '../lib/system-errors.ts'
import type { Content } from '../model/items.ts'
import { type Layout, layoutOf, modesIn, restoreOrphan, syncFolder, temporaryIn, touch } from './layout.ts'
import { type Opened, openedFile, type Readable, readThrough, readWhole } from './opened.ts'
import type { ByteRange } from './ranges.ts'

/** Contents of bitstreams by their SHA-256. Each content is stored once, however many bitstreams have it. */
export interface FileStore {
  /** Stores a copy of the file at this path under its SHA-256. It is on disk when the promise resolves. */
  keep(path: string): Promise<Content>
  /** Like `keep`, for an open file, which is read from its start and stays open. */
  keepOpened(source: Opened): Promise<Content>
  /**
   * Like `keep`, without a copy if the file is on the same file system: it gets another name. It must not
   * change any more, and the owner of the old name removes that.
   */
  adopt(path: string): Promise<Content>
  /**
   * Stores a content that arrives in pieces. A piece is written before the next one is asked for. An
   * interrupted one leaves nothing.
   * @param from the client that sends it
   */
  receive(pieces: AsyncIterable<Buffer>, from?: Client): Promise<Content>
  /**
   * True if the content is here, with the right size. It then counts as new for an hour, so that a bitstream
   * can refer to it before a sweep takes it for an orphan.
   */
  holds(content: Content): Promise<boolean>
  /**
   * Opens the content for reading.
   * @param first the bytes that are read first, if that is known
   * @param size its size, if that is known; a bucket refuses an object with another one
   * @returns undefined if it is missing
   */
  open(sha256: string, first?: ByteRange, size?: number): Promise<Opened | undefined>
  /**
   * The path of the content in the folder, for another program that reads it.
   * @returns undefined unless it is in its place with the right size; `open` may still find it elsewhere
   */
  pathInPlace(content: Content): Promise<string | undefined>
}

/** Maximum size in bytes of a file that is read whole, and not written if its content is already here. */
const smallFile = 1024 * 1024

/**
 * Errors of link(2): another file system, one without links, too many links, and forbidden links to files of others.
 */
const cantLink: ReadonlySet<string> = new Set(['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP'])

export function createFileStore(folder: string): FileStore {
  const layout = layoutOf(folder)
  const { putNew, linkNew } = createWriting(layout)

  async function holds({ sha256, size }: Content): Promise<boolean> {
    const place = layout.placeOf(sha256)
    // A sweep may move the content between two of these steps, but only once: after that its time is recent.
    for (let attempt = 0; attempt < 3; attempt++) {
      const found = await unlessMissing(stat(place))
      if (found && found.size !== size) return false
      if (found && (await touch(place))) {
        // The process that renamed it may not have synced the folder yet.
        await syncFolder(dirname(place))
        return true
      }
      if (!(await restoreOrphan(layout, sha256))) return false
    }
    return false
  }

  /** True if the stored bytes are these. A damaged content is written again. */
  async function hasBytes({ sha256 }: Content, bytes: Buffer): Promise<boolean> {
    const found = await unlessMissing(readFile(layout.placeOf(sha256)))
    return found?.equals(bytes) ?? false
  }

  async function keepOpened(source: Opened): Promise<Content> {
    if (source.size > smallFile) return putNew(file => copy(source, file))
    const bytes = await readWhole(source)
    const content: Content = { sha256: hash('sha256', bytes), size: bytes.length }
    if ((await holds(content)) && (await hasBytes(content, bytes))) return content
    return putNew(async file => {
      await file.writeFile(bytes)
      return content
    })
  }

  return {
    holds,
    keepOpened,
    receive: pieces => putNew(file => writeThrough(pieces, file)),
    keep: async path => {
      const source = await openedFile(await open(path))
      try {
        return await keepOpened(source)
      } finally {
        await source.close()
      }
    },
    adopt: async path => {
      const source = await open(path)
      try {
        const isSmall = (await source.stat()).size <= smallFile
        return (
          (isSmall ? undefined : await linkNew(path, source)) ?? (await keepOpened(await openedFile(source)))
        )
      } finally {
        await source.close()
      }
    },
    pathInPlace: async ({ sha256, size }) => {
      const place = layout.placeOf(sha256)
      const found = await unlessMissing(stat(place))
      return found?.size === size ? relative(folder, place) : undefined
    },
    open: sha256 => openIn(layout, sha256),
  }
}

async function openIn(layout: Layout, sha256: string): Promise<Opened | undefined> {
  const place = layout.placeOf(sha256)
  // A sweep or an ingest may move the content from one path to the other while it is looked for.
  for (const path of [place, layout.orphanOf(sha256), place]) {
    const file = await unlessMissing(open(path))
    if (file) return openedFile(file)
  }
  // A sweep that was going to delete the content was killed, or is about to find that it is in use.
  const names = (await unlessMissing(readdir(layout.orphans))) ?? []
  const doomed = names.find(name => name.startsWith(`${sha256}.`))
  const file = doomed === undefined ? undefined : await unlessMissing(open(`${layout.orphans}/${doomed}`))
  return file && openedFile(file)
}

/** Writes files under their SHA-256. */
function createWriting(layout: Layout) {
  const { folder } = layout
  const folders = createFolders(layout)

  async function moveIn(temporary: string, content: Content): Promise<Content> {
    const place = layout.placeOf(content.sha256)
    await folders.of(place)
    await rename(temporary, place)
    await syncFolder(dirname(place))
    return content
  }

  /** @param write writes the file and returns its hash and size */
  async function putNew(write: (file: FileHandle) => Promise<Content>): Promise<Content> {
    await folders.ready()
    const temporary = temporaryIn(layout)
    try {
      const file = await open(temporary, 'wx', (await modesIn(folder)).file)
      let content: Content
      try {
        content = await write(file)
        await file.sync()
      } finally {
        await file.close()
      }
      return await moveIn(temporary, content)
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  }

  /** @returns undefined if the file can't have another name here */
  async function linkNew(path: string, source: FileHandle): Promise<Content | undefined> {
    await folders.ready()
    const temporary = temporaryIn(layout)
    try {
      await link(path, temporary)
    } catch (error) {
      if (cantLink.has((error as NodeJS.ErrnoException).code ?? '')) return undefined
      throw error
    }
    try {
      const content = await readThrough(source)
      await source.sync()
      await chmod(temporary, (await modesIn(folder)).file)
      // The file counts as new, like a copy.
      await touch(temporary)
      return await moveIn(temporary, content)
    } finally {
      // rename(2) leaves both names if they are the same file already.
      await rm(temporary, { force: true })
    }
  }

  return { putNew, linkNew }
}

const copy = (from: Readable, to: FileHandle): Promise<Content> =>
  readThrough(from, chunk => to.writeFile(chunk))

/** Hashes pieces while they are written. */
async function writeThrough(pieces: AsyncIterable<Buffer>, file: FileHandle): Promise<Content> {
  const sum = createHash('sha256')
  let size = 0
  await gather(pieces, async bytes => {
    const writing = file.writeFile(bytes)
    sum.update(bytes)
    await writing
    size += bytes.length
  })
  return { sha256: sum.digest('hex'), size }
}

/**
 * Creates folders and syncs their parents before they are used, once per process, because no folder is ever removed.
 */
function createFolders(layout: Layout) {
  const made = new Map<string, Promise<void>>()

  function once(folder: string, make: () => Promise<void>): Promise<void> {
    const known = made.get(folder)
    if (known) return known
    const making = make()
    made.set(folder, making)
    // After a failure, such as a full disk, the next call tries again.
    making.catch(() => made.delete(folder))
    return making
  }

  async function makeIn(parent: string, folder: string): Promise<void> {
    const { folder: mode } = await modesIn(layout.folder)
    await mkdir(folder, { recursive: true, mode })
    await syncFolder(parent)
  }

  const ready = () =>
    once(layout.folder, async () => {
      await mkdir(layout.folder, { recursive: true, mode: 0o700 })
      await syncFolder(dirname(layout.folder))
      await makeIn(layout.folder, layout.incoming)
      await makeIn(layout.folder, layout.orphans)
    })

  return {
    ready,
    of: async (place: string) => {
      const inner = dirname(place)
      const outer = dirname(inner)
      await once(outer, () => makeIn(layout.folder, outer))
      await once(inner, () => makeIn(outer, inner))
    },
  }
}
