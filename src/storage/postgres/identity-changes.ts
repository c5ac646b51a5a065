import { randomBytes } from 'node:crypto'
import { type Eperson, emailKey, nameKey } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import {
  decide,
  type Identity,
  type Matching,
  type ProviderSessionFilter,
  type Recognized,
  recognitionEvents,
} from '../../model/identities.ts'
import { type EpersonRow, epersonColumns, insertEperson, toEperson } from '../statements/people-rows.ts'
import { now } from '../statements/statements.ts'
import type { Connection, Pool, Queries } from './driver.ts'
import { recordEvent } from './events.ts'
import { again, ConcurrentLink } from './identity-links.ts'
import { perform } from './perform.ts'
import { replaceNul } from './rows.ts'
import { replaceSessionKey } from './stamps.ts'

/** Changes of single sign-on. */

export async function recognize(
  pool: Pool,
  identity: Identity,
  matching: Matching,
  event: AuditEvent,
): Promise<Recognized> {
  return again(pool, db => recognizeOnce(db, identity, matching, event))
}

/** Sessions with $1 as provider, $2 as name and $3 as sid. */
const sessionsAt = `FROM provider_session
  WHERE provider = $1 AND ($2::text IS NOT NULL OR $3::text IS NOT NULL)
    AND ($2::text IS NULL OR name = $2) AND ($3::text IS NULL OR sid = $3 OR (sid IS NULL AND name = $2))`

export async function isAtProvider(
  pool: Pool,
  { provider, name, sid }: ProviderSessionFilter,
): Promise<boolean> {
  return (await pool.rows(`SELECT 1 ${sessionsAt} LIMIT 1`, provider, name, sid)).length > 0
}

export const endAtProvider = (
  pool: Pool,
  { provider, name, sid }: ProviderSessionFilter,
  event: AuditEvent,
): Promise<number> =>
  pool.transaction(async db => {
    const ended = await db.rows<{ eperson: string }>(
      `DELETE FROM provider_session WHERE eperson IN (SELECT eperson ${sessionsAt}) RETURNING eperson`,
      provider,
      name,
      sid,
    )
    const epersons = [...new Set(ended.map(({ eperson }) => eperson))].toSorted()
    for (const eperson of epersons) {
      await db.run(`UPDATE eperson SET ${replaceSessionKey} WHERE uuid = $2`, randomBytes(32), eperson)
      await recordEvent(db, { ...event, eperson })
    }
    return epersons.length
  })

export async function forgetSessions(pool: Pool, begunBy: string): Promise<void> {
  await pool.run('DELETE FROM provider_session WHERE begun <= $1', begunBy)
}

export async function keepTicket(
  pool: Pool,
  id: string,
  content: string,
  expires: number,
  certain: number,
): Promise<boolean> {
  await pool.run('DELETE FROM ticket WHERE expires <= $1', certain)
  const sql = 'INSERT INTO ticket VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING'
  return (await pool.run(sql, id, content, expires)) === 1
}

export async function readTicket(pool: Pool, id: string, now: number): Promise<string | undefined> {
  const sql = 'SELECT content FROM ticket WHERE id = $1 AND expires > $2'
  return (await pool.rows<{ content: string }>(sql, id, now))[0]?.content
}

export async function takeTicket(pool: Pool, id: string, now: number): Promise<string | undefined> {
  const sql = 'DELETE FROM ticket WHERE id = $1 AND expires > $2 RETURNING content'
  return (await pool.rows<{ content: string }>(sql, id, now))[0]?.content
}

export async function whoIs(db: Queries, identity: Identity, matching: Matching): Promise<Recognized> {
  const { provider, subject, email } = identity
  // A single statement reads a single snapshot. Between two statements, another request could link the eperson.
  const rows = await db.rows<EpersonRow & { is_subject: boolean; linked: boolean; own: boolean }>(
    `SELECT ${epersonColumns}, EXISTS (SELECT 1 FROM identity i
         WHERE i.provider = $1 AND i.subject = $2 AND i.eperson = uuid) AS is_subject,
       EXISTS (SELECT 1 FROM identity i WHERE i.provider = $1 AND i.eperson = uuid) AS linked,
       password_hash IS NOT NULL AS own
     FROM eperson
     WHERE email_key = $3 OR uuid IN (SELECT i.eperson FROM identity i WHERE i.provider = $1 AND i.subject = $2)`,
    provider,
    subject,
    email === null ? null : emailKey(email),
  )
  const bySubject = rows.find(row => row.is_subject)
  const byEmail = rows.find(row => !row.is_subject)
  return decide(
    {
      bySubject: bySubject && toEperson(bySubject),
      byEmail: byEmail && toEperson(byEmail),
      emailHasOtherSubject: byEmail?.linked === true,
      emailHasPassword: byEmail?.own === true,
    },
    identity,
    matching,
  )
}

async function recognizeOnce(
  db: Connection,
  identity: Identity,
  matching: Matching,
  event: AuditEvent,
): Promise<Recognized> {
  const found = await whoIs(db, identity, matching)
  if (found.kind === 'refused') return found
  const eperson = found.kind === 'created' ? await create(db, identity, event) : found.eperson
  if (found.kind !== 'known') {
    const sql = 'INSERT INTO identity VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING'
    const { provider, subject } = identity
    if ((await db.run(sql, provider, subject, eperson.uuid, now())) === 0) throw new ConcurrentLink()
  }
  if (found.kind === 'linked')
    await recordEvent(db, { ...event, event: recognitionEvents.linked, eperson: eperson.uuid })
  const [renamed] = await db.rows<EpersonRow>(
    `UPDATE eperson SET first_name = coalesce($1, first_name), last_name = coalesce($2, last_name),
       stamp = nextval('stamp')
     WHERE uuid = $3 AND (first_name IS DISTINCT FROM coalesce($1, first_name)
       OR last_name IS DISTINCT FROM coalesce($2, last_name)) RETURNING ${epersonColumns}`,
    replaceNul(identity.firstName),
    replaceNul(identity.lastName),
    eperson.uuid,
  )
  if (renamed) {
    const sql = 'UPDATE eperson SET name_key = $1 WHERE uuid = $2'
    await db.run(sql, nameKey(renamed.first_name, renamed.last_name), eperson.uuid)
  }
  return { kind: found.kind, eperson }
}

async function create(
  db: Connection,
  { email, firstName, lastName }: Identity,
  event: AuditEvent,
): Promise<Eperson> {
  if (email === null) throw new Error('an eperson needs an e-mail address')
  const person = { email, firstName, lastName, passwordHash: null, enabled: true, profile: {} }
  const added = await perform(db, insertEperson(person))
  if (!added) throw new ConcurrentLink()
  await recordEvent(db, { ...event, event: recognitionEvents.created, eperson: added.uuid })
  return added
}
