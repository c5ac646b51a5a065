import { type Change, lock, row, run } from './statements.ts'

/** @param readers in their canonical text @returns the number of the audience with these readers, which is added if it is missing */
export function* audienceWith(readers: string): Change<number> {
  const known = yield* found(readers)
  if (known !== undefined) return known
  // One transaction at a time, so that numbers become visible in ascending order, and no node skips one.
  yield* lock('UPDATE state SET audiences = audiences')
  const addedMeanwhile = yield* found(readers)
  if (addedMeanwhile !== undefined) return addedMeanwhile
  yield* run('UPDATE state SET audiences = audiences + 1')
  yield* run('INSERT INTO audience (id, readers) SELECT audiences, $1 FROM state', readers)
  return (yield* found(readers)) ?? 0
}

function* found(readers: string): Change<number | undefined> {
  return (yield* row<{ id: number }>('SELECT id FROM audience WHERE readers = $1', readers))?.id
}
