/** Entries of an archive; what reads them is in `unpack-zip.ts` and `lib/tar.ts`. */
export const maxEntries = 200_000

/** A file or folder of an archive, before its name was looked at. */
export interface Packed {
  /** null: it isn't UTF-8. */
  readonly name: string | null
  /** The name for messages. */
  readonly shown: string
  readonly kind: 'file' | 'folder' | 'other'
  /** Bytes, as the archive says. */
  readonly size: number
  readonly changed: Date
  /**
   * The content of a file, which can be read once. Throws if it breaks off, or differs from the size or the checksum that the
   * archive states.
   */
  content(): AsyncIterable<Buffer>
  /** Passes over an entry that is not a file, or is not wanted. */
  skip(): void
}

/** The folder in which macOS keeps its own metadata in archives. */
export const macFolder = '__MACOSX'

/** Reads an archive entry by entry. */
export type Unpacker = (path: string, signal: AbortSignal) => AsyncIterable<Packed>

/** The library that reads it can't. */
export class BrokenArchive extends Error {}
