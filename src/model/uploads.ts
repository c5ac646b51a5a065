/** A resumable upload, kept until a feature consumes it (docs/decisions/0042). */
export interface Upload {
  readonly id: string
  /** The owner's UUID. Other epersons can't use the upload. */
  readonly eperson: string
  /** The name that the client gave; null if it gave none. */
  readonly name: string | null
  readonly size: number
  /** Path of its file on this node. A feature that has taken the upload may move the file away. */
  readonly path: string
  /**
   * Ends the use of the upload.
   * @param used true if it was consumed and is to be removed; otherwise it can be taken again
   */
  release(used: boolean): Promise<void>
}

export interface Uploads {
  /**
   * Takes a finished upload and holds it until `release`. Until then it doesn't expire
   * and can't be taken again.
   * @returns undefined if this eperson has no finished upload with this id on this node
   */
  take(id: string, eperson: string): Promise<Upload | undefined>
}
