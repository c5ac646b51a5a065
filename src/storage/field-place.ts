/**
 * A place that nodes share, for files that can be derived again (docs/decisions/0091). Names are `<version>/<file>`. Each
 * method throws StoreUnavailable, or a kind of it, if the place can't be used.
 */
export interface FieldPlace {
  /** Puts a file, whole or not at all, in place of one that has this name. */
  put(name: string, pieces: AsyncIterable<Uint8Array>): Promise<void>
  /** Hands over the bytes of a file. @returns false if there is no such file */
  get(name: string, take: (pieces: AsyncIterable<Uint8Array>) => Promise<void>): Promise<boolean>
  /** Lists the files of a version, or of all. */
  list(version?: string): AsyncIterable<readonly SharedFile[]>
  remove(names: readonly string[]): Promise<void>
}

interface SharedFile {
  readonly name: string
  /** In ms since 1970. */
  readonly modified: number
}
