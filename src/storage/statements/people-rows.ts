import { randomBytes, randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { differences } from '../../lib/differences.ts'
import {
  administratorGroup,
  type Eperson,
  emailKey,
  type Group,
  type GroupDetails,
  nameKey,
  type Profile,
  readProfile,
  type Session,
  type Standing,
} from '../../model/accounts.ts'
import type { AuditEvent, Changes } from '../../model/audit-events.ts'
import type { EpersonChange, GroupUse, NewGroup, NewPerson } from '../../model/people.ts'
import { readReaders } from '../../model/readers.ts'
import { readState } from '../../model/sessions.ts'
import * as tables from '../schema/people.ts'
import type { RowOf } from '../schema/table.ts'
import { type EntityRow, toEntity } from './entity-rows.ts'
import { mine } from './group-tree.ts'
import type { Change, Read } from './statements.ts'
import * as db from './statements.ts'

/** Rows of epersons. Every change of one gives them a new stamp, so that no node or thread uses stale data. */
const seen = ['uuid', 'email', 'first_name', 'last_name', 'enabled', 'profile'] as const
export const epersonColumns = seen.join(', ')

export type EpersonRow = Pick<RowOf<typeof tables.eperson>, (typeof seen)[number]>

/** 1 if the eperson has a second factor. Adding the first one and removing the last change the stamp. */
export const hasFactor = 'CAST(EXISTS (SELECT 1 FROM factor f WHERE f.eperson = eperson.uuid) AS INTEGER)'

export const toEperson = (row: EpersonRow): Eperson => ({
  uuid: row.uuid,
  email: row.email,
  firstName: row.first_name,
  lastName: row.last_name,
  enabled: row.enabled === 1,
  profile: readProfile(row.profile),
})

/** The columns of a session besides its groups. */
export const sessionColumns = `${epersonColumns}, session_key, session_state, stamp, ${hasFactor} AS has_factor`

export type SessionRow = EpersonRow &
  Pick<RowOf<typeof tables.eperson>, 'session_key' | 'session_state' | 'stamp'> & {
    readonly has_factor: number
  }

export const toSession = (row: SessionRow, groups: readonly Group[]): Session => ({
  eperson: toEperson(row),
  administrator: groups.some(group => group.name === administratorGroup),
  groups,
  hasFactor: row.has_factor === 1,
  sessionKey: row.session_key,
  ...readState(row.session_state, row.session_key),
  stamp: row.stamp,
})

/** 1 if there is such a row, on both engines. */
const exists = (select: string) => `CAST(EXISTS (${select}) AS INTEGER)`

/** Facts about accounts, for lists that administrators read. */
export function* standings(uuids: readonly string[]): Read<readonly Standing[]> {
  const factor = (kind: string) =>
    exists(`SELECT 1 FROM factor f WHERE f.eperson = eperson.uuid AND f.kind = '${kind}'`)
  const found = yield* db.rows<
    Pick<Standing, 'uuid'> & Readonly<Record<'administrator' | 'hasPassword' | 'totp' | 'passkey', number>>
  >(
    `SELECT uuid, ${exists(`${mine('eperson.uuid')} SELECT 1 FROM mine WHERE id = $2`)} AS administrator,
       CASE WHEN password_hash IS NULL THEN 0 ELSE 1 END AS "hasPassword",
       ${factor('totp')} AS totp, ${factor('passkey')} AS passkey FROM eperson WHERE uuid = ANY($1)`,
    uuids,
    (yield* groupNamed(administratorGroup))?.uuid ?? '',
  )
  return found.map(one => ({
    uuid: one.uuid,
    administrator: one.administrator === 1,
    hasPassword: one.hasPassword === 1,
    factors: (['passkey', 'totp'] as const).filter(kind => one[kind] === 1),
  }))
}

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
  const found = yield* db.row<EpersonRow>(`SELECT ${epersonColumns} FROM eperson WHERE ${condition}`, value)
  return found && toEperson(found)
}

/** Adds an eperson, and records nothing. @returns undefined if another has the e-mail address */
export function* insertEperson(person: NewPerson): Change<Eperson | undefined> {
  const { email, firstName, lastName, enabled, profile } = person
  const uuid = randomUUID()
  const added = yield* db.insert(
    tables.eperson,
    {
      uuid,
      ...epersonValues(person),
      password_hash: person.passwordHash,
      password_stamp: 0,
      session_key: randomBytes(32),
      stamp: yield* db.nextStamp(),
      created: db.now(),
    },
    '(email_key) DO NOTHING',
  )
  return added === 0 ? undefined : { uuid, email, firstName, lastName, enabled, profile }
}

export function* changeStamp(uuid: string): Change<void> {
  yield* db.run('UPDATE eperson SET stamp = $1 WHERE uuid = $2', yield* db.nextStamp(), uuid)
}

/** Ends every login token, and the tokens that were made from one. */
export function* endTokens(uuid: string, newKey: Uint8Array = randomBytes(32)): Change<void> {
  const sql = 'UPDATE eperson SET session_key = $1, stamp = $2 WHERE uuid = $3'
  yield* db.run(sql, newKey, yield* db.nextStamp(), uuid)
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

/** Maximum number of entities that the event of a deletion lists. */
const maxClosed = 50

/** Names the entities that were closed by the deletion of an eperson. */
export function withClosed(event: AuditEvent, closed: readonly string[]): AuditEvent {
  if (closed.length === 0) return event
  const more = closed.length > maxClosed ? [`and ${closed.length - maxClosed} more`] : []
  const entities = [...closed.slice(0, maxClosed), ...more]
  return { ...event, changes: { before: { ...event.changes?.before, entities }, after: null } }
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

/** Rows of groups and memberships. */

export const groupWith = (uuid: string): Read<GroupDetails | undefined> =>
  db.row('SELECT uuid, name, description FROM epersongroup WHERE uuid = $1', uuid)

/** Finds a group, and locks its row until the change ends, so that a deletion waits. */
export const keepGroup = (uuid: string): Change<Group | undefined> =>
  db.row<Group>('SELECT uuid, name FROM epersongroup WHERE uuid = $1 FOR KEY SHARE', uuid)

/** Finds a group by its name, and locks its row in the same way. */
export const groupNamed = (name: string): Change<Group | undefined> =>
  db.row<Group>('SELECT uuid, name FROM epersongroup WHERE name = $1 FOR KEY SHARE', name)

/** Adds a group, and records nothing. @returns undefined if another has the name */
export function* insertGroup({ name, description }: NewGroup): Change<GroupDetails | undefined> {
  const group = { uuid: randomUUID(), name, description }
  const columns = { ...group, name_key: nameKey(name), special: 0, created: db.now() }
  return (yield* db.insert(tables.epersongroup, columns, '(name) DO NOTHING')) === 0 ? undefined : group
}

const membershipChanges = {
  join: 'INSERT INTO membership (epersongroup, eperson) VALUES ($1, $2) ON CONFLICT DO NOTHING',
  leave: 'DELETE FROM membership WHERE epersongroup = $1 AND eperson = $2',
}

/** Adds an eperson to a group or removes them. The caller has locked both rows. */
export function* changeMembership(
  way: 'join' | 'leave',
  group: Group,
  eperson: string,
  event: AuditEvent,
): Change<'changed' | 'unchanged'> {
  if ((yield* db.run(membershipChanges[way], group.uuid, eperson)) === 0) return 'unchanged'
  yield* changeStamp(eperson)
  yield* db.record({ ...event, eperson, object: group.name })
  return 'changed'
}

interface Rules {
  readonly entities: readonly {
    readonly name: string
    readonly read: string
    readonly write?: string | null
  }[]
  /** Audiences that items or bitstreams have. */
  readonly audiences: readonly {
    readonly readers: string
    readonly items: number
    readonly bitstreams: number
  }[]
}

/** @returns the rules that name the group; undefined if none does */
export function* useOfGroup(group: string): Read<GroupUse | undefined> {
  const entities = yield* db.rows<EntityRow>('SELECT name, definition FROM entity ORDER BY name')
  const audiences = yield* db.rows<Rules['audiences'][number]>(
    'SELECT readers, items, bitstreams FROM audience WHERE items > 0 OR bitstreams > 0',
  )
  return useOf(group, { entities: entities.map(toEntity), audiences })
}

export function useOf(group: string, rules: Rules): GroupUse | undefined {
  const rule = `group:${group}`
  const entities = rules.entities
    .filter(({ read, write }) => read === rule || write === rule)
    .map(({ name }) => name)
  const naming = rules.audiences.filter(({ readers }) =>
    readReaders(readers).some(({ reader }) => reader === rule),
  )
  const items = naming.reduce((sum, one) => sum + one.items, 0)
  const bitstreams = naming.reduce((sum, one) => sum + one.bitstreams, 0)
  return entities.length + items + bitstreams === 0 ? undefined : { entities, items, bitstreams }
}
