/** A resumable upload, kept until a feature consumes it (docs/decisions/0042). */
export interface Upload {
  readonly id: string
  /** The owner's UUID. Other epersons can't use the upload. */
  readonly eperson: string
  /** The name that the client gave; null if it gave none. */
  readonly name: string | null
  readonly size: number
  /**
   * Returns the path of its file on this node, to which it is copied first if it is kept elsewhere. A feature that
   * has taken the upload may move the file away.
   */
  path(): Promise<string>
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
   * @returns undefined if this eperson has no finished upload with this id
   */
  take(id: string, eperson: string): Promise<Upload | undefined>
}
