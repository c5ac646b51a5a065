/** A value or a promise of one: a fast engine can answer without making its callers wait for the next microtask. */
export type Awaitable<T> = T | Promise<T>

/** Uses a value, at once if it is there. */
export const andThen = <T, R>(value: Awaitable<T>, use: (value: T) => Awaitable<R>): Awaitable<R> =>
  value instanceof Promise ? value.then(use) : use(value)
