import type { Database } from '../lib/sqlite.ts'
import { noPlace } from './collation.ts'

/**
 * @param expression the value that the field is sorted by, as SQL
 * @param numbers the number of each record, in the order of the file
 * @returns for each record number, the position of the value among the distinct values, nulls last
 */
export function ranksOf(db: Database, expression: string, numbers: Uint32Array): Uint32Array {
  const ranks = new Uint32Array(numbers.length).fill(noPlace)
  let rank = -1
  let last: unknown
  // Comparing neighbours here takes half the time of SQLite's dense_rank().
  for (const [at, value] of db.iterate(
    `SELECT at, x FROM (SELECT at, ${expression} x FROM staged) WHERE x IS NOT NULL ORDER BY x`,
  ) as IterableIterator<[number, unknown]>) {
    if (rank < 0 || !isSame(value, last)) rank++
    ranks[numbers[at] as number] = rank
    last = value
  }
  // Nulls come last.
  return ranks.map(known => (known === noPlace ? rank + 1 : known))
}

const isSame = (one: unknown, other: unknown): boolean =>
  one === other ||
  (one instanceof Uint8Array && other instanceof Uint8Array && Buffer.compare(one, other) === 0)
