import { administratorGroup, agreementField, type Eperson, emailKey, nameKey } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type {
  Changed,
  Credentials,
  EpersonChange,
  NewEperson,
  NewPerson,
  OneEperson,
  OwnPassword,
} from '../people.ts'
import { endAccessTokens } from './access-tokens.ts'
import { changeMembership, groupNamed } from './group-rows.ts'
import { keepingAdministrator } from './group-tree.ts'
import {
  applyChange,
  type EpersonRow,
  endTokens,
  epersonColumns,
  epersonEvent,
  insertEperson,
  isSame,
  lockEperson,
  lockEpersonAt,
  profileText,
  resetEvent,
  toEperson,
} from './people-rows.ts'
import { dropReader } from './reader-changes.ts'
import { keepOnly } from './sessions.ts'
import { type Change, nextStamp, type Read, record, rights, row, rows, run } from './statements.ts'

/** Epersons: by command, where e-mail addresses name them, and over HTTP. */

export function* addEperson(eperson: NewEperson, event: AuditEvent): Change<Eperson | 'exists'> {
  yield* rights(event, 'own')
  const added = yield* insertEperson({ ...eperson, enabled: true, profile: {} })
  if (!added) return 'exists'
  yield* record({ ...event, eperson: added.uuid })
  const administrators = eperson.administrator ? yield* groupNamed(administratorGroup) : undefined
  if (administrators)
    yield* changeMembership('join', administrators, added.uuid, { ...event, event: 'group.join' })
  return added
}

export function* createEperson(person: NewPerson, event: AuditEvent): Change<Eperson | 'exists'> {
  yield* rights(event, 'shared')
  const added = yield* insertEperson(person)
  if (!added) return 'exists'
  yield* record(epersonEvent(event, null, added))
  return added
}

export function* setEnabled(email: string, enabled: boolean, event: AuditEvent): Change<Changed> {
  yield* rights(event, 'own')
  const eperson = yield* lockEpersonAt(email)
  if (!eperson) return 'no-eperson'
  if (eperson.enabled === enabled) return 'unchanged'
  yield* run('UPDATE eperson SET enabled = $1 WHERE uuid = $2', Number(enabled), eperson.uuid)
  yield* endTokens(eperson.uuid)
  if (!enabled) yield* endAccessTokens(eperson.uuid)
  yield* record({ ...event, eperson: eperson.uuid })
  return 'changed'
}

export const changeEperson = (uuid: string, change: EpersonChange, event: AuditEvent) =>
  keepingAdministrator(
    change.enabled === false,
    event,
    'last-administrator' as const,
    changeOne(uuid, change, event),
  )

function* changeOne(
  uuid: string,
  change: EpersonChange,
  event: AuditEvent,
): Change<Eperson | 'no-eperson' | 'exists'> {
  const before = yield* lockEperson(uuid)
  if (!before) return 'no-eperson'
  const after = applyChange(before, change)
  if (isSame(before, after)) return before
  const { email, firstName, lastName, enabled } = after
  if (yield* row('SELECT 1 AS one FROM eperson WHERE email_key = $1 AND uuid <> $2', emailKey(email), uuid))
    return 'exists'
  // A change that takes the address at the same time makes a conflict, and the retry finds it.
  yield* run(
    `UPDATE eperson SET email = $1, email_key = $2, first_name = $3, last_name = $4, name_key = $5, enabled = $6,
       profile = $7, stamp = $8 WHERE uuid = $9`,
    email,
    emailKey(email),
    firstName,
    lastName,
    nameKey(firstName, lastName),
    Number(enabled),
    profileText(after.profile),
    yield* nextStamp(),
    uuid,
  )
  if (before.enabled && !enabled) {
    yield* endTokens(uuid)
    yield* endAccessTokens(uuid)
  }
  yield* record(epersonEvent(event, before, after))
  return after
}

export function* setPassword(
  whose: OneEperson,
  hash: string,
  event: AuditEvent,
  checked?: OwnPassword,
): Change<Changed> {
  yield* rights(event, 'own')
  const eperson = yield* 'uuid' in whose ? lockEperson(whose.uuid) : lockEpersonAt(whose.email)
  if (!eperson) return 'no-eperson'
  const { uuid } = eperson
  if (checked && checked.uuid !== uuid) return 'unchanged'
  const changed = yield* run(
    `UPDATE eperson SET password_hash = $1, password_stamp = $2
     WHERE uuid = $3 AND password_stamp = coalesce($4, password_stamp)`,
    hash,
    yield* nextStamp(),
    uuid,
    checked?.passwordStamp ?? null,
  )
  if (changed === 0) return 'unchanged'
  yield* keepOnly(uuid, checked?.own)
  yield* endAccessTokens(uuid)
  yield* record({ ...event, eperson: uuid })
  return 'changed'
}

export function* resetAgreements(event: AuditEvent): Change<number> {
  yield* rights(event, 'own')
  const accepted = yield* run(
    {
      sqlite: `UPDATE eperson SET profile = nullif(json_patch(profile, json_object($1, NULL)), '{}'), stamp = $2
        WHERE profile ->> $1 IS NOT NULL`,
      postgres: `UPDATE eperson SET profile = nullif(CAST(CAST(profile AS JSONB) - $1 AS TEXT), '{}'), stamp = $2
        WHERE CAST(profile AS JSONB) ->> $1 IS NOT NULL`,
    },
    agreementField,
    yield* nextStamp(),
  )
  yield* record(resetEvent(event, accepted))
  return accepted
}

export function* deleteEperson(email: string, event: AuditEvent): Change<Changed> {
  yield* rights(event, 'own')
  const eperson = yield* lockEpersonAt(email)
  if (!eperson) return 'no-eperson'
  yield* drop(eperson.uuid)
  yield* record({ ...event, eperson: eperson.uuid })
  return 'changed'
}

export const removeEperson = (uuid: string, event: AuditEvent) =>
  keepingAdministrator(true, event, 'last-administrator' as const, removeOne(uuid, event))

function* removeOne(uuid: string, event: AuditEvent): Change<'changed' | 'no-eperson'> {
  const before = yield* lockEperson(uuid)
  if (!before) return 'no-eperson'
  yield* drop(uuid)
  yield* record(epersonEvent(event, before, null))
  return 'changed'
}

/** The rules that let them in go, too. */
function* drop(uuid: string): Change<void> {
  yield* dropReader(uuid)
  yield* run('DELETE FROM eperson WHERE uuid = $1', uuid)
}

export function* credentials(email: string): Read<Credentials | undefined> {
  const found = yield* row<{
    readonly uuid: string
    readonly enabled: number
    readonly password_hash: string | null
    readonly password_stamp: number
  }>('SELECT uuid, enabled, password_hash, password_stamp FROM eperson WHERE email_key = $1', emailKey(email))
  return (
    found && {
      uuid: found.uuid,
      enabled: found.enabled === 1,
      passwordHash: found.password_hash,
      passwordStamp: found.password_stamp,
    }
  )
}

export function* listEpersons() {
  const found = yield* rows<EpersonRow & { readonly groups: string }>(
    `SELECT ${epersonColumns},
       CAST((SELECT e.groups FROM epersons e WHERE e.uuid = eperson.uuid) AS TEXT) AS groups
     FROM eperson ORDER BY email_key`,
  )
  return found.map(one => ({ ...toEperson(one), groups: JSON.parse(one.groups) as string[] }))
}
