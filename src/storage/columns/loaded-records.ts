/**
 * All records of an entity in memory, back to back. Copying a page costs a tenth of reading it from the file.
 * It is one buffer, so that a thread can transfer it and the garbage collector has nothing to traverse.
 */
export interface LoadedRecords {
  /** The position where record n starts, and the end of the last record. */
  readonly starts: Uint32Array
  readonly json: Buffer
}

/** Maximum size in bytes: a position must fit into 32 bits. */
export const maxLoadedBytes = 0xffff_ffff

/** @param packed `count + 1` start positions, then the records */
export const unpackRecords = (packed: Uint8Array, count: number): LoadedRecords => ({
  starts: new Uint32Array(packed.buffer, packed.byteOffset, count + 1),
  json: Buffer.from(packed.buffer, packed.byteOffset + (count + 1) * Uint32Array.BYTES_PER_ELEMENT),
})

/** @returns the records with these numbers, in this order, joined by the separator */
export function pickRecords(
  { starts, json }: LoadedRecords,
  numbers: Uint32Array | readonly number[],
  separator: string,
): Uint8Array {
  const separatorByte = separator.charCodeAt(0)
  let length = -1
  for (const n of numbers) length += (starts[n + 1] as number) - (starts[n] as number) + 1
  const result = Buffer.allocUnsafe(Math.max(length, 0))
  let at = 0
  for (const n of numbers) {
    if (at > 0) result[at++] = separatorByte
    const start = starts[n] as number
    const end = starts[n + 1] as number
    at += json.copy(result, at, start, end)
  }
  return result
}

/** Lists the numbers from `from` to below `end`. */
export const range = (from: number, end: number) => Array.from({ length: end - from }, (_, at) => from + at)
