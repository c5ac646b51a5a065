import { randomBytes, randomUUID } from 'node:crypto'
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
import { setPasswordIn } from './account-changes.ts'
import type { Connection, Pool, Queries } from './driver.ts'
import { recordEvent } from './events.ts'
import { dropGroup, groupNamed, insertGroup, useOfGroup } from './group-changes.ts'
import { hasAdministrator, keepGroups, lockGroups, stampBelow } from './group-tree.ts'
import { perform } from './perform.ts'
import { changing, requireRights } from './stamps.ts'

/** What administrators change over HTTP, each in one transaction. */

export const createEperson = (
  pool: Pool,
  person: NewPerson,
  event: AuditEvent,
): Promise<Eperson | 'exists'> =>
  changing(pool, event, 'shared', async db => {
    const added = await perform(db, insertEperson(person))
    if (!added) return 'exists'
    await recordEvent(db, epersonEvent(event, null, added))
    return added
  })

export const changeEperson = (pool: Pool, uuid: string, change: EpersonChange, event: AuditEvent) =>
  keepingAdministrator(pool, change.enabled === false, event, async db => {
    const before = await lockEperson(db, uuid)
    if (!before) return 'no-eperson' as const
    const after = applyChange(before, change)
    if (isSame(before, after)) return before
    const { email, firstName, lastName, enabled } = after
    const others = await db.rows(
      'SELECT 1 AS one FROM eperson WHERE email_key = $1 AND uuid <> $2',
      emailKey(email),
      uuid,
    )
    if (others.length > 0) return 'exists' as const
    // Somebody who takes the address at the same time makes a conflict, and the retry finds them.
    await db.run(
      `UPDATE eperson SET email = $1, email_key = $2, first_name = $3, last_name = $4, name_key = $5, enabled = $6,
         profile = $7, stamp = nextval('stamp'), session_key = coalesce($8, session_key) WHERE uuid = $9`,
      email,
      emailKey(email),
      firstName,
      lastName,
      nameKey(firstName, lastName),
      Number(enabled),
      profileText(after.profile),
      before.enabled && !enabled ? randomBytes(32) : null,
      uuid,
    )
    if (before.enabled && !enabled) await dropAccessTokens(db, uuid)
    await recordEvent(db, epersonEvent(event, before, after))
    return after
  })

export const resetAgreements = (pool: Pool, event: AuditEvent): Promise<number> =>
  changing(pool, event, 'own', async db => {
    const accepted = await db.run(
      `UPDATE eperson SET profile = nullif(CAST(CAST(profile AS JSONB) - $1 AS TEXT), '{}'),
         stamp = nextval('stamp')
       WHERE CAST(profile AS JSONB) ->> $1 IS NOT NULL`,
      agreementField,
    )
    await recordEvent(db, resetEvent(event, accepted))
    return accepted
  })

export const replacePassword = (pool: Pool, uuid: string, hash: string, event: AuditEvent) =>
  changing(pool, event, 'own', async db => {
    if (!(await lockEperson(db, uuid))) return 'no-eperson' as const
    await setPasswordIn(db, uuid, hash)
    await recordEvent(db, { ...event, eperson: uuid })
    return 'changed' as const
  })

export const removeEperson = (pool: Pool, uuid: string, event: AuditEvent) =>
  keepingAdministrator(pool, true, event, async db => {
    const before = await lockEperson(db, uuid)
    if (!before) return 'no-eperson' as const
    await perform(db, dropReader(uuid))
    await db.run('DELETE FROM eperson WHERE uuid = $1', uuid)
    await recordEvent(db, epersonEvent(event, before, null))
    return 'changed' as const
  })

export const createGroup = (
  pool: Pool,
  { name, description }: NewGroup,
  event: AuditEvent,
): Promise<GroupDetails | 'exists'> =>
  pool.transaction(async db => {
    await lockGroups(db)
    await requireRights(db, event)
    const added = { uuid: randomUUID(), name, description }
    if ((await insertGroup(db, name, groupEvent(event, null, added), added.uuid)) === 'exists')
      return 'exists'
    await db.run('UPDATE epersongroup SET description = $1 WHERE uuid = $2', description, added.uuid)
    return added
  })

export const changeGroup = (
  pool: Pool,
  uuid: string,
  change: GroupChange,
  event: AuditEvent,
): Promise<GroupDetails | 'no-group' | 'exists' | GroupUse> =>
  pool.transaction(async db => {
    await lockGroups(db)
    await requireRights(db, event, 'own')
    const before = await groupWith(db, uuid)
    if (!before) return 'no-group'
    const after = { ...before, ...change }
    if (isSame({ ...before }, after)) return after
    if (after.name !== before.name) {
      if (await groupNamed(db, after.name)) return 'exists'
      const use = await useOfGroup(db, before.name)
      if (use) return use
    }
    await db.run(
      'UPDATE epersongroup SET name = $1, name_key = $2, description = $3 WHERE uuid = $4',
      after.name,
      nameKey(after.name),
      after.description,
      uuid,
    )
    // Sessions have the names of their groups.
    if (after.name !== before.name) await stampBelow(db, uuid)
    await recordEvent(db, groupEvent(event, before, after))
    return after
  })

export const removeGroup = (pool: Pool, uuid: string, event: AuditEvent) =>
  keepingAdministrator(pool, true, event, async (db): Promise<'changed' | 'no-group' | GroupUse> => {
    const before = await groupWith(db, uuid)
    return before ? dropGroup(db, before.name, groupEvent(event, before, null)) : 'no-group'
  })

/** It was the last one: everything is rolled back. */
class LastAdministrator extends Error {}

/**
 * Takes a change back that leaves nobody who could administer the service over HTTP.
 * @param mayEnd whether the change could take the rights of an administrator
 */
export async function keepingAdministrator<T>(
  pool: Pool,
  mayEnd: boolean,
  event: AuditEvent,
  change: (db: Connection) => Promise<T>,
): Promise<T | 'last-administrator'> {
  try {
    return await pool.transaction(async db => {
      // Of two changes at once that each leave another administrator, the later one sees the earlier one.
      await (mayEnd ? lockGroups(db) : keepGroups(db))
      await requireRights(db, event, 'own')
      // Where there is none, nothing can take them away.
      const mustStay = mayEnd && (await hasAdministrator(db))
      const result = await change(db)
      if (mustStay && !(await hasAdministrator(db))) throw new LastAdministrator()
      return result
    })
  } catch (error) {
    if (error instanceof LastAdministrator) return 'last-administrator'
    throw error
  }
}

export async function lockEperson(db: Queries, uuid: string): Promise<Eperson | undefined> {
  const [row] = await db.rows<EpersonRow>(
    `SELECT ${epersonColumns} FROM eperson WHERE uuid = $1 FOR UPDATE`,
    uuid,
  )
  return row && toEperson(row)
}

export const groupWith = async (db: Queries, uuid: string): Promise<GroupDetails | undefined> =>
  (
    await db.rows<GroupDetails & Record<string, unknown>>(
      'SELECT uuid, name, description FROM epersongroup WHERE uuid = $1',
      uuid,
    )
  )[0]
