import type { Database } from './driver.ts'

/** Changes of the mark of time (docs/decisions/0024). */
export function raiseMark(db: Database, to: number, from: number): void {
  db.run('UPDATE state SET mark = ?1 WHERE mark < ?1 AND mark >= ?2', to, from)
}

/** Time goes on from here. Nothing must be left that had expired. */
export function resetMark(db: Database, to: number): void {
  db.run('UPDATE state SET mark = ?', to)
}
