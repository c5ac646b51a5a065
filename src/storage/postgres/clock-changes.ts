import type { Queries } from './driver.ts'

/** Changes of the mark of time (docs/decisions/0024). */
export async function raiseMark(db: Queries, to: number, from: number): Promise<void> {
  await db.run('UPDATE state SET mark = $1 WHERE mark < $1 AND mark >= $2', to, from)
}

/** Time goes on from here. Nothing must be left that had expired. */
export async function resetMark(db: Queries, to: number): Promise<void> {
  await db.run('UPDATE state SET mark = $1', to)
}
