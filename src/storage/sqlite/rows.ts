import { administratorGroup, type Group, type Session } from '../../model/accounts.ts'
import { readState } from '../../model/sessions.ts'
import { mine } from '../statements/group-tree.ts'
import { type EpersonRow, epersonColumns, hasFactor, toEperson } from '../statements/people-rows.ts'
import type { Database } from './driver.ts'

type SessionColumns = {
  readonly session_key: Uint8Array
  readonly session_state: string | null
  readonly stamp: number
  readonly has_factor: number
}

/** The session of an enabled eperson. Readers and the writer share it. */
export function readSession(db: Database, uuid: string): Session | undefined {
  const row = db.get<EpersonRow & SessionColumns>(
    `SELECT ${epersonColumns}, session_key, session_state, stamp, ${hasFactor} FROM eperson WHERE uuid = ? AND enabled = 1`,
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
    hasFactor: row.has_factor === 1,
    sessionKey: row.session_key,
    ...readState(row.session_state, row.session_key),
    stamp: row.stamp,
  }
}
