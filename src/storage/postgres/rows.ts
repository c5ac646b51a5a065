import { administratorGroup, type Eperson, type Group, type Session } from '../../model/accounts.ts'

/** How rows of the store become what the features know. */
export const epersonColumns = 'uuid, email, first_name, last_name, enabled'

/** What a session is made of, in one statement and so of one moment. */
export const sessionColumns = `${epersonColumns}, session_key, stamp,
  to_json(ARRAY(SELECT json_build_object('uuid', g.uuid, 'name', g.name) FROM carrel.membership m
    JOIN carrel.epersongroup g ON g.uuid = m.epersongroup WHERE m.eperson = eperson.uuid ORDER BY g.name)) AS groups`

export type EpersonRow = {
  uuid: string
  email: string
  first_name: string | null
  last_name: string | null
  enabled: boolean
}

export type SessionRow = EpersonRow & { session_key: Uint8Array; stamp: number; groups: readonly Group[] }

export const toEperson = (row: EpersonRow): Eperson => ({
  uuid: row.uuid,
  email: row.email,
  firstName: row.first_name,
  lastName: row.last_name,
  enabled: row.enabled,
})

export const toSession = (row: SessionRow): Session => ({
  eperson: toEperson(row),
  administrator: row.groups.some(group => group.name === administratorGroup),
  groups: row.groups,
  sessionKey: row.session_key,
  stamp: row.stamp,
})
