import { once } from 'node:events'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Writable } from 'node:stream'
import { makeFolder } from '../lib/make-folder.ts'
import { BadBackup } from './manifest.ts'

/** Tar as in POSIX (https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_06), for our names alone. */
const block = 512
/** Larger sizes don't fit into eleven octal digits. */
const maxOctal = 0o77777777777
/** In a header: where the size and the sum of its bytes are, and how long they are. */
const sizeAt = 124
const sumAt = 148
const sumLength = 8

/** @param name at most 100 bytes @param size in bytes @param time in seconds since 1970 */
function header(name: string, size: number, time: number): Buffer {
  const bytes = Buffer.alloc(block)
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`
  bytes.write(name)
  bytes.write(octal(0o600, 8) + octal(0, 8) + octal(0, 8), 100)
  if (size <= maxOctal) bytes.write(octal(size, 12), sizeAt)
  else {
    // GNU tar's form for large sizes: the first bit set, then the number in binary.
    bytes[sizeAt] = 0x80
    bytes.writeBigUInt64BE(BigInt(size), sizeAt + 4)
  }
  bytes.write(octal(time, 12), 136)
  bytes.write('0', 156)
  bytes.write('ustar\x0000', 257)
  bytes.write(`${sumOf(bytes).toString(8).padStart(6, '0')}\0 `, sumAt)
  return bytes
}

/** The sum of a header's bytes, with its own field taken as spaces. */
const sumOf = (bytes: Buffer): number =>
  bytes.reduce((sum, byte, at) => sum + (at >= sumAt && at < sumAt + sumLength ? 0x20 : byte), 0)

const padding = (size: number): Buffer => Buffer.alloc((block - (size % block)) % block)

export interface TarWriter {
  /** Adds a file that is read from its start. Calls wait for each other. */
  addFile(name: string, file: FileHandle, size: number): Promise<void>
  addText(name: string, text: string): Promise<void>
  end(): Promise<void>
}

export function createTar(out: Writable): TarWriter {
  const time = Math.floor(Date.now() / 1000)
  const write = async (bytes: Buffer) => {
    if (!out.write(bytes)) await once(out, 'drain')
  }
  let last: Promise<void> = Promise.resolve()
  const inLine = (work: () => Promise<void>): Promise<void> => {
    const next = last.then(work)
    // The caller gets the error.
    last = next.catch(() => {})
    return next
  }
  return {
    addFile: (name, file, size) =>
      inLine(async () => {
        await write(header(name, size, time))
        let sent = 0
        for await (const chunk of file.createReadStream({
          autoClose: false,
          start: 0,
        }) as AsyncIterable<Buffer>) {
          sent += chunk.length
          await write(chunk)
        }
        if (sent !== size) throw new Error(`${name} changed while it was being read`)
        await write(padding(size))
      }),
    addText: (name, text) =>
      inLine(async () => {
        const bytes = Buffer.from(text)
        await write(header(name, bytes.length, time))
        await write(bytes)
        await write(padding(bytes.length))
      }),
    // Two empty blocks are the end.
    end: () => inLine(() => write(Buffer.alloc(2 * block))),
  }
}

/** What a backup consists of; anything else is refused, and so nothing is written elsewhere. */
const expected = /^(contents\/[0-9a-f]{2}\/[0-9a-f]{2}\/[0-9a-f]{64}|backups\/[\w-]+\.json)$/

/** Unpacks a backup that `createTar` wrote. @throws BadBackup if it is something else, or ends early */
export async function unpackTar(input: AsyncIterable<Buffer>, folder: string): Promise<void> {
  const read = createReader(input)
  for (;;) {
    const head = await read.whole(block)
    if (head.every(byte => byte === 0)) return
    const { name, size } = parse(head)
    const path = join(folder, name)
    makeFolder(dirname(path))
    const file = await open(path, 'w', 0o600)
    try {
      for await (const chunk of read.pieces(size)) await file.writeFile(chunk)
    } finally {
      await file.close()
    }
    await read.whole(padding(size).length)
  }
}

function parse(head: Buffer): { readonly name: string; readonly size: number } {
  const text = (from: number, length: number) =>
    head
      .toString('latin1', from, from + length)
      .replace(/\0.*$/s, '')
      .trim()
  if (Number.parseInt(text(sumAt, sumLength), 8) !== sumOf(head))
    throw new BadBackup('what was read is not a backup: it is no tar archive, or damaged')
  const name = text(0, 100)
  if (!expected.test(name) || text(156, 1) !== '0')
    throw new BadBackup(`what was read is not a backup: it has ${JSON.stringify(name)}`)
  const size =
    head[sizeAt] === 0x80 ? Number(head.readBigUInt64BE(sizeAt + 4)) : Number.parseInt(text(sizeAt, 12), 8)
  return { name, size }
}

function createReader(input: AsyncIterable<Buffer>) {
  const chunks = input[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  async function* pieces(size: number): AsyncIterable<Buffer> {
    for (let left = size; left > 0; ) {
      if (rest.length === 0) {
        const next = await chunks.next()
        if (next.done === true) throw new BadBackup('the backup ends early')
        rest = next.value
      }
      const piece = rest.subarray(0, left)
      rest = rest.subarray(piece.length)
      left -= piece.length
      if (piece.length > 0) yield piece
    }
  }
  return {
    pieces,
    whole: async (size: number): Promise<Buffer> => {
      const all: Buffer[] = []
      for await (const piece of pieces(size)) all.push(piece)
      return Buffer.concat(all)
    },
  }
}
