/** A part of a list: at most `limit` elements after the first `offset`. */
export interface Window {
  readonly offset: number
  readonly limit: number
}

export interface Part<T> {
  readonly rows: readonly T[]
  /** Number of elements in the whole list. */
  readonly total: number
}
