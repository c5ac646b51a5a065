/** A value or a promise of one: a fast engine can answer without making its callers wait for the next microtask. */
export type Awaitable<T> = T | Promise<T>
