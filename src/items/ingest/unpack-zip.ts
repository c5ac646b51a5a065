import { isUtf8 } from 'node:buffer'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import yauzl, { type Entry, type ZipFile } from 'yauzl'
import { BrokenArchive, maxEntries, type Packed } from './packed.ts'
import { visible } from './similar-name.ts'

/** Reads a zip archive, one entry at a time, from the list at its end. Only this file uses the library for zip. */
export async function* readZip(path: string, signal: AbortSignal): AsyncIterable<Packed> {
  const zip = await orBroken(
    promisify<string, yauzl.Options, ZipFile>(yauzl.open)(path, {
      autoClose: false,
      lazyEntries: true,
      // Names, sizes and checksums are read and checked here, so that a message can name the entry.
      decodeStrings: false,
      validateEntrySizes: false,
    }),
  )
  try {
    // The number is checked before the list is read, which may be long.
    if (zip.entryCount > maxEntries) throw new BrokenArchive(`its list has ${zip.entryCount} entries`)
    for (;;) {
      signal.throwIfAborted()
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
  const name = nameOf(entry)
  const shown = name === null ? shownBytes(entry.fileNameRaw) : visible(name)
  if (entry.isEncrypted()) throw new BrokenArchive(`${shown} is encrypted; pack it without a password`)
  return {
    name,
    shown,
    kind: kindOf(entry, name ?? ''),
    size: entry.uncompressedSize,
    changed: entry.getLastModDate({ timezone: 'UTC' }),
    content: () => contentOf(zip, entry),
    skip: () => {},
  }
}

/** The id of the extra field that holds a name in UTF-8 (APPNOTE 4.6.9). */
const unicodePath = 0x7075

/**
 * Returns the name of an entry; null if it is not certain. Names are in UTF-8 if bit 11 says so, otherwise in IBM's
 * code page 437 (APPNOTE 4.4.4, appendix D). But most programs that use another encoding don't declare it, and macOS
 * writes UTF-8 without the bit. So a name counts only if it is valid UTF-8, or an extra field has it in UTF-8.
 */
function nameOf({ fileNameRaw: raw, extraFields }: Entry): string | null {
  if (isUtf8(raw)) return raw.toString()
  const own = extraFields.find(({ id, data }) => id === unicodePath && data.length >= 5 && data[0] === 1)
  if (!own) return null
  const text = own.data.subarray(5)
  // The field belongs to another name if a program that doesn't know it has changed the name.
  return own.data.readUInt32LE(1) === crc32(raw) && isUtf8(text) ? text.toString() : null
}

/** Returns the bytes of a name, and the name in the encoding that it should have. */
function shownBytes(raw: Buffer): string {
  const bytes = raw
    .toString('latin1')
    .replace(/[^\x20-\x7e]/g, one => `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`)
  return `"${bytes}" (in code page 437: ${visible(yauzl.getFileNameLowLevel(0, raw, [], true))})`
}

async function* contentOf(zip: ZipFile, entry: Entry): AsyncIterable<Buffer> {
  let size = 0
  let sum = 0
  const wrongSize = () =>
    new BrokenArchive(
      `its list says that it has ${entry.uncompressedSize} bytes, and it has ${size > entry.uncompressedSize ? 'more' : size}`,
    )
  for await (const piece of await zip.openReadStreamPromise(entry)) {
    const bytes = piece as Buffer
    size += bytes.length
    if (size > entry.uncompressedSize) throw wrongSize()
    sum = crc32(bytes, sum)
    yield bytes
  }
  if (size !== entry.uncompressedSize) throw wrongSize()
  if (sum !== entry.crc32) throw new BrokenArchive('its content is not what its checksum (CRC-32) says')
}

/** Returns the kind of an entry. If a Unix made the archive, the upper half of the attributes is the mode (stat(2)). */
function kindOf({ externalFileAttributes }: Entry, name: string): Packed['kind'] {
  const type = (externalFileAttributes >>> 16) & 0o170000
  if (type !== 0 && type !== 0o100000 && type !== 0o040000) return 'other'
  return name.endsWith('/') ? 'folder' : type === 0o040000 ? 'other' : 'file'
}

/** Marks the library's errors as faults of the archive, except for errors of the disk. */
async function orBroken<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Error) || 'syscall' in error || error instanceof BrokenArchive) throw error
    throw new BrokenArchive(error.message, { cause: error })
  }
}
