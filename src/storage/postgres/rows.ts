import { administratorGroup, type Group, type Session } from '../../model/accounts.ts'
import { readState } from '../../model/sessions.ts'
import { mine } from '../statements/group-tree.ts'
import { type EpersonRow, epersonColumns, toEperson } from '../statements/people-rows.ts'

/** The columns of a session. One statement reads them all, so they are from one snapshot. */
export const sessionColumns = `${epersonColumns}, session_key, session_state, stamp,
  to_json(ARRAY(${mine('eperson.uuid')} SELECT json_build_object('uuid', g.uuid, 'name', g.name) FROM mine
    JOIN epersongroup g ON g.uuid = mine.id ORDER BY g.name)) AS groups`

export type SessionRow = EpersonRow & {
  session_key: Uint8Array
  session_state: string | null
  stamp: number
  groups: readonly Group[]
}

export const toSession = (row: SessionRow): Session => ({
  eperson: toEperson(row),
  administrator: row.groups.some(group => group.name === administratorGroup),
  groups: row.groups,
  sessionKey: row.session_key,
  ...readState(row.session_state, row.session_key),
  stamp: row.stamp,
})

/** True if a stored value could equal this text. PostgreSQL's text can't contain NUL. */
export const isStorable = (text: string): boolean => !text.includes('\0')

/** Free text in a form that can be stored. */
export const replaceNul = (text: string | null): string | null => text?.replaceAll('\0', '\uFFFD') ?? null
