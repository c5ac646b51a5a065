/** Maximum number of entries of an archive. Archives are read by `unpack-zip.ts` and `lib/tar.ts`. */
export const maxEntries = 200_000

/** A file or folder of an archive, before its name is checked. */
export interface Packed {
  /** The name; null if it isn't UTF-8. */
  readonly name: string | null
  /** The name for messages. */
  readonly shown: string
  readonly kind: 'file' | 'folder' | 'other'
  /** Size in bytes as stated by the archive. */
  readonly size: number
  readonly changed: Date
  /**
   * Reads the content of a file, which can be done once. It throws if the content breaks off, or differs from
   * the size or checksum that the archive states.
   */
  content(): AsyncIterable<Buffer>
  /** Skips an entry that is not a file or not wanted. */
  skip(): void
}

/** The folder in which macOS keeps its own metadata in archives. */
export const macFolder = '__MACOSX'

/** Reads an archive entry by entry. */
export type Unpacker = (path: string, signal: AbortSignal) => AsyncIterable<Packed>

/** The library can't read the archive. */
export class BrokenArchive extends Error {}
