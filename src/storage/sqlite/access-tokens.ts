import type { AccessTokens } from '../access-tokens.ts'
import {
  type AccessTokenRow,
  accessTokenColumns,
  toAccessToken,
  toStoredAccessToken,
} from '../statements/access-token-rows.ts'
import type { Database } from './driver.ts'
import type { Write } from './group-commit.ts'

/** Those that no change of the password has ended. */
const alive = `FROM access_token t WHERE password_stamp = (SELECT password_stamp FROM eperson WHERE uuid = t.eperson)`

/** Access tokens in the embedded store. */
export const sqliteAccessTokens = ({ db, write }: { db: Database; write: Write }): AccessTokens => ({
  find: id => {
    const sql = `SELECT ${accessTokenColumns}, hash ${alive} AND id = ?`
    const row = db.get<AccessTokenRow & { hash: Uint8Array }>(sql, id)
    return row && toStoredAccessToken(row)
  },
  list: eperson => {
    const sql = `SELECT ${accessTokenColumns} ${alive} AND (?1 IS NULL OR eperson = ?1) ORDER BY created, id`
    return db.all<AccessTokenRow>(sql, eperson).map(toAccessToken)
  },
  page: ({ offset, limit }) => ({
    rows: db
      .all<AccessTokenRow>(
        `SELECT ${accessTokenColumns} ${alive} ORDER BY created, id LIMIT ? OFFSET ?`,
        limit,
        offset,
      )
      .map(toAccessToken),
    total: db.get<{ total: number }>(`SELECT count(*) AS total ${alive}`)?.total ?? 0,
  }),
  add: (token, event) => write('addAccessToken', token, event),
  revoke: (id, eperson, event) => write('revokeAccessToken', id, eperson, event),
  revokeAll: (eperson, event) => write('revokeAccessTokens', eperson, event),
  noteUse: (id, at) => write('noteAccessTokenUse', id, at),
})
