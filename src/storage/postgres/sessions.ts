import type { ListedSession } from '../../model/sessions.ts'
import type { Sessions } from '../sessions.ts'
import type { Pool } from './driver.ts'
import { refreshSession } from './hot.ts'
import { endOtherSessions, endSession, forgetDeadSessions } from './session-changes.ts'

/** Sessions in PostgreSQL. */
export const postgresSessions = (pool: Pool): Sessions => ({
  list: async ({ eperson, sessionKey, ended }) => {
    const rows = await pool.rows<ListedSession & Record<string, unknown>>(
      `SELECT begun, method, network, used, used_network AS "usedNetwork", expires FROM session
       WHERE eperson = $1 AND session_key = $2 ORDER BY begun DESC`,
      eperson.uuid,
      sessionKey,
    )
    return rows.filter(({ begun }) => !ended.has(begun))
  },
  refresh: (refreshed, event) => refreshSession(pool, refreshed, event),
  end: (uuid, begun, own, certain, event) => endSession(pool, uuid, begun, own, certain, event),
  endOthers: (uuid, own, event) => endOtherSessions(pool, uuid, own, event),
  forget: (certain, after) => forgetDeadSessions(pool, certain, after),
})
