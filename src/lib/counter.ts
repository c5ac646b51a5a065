/**
 * Counts what is under way in all event loops of a process. Each counts in a row of its own, so that what a loop left
 * behind when it ended can be taken back.
 */
export interface Counter {
  /** Counts one more, unless there are `max` already. @returns whether it was counted */
  add(max: number): boolean
  /** One has ended. */
  remove(): void
  /** How many are under way, in all loops. */
  count(): number
}

/**
 * @param rows a number for each loop, in memory that they share
 * @param own which of them is this loop's
 */
export function createCounter(rows: Int32Array<ArrayBufferLike> = new Int32Array(1), own = 0): Counter {
  const total = () => {
    let sum = 0
    for (let row = 0; row < rows.length; row++) sum += Atomics.load(rows, row)
    return sum
  }
  return {
    add: max => {
      // Counted first: two loops at once may both be refused the last one, but never both have it.
      Atomics.add(rows, own, 1)
      if (total() <= max) return true
      Atomics.sub(rows, own, 1)
      return false
    },
    remove: () => {
      Atomics.sub(rows, own, 1)
    },
    count: total,
  }
}
