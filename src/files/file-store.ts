import { createHash, hash } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Content } from '../model/items.ts'
import { type Layout, layoutOf, orUndefined, ownName, restoreOrphan, syncFolder, touch } from './layout.ts'

/** Contents of bitstreams by their SHA-256: a content is written once, however many bitstreams have it. */
export interface FileStore {
  /** Keeps a copy of the file at this path under its SHA-256; on disk when the promise is kept. */
  keep(path: string): Promise<Content>
  /** The same of what is open at its beginning, and stays open. */
  keepOpened(source: FileHandle): Promise<Content>
  /**
   * Whether it is here, whole by its size. From then on it counts as new for an hour: long enough to make a bitstream
   * refer to it before a sweep takes it for an orphan.
   */
  holds(content: Content): Promise<boolean>
  /** Opened for reading; undefined when it is not there. */
  open(sha256: string): Promise<FileHandle | undefined>
}

/** Up to this size a file is read at once, and not written when its content is here already. */
const smallFile = 1024 * 1024

export function createFileStore(folder: string): FileStore {
  const layout = layoutOf(folder)
  const folders = createFolders(layout)

  async function holds({ sha256, size }: Content): Promise<boolean> {
    const place = layout.placeOf(sha256)
    // A sweep may move it between two of these steps, once: then it is young and stays.
    for (let attempt = 0; attempt < 3; attempt++) {
      const found = await orUndefined(stat(place))
      if (found && found.size !== size) return false
      if (found && (await touch(place))) {
        // Whoever put it there may not have come to this yet.
        await syncFolder(dirname(place))
        return true
      }
      if (!(await restoreOrphan(layout, sha256))) return false
    }
    return false
  }

  /** A damaged one is written again. */
  async function has({ sha256 }: Content, bytes: Buffer): Promise<boolean> {
    const found = await orUndefined(readFile(layout.placeOf(sha256)))
    return found?.equals(bytes) ?? false
  }

  /** @param write fills the file and says what is in it */
  async function putNew(write: (file: FileHandle) => Promise<Content>): Promise<Content> {
    await folders.ready()
    const temporary = ownName(layout.incoming)
    try {
      const file = await open(temporary, 'wx', 0o600)
      let content: Content
      try {
        content = await write(file)
        await file.sync()
      } finally {
        await file.close()
      }
      const place = layout.placeOf(content.sha256)
      await folders.of(place)
      await rename(temporary, place)
      await syncFolder(dirname(place))
      return content
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  }

  async function keepOpened(source: FileHandle): Promise<Content> {
    if ((await source.stat()).size > smallFile) return putNew(file => copy(source, file))
    const bytes = await source.readFile()
    const content: Content = { sha256: hash('sha256', bytes), size: bytes.length }
    if ((await holds(content)) && (await has(content, bytes))) return content
    return putNew(async file => {
      await file.writeFile(bytes)
      return content
    })
  }

  return {
    holds,
    keepOpened,
    keep: async path => {
      const source = await open(path)
      try {
        return await keepOpened(source)
      } finally {
        await source.close()
      }
    },
    open: async sha256 => {
      const place = layout.placeOf(sha256)
      // It may be on its way between the two.
      for (const path of [place, layout.orphanOf(sha256), place]) {
        const file = await orUndefined(open(path))
        if (file) return file
      }
      // A sweep that was about to delete it was killed, or is about to see that it must not.
      const names = (await orUndefined(readdir(layout.orphans))) ?? []
      const doomed = names.find(name => name.startsWith(`${sha256}.`))
      return doomed === undefined ? undefined : orUndefined(open(`${layout.orphans}/${doomed}`))
    },
  }
}

const copy = (from: FileHandle, to: FileHandle): Promise<Content> =>
  readThrough(from, chunk => to.writeFile(chunk))

/** What is in a file, read to its end. */
export async function readThrough(
  file: FileHandle,
  take?: (chunk: Buffer) => Promise<void>,
): Promise<Content> {
  const sum = createHash('sha256')
  let size = 0
  const chunks = file.createReadStream({ autoClose: false, highWaterMark: 256 * 1024 })
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    sum.update(chunk)
    size += chunk.length
    await take?.(chunk)
  }
  return { sha256: sum.digest('hex'), size }
}

/** Makes folders, and has each on disk before anything is said to be in it; once in a process, as none is ever removed. */
function createFolders(layout: Layout) {
  const made = new Map<string, Promise<void>>()

  function once(folder: string, make: () => Promise<void>): Promise<void> {
    const known = made.get(folder)
    if (known) return known
    const making = make()
    made.set(folder, making)
    // On a full disk the next one may try again.
    making.catch(() => made.delete(folder))
    return making
  }

  async function makeIn(parent: string, folder: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await syncFolder(parent)
  }

  const ready = () =>
    once(layout.folder, async () => {
      await makeIn(dirname(layout.folder), layout.incoming)
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
