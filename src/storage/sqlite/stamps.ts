import { randomBytes } from 'node:crypto'
import type { Database } from './driver.ts'

/** What tells every reader that it must not keep using what it cached of an eperson. */
export function nextStamp(db: Database): number {
  const row = db.get<{ stamp: number }>('UPDATE state SET stamp = stamp + 1 RETURNING stamp')
  if (!row) throw new Error('the store has lost its state row')
  return row.stamp
}

export const changeStamp = (db: Database, uuid: string): number =>
  db.run('UPDATE eperson SET stamp = ? WHERE uuid = ?', nextStamp(db), uuid)

/** Ends every login token, and what was made from one. */
export const endTokens = (db: Database, uuid: string, newKey: Uint8Array = randomBytes(32)) =>
  db.run('UPDATE eperson SET session_key = ?, stamp = ? WHERE uuid = ?', newKey, nextStamp(db), uuid)
