import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'

/** Entries of an archive; what reads them is in `unpack-zip.ts` and `unpack-tar.ts`. */
export const maxEntries = 200_000

/** A file or folder of an archive, before its name was looked at. */
export interface Packed {
  readonly name: string
  readonly kind: 'file' | 'folder' | 'other'
  readonly changed: Date
  /** Of a file; read once. */
  content(): Promise<Readable> | Readable
  /** Of what is not a file, or is not wanted. */
  skip(): void
}

/** Reads an archive entry by entry. */
export type Unpacker = (path: string) => AsyncIterable<Packed>

/** The library that reads it can't. */
export class BrokenArchive extends Error {}

export const isGzipped = async (path: string): Promise<boolean> => {
  for await (const chunk of createReadStream(path, { end: 1 }))
    return (chunk as Buffer).equals(Buffer.from([0x1f, 0x8b]))
  return false
}
