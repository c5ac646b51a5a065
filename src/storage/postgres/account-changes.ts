import { randomBytes } from 'node:crypto'
import { administratorGroup, type Eperson } from '../../model/accounts.ts'
import { type AuditEvent, failedLogin } from '../../model/audit-events.ts'
import { type ProviderSession, type SessionColumns, toProviderSession } from '../../model/identities.ts'
import type { Begun } from '../../model/sessions.ts'
import type { Changed, Login, NewEperson, OwnPassword } from '../accounts.ts'
import { type EpersonRow, insertEperson as insertRow } from '../statements/people-rows.ts'
import { dropAccessTokens } from './access-token-changes.ts'
import { networkValues, rememberNetwork } from './attempt-changes.ts'
import { resetMark } from './clock-changes.ts'
import type { Connection, Pool } from './driver.ts'
import { eventValues, insertEvent, insertLoginEvent, recordEvent, runRecording } from './events.ts'
import { changeMembership, lockEperson } from './group-changes.ts'
import { perform } from './perform.ts'
import { dropRulesFor } from './repository-changes.ts'
import { type SessionRow, sessionColumns, toSession } from './rows.ts'
import { insertSession, keepOnly, newSessionValues, nextBegun } from './session-changes.ts'
import { changing, replaceSessionKey } from './stamps.ts'

export { replaceSessionKey } from './stamps.ts'

/**
 * Changes of epersons. A change on the path of requests is one statement, and so one round trip. What an operator changes
 * is a transaction. Every change of an eperson gives them a new stamp, so that no node keeps using what it cached.
 */

/** @returns undefined if the eperson has changed since their password was looked up */
export async function recordLogin(pool: Pool, login: Login, event: AuditEvent): Promise<Begun | undefined> {
  const at = eventValues + 4
  const sql = `WITH changed AS (
       UPDATE eperson SET last_login = $1, password_hash = coalesce($15, password_hash), ${nextBegun(at)}
       WHERE uuid = $16 AND password_stamp = $17 AND enabled = 1 RETURNING ${sessionColumns}, last_begun
     ), noted AS (
       ${insertLoginEvent(at + 7)}
     ), ${rememberNetwork(at + 4)}, ${insertSession(at)}
     SELECT * FROM noted LEFT JOIN changed ON true`
  const values = [
    login.renewedHash,
    login.uuid,
    login.passwordStamp,
    ...newSessionValues(login.begins, event),
    ...networkValues(event),
  ]
  const [row] = await pool.statement(db =>
    runRecording<BegunRow | NoSession>(db, sql, event, values, failedLogin(event)),
  )
  return row && toBegun(row)
}

/** The row of a statement that has begun a session. */
export type BegunRow = SessionRow & { last_begun: number }

export const toBegun = (row: BegunRow | NoSession): Begun | undefined =>
  row.uuid === null ? undefined : { session: toSession(row), begun: row.last_begun }

/** The row of a statement that has recorded a failed login. */
export type NoSession = { uuid: null }

export async function logout(
  pool: Pool,
  uuid: string,
  event: AuditEvent,
): Promise<ProviderSession | undefined> {
  const sql = `WITH ended AS (UPDATE eperson SET session_key = $15, stamp = nextval('stamp') WHERE uuid = $16),
       noted AS (${insertEvent}),
       sessions AS (DELETE FROM provider_session WHERE eperson = $16 RETURNING id, provider, name, sid, detail),
       here AS (DELETE FROM session WHERE eperson = $16)
     SELECT event_hash, provider, name, sid, detail FROM noted LEFT JOIN sessions ON true ORDER BY id DESC LIMIT 1`
  const [last] = await pool.statement(db =>
    runRecording<SessionColumns | { provider: null }>(db, sql, event, [randomBytes(32), uuid]),
  )
  return last && last.provider !== null ? toProviderSession(last) : undefined
}

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
    await dropRulesFor(db, uuid)
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
