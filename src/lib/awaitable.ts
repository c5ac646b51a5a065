/** A value that may be there at once, so that a fast engine need not make everybody wait a turn. */
export type Awaitable<T> = T | Promise<T>
