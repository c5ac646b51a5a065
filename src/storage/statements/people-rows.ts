import { randomBytes, randomUUID } from 'node:crypto'
import { type Eperson, emailKey, nameKey, type Profile, readProfile } from '../../model/accounts.ts'
import type { NewPerson } from '../people.ts'
import { type Change, insert, nextStamp, now, type Read, row, run } from './statements.ts'

/** Rows of epersons. Every change of one gives them a new stamp, so that no node or thread keeps using what it cached. */
export const epersonColumns = 'uuid, email, first_name, last_name, enabled, profile'

export type EpersonRow = {
  readonly uuid: string
  readonly email: string
  readonly first_name: string | null
  readonly last_name: string | null
  readonly enabled: number
  readonly profile: string | null
}

export const toEperson = (row: EpersonRow): Eperson => ({
  uuid: row.uuid,
  email: row.email,
  firstName: row.first_name,
  lastName: row.last_name,
  enabled: row.enabled === 1,
  profile: readProfile(row.profile),
})

export const profileText = (profile: Profile): string | null =>
  Object.keys(profile).length === 0 ? null : JSON.stringify(profile)

export const epersonWith = (uuid: string): Read<Eperson | undefined> => eperson('uuid = $1', uuid)

/** @param email in upper or lower case */
export const epersonAt = (email: string): Read<Eperson | undefined> =>
  eperson('email_key = $1', emailKey(email))

/** Their row is locked until the change ends. */
export const lockEperson = (uuid: string): Change<Eperson | undefined> =>
  eperson('uuid = $1 FOR UPDATE', uuid)

export const lockEpersonAt = (email: string): Change<Eperson | undefined> =>
  eperson('email_key = $1 FOR UPDATE', emailKey(email))

function* eperson(condition: string, value: string): Read<Eperson | undefined> {
  const found = yield* row<EpersonRow>(`SELECT ${epersonColumns} FROM eperson WHERE ${condition}`, value)
  return found && toEperson(found)
}

/** Adds an eperson, and records nothing. @returns undefined if another has the e-mail address */
export function* insertEperson(person: NewPerson): Change<Eperson | undefined> {
  const { email, firstName, lastName, enabled, profile } = person
  const uuid = randomUUID()
  const added = yield* insert(
    'eperson',
    {
      uuid,
      email,
      email_key: emailKey(email),
      first_name: firstName,
      last_name: lastName,
      name_key: nameKey(firstName, lastName),
      enabled: Number(enabled),
      profile: profileText(profile),
      password_hash: person.passwordHash,
      password_stamp: 0,
      session_key: randomBytes(32),
      stamp: yield* nextStamp(),
      created: now(),
    },
    '(email_key) DO NOTHING',
  )
  return added === 0 ? undefined : { uuid, email, firstName, lastName, enabled, profile }
}

export function* changeStamp(uuid: string): Change<void> {
  yield* run('UPDATE eperson SET stamp = $1 WHERE uuid = $2', yield* nextStamp(), uuid)
}

/** Ends every login token, and what was made from one. */
export function* endTokens(uuid: string, newKey: Uint8Array = randomBytes(32)): Change<void> {
  const sql = 'UPDATE eperson SET session_key = $1, stamp = $2 WHERE uuid = $3'
  yield* run(sql, newKey, yield* nextStamp(), uuid)
}
