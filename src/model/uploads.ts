/** Files that clients send piece by piece, until something is made of them (docs/decisions/0042). */
export interface Upload {
  readonly id: string
  /** Whose it is: nobody else may use it. */
  readonly eperson: string
  /** As its client named it; null: not at all. */
  readonly name: string | null
  readonly size: number
  /** Of its file on this machine. Who takes the upload may move the file away. */
  readonly path: string
  /** @param used whether something was made of it: then it is removed, otherwise it can be taken again */
  release(used: boolean): Promise<void>
}

export interface Uploads {
  /**
   * A finished upload, which is held until `release`: it doesn't expire, and nobody else can take it.
   * @returns undefined if this eperson has no finished upload of this id on this node
   */
  take(id: string, eperson: string): Promise<Upload | undefined>
}
