import { administratorGroup, type Eperson, emailKey, type Group, type Session } from '../../model/accounts.ts'
import type { Database } from './driver.ts'

/** Converts rows of the store to the model. Readers and the writer share it. */
export const epersonColumns = 'uuid, email, first_name, last_name, enabled'

export type EpersonRow = {
  uuid: string
  email: string
  first_name: string | null
  last_name: string | null
  enabled: number
}

export const toEperson = (row: EpersonRow): Eperson => ({
  uuid: row.uuid,
  email: row.email,
  firstName: row.first_name,
  lastName: row.last_name,
  enabled: row.enabled === 1,
})

export const find = (db: Database, email: string) =>
  db.get<EpersonRow>(`SELECT ${epersonColumns} FROM eperson WHERE email_key = ?`, emailKey(email))

export function readSession(db: Database, uuid: string): Session | undefined {
  const row = db.get<EpersonRow & { session_key: Uint8Array; stamp: number }>(
    `SELECT ${epersonColumns}, session_key, stamp FROM eperson WHERE uuid = ? AND enabled = 1`,
    uuid,
  )
  if (!row) return undefined
  const groups = db.all<Group & Record<string, unknown>>(
    'SELECT g.uuid, g.name FROM membership m JOIN epersongroup g ON g.uuid = m.epersongroup WHERE m.eperson = ? ORDER BY g.name',
    uuid,
  )
  return {
    eperson: toEperson(row),
    administrator: groups.some(group => group.name === administratorGroup),
    groups,
    sessionKey: row.session_key,
    stamp: row.stamp,
  }
}
