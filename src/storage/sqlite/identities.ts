import type { LinkedIdentity } from '../../model/identities.ts'
import type { Identities } from '../identities.ts'
import type { Database } from './driver.ts'
import type { Write } from './group-commit.ts'
import { isAtProvider, readTicket, whoIs } from './identity-changes.ts'

const linked = 'SELECT eperson, email, provider, subject, linked FROM identity JOIN eperson ON uuid = eperson'

/** Single sign-on in the embedded store. */
export const sqliteIdentities = ({ db, write }: { db: Database; write: Write }): Identities => ({
  whoIs: (identity, matching) => whoIs(db, identity, matching),
  recognize: (identity, matching, event) => write('recognize', identity, matching, event),
  begin: (login, event) => write('beginAtProvider', login, event),
  isAtProvider: which => isAtProvider(db, which),
  endAtProvider: (which, event) => write('endAtProvider', which, event),
  listIdentities: eperson =>
    db
      .all<LinkedIdentity & Record<string, unknown>>(
        `${linked} ${eperson === undefined ? '' : 'WHERE eperson = ?'} ORDER BY email_key, provider`,
        ...(eperson === undefined ? [] : [eperson]),
      )
      .map(row => ({ ...row })),
  pageOfIdentities: ({ offset, limit }) => ({
    rows: db
      .all<LinkedIdentity & Record<string, unknown>>(
        `${linked} ORDER BY email_key, provider LIMIT ? OFFSET ?`,
        limit,
        offset,
      )
      .map(row => ({ ...row })),
    total: db.get<{ total: number }>('SELECT count(*) AS total FROM identity')?.total ?? 0,
  }),
  link: (email, subject, event) => write('link', email, subject, event),
  unlink: (email, provider, event) => write('unlink', email, provider, event),
  forgetSessions: begunBy => write('forgetSessions', begunBy.toISOString()),
  keepTicket: (id, content, expires, certain) => write('keepTicket', id, content, expires, certain),
  readTicket: (id, now) => readTicket(db, id, now),
  takeTicket: (id, now) => write('takeTicket', id, now),
})
