import { StoreUnavailable } from '../../model/errors.ts'
import { type Database, transaction } from './driver.ts'
import { migrations } from './migrations.ts'

/**
 * Brings the store to this version's schema.
 * @throws StoreUnavailable when a newer Carrel wrote it
 */
export function migrate(db: Database): void {
  db.exec('PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON')
  if (version(db) === migrations.length) return
  transaction(db, () => {
    const from = version(db)
    if (from > migrations.length)
      throw new StoreUnavailable(
        `the store has schema version ${from}, this Carrel knows ${migrations.length}: use a newer Carrel`,
      )
    for (const sql of migrations.slice(from)) db.exec(sql)
    db.exec(`PRAGMA user_version = ${migrations.length}`)
  })
}

const version = (db: Database) => db.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0
