/**
 * Counts running tasks in all event loops of a process. Each loop counts in its own row, so that the count of
 * a loop that ended can be removed.
 */
export interface Counter {
  /** Counts one more task, unless `max` are already counted. @returns true if it was counted */
  add(max: number): boolean
  /** Counts one task less. */
  remove(): void
  /** Returns the number of running tasks in all loops. */
  count(): number
}

/** @param rows a number for each loop, in memory that they share @param own index of this loop's row */
export function createCounter(rows: Int32Array<ArrayBufferLike> = new Int32Array(1), own = 0): Counter {
  const total = () => {
    let sum = 0
    for (let row = 0; row < rows.length; row++) sum += Atomics.load(rows, row)
    return sum
  }
  return {
    add: max => {
      // A task is counted first. Two loops at once may both be refused the last place, but never both get it.
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
