import type { AccessToken, Scope, StoredAccessToken } from '../../model/access-tokens.ts'
import { type Change, run } from './statements.ts'

/** Rows of access tokens, in both engines. */
export const accessTokenColumns = 'id, eperson, name, scope, networks, created, expires, used'

export type AccessTokenRow = {
  id: string
  eperson: string
  name: string
  scope: string
  networks: string
  created: number
  expires: number
  used: number | null
}

export const toAccessToken = (row: AccessTokenRow): AccessToken => ({
  id: row.id,
  eperson: row.eperson,
  name: row.name,
  scope: JSON.parse(row.scope) as Scope,
  networks: JSON.parse(row.networks) as string[],
  created: row.created,
  expires: row.expires,
  used: row.used,
})

export const toStoredAccessToken = (row: AccessTokenRow & { hash: Uint8Array }): StoredAccessToken => ({
  ...toAccessToken(row),
  hash: row.hash,
})

/** Removes all tokens of an eperson, for a change that changes their stamp, too. @returns their number */
export const dropAccessTokens = (eperson: string): Change<number> =>
  run('DELETE FROM access_token WHERE eperson = $1', eperson)
