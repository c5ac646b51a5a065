/** Time in ms by which this machine's clock is ahead of the store's. */
let ahead = 0

/**
 * Notes by how much this machine's clock differs from the store's, which is that of a database if several nodes share it.
 * Each event loop has one store.
 */
export function setAhead(by: number): void {
  ahead = by
}

/** Returns the store's time in ms since 1970: what is recorded has it, and days begin by it. */
export const msNow = (): number => Date.now() - ahead
