import { dropReader } from '../items/statements/reader-changes.ts'
import { administratorGroup, agreementField, type Eperson, emailKey } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type {
  Changed,
  Credentials,
  EpersonChange,
  ListedEperson,
  NewEperson,
  NewPerson,
  OneEperson,
  OwnPassword,
} from '../model/people.ts'
import * as tables from '../storage/schema/people.ts'
import { endAccessTokens } from '../storage/statements/access-tokens.ts'
import { keepList } from '../storage/statements/entity-rows.ts'
import { closeFor } from '../storage/statements/entity-rules.ts'
import { hasAdministrator, keepingAdministrator } from '../storage/statements/group-tree.ts'
import {
  applyChange,
  changeMembership,
  type EpersonRow,
  endTokens,
  epersonColumns,
  epersonEvent,
  epersonValues,
  epersonWith,
  groupNamed,
  hasFactor,
  insertEperson,
  isSame,
  lockEperson,
  lockEpersonAt,
  standings,
  toEperson,
  withClosed,
} from '../storage/statements/people-rows.ts'
import { keepOnly } from '../storage/statements/sessions.ts'
import type { Change, Offered, Read } from '../storage/statements/statements.ts'
import * as db from '../storage/statements/statements.ts'
import { groups } from './group-statements.ts'
import { findEpersons, findGroups } from './search-statements.ts'

/** Epersons: commands name them by e-mail address, requests over HTTP by uuid. */
const epersons = {
  reads: {
    /** Finds disabled epersons too. */
    eperson: epersonWith,
    /** @param email in upper or lower case */
    *credentials(email: string): Read<Credentials | undefined> {
      const found = yield* db.row<Omit<Credentials, Flag> & Readonly<Record<Flag, number>>>(
        `SELECT uuid, enabled, password_hash AS "passwordHash", password_stamp AS "passwordStamp",
           session_key AS "sessionKey", ${hasFactor} AS "hasFactor" FROM eperson WHERE email_key = $1`,
        emailKey(email),
      )
      return found && { ...found, enabled: found.enabled === 1, hasFactor: found.hasFactor === 1 }
    },
    /** All epersons, for commands. No request reads them. */
    *listEpersons(): Read<readonly ListedEperson[]> {
      const found = yield* db.rows<EpersonRow & { readonly groups: string }>(
        `SELECT ${epersonColumns},
           CAST((SELECT e.groups FROM epersons e WHERE e.uuid = eperson.uuid) AS TEXT) AS groups
         FROM eperson ORDER BY email_key`,
      )
      return found.map(one => ({ ...toEperson(one), groups: JSON.parse(one.groups) as string[] }))
    },
    /** Facts about the accounts of these epersons, in any order. */
    standings,
    /** True if `removeEperson` would remove them. */
    *canRemoveEperson(uuid: string): Read<boolean> {
      return (yield* epersonWith(uuid)) !== undefined && (yield* hasAdministrator(uuid))
    },
  },
  changes: {
    *addEperson(eperson: NewEperson, event: AuditEvent): Change<Eperson | 'exists'> {
      yield* db.rights(event, 'own')
      const added = yield* insertEperson({ ...eperson, enabled: true, profile: {} })
      if (!added) return 'exists'
      yield* db.record({ ...event, eperson: added.uuid })
      const administrators = eperson.administrator ? yield* groupNamed(administratorGroup) : undefined
      if (administrators)
        yield* changeMembership('join', administrators, added.uuid, { ...event, event: 'group.join' })
      return added
    },
    *createEperson(person: NewPerson, event: AuditEvent): Change<Eperson | 'exists'> {
      yield* db.rights(event, 'shared')
      const added = yield* insertEperson(person)
      if (!added) return 'exists'
      yield* db.record(epersonEvent(event, null, added))
      return added
    },
    /** Ends the eperson's tokens (T6). */
    *setEnabled(email: string, enabled: boolean, event: AuditEvent): Change<Changed> {
      yield* db.rights(event, 'own')
      const eperson = yield* lockEpersonAt(email)
      if (!eperson) return 'no-eperson'
      if (eperson.enabled === enabled) return 'unchanged'
      yield* db.update(tables.eperson, { enabled: Number(enabled) }, { uuid: eperson.uuid })
      yield* endTokens(eperson.uuid)
      if (!enabled) yield* endAccessTokens(eperson.uuid)
      yield* db.record({ ...event, eperson: eperson.uuid })
      return 'changed'
    },
    /** A disabled eperson's tokens end (T6). */
    changeEperson: (uuid: string, change: EpersonChange, event: AuditEvent) =>
      keepingAdministrator(change.enabled === false, event, changeOne(uuid, change, event)),
    /**
     * Ends the eperson's access tokens, and their login tokens (T6) except for those of the session that makes
     * the change.
     * @param checked the current password that was verified; if it was changed since then, the result is
     * `unchanged` and no event is recorded
     */
    *setPassword(whose: OneEperson, hash: string, event: AuditEvent, checked?: OwnPassword): Change<Changed> {
      yield* db.rights(event, 'own')
      const eperson = yield* 'uuid' in whose ? lockEperson(whose.uuid) : lockEpersonAt(whose.email)
      if (!eperson) return 'no-eperson'
      const { uuid } = eperson
      if (checked && checked.uuid !== uuid) return 'unchanged'
      const changed = yield* db.update(
        tables.eperson,
        { password_hash: hash, password_stamp: yield* db.nextStamp() },
        { uuid, ...(checked && { password_stamp: checked.passwordStamp }) },
      )
      if (changed === 0) return 'unchanged'
      yield* keepOnly(uuid, checked?.own)
      yield* endAccessTokens(uuid)
      yield* db.record({ ...event, eperson: uuid })
      return 'changed'
    },
    /**
     * Removes the agreement of all epersons, so that DSpace's interface asks them again. Their sessions go on.
     * @returns the number of epersons who had agreed
     */
    *resetAgreements(event: AuditEvent): Change<number> {
      yield* db.rights(event, 'own')
      const accepted = yield* db.run(
        {
          sqlite: `UPDATE eperson SET profile = nullif(json_patch(profile, json_object($1, NULL)), '{}'), stamp = $2
            WHERE profile ->> $1 IS NOT NULL`,
          postgres: `UPDATE eperson SET profile = nullif(CAST(CAST(profile AS JSONB) - $1 AS TEXT), '{}'), stamp = $2
            WHERE CAST(profile AS JSONB) ->> $1 IS NOT NULL`,
        },
        agreementField,
        yield* db.nextStamp(),
      )
      const changes = { before: { epersons: accepted }, after: { epersons: 0 } }
      yield* db.record({ ...event, object: agreementField, changes })
      return accepted
    },
    *deleteEperson(email: string, event: AuditEvent): Change<Changed> {
      // Changes of entities lock the row of the store's state before their sessions (`rights`).
      yield* keepList()
      yield* db.rights(event, 'own')
      const eperson = yield* lockEpersonAt(email)
      if (!eperson) return 'no-eperson'
      const closed = yield* drop(eperson.uuid)
      yield* db.record(withClosed({ ...event, eperson: eperson.uuid }, closed))
      return 'changed'
    },
    removeEperson: (uuid: string, event: AuditEvent) =>
      keepingAdministrator(true, event, removeOne(uuid, event)),
  },
}

/** A column that is 0 or 1. */
type Flag = 'enabled' | 'hasFactor'

function* changeOne(uuid: string, change: EpersonChange, event: AuditEvent) {
  const before = yield* lockEperson(uuid)
  if (!before) return 'no-eperson' as const
  const after = applyChange(before, change)
  if (isSame(before, after)) return before
  const taken = 'SELECT 1 AS one FROM eperson WHERE email_key = $1 AND uuid <> $2'
  if (yield* db.row(taken, emailKey(after.email), uuid)) return 'exists' as const
  // A concurrent change that takes the address causes a conflict, and the retry finds it.
  yield* db.update(tables.eperson, { ...epersonValues(after), stamp: yield* db.nextStamp() }, { uuid })
  if (before.enabled && !after.enabled) {
    yield* endTokens(uuid)
    yield* endAccessTokens(uuid)
  }
  yield* db.record(epersonEvent(event, before, after))
  return after
}

function* removeOne(uuid: string, event: AuditEvent) {
  const before = yield* lockEperson(uuid)
  if (!before) return 'no-eperson' as const
  const closed = yield* drop(uuid)
  yield* db.record(withClosed(epersonEvent(event, before, null), closed))
  return 'changed' as const
}

/** Deletes an eperson, and the rules that name them. @returns the names of the entities that had such a rule */
function* drop(uuid: string): Change<readonly string[]> {
  yield* dropReader(uuid)
  const closed = yield* closeFor(uuid)
  yield* db.run('DELETE FROM eperson WHERE uuid = $1', uuid)
  return closed
}

/**
 * Epersons and groups, and groups in groups (contract sections 2, 6 and 7, docs/decisions/0039). Every change
 * is one transaction with its audit event. Commands name epersons by e-mail address and groups by name.
 * Changes by uuid are those of administrators over HTTP: what they have changed is added to the event, and
 * none of them leaves a store without an administrator who may log in.
 */
export const people = {
  reads: { ...epersons.reads, ...groups.reads },
  searches: { findEpersons, findGroups },
  changes: { ...epersons.changes, ...groups.changes },
}

export type People = Offered<typeof people>
