import { randomBytes } from 'node:crypto'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Changed } from '../accounts.ts'
import type { Linked, SubjectOf } from '../identities.ts'
import { lockEpersonAt } from '../statements/people-rows.ts'
import { dropAccessTokens } from './access-token-changes.ts'
import type { Connection, Pool } from './driver.ts'
import { now, recordEvent } from './events.ts'
import { perform } from './perform.ts'
import { changing, replaceSessionKey, requireRights } from './stamps.ts'

/** Which subjects of providers are which epersons, as administrators change it. */

/** Another request linked or created the same eperson first. The transaction is rolled back, and the retry finds theirs. */
export class ConcurrentLink extends Error {}
const maxAttempts = 5

/** Tries a transaction again when somebody else was faster. */
export async function again<T>(pool: Pool, once: (db: Connection) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await pool.transaction(once)
    } catch (error) {
      if (!(error instanceof ConcurrentLink) || attempt === maxAttempts) throw error
    }
}

export const link = (
  pool: Pool,
  email: string,
  { provider, subject }: SubjectOf,
  event: AuditEvent,
): Promise<Linked> =>
  again(pool, async db => {
    await requireRights(db, event, 'own')
    const eperson = await perform(db, lockEpersonAt(email))
    if (!eperson) return 'no-eperson'
    const { uuid } = eperson
    const there = await db.rows<{ eperson: string; subject: string }>(
      `SELECT eperson, subject FROM identity
       WHERE provider = $1 AND (subject = $2 OR eperson = $3)`,
      provider,
      subject,
      uuid,
    )
    const owner = there.find(one => one.subject === subject)
    if (owner) return owner.eperson === uuid ? 'unchanged' : 'taken'
    if (there.length > 0) return 'other-subject'
    const sql = 'INSERT INTO identity VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING'
    if ((await db.run(sql, provider, subject, uuid, now())) === 0) throw new ConcurrentLink()
    await recordEvent(db, { ...event, eperson: uuid, changes: { before: null, after: { subject } } })
    return 'changed'
  })

export const unlink = (pool: Pool, email: string, provider: string, event: AuditEvent): Promise<Changed> =>
  changing(pool, event, 'own', async db => {
    const eperson = await perform(db, lockEpersonAt(email))
    if (!eperson) return 'no-eperson'
    const { uuid } = eperson
    const sql = 'DELETE FROM identity WHERE eperson = $1 AND provider = $2 RETURNING subject'
    const [unlinked] = await db.rows<{ subject: string }>(sql, uuid, provider)
    if (!unlinked) return 'unchanged'
    await db.run(`UPDATE eperson SET ${replaceSessionKey} WHERE uuid = $2`, randomBytes(32), uuid)
    await dropAccessTokens(db, uuid)
    await db.run('DELETE FROM provider_session WHERE eperson = $1', uuid)
    const { subject } = unlinked
    await recordEvent(db, { ...event, eperson: uuid, changes: { before: { subject }, after: null } })
    return 'changed'
  })
