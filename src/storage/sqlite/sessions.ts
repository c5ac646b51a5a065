import type { ListedSession } from '../../model/sessions.ts'
import type { Sessions } from '../sessions.ts'
import type { Database } from './driver.ts'
import type { Write } from './group-commit.ts'

/** Sessions in the embedded store. */
export const sqliteSessions = ({ db, write }: { db: Database; write: Write }): Sessions => ({
  list: ({ eperson, sessionKey, ended }) =>
    db
      .all<ListedSession & Record<string, unknown>>(
        `SELECT begun, method, network, used, used_network AS usedNetwork, expires FROM session
         WHERE eperson = ? AND session_key = ? ORDER BY begun DESC`,
        eperson.uuid,
        sessionKey,
      )
      .filter(({ begun }) => !ended.has(begun))
      .map(row => ({ ...row })),
  refresh: ({ begun, used, expires, stamp }, event) =>
    write('refreshSession', event, begun, used, expires, stamp),
  end: (uuid, begun, own, certain, event) => write('endSession', uuid, begun, own, certain, event),
  endOthers: (uuid, own, event) => write('endOtherSessions', uuid, own, event),
  forget: (certain, after) => write('forgetDeadSessions', certain, after),
})
