import { crc32, deflateRawSync, gzipSync } from 'node:zlib'
import { type Header, pack } from 'tar-stream'

/** A file in a zip archive, which can also be invalid. */
export interface PackedFile {
  readonly name: string
  /** The bytes of the name, without the flag for UTF-8. */
  readonly rawName?: Uint8Array
  readonly content?: string | Uint8Array
  /** The mode as in stat(2); a regular file by default. */
  readonly mode?: number
  /** The size stated in the archive. */
  readonly size?: number
  /** The checksum stated in the archive. */
  readonly crc?: number
  readonly encrypted?: boolean
  readonly stored?: boolean
  /** Puts size and checksum after the content, as in a zip that is written to a pipe. */
  readonly descriptor?: boolean
  /** Writes sizes and offsets with 64 bits. */
  readonly zip64?: boolean
  /** An extra field of the central directory: its id and content. */
  readonly extra?: readonly [id: number, data: Uint8Array]
}

/** Returns the contents of an item folder in DSpace's Simple Archive Format. */
export const itemFiles = (folder: string, title = folder): PackedFile[] => [
  {
    name: `${folder}/dublin_core.xml`,
    content: `<dublin_core schema="dc"><dcvalue element="title">${title}</dcvalue></dublin_core>`,
  },
  { name: `${folder}/contents`, content: 'a.txt\tbundle:ORIGINAL\n' },
  { name: `${folder}/a.txt`, content: `text of ${folder}` },
]

/** Writes a zip archive (PKWARE's APPNOTE.TXT), without most optional parts. */
export function zipOf(files: readonly PackedFile[]): Buffer<ArrayBuffer> {
  const parts: Buffer[] = []
  const list: Buffer[] = []
  let at = 0
  for (const { name, rawName, content = '', mode = 0o100644, ...file } of files) {
    const text = Buffer.from(content)
    const bytes = Buffer.from(rawName ?? name)
    const data = file.stored ? text : deflateRawSync(text)
    const sum = file.crc ?? crc32(text)
    const size = file.size ?? text.length
    const shared = Buffer.alloc(26)
    shared.writeUInt16LE(file.zip64 ? 45 : 20, 0)
    shared.writeUInt16LE((rawName ? 0 : 0x800) | (file.encrypted ? 1 : 0) | (file.descriptor ? 8 : 0), 2)
    shared.writeUInt16LE(file.stored ? 0 : 8, 4)
    shared.writeUInt16LE(0x5a21, 8)
    shared.writeUInt32LE(sum, 10)
    shared.writeUInt32LE(data.length, 14)
    shared.writeUInt32LE(size % 2 ** 32, 18)
    shared.writeUInt16LE(bytes.length, 22)
    const own = Buffer.from(shared)
    if (file.descriptor) own.fill(0, 10, 22)
    const after = Buffer.alloc(file.descriptor ? 16 : 0)
    if (file.descriptor) {
      after.write('PK\x07\x08', 'latin1')
      after.writeUInt32LE(sum, 4)
      after.writeUInt32LE(data.length, 8)
      after.writeUInt32LE(size % 2 ** 32, 12)
    }
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), own, bytes, data, after])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE((mode << 16) >>> 0, 6)
    let extra = file.extra ? extraOf(...file.extra) : Buffer.alloc(0)
    if (file.zip64) {
      const long = Buffer.alloc(24)
      for (const [place, number] of [size, data.length, at].entries())
        long.writeBigUInt64LE(BigInt(number), place * 8)
      extra = Buffer.concat([extraOf(1, long), extra])
      shared.fill(0xff, 14, 22)
      tail.fill(0xff, 10)
    } else tail.writeUInt32LE(at, 10)
    shared.writeUInt16LE(extra.length, 24)
    list.push(Buffer.from('PK\x01\x02'), Buffer.from([20, 3]), shared, tail, bytes, extra)
    parts.push(local)
    at += local.length
  }
  const directory = Buffer.concat(list)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06')
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...parts, directory, end])
}

function extraOf(id: number, data: Uint8Array): Buffer {
  const head = Buffer.alloc(4)
  head.writeUInt16LE(id, 0)
  head.writeUInt16LE(data.length, 2)
  return Buffer.concat([head, data])
}

export async function tarOf(
  files: readonly (Pick<PackedFile, 'name' | 'content'> & { readonly header?: Partial<Header> })[],
): Promise<Buffer<ArrayBuffer>> {
  const tar = pack()
  for (const { name, content = '', header } of files) tar.entry({ name, ...header }, Buffer.from(content))
  tar.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of tar) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export const gzipped = (bytes: Uint8Array): Buffer<ArrayBuffer> => Buffer.from(gzipSync(bytes))
