import type { Database } from '../lib/sqlite.ts'
import { noPlace } from './collation.ts'

/**
 * @param expression what the field is sorted by
 * @param numbers of the records, by the order they came in
 * @returns by the number of the record, the place of its value among the distinct values, nulls last
 */
export function ranksOf(db: Database, expression: string, numbers: Uint32Array): Uint32Array {
  const ranks = new Uint32Array(numbers.length).fill(noPlace)
  let rank = -1
  let last: unknown
  // Comparing neighbours here takes half of the time of SQLite's dense_rank().
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
