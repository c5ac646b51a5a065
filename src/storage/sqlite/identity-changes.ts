import { nameKey } from '../../model/accounts.ts'
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
import type { Database } from './driver.ts'
import { now, recordEvent } from './events.ts'
import { perform } from './perform.ts'
import { find } from './rows.ts'
import { endTokens, nextStamp } from './stamps.ts'

/** Changes of single sign-on. */
export function recognize(
  db: Database,
  identity: Identity,
  matching: Matching,
  event: AuditEvent,
): Recognized {
  const found = whoIs(db, identity, matching)
  if (found.kind === 'refused') return found
  const eperson = found.kind === 'created' ? create(db, identity, event) : found.eperson
  if (found.kind === 'linked')
    recordEvent(db, { ...event, event: recognitionEvents.linked, eperson: eperson.uuid })
  if (found.kind !== 'known')
    db.run(
      'INSERT INTO identity VALUES (?, ?, ?, ?)',
      identity.provider,
      identity.subject,
      eperson.uuid,
      now(),
    )
  const { firstName = null, lastName = null } = identity
  const renamed = db.get<EpersonRow>(
    `UPDATE eperson SET first_name = coalesce(?, first_name), last_name = coalesce(?, last_name), stamp = ?
     WHERE uuid = ? AND (first_name IS NOT coalesce(?, first_name) OR last_name IS NOT coalesce(?, last_name))
     RETURNING ${epersonColumns}`,
    firstName,
    lastName,
    nextStamp(db),
    eperson.uuid,
    firstName,
    lastName,
  )
  if (renamed)
    db.run(
      'UPDATE eperson SET name_key = ? WHERE uuid = ?',
      nameKey(renamed.first_name, renamed.last_name),
      eperson.uuid,
    )
  return { kind: found.kind, eperson }
}

const epersonsAt = (db: Database, { provider, name, sid }: ProviderSessionFilter) =>
  db.all<{ eperson: string }>(
    `SELECT DISTINCT eperson FROM provider_session
     WHERE provider = ?1 AND (?2 IS NOT NULL OR ?3 IS NOT NULL)
       AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR sid = ?3 OR (sid IS NULL AND name = ?2))`,
    provider,
    name,
    sid,
  )

export const isAtProvider = (db: Database, which: ProviderSessionFilter): boolean =>
  epersonsAt(db, which).length > 0

export function endAtProvider(db: Database, which: ProviderSessionFilter, event: AuditEvent): number {
  const epersons = epersonsAt(db, which)
  for (const { eperson } of epersons) {
    endTokens(db, eperson)
    db.run('DELETE FROM provider_session WHERE eperson = ?', eperson)
    recordEvent(db, { ...event, eperson })
  }
  return epersons.length
}

export function forgetSessions(db: Database, begunBy: string): void {
  db.run('DELETE FROM provider_session WHERE begun <= ?', begunBy)
}

export function keepTicket(
  db: Database,
  id: string,
  content: string,
  expires: number,
  certain: number,
): boolean {
  db.run('DELETE FROM ticket WHERE expires <= ?', certain)
  return db.run('INSERT OR IGNORE INTO ticket VALUES (?, ?, ?)', id, content, expires) === 1
}

export function takeTicket(db: Database, id: string, now: number): string | undefined {
  const content = readTicket(db, id, now)
  if (content !== undefined) db.run('DELETE FROM ticket WHERE id = ?', id)
  return content
}

export const readTicket = (db: Database, id: string, now: number): string | undefined =>
  db.get<{ content: string }>('SELECT content FROM ticket WHERE id = ? AND expires > ?', id, now)?.content

export function whoIs(db: Database, identity: Identity, matching: Matching): Recognized {
  const { provider, subject, email } = identity
  const bySubject = db.get<EpersonRow>(
    `SELECT ${epersonColumns} FROM eperson WHERE uuid = (SELECT eperson FROM identity WHERE provider = ? AND subject = ?)`,
    provider,
    subject,
  )
  const byEmail = email === null ? undefined : find(db, email)
  const linked =
    byEmail &&
    db.get('SELECT 1 FROM identity WHERE eperson = ? AND provider = ?', byEmail.uuid, provider) !== undefined
  const own =
    byEmail &&
    db.get('SELECT 1 FROM eperson WHERE uuid = ? AND password_hash IS NOT NULL', byEmail.uuid) !== undefined
  return decide(
    {
      bySubject: bySubject && toEperson(bySubject),
      byEmail: byEmail && toEperson(byEmail),
      emailHasOtherSubject: linked === true,
      emailHasPassword: own === true,
    },
    identity,
    matching,
  )
}

function create(db: Database, { email, firstName, lastName }: Identity, event: AuditEvent) {
  if (email === null) throw new Error('an eperson needs an e-mail address')
  const person = { email, firstName, lastName, passwordHash: null, enabled: true, profile: {} }
  const added = perform(db, insertEperson(person))
  if (!added) throw new Error('the eperson was added twice')
  recordEvent(db, { ...event, event: recognitionEvents.created, eperson: added.uuid })
  return added
}
