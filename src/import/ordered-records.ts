import { readAt } from '../lib/files-at.ts'
import { release } from '../lib/memory.ts'
import type { Batch } from './batches.ts'
import type { Appender } from './spool.ts'

/** The records of a batch as they are stored in a spool. */
type Stored = Pick<Batch, 'descriptor' | 'count' | 'json' | 'jsonBytes'>

/** @returns the JSON of the records, in the order in which they are stored */
export function recordsIn({ descriptor, count, json, jsonBytes }: Stored): string[] {
  const bytes = Buffer.alloc(jsonBytes)
  readAt(descriptor, bytes, json)
  return count === 0 ? [] : bytes.toString().split('\n')
}

/**
 * Writes the records of a batch in the order of their numbers.
 * @param numbers the number of each record of this batch
 * @returns the records in their new place, or the same batch if it was already in order
 */
export function reordered(batch: Stored, numbers: Uint32Array, spool: Appender): Stored {
  let isOrdered = true
  for (let at = 1; at < numbers.length && isOrdered; at++)
    isOrdered = (numbers[at] as number) > (numbers[at - 1] as number)
  if (isOrdered) return batch
  // A number and a position of at most 16 bits in the batch fit into a double.
  const order = Float64Array.from(numbers, (number, at) => number * 0x1_0000 + at).sort()
  const json = Buffer.alloc(batch.jsonBytes)
  readAt(batch.descriptor, json, batch.json)
  const ends = new Uint32Array(batch.count)
  for (let at = 0, from = 0; at < ends.length; at++) {
    const end = json.indexOf(0x0a, from)
    ends[at] = end < 0 ? json.length : end
    from = (ends[at] as number) + 1
  }
  const bytes = Buffer.alloc(json.length, 0x0a)
  let to = 0
  for (let n = 0; n < order.length; n++) {
    const at = (order[n] as number) % 0x1_0000
    to += json.copy(bytes, to, at === 0 ? 0 : (ends[at - 1] as number) + 1, ends[at]) + 1
  }
  return { ...batch, descriptor: spool.descriptor, json: spool.append(bytes) }
}

/** Bytes of all batches together that are read ahead. */
const readAhead = 4 * 1024 * 1024
const leastAhead = 8 * 1024
const mostAhead = 64 * 1024

/** For each number, the index of the batch that has its record. */
type BatchIndexes = Uint16Array | Uint32Array

/** @param numbers the number of each record, in the order of the file */
export function batchIndexes(batches: readonly Stored[], numbers: Uint32Array): BatchIndexes {
  const indexes =
    batches.length <= 2 ** 16 ? new Uint16Array(numbers.length) : new Uint32Array(numbers.length)
  let at = 0
  for (const [index, { count }] of batches.entries())
    for (const end = at + count; at < end; at++) indexes[numbers[at] as number] = index
  return indexes
}

/**
 * Merges batches whose records are in the order of their numbers.
 * @param isLast true to free the indexes at the end
 */
export function* mergeRecords(
  batches: readonly Stored[],
  indexes: BatchIndexes,
  isLast: boolean,
): Iterable<string> {
  const ahead = Math.min(mostAhead, Math.max(leastAhead, Math.floor(readAhead / batches.length)))
  const cursors = batches.map(batch => new RecordCursor(batch, ahead))
  for (let n = 0; n < indexes.length; n++) yield (cursors[indexes[n] as number] as RecordCursor).next()
  if (isLast) release(indexes)
}

class RecordCursor {
  readonly #descriptor: number
  readonly #end: number
  readonly #ahead: number
  #position: number
  #records: readonly string[] = []
  #at = 0

  constructor({ descriptor, json, jsonBytes }: Stored, ahead: number) {
    this.#descriptor = descriptor
    this.#position = json
    this.#end = json + jsonBytes
    this.#ahead = ahead
  }

  next(): string {
    if (this.#at === this.#records.length) this.#fill()
    return this.#records[this.#at++] as string
  }

  #fill(): void {
    const left = this.#end - this.#position
    for (let length = this.#ahead; ; length *= 2) {
      const bytes = Buffer.allocUnsafe(Math.min(length, left))
      readAt(this.#descriptor, bytes, this.#position)
      const end = bytes.length === left ? left : bytes.lastIndexOf(0x0a)
      // The record is longer than what was read.
      if (end < 0) continue
      this.#records = bytes.toString('utf8', 0, end).split('\n')
      this.#at = 0
      this.#position += end + 1
      return
    }
  }
}
