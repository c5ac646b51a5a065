import { randomUUID } from 'node:crypto'
import { agreementField, type Eperson, emailKey, type GroupDetails, nameKey } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { GroupUse } from '../accounts.ts'
import type { EpersonChange, GroupChange, NewGroup, NewPerson } from '../people.ts'
import {
  type EpersonRow,
  epersonColumns,
  insertEperson,
  profileText,
  toEperson,
} from '../statements/people-rows.ts'
import { applyChange, epersonEvent, groupEvent, isSame, resetEvent } from '../statements/people-rules.ts'
import { dropReader } from '../statements/reader-changes.ts'
import { dropAccessTokens } from './access-token-changes.ts'
import { endTokens, nextStamp, setPassword } from './account-changes.ts'
import type { Database } from './driver.ts'
import { forgetEnd, recordEvent } from './events.ts'
import { addGroup, deleteGroup, groupNamed, useOfGroup } from './group-changes.ts'
import { hasAdministrator, stampBelow } from './group-tree.ts'
import { perform } from './perform.ts'
import { find } from './rows.ts'

/** What administrators change over HTTP. The single writer runs each function inside its transaction. */

export function createEperson(db: Database, person: NewPerson, event: AuditEvent): Eperson | 'exists' {
  const added = perform(db, insertEperson(person))
  if (!added) return 'exists'
  recordEvent(db, epersonEvent(event, null, added))
  return added
}

export function changeEperson(db: Database, uuid: string, change: EpersonChange, event: AuditEvent) {
  const before = epersonWith(db, uuid)
  if (!before) return 'no-eperson' as const
  const after = applyChange(before, change)
  if (isSame(before, after)) return before
  const { email, firstName, lastName, enabled } = after
  const other = find(db, email)
  if (other && other.uuid !== uuid) return 'exists' as const
  return keepingAdministrator(db, () => {
    db.run(
      `UPDATE eperson SET email = ?, email_key = ?, first_name = ?, last_name = ?, name_key = ?, enabled = ?, profile = ?,
         stamp = ? WHERE uuid = ?`,
      email,
      emailKey(email),
      firstName,
      lastName,
      nameKey(firstName, lastName),
      enabled ? 1 : 0,
      profileText(after.profile),
      nextStamp(db),
      uuid,
    )
    if (before.enabled && !enabled) {
      endTokens(db, uuid)
      dropAccessTokens(db, uuid)
    }
    recordEvent(db, epersonEvent(event, before, after))
    return after
  })
}

export function resetAgreements(db: Database, event: AuditEvent): number {
  const accepted = db.run(
    `UPDATE eperson SET profile = nullif(json_remove(profile, ?1), '{}'), stamp = ?2
     WHERE json_extract(profile, ?1) IS NOT NULL`,
    `$."${agreementField}"`,
    nextStamp(db),
  )
  recordEvent(db, resetEvent(event, accepted))
  return accepted
}

export function replacePassword(db: Database, uuid: string, hash: string, event: AuditEvent) {
  const eperson = epersonWith(db, uuid)
  if (!eperson) return 'no-eperson' as const
  setPassword(db, eperson.email, hash, event)
  return 'changed' as const
}

export function removeEperson(db: Database, uuid: string, event: AuditEvent) {
  const before = epersonWith(db, uuid)
  if (!before) return 'no-eperson' as const
  return keepingAdministrator(db, () => {
    perform(db, dropReader(uuid))
    db.run('DELETE FROM eperson WHERE uuid = ?', uuid)
    recordEvent(db, epersonEvent(event, before, null))
    return 'changed' as const
  })
}

export function createGroup(
  db: Database,
  { name, description }: NewGroup,
  event: AuditEvent,
): GroupDetails | 'exists' {
  const added = { uuid: randomUUID(), name, description }
  if (addGroup(db, name, groupEvent(event, null, added), added.uuid) === 'exists') return 'exists' as const
  db.run('UPDATE epersongroup SET description = ? WHERE uuid = ?', description, added.uuid)
  return added
}

export function changeGroup(
  db: Database,
  uuid: string,
  change: GroupChange,
  event: AuditEvent,
): GroupDetails | 'no-group' | 'exists' | GroupUse {
  const before = groupWith(db, uuid)
  if (!before) return 'no-group' as const
  const after = { ...before, ...change }
  if (isSame({ ...before }, after)) return after
  if (after.name !== before.name) {
    if (groupNamed(db, after.name)) return 'exists' as const
    const use = useOfGroup(db, before.name)
    if (use) return use
  }
  db.run(
    'UPDATE epersongroup SET name = ?, name_key = ?, description = ? WHERE uuid = ?',
    after.name,
    nameKey(after.name),
    after.description,
    uuid,
  )
  // Sessions have the names of their groups.
  if (after.name !== before.name) stampBelow(db, uuid)
  recordEvent(db, groupEvent(event, before, after))
  return after
}

export function removeGroup(
  db: Database,
  uuid: string,
  event: AuditEvent,
): 'changed' | 'no-group' | 'last-administrator' | GroupUse {
  const before = groupWith(db, uuid)
  if (!before) return 'no-group' as const
  return keepingAdministrator(db, () => deleteGroup(db, before.name, groupEvent(event, before, null)))
}

/** Takes a change back that leaves nobody who could administer the service over HTTP. */
export function keepingAdministrator<T>(db: Database, change: () => T): T | 'last-administrator' {
  // Where there is none, nothing can take them away.
  if (!hasAdministrator(db)) return change()
  db.exec('SAVEPOINT keeping')
  const result = change()
  const isKept = hasAdministrator(db)
  if (!isKept) {
    db.exec('ROLLBACK TO keeping')
    forgetEnd(db)
  }
  db.exec('RELEASE keeping')
  return isKept ? result : 'last-administrator'
}

export function epersonWith(db: Database, uuid: string): Eperson | undefined {
  const row = db.get<EpersonRow>(`SELECT ${epersonColumns} FROM eperson WHERE uuid = ?`, uuid)
  return row && toEperson(row)
}

export const groupWith = (db: Database, uuid: string): GroupDetails | undefined =>
  db.get<GroupDetails & Record<string, unknown>>(
    'SELECT uuid, name, description FROM epersongroup WHERE uuid = ?',
    uuid,
  )
