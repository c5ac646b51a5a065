/** What is read at a time has at most about so many bytes. */
const bytesAtOnce = 16e6

/**
 * How many rows to read at a time, so that memory stays bounded where they are large.
 * @param largest the bytes of the largest row @param most the maximum number of rows
 */
export const rowsAtOnce = (largest: number, most: number): number =>
  Math.max(1, Math.min(most, Math.floor(bytesAtOnce / Math.max(1, largest))))
