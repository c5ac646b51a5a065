import type { Keyring } from '../../model/keys.ts'
import { forSqlite } from '../statements/statements.ts'
import { type EachRow, readKeys, trailReader } from '../statements/trail.ts'
import { eventColumns, type StoredEvent, type Trail } from '../trail.ts'
import { type Database, openDatabase, type Row } from './driver.ts'
import { perform } from './perform.ts'

export const trailIn =
  (file: string, keyring: Keyring): Trail['read'] =>
  async work => {
    const db = openDatabase(file, { mode: 'read' })
    const each: EachRow = <T>(sql: string, ...values: readonly (string | null)[]) =>
      db.iterateObjects(forSqlite(sql), ...values) as Iterable<T>
    try {
      db.exec('BEGIN')
      return await work(trailReader(each, perform(db, readKeys(keyring())), () => chained(db)))
    } finally {
      db.close()
    }
  }

/**
 * There is no index for this order, which every event would have to pay for. SQLite sorts three numbers of
 * each event, on disk if they are many; the events are then read one by one, mostly in the order that they
 * have in the file.
 */
function* chained(db: Database): Iterable<StoredEvent> {
  for (const [id] of db.iterate('SELECT id FROM event ORDER BY chain, place')) {
    const event = db.get(`SELECT ${eventColumns} FROM event WHERE id = ?`, id as number)
    if (event) yield event as Row & StoredEvent
  }
}
