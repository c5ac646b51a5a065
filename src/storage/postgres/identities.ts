import type { LinkedIdentity } from '../../model/identities.ts'
import type { Identities } from '../identities.ts'
import type { Pool } from './driver.ts'
import { beginAtProvider } from './hot.ts'
import {
  endAtProvider,
  forgetSessions,
  isAtProvider,
  keepTicket,
  readTicket,
  recognize,
  takeTicket,
  whoIs,
} from './identity-changes.ts'
import { link, unlink } from './identity-links.ts'
import { isStorable } from './rows.ts'

const linked = 'SELECT eperson, email, provider, subject, linked FROM identity JOIN eperson ON uuid = eperson'

/** Single sign-on in PostgreSQL. */
export function postgresIdentities(pool: Pool): Identities {
  return {
    whoIs: (identity, matching) => whoIs(pool, identity, matching),
    recognize: (identity, matching, event) => recognize(pool, identity, matching, event),
    begin: (login, event) => beginAtProvider(pool, login, event),
    isAtProvider: which => isAtProvider(pool, which),
    endAtProvider: (which, event) => endAtProvider(pool, which, event),
    listIdentities: eperson =>
      pool.rows<LinkedIdentity & Record<string, unknown>>(
        `${linked} ${eperson === undefined ? '' : 'WHERE eperson = $1'} ORDER BY email_key, provider`,
        ...(eperson === undefined ? [] : [eperson]),
      ),
    pageOfIdentities: async ({ offset, limit }) => {
      const [rows, [counted]] = await Promise.all([
        pool.rows<LinkedIdentity & Record<string, unknown>>(
          `${linked} ORDER BY email_key, provider LIMIT $1 OFFSET $2`,
          limit,
          offset,
        ),
        pool.rows<{ total: number }>('SELECT count(*) AS total FROM identity'),
      ])
      return { rows, total: counted?.total ?? 0 }
    },
    link: (email, subject, event) => link(pool, email, subject, event),
    unlink: async (email, provider, event) =>
      isStorable(provider) ? unlink(pool, email, provider, event) : 'unchanged',
    forgetSessions: begunBy => forgetSessions(pool, begunBy.toISOString()),
    keepTicket: (id, content, expires, certain) => keepTicket(pool, id, content, expires, certain),
    readTicket: (id, now) => readTicket(pool, id, now),
    takeTicket: (id, now) => takeTicket(pool, id, now),
  }
}
