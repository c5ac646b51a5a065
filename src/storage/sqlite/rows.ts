import { administratorGroup, type Group, type Session } from '../../model/accounts.ts'
import { readState } from '../../model/sessions.ts'
import { mine } from '../statements/group-tree.ts'
import { type EpersonRow, epersonColumns, toEperson } from '../statements/people-rows.ts'
import type { Database } from './driver.ts'

/** The session of an enabled eperson. Readers and the writer share it. */
export function readSession(db: Database, uuid: string): Session | undefined {
  const row = db.get<EpersonRow & { session_key: Uint8Array; session_state: string | null; stamp: number }>(
    `SELECT ${epersonColumns}, session_key, session_state, stamp FROM eperson WHERE uuid = ? AND enabled = 1`,
    uuid,
  )
  if (!row) return undefined
  const groups = db.all<Group & Record<string, unknown>>(
    `${mine('?')} SELECT g.uuid, g.name FROM mine JOIN epersongroup g ON g.uuid = mine.id ORDER BY g.name`,
    uuid,
  )
  return {
    eperson: toEperson(row),
    administrator: groups.some(group => group.name === administratorGroup),
    groups,
    sessionKey: row.session_key,
    ...readState(row.session_state, row.session_key),
    stamp: row.stamp,
  }
}
