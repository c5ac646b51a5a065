import { crc32, deflateRawSync, gzipSync } from 'node:zlib'
import { type Header, pack } from 'tar-stream'

/** Archives as others make them, and as nobody should. */
export interface PackedFile {
  readonly name: string
  readonly content?: string | Uint8Array
  /** stat(2); default: a plain file. */
  readonly mode?: number
  /** What the archive says of its size. */
  readonly size?: number
  readonly encrypted?: boolean
}

/** The contents of an item folder in DSpace's Simple Archive Format. */
export const itemFiles = (folder: string, title = folder): PackedFile[] => [
  {
    name: `${folder}/dublin_core.xml`,
    content: `<dublin_core schema="dc"><dcvalue element="title">${title}</dcvalue></dublin_core>`,
  },
  { name: `${folder}/contents`, content: 'a.txt\tbundle:ORIGINAL\n' },
  { name: `${folder}/a.txt`, content: `text of ${folder}` },
]

/** PKWARE's APPNOTE.TXT, without what is optional. */
export function zipOf(files: readonly PackedFile[]): Buffer<ArrayBuffer> {
  const parts: Buffer[] = []
  const list: Buffer[] = []
  let at = 0
  for (const { name, content = '', mode = 0o100644, size, encrypted } of files) {
    const text = Buffer.from(content)
    const data = deflateRawSync(text)
    const shared = Buffer.alloc(26)
    shared.writeUInt16LE(20, 0)
    shared.writeUInt16LE(0x800 | (encrypted ? 1 : 0), 2)
    shared.writeUInt16LE(8, 4)
    shared.writeUInt16LE(0, 6)
    shared.writeUInt16LE(0x5a21, 8)
    shared.writeUInt32LE(crc32(text), 10)
    shared.writeUInt32LE(data.length, 14)
    shared.writeUInt32LE(size ?? text.length, 18)
    shared.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), shared, Buffer.from(name), data])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE((mode << 16) >>> 0, 6)
    tail.writeUInt32LE(at, 10)
    list.push(Buffer.from('PK\x01\x02'), Buffer.from([20, 3]), shared, tail, Buffer.from(name))
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
