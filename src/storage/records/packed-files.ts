import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import { sameText } from '../../lib/hmac.ts'
import { deriveKey, type Keyring } from '../../model/keys.ts'
import { temporaryName } from '../columns/word-file.ts'

/** Thrown if a file is not the one that was put there. */
export class Damaged extends Error {}

/** Length in bytes of the line before a compressed file. It ends with spaces and a line break. */
const headLength = 256
const kind = 'carrel packed field 1'

/** The text that vouches for a file: only a program that has a secret of the service can make it. */
const sealOf = (secret: Uint8Array, key: string, said: string): string =>
  deriveKey(secret, 'field', Buffer.from(key))(said).toString('hex')

/** Compresses a file. Its size, SHA-256 and seal come first. */
export async function pack(key: string, path: string, keyring: Keyring, signal: AbortSignal) {
  const sum = createHash('sha256')
  let size = 0
  for await (const piece of createReadStream(path, { highWaterMark: readAtOnce, signal })) {
    sum.update(piece)
    size += (piece as Buffer).length
  }
  const said = `${size} ${sum.digest('hex')}`
  const [newest] = keyring()
  if (!newest) throw new Error('the service has no secret')
  const head = `${kind} ${said} ${sealOf(newest, key, said)}`
  return (async function* () {
    yield Buffer.from(`${head.padEnd(headLength - 1)}\n`)
    // The least effort already takes half of the bytes away, and more takes longer than it saves.
    const compress = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 1 } })
    const file = createReadStream(path, { highWaterMark: readAtOnce, signal })
    file.on('error', error => compress.destroy(error))
    try {
      yield* file.pipe(compress) as AsyncIterable<Buffer>
    } finally {
      file.destroy()
    }
  })()
}

const readAtOnce = 256 * 1024

interface Unpacking {
  readonly key: string
  /** The path that the file gets. */
  readonly path: string
  readonly most: number
  readonly keyring: Keyring
}

/** Writes a compressed file to its place, if it is the one that was put there. @throws Damaged */
export async function unpack(
  source: AsyncIterable<Uint8Array>,
  { key, path, most, keyring }: Unpacking,
): Promise<void> {
  const writing = temporaryName(path)
  const damaged = (what: string) => new Damaged(`the shared file ${key} ${what}`)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await open(writing, 'wx', 0o600)
  const sum = createHash('sha256')
  let left = 0
  try {
    const pieces = source[Symbol.asyncIterator]()
    const { head, rest } = await headOf(pieces)
    const [, said = '', seal = ''] = headForm.exec(head) ?? []
    const [size = '', sha256] = said.split(' ')
    if (!keyring().some(secret => sameText(seal, sealOf(secret, key, said))))
      throw damaged('is not from this store')
    if (Number(size) > most) throw damaged(`would have ${size} bytes`)
    left = Number(size)
    const unzip = createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: largestWindow } })
    await pipeline(Readable.from(rest), unzip, async (unzipped: AsyncIterable<Buffer>) => {
      for await (const piece of unzipped) {
        left -= piece.length
        if (left < 0) throw damaged('has more bytes than were put there')
        sum.update(piece)
        await file.writeFile(piece)
      }
    }).catch(error => {
      throw isOfZip(error) ? damaged('can’t be decompressed') : error
    })
    if (left !== 0 || sum.digest('hex') !== sha256) throw damaged('has other bytes than were put there')
    await file.sync()
    await rename(writing, path)
  } catch (error) {
    await rm(writing, { force: true })
    throw error
  } finally {
    await file.close()
  }
}

const headForm = new RegExp(`^${kind} (\\d{1,15} [0-9a-f]{64}) ([0-9a-f]{64}) *\\n$`)

/** Maximum window of decompression, as a power of two: 8 MB. Level 1 uses less. */
const largestWindow = 23

/** True for the codes of zstd, and of an end that comes too early. */
const isOfZip = (error: unknown) => /^Z/.test(String((error as NodeJS.ErrnoException).code))

/** Reads the line before a compressed file. */
async function headOf(pieces: AsyncIterator<Uint8Array>) {
  let begun = Buffer.alloc(0)
  while (begun.length < headLength) {
    const { done, value } = await pieces.next()
    if (done) break
    begun = Buffer.concat([begun, value])
  }
  async function* rest() {
    yield begun.subarray(headLength)
    yield* { [Symbol.asyncIterator]: () => pieces }
  }
  return { head: begun.toString('latin1', 0, headLength), rest: rest() }
}
