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

export interface SharedFile {
  readonly name: string
  /** In ms since 1970. */
  readonly modified: number
}

/** A file of a field that a node lacks. */
export interface LackedFile {
  readonly version: string
  readonly name: string
  /** Maximum size in bytes. */
  readonly most: number
}

/** The files of fields that nodes share, for all event loops of a node. */
export interface FieldCopies {
  /**
   * Brings a file to this node, at most once at a time.
   * @param stop not 0 once the client has disconnected
   * @returns false if it has to be derived
   */
  fetch(file: LackedFile, stop: Int32Array<SharedArrayBuffer>): Promise<boolean>
  /**
   * Puts files of a version where other nodes find them.
   * @param folder that has them
   * @returns when they are there, can't be put, or take so long that nothing should wait for them
   */
  send(version: string, names: readonly string[], folder: string): Promise<void>
}
