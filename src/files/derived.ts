import { open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder } from '../lib/durable-names.ts'
import { FilesUnavailable } from '../lib/errors.ts'
import { unlessMissing } from '../lib/system-errors.ts'
import type { FieldPlace } from '../storage/field-place.ts'
import type { BucketClient } from './bucket-client.ts'
import { PartedUpload, PartMemory } from './bucket-parts.ts'
import { openObject } from './bucket-read.ts'
import type { Files } from './files.ts'
import { layoutOf, temporaryIn, toStoreUnavailable } from './layout.ts'
import { chunksOf, type Opened, openedFile } from './opened.ts'

/**
 * Begins the names of derived files (docs/decisions/0091). In a list of a bucket they follow all contents, which begin
 * with two hexadecimal digits.
 */
export const derived = 'fields'

/** Derived files in a folder, written to where its other files are written, so that leftovers are removed. */
export function derivedInFolder(folder: string): FieldPlace {
  const layout = layoutOf(folder)
  const root = join(folder, derived)
  const namesIn = async (path: string) => (await unlessMissing(readdir(path))) ?? []
  return {
    put: async (name, pieces) => {
      const temporary = temporaryIn(layout)
      const path = join(root, name)
      try {
        makeFolder(layout.incoming)
        const file = await open(temporary, 'wx', 0o600)
        try {
          await file.writeFile(pieces)
        } finally {
          await file.close()
        }
        makeFolder(dirname(path))
        await rename(temporary, path)
      } catch (error) {
        await rm(temporary, { force: true })
        throw toStoreUnavailable(error)
      }
    },
    get: async (name, take) => {
      const handle = await unlessMissing(open(join(root, name)))
      return takeAll(handle && (await openedFile(handle)), take)
    },
    list: async function* (version) {
      for (const one of version === undefined ? await namesIn(root) : [version]) {
        const found = []
        for (const name of await namesIn(join(root, one))) {
          const file = await unlessMissing(stat(join(root, one, name)))
          if (file) found.push({ name: `${one}/${name}`, modified: file.mtimeMs })
        }
        yield found
      }
    },
    remove: async names => {
      for (const name of names) await rm(join(root, name), { force: true })
      // Folders with other files stay.
      for (const one of new Set(names.map(dirname))) await rmdir(join(root, one)).catch(() => {})
    },
  }
}

/** Derived files in a bucket, sent in parts under their own names: until the last part is there, nothing is. */
export function derivedInBucket(client: BucketClient, prefix: string): FieldPlace {
  const root = `${prefix}${derived}/`
  const memory = new PartMemory()
  return {
    put: async (name, pieces) => {
      const upload = new PartedUpload(client, root + name, memory)
      try {
        for await (const piece of pieces)
          await upload.add(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))
        const { unsent } = await upload.end()
        if (unsent) await client.put(root + name, unsent)
        else await upload.complete()
      } finally {
        await upload.close()
      }
    },
    get: async (name, take) => takeAll(await openObject(client, root + name), take),
    list: async function* (version) {
      for await (const page of client.list(version === undefined ? root : `${root}${version}/`))
        yield page.map(({ key, modified }) => ({ name: key.slice(root.length), modified }))
    },
    remove: names => client.remove(names.map(name => root + name)),
  }
}

async function takeAll(
  opened: Opened | undefined,
  take: (pieces: AsyncIterable<Buffer>) => Promise<void>,
): Promise<boolean> {
  if (!opened) return false
  try {
    opened.expect(opened.size - 1)
    await take(chunksOf(opened))
    return true
  } finally {
    await opened.close()
  }
}

/** Only the store that owns the place adds and looks for derived files: to another one, all would look abandoned. */
export function forOwner(
  files: Pick<Files, 'place' | 'require' | 'claim' | 'isOwned' | 'derived'>,
): FieldPlace {
  const place = files.derived
  return {
    ...place,
    put: async (...file) => {
      await files.require()
      if (!(await files.claim())) throw new FilesUnavailable(`${files.place} belongs to another store`)
      await place.put(...file)
    },
    list: async function* (...version) {
      // To look takes no place that has no owner yet.
      if (await files.isOwned()) yield* place.list(...version)
    },
  }
}
