import { randomBytes, randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { differences } from '../../lib/differences.ts'
import {
  type Eperson,
  emailKey,
  type GroupDetails,
  nameKey,
  type Profile,
  readProfile,
} from '../../model/accounts.ts'
import type { AuditEvent, Changes } from '../../model/audit-events.ts'
import type { EpersonChange, NewPerson } from '../people.ts'
import { type Change, insert, nextStamp, now, type Read, row, run } from './statements.ts'

/**
 * Rows of epersons. Every change of one gives them a new stamp, so that no node or thread uses stale data.
 */
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

/** The columns that an administrator may change. */
export const epersonValues = ({ email, firstName, lastName, enabled, profile }: Omit<Eperson, 'uuid'>) => ({
  email,
  email_key: emailKey(email),
  first_name: firstName,
  last_name: lastName,
  name_key: nameKey(firstName, lastName),
  enabled: Number(enabled),
  profile: Object.keys(profile).length === 0 ? null : JSON.stringify(profile),
})

export const epersonWith = (uuid: string): Read<Eperson | undefined> => eperson('uuid = $1', uuid)

/** Finds an eperson, and locks their row until the change ends. */
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
      ...epersonValues(person),
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

/** Ends every login token, and the tokens that were made from one. */
export function* endTokens(uuid: string, newKey: Uint8Array = randomBytes(32)): Change<void> {
  const sql = 'UPDATE eperson SET session_key = $1, stamp = $2 WHERE uuid = $3'
  yield* run(sql, newKey, yield* nextStamp(), uuid)
}

export function applyChange(before: Eperson, change: EpersonChange): Eperson {
  const { profile, ...rest } = change
  const merged = Object.entries({ ...before.profile, ...profile }).filter(([, value]) => value !== null)
  return { ...before, ...rest, profile: Object.fromEntries(merged) as Profile }
}

/** True if nothing has changed, so that there is nothing to record. */
export const isSame = (before: Eperson | GroupDetails, after: Eperson | GroupDetails): boolean =>
  isDeepStrictEqual(before, after)

/** The event of a change, with the changed values under the names that the API's answers use. */
export function epersonEvent(event: AuditEvent, before: Eperson | null, after: Eperson | null): AuditEvent {
  const eperson = (after ?? before)?.uuid ?? null
  const isSwitched = before !== null && after !== null && before.enabled !== after.enabled
  const name = isSwitched ? (after.enabled ? 'eperson.enable' : 'eperson.disable') : event.event
  return { ...event, event: name, eperson, changes: changesOf(before && told(before), after && told(after)) }
}

export const groupEvent = (
  event: AuditEvent,
  before: GroupDetails | null,
  after: GroupDetails | null,
): AuditEvent => ({
  ...event,
  object: (before ?? after)?.name ?? null,
  changes: changesOf(before && toldOfGroup(before), after && toldOfGroup(after)),
})

const told = ({ email, enabled, firstName, lastName, profile }: Eperson) => ({
  email,
  canLogIn: enabled,
  'eperson.firstname': firstName,
  'eperson.lastname': lastName,
  ...profile,
})
const toldOfGroup = ({ name, description }: GroupDetails) => ({ name, 'dc.description': description })

/** Lists the differences. Null on one side and missing on the other count as equal. */
const changesOf = (before: object | null, after: object | null): Changes =>
  differences(before, after, (one, other) => (one ?? null) === (other ?? null))

/** An event about a group in a group. */
export const subgroupEvent = (event: AuditEvent, parent: string, child: string): AuditEvent => {
  const isAdded = event.event === 'group.include'
  return {
    ...event,
    object: parent,
    changes: { before: isAdded ? null : { subgroup: child }, after: isAdded ? { subgroup: child } : null },
  }
}
