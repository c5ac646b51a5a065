import { randomBytes } from 'node:crypto'
import { administratorGroup, type Eperson } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Changed, NewEperson, OwnPassword } from '../accounts.ts'
import { type EpersonRow, insertEperson as insertRow } from '../statements/people-rows.ts'
import { dropReader } from '../statements/reader-changes.ts'
import { dropAccessTokens } from './access-token-changes.ts'
import { resetMark } from './clock-changes.ts'
import type { Connection, Pool } from './driver.ts'
import { recordEvent } from './events.ts'
import { changeMembership, lockEperson } from './group-changes.ts'
import { perform } from './perform.ts'
import { keepOnly } from './session-changes.ts'
import { changing, replaceSessionKey } from './stamps.ts'

export { replaceSessionKey } from './stamps.ts'

/** Changes of epersons. Each gives them a new stamp, so that no node keeps using what it cached. */

/** Each gets another key: a hash of the old one and of a random value. */
export const logoutAll = (pool: Pool, event: AuditEvent, now: number): Promise<number> =>
  changing(pool, event, 'own', async db => {
    const ended = await db.run(
      `WITH next AS MATERIALIZED (SELECT nextval('stamp') AS stamp)
       UPDATE eperson SET session_key = sha256($1 || session_key), stamp = next.stamp FROM next`,
      randomBytes(32),
    )
    await db.run('DELETE FROM provider_session')
    await db.run('DELETE FROM session')
    await resetMark(db, now)
    await recordEvent(db, event)
    return ended
  })

export const addEperson = (pool: Pool, eperson: NewEperson, event: AuditEvent) =>
  changing(pool, event, 'own', async db => {
    const added = await insertEperson(db, eperson, event)
    if (added === 'exists') return added
    if (eperson.administrator)
      await changeMembership(db, 'join', administratorGroup, eperson.email, { ...event, event: 'group.join' })
    return added
  })

export async function insertEperson(
  db: Connection,
  eperson: Omit<NewEperson, 'administrator'>,
  event: AuditEvent,
): Promise<Eperson | 'exists'> {
  const added = await perform(db, insertRow({ ...eperson, enabled: true, profile: {} }))
  if (!added) return 'exists'
  await recordEvent(db, { ...event, eperson: added.uuid })
  return added
}

export const setEnabled = (
  pool: Pool,
  email: string,
  enabled: boolean,
  event: AuditEvent,
): Promise<Changed> =>
  changeEperson(pool, email, event, async (db, eperson) => {
    if (eperson.enabled === Number(enabled)) return 'unchanged'
    const sql = `UPDATE eperson SET enabled = $2, ${replaceSessionKey} WHERE uuid = $3`
    await db.run(sql, randomBytes(32), Number(enabled), eperson.uuid)
    if (!enabled) await dropAccessTokens(db, eperson.uuid)
    return 'changed'
  })

export const setPassword = (
  pool: Pool,
  email: string,
  hash: string,
  event: AuditEvent,
  checked?: OwnPassword,
): Promise<Changed> =>
  changeEperson(pool, email, event, async (db, { uuid }) => {
    if (checked && checked.uuid !== uuid) return 'unchanged'
    return (await setPasswordIn(db, uuid, hash, checked)) === 0 ? 'unchanged' : 'changed'
  })

/** @returns how many epersons were changed */
export async function setPasswordIn(
  db: Connection,
  uuid: string,
  hash: string,
  checked?: OwnPassword,
): Promise<number> {
  const sql = `UPDATE eperson SET password_hash = $1, password_stamp = nextval('stamp')
     WHERE uuid = $2 AND password_stamp = coalesce($3, password_stamp)`
  if ((await db.run(sql, hash, uuid, checked?.passwordStamp ?? null)) === 0) return 0
  await keepOnly(db, uuid, checked?.own)
  await dropAccessTokens(db, uuid)
  return 1
}

export const deleteEperson = (pool: Pool, email: string, event: AuditEvent): Promise<Changed> =>
  changeEperson(pool, email, event, async (db, { uuid }) => {
    await perform(db, dropReader(uuid))
    await db.run('DELETE FROM eperson WHERE uuid = $1', uuid)
    return 'changed'
  })

/** Changes one eperson under a row lock, and records the event. */
export const changeEperson = (
  pool: Pool,
  email: string,
  event: AuditEvent,
  change: (db: Connection, eperson: EpersonRow) => Promise<Changed>,
): Promise<Changed> =>
  changing(pool, event, 'own', async db => {
    const eperson = await lockEperson(db, email)
    if (!eperson) return 'no-eperson'
    const changed = await change(db, eperson)
    if (changed === 'changed') await recordEvent(db, { ...event, eperson: eperson.uuid })
    return changed
  })
