import type { AccessTokens } from '../access-tokens.ts'
import {
  type AccessTokenRow,
  accessTokenColumns,
  toAccessToken,
  toStoredAccessToken,
} from '../statements/access-token-rows.ts'
import {
  addAccessToken,
  noteAccessTokenUse,
  revokeAccessToken,
  revokeAccessTokens,
} from './access-token-changes.ts'
import type { Pool } from './driver.ts'
import { isStorable } from './rows.ts'

/** Those that no change of the password has ended. */
const alive = `FROM access_token t
  WHERE password_stamp = (SELECT password_stamp FROM eperson WHERE uuid = t.eperson)`

/** Access tokens in PostgreSQL. */
export const postgresAccessTokens = (pool: Pool): AccessTokens => ({
  find: async id => {
    const sql = `SELECT ${accessTokenColumns}, hash ${alive} AND id = $1`
    const [row] = await pool.rows<AccessTokenRow & { hash: Uint8Array }>(sql, id)
    return row && toStoredAccessToken(row)
  },
  list: async eperson => {
    const sql = `SELECT ${accessTokenColumns} ${alive} AND ($1::text IS NULL OR eperson = $1) ORDER BY created, id`
    return (await pool.rows<AccessTokenRow>(sql, eperson)).map(toAccessToken)
  },
  page: async ({ offset, limit }) => {
    const [rows, [counted]] = await Promise.all([
      pool.rows<AccessTokenRow>(
        `SELECT ${accessTokenColumns} ${alive} ORDER BY created, id LIMIT $1 OFFSET $2`,
        limit,
        offset,
      ),
      pool.rows<{ total: number }>(`SELECT count(*) AS total ${alive}`),
    ])
    return { rows: rows.map(toAccessToken), total: counted?.total ?? 0 }
  },
  add: (token, event) => addAccessToken(pool, token, event),
  revoke: async (id, eperson, event) => isStorable(id) && revokeAccessToken(pool, id, eperson, event),
  revokeAll: (eperson, event) => revokeAccessTokens(pool, eperson, event),
  noteUse: (id, at) => noteAccessTokenUse(pool, id, at),
})
