import { promisify } from 'node:util'
import yauzl, { type Entry, type ZipFile } from 'yauzl'
import { BrokenArchive, maxEntries, type Packed } from './packed.ts'

/** The only file that uses the library of zip. It reads the list at the end of the archive, one entry at a time. */
export async function* readZip(path: string): AsyncIterable<Packed> {
  const zip = await orBroken(
    promisify<string, yauzl.Options, ZipFile>(yauzl.open)(path, {
      autoClose: false,
      lazyEntries: true,
      // Names are checked by ours.
      strictFileNames: false,
      validateEntrySizes: true,
    }),
  )
  try {
    // Before the list is read: it may be long.
    if (zip.entryCount > maxEntries) throw new BrokenArchive(`its list has ${zip.entryCount} entries`)
    for (;;) {
      const entry = await next(zip)
      if (!entry) return
      yield packedOf(zip, entry)
    }
  } finally {
    zip.close()
  }
}

const next = (zip: ZipFile): Promise<Entry | undefined> =>
  orBroken(
    new Promise((resolve, reject) => {
      const done = () => {
        zip.off('entry', found).off('end', ended).off('error', failed)
      }
      const found = (entry: Entry) => {
        done()
        resolve(entry)
      }
      const ended = () => {
        done()
        resolve(undefined)
      }
      const failed = (error: Error) => {
        done()
        reject(error)
      }
      zip.on('entry', found).on('end', ended).on('error', failed)
      zip.readEntry()
    }),
  )

function packedOf(zip: ZipFile, entry: Entry): Packed {
  if (entry.isEncrypted()) throw new BrokenArchive('it is encrypted')
  return {
    name: entry.fileName,
    kind: kindOf(entry),
    changed: entry.getLastModDate({ timezone: 'UTC' }),
    content: () =>
      orBroken(
        promisify<Entry, Awaited<ReturnType<Packed['content']>>>((one, done) =>
          zip.openReadStream(one, done),
        )(entry),
      ),
    skip: () => {},
  }
}

/** The upper half of the attributes is the mode (stat(2)) where a Unix has made the archive. */
function kindOf({ fileName, externalFileAttributes }: Entry): Packed['kind'] {
  const type = (externalFileAttributes >>> 16) & 0o170000
  if (type !== 0 && type !== 0o100000 && type !== 0o040000) return 'other'
  return fileName.endsWith('/') ? 'folder' : type === 0o040000 ? 'other' : 'file'
}

/** What the library throws is about the archive, but for errors of the disk. */
async function orBroken<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Error) || 'syscall' in error || error instanceof BrokenArchive) throw error
    throw new BrokenArchive(error.message, { cause: error })
  }
}
