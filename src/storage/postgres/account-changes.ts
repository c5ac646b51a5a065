import { randomBytes } from 'node:crypto'
import type { AuditEvent } from '../../model/audit-events.ts'
import { resetMark } from './clock-changes.ts'
import type { Pool } from './driver.ts'
import { recordEvent } from './events.ts'
import { changing } from './stamps.ts'

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
