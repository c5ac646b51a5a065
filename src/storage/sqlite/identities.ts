import type { LinkedIdentity, SignOn } from '../identities.ts'
import type { Database } from './driver.ts'
import type { Write } from './engine.ts'
import { readTicket, whoIs } from './identity-changes.ts'

/** Single sign-on on the embedded store. */
export const sqliteSignOn = ({ db, write }: { db: Database; write: Write }): SignOn => ({
  whoIs: (identity, matching) => whoIs(db, identity, matching),
  recognize: (identity, matching, event) => write('recognize', identity, matching, event),
  begin: (login, event) => write('begin', login, event),
  endAtProvider: (which, event) => write('endAtProvider', which, event),
  listIdentities: () =>
    db
      .all<LinkedIdentity & Record<string, unknown>>(
        `SELECT email, provider, subject, linked FROM identity JOIN eperson ON uuid = eperson
         ORDER BY email_key, provider`,
      )
      .map(row => ({ ...row })),
  unlink: (email, provider, event) => write('unlink', email, provider, event),
  keepTicket: (id, content, expires) => write('keepTicket', id, content, expires),
  readTicket: id => readTicket(db, id),
  takeTicket: id => write('takeTicket', id),
})
