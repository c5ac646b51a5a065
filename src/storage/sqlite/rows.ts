import {
  administratorGroup,
  type Eperson,
  emailKey,
  type Group,
  readProfile,
  type Session,
} from '../../model/accounts.ts'
import { readState } from '../../model/sessions.ts'
import type { Database } from './driver.ts'
import { mine } from './group-tree.ts'

/** Converts rows of the store to the model. Readers and the writer share it. */
export const epersonColumns = 'uuid, email, first_name, last_name, enabled, profile'

export type EpersonRow = {
  uuid: string
  email: string
  first_name: string | null
  last_name: string | null
  enabled: number
  profile: string | null
}

export const toEperson = (row: EpersonRow): Eperson => ({
  uuid: row.uuid,
  email: row.email,
  firstName: row.first_name,
  lastName: row.last_name,
  enabled: row.enabled === 1,
  profile: readProfile(row.profile),
})

export const find = (db: Database, email: string) =>
  db.get<EpersonRow>(`SELECT ${epersonColumns} FROM eperson WHERE email_key = ?`, emailKey(email))

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
