import { type Change, lock, rows, run } from './statements.ts'

/**
 * Finds audiences by their readers, and adds those that are missing.
 * @param readers in their canonical text @returns the numbers of the audiences with these readers
 */
export function* numbersOf(readers: readonly string[]): Change<(readers: string) => number> {
  let numbers = yield* found(readers)
  const missing = readers.filter(one => !numbers.has(one))
  if (missing.length > 0) {
    // One transaction at a time, so that numbers become visible in ascending order, and no node skips one.
    yield* lock('UPDATE state SET audiences = audiences')
    const addedMeanwhile = yield* found(missing)
    for (const one of missing.filter(text => !addedMeanwhile.has(text)).toSorted()) {
      yield* run('UPDATE state SET audiences = audiences + 1')
      yield* run('INSERT INTO audience (id, readers) SELECT audiences, $1 FROM state', one)
    }
    numbers = yield* found(readers)
  }
  return text => {
    const number = numbers.get(text)
    if (number === undefined) throw new Error('the audience has no number')
    return number
  }
}

/** @param readers in their canonical text @returns the number of the audience with these readers, which is added if it is missing */
export function* audienceWith(readers: string): Change<number> {
  return (yield* numbersOf([readers]))(readers)
}

function* found(readers: readonly string[]): Change<ReadonlyMap<string, number>> {
  const sql = 'SELECT id, readers FROM audience WHERE readers = ANY($1)'
  const known = yield* rows<{ id: number; readers: string }>(sql, readers)
  return new Map(known.map(({ id, readers: text }) => [text, id]))
}
