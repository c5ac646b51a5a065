import type { AuditEvent } from '../../model/audit-events.ts'
import type { Changed } from '../accounts.ts'
import type { Linked, SubjectOf } from '../identities.ts'
import { dropAccessTokens } from './access-token-changes.ts'
import type { Database } from './driver.ts'
import { now, recordEvent } from './events.ts'
import { find } from './rows.ts'
import { endTokens } from './stamps.ts'

/** Which subjects of providers are which epersons, as administrators change it. */

export function link(
  db: Database,
  email: string,
  { provider, subject }: SubjectOf,
  event: AuditEvent,
): Linked {
  const eperson = find(db, email)
  if (!eperson) return 'no-eperson'
  const owner = db.get<{ eperson: string }>(
    'SELECT eperson FROM identity WHERE provider = ? AND subject = ?',
    provider,
    subject,
  )
  if (owner) return owner.eperson === eperson.uuid ? 'unchanged' : 'taken'
  if (db.get('SELECT 1 FROM identity WHERE eperson = ? AND provider = ?', eperson.uuid, provider))
    return 'other-subject'
  db.run('INSERT INTO identity VALUES (?, ?, ?, ?)', provider, subject, eperson.uuid, now())
  recordEvent(db, { ...event, eperson: eperson.uuid, changes: { before: null, after: { subject } } })
  return 'changed'
}

export function unlink(db: Database, email: string, provider: string, event: AuditEvent): Changed {
  const eperson = find(db, email)
  if (!eperson) return 'no-eperson'
  const unlinked = db.get<{ subject: string }>(
    'DELETE FROM identity WHERE eperson = ? AND provider = ? RETURNING subject',
    eperson.uuid,
    provider,
  )
  if (!unlinked) return 'unchanged'
  endTokens(db, eperson.uuid)
  dropAccessTokens(db, eperson.uuid)
  db.run('DELETE FROM provider_session WHERE eperson = ?', eperson.uuid)
  const { subject } = unlinked
  recordEvent(db, { ...event, eperson: eperson.uuid, changes: { before: { subject }, after: null } })
  return 'changed'
}
