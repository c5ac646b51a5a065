import {
  type AccessToken,
  maxAccessTokens,
  type Scope,
  type StoredAccessToken,
} from '../../model/access-tokens.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import * as tables from '../schema/sessions.ts'
import { columnsOf, type RowOf } from '../schema/table.ts'

import type { Part, Window } from '../storage.ts'
import { changeStamp } from './people-rows.ts'
import type { Change, Offered, Read } from './statements.ts'
import * as db from './statements.ts'

/** Access tokens of programs (docs/decisions/0040). */
export const accessTokens = {
  reads: {
    /** @returns undefined if there is none, or the eperson's password was changed since it was made */
    *find(id: string): Read<StoredAccessToken | undefined> {
      const sql = `SELECT ${columns}, hash FROM ${alive} AND id = $1`
      const found = yield* db.row<AccessTokenRow & { readonly hash: Uint8Array }>(sql, id)
      return found && { ...toAccessToken(found), hash: found.hash }
    },
    /** Lists the tokens of one eperson, or of all (null), oldest first. */
    *list(eperson: string | null): Read<readonly AccessToken[]> {
      const found = yield* db.rows<AccessTokenRow>(
        `SELECT ${columns} FROM ${alive} AND (CAST($1 AS TEXT) IS NULL OR eperson = $1) ORDER BY created, id`,
        eperson,
      )
      return found.map(toAccessToken)
    },
    /** A page of all tokens, oldest first. */
    *page({ offset, limit }: Window): Read<Part<AccessToken>> {
      const found = yield* db.rows<AccessTokenRow>(
        `SELECT ${columns} FROM ${alive} ORDER BY created, id LIMIT $1 OFFSET $2`,
        limit,
        offset,
      )
      return { rows: found.map(toAccessToken), total: yield* db.count(alive) }
    },
  },
  changes: {
    *add(
      { id, eperson, name, hash, scope, networks, created, expires }: Omit<StoredAccessToken, 'used'>,
      event: AuditEvent,
    ): Change<'added' | 'name-taken' | 'too-many' | 'no-eperson'> {
      yield* db.rights(event, 'own')
      // The lock makes concurrent additions see each other.
      const stamp = yield* db.value<number>(
        'SELECT password_stamp FROM eperson WHERE uuid = $1 AND enabled = 1 FOR NO KEY UPDATE',
        eperson,
      )
      if (stamp === undefined) return 'no-eperson'
      yield* db.run(
        'DELETE FROM access_token WHERE eperson = $1 AND (expires <= $2 OR password_stamp <> $3)',
        eperson,
        created,
        stamp,
      )
      const others = yield* db.column<string>('SELECT name FROM access_token WHERE eperson = $1', eperson)
      if (others.includes(name)) return 'name-taken'
      if (others.length >= maxAccessTokens) return 'too-many'
      yield* db.insert(tables.accessToken, {
        id,
        eperson,
        name,
        hash,
        scope: JSON.stringify(scope),
        networks: JSON.stringify(networks),
        created,
        expires,
        password_stamp: stamp,
      })
      yield* db.record(event)
      return 'added'
    },
    /**
     * Ends it on every node at once.
     * @param eperson the owner that the token must have; null: any
     * @returns false if there was no such token
     */
    *revoke(id: string, eperson: string | null, event: AuditEvent): Change<boolean> {
      yield* db.rights(event, 'own')
      const revoked = yield* db.value<string>(
        'DELETE FROM access_token WHERE id = $1 AND eperson = coalesce($2, eperson) RETURNING eperson',
        id,
        eperson,
      )
      if (!revoked) return false
      yield* changeStamp(revoked)
      yield* db.record({ ...event, eperson: revoked })
      return true
    },
    /** @returns the number of removed tokens */
    *revokeAll(eperson: string, event: AuditEvent): Change<number> {
      yield* db.rights(event, 'own')
      const revoked = yield* endAccessTokens(eperson)
      if (revoked === 0) return 0
      yield* changeStamp(eperson)
      yield* db.record(event)
      return revoked
    },
    /** Records a use, at most once per `useInterval`. */
    *noteUse(id: string, at: number): Change<void> {
      yield* db.run(
        'UPDATE access_token SET used = $1 WHERE id = $2 AND (used IS NULL OR used <= $3)',
        at,
        id,
        at - useInterval,
      )
    },
  },
}

export type AccessTokens = Offered<typeof accessTokens>

/** Precision in ms of the recorded time of last use. */
export const useInterval = 60_000

/** Removes an eperson's access tokens. The caller changes the stamp. @returns the number of removed tokens */
export const endAccessTokens = (eperson: string): Change<number> =>
  db.run('DELETE FROM access_token WHERE eperson = $1', eperson)

const columns = columnsOf(tables.accessToken, 'hash', 'password_stamp').join(', ')

/** Access tokens that no change of the password has ended. */
const alive = `access_token t WHERE password_stamp = (SELECT password_stamp FROM eperson WHERE uuid = t.eperson)`

type AccessTokenRow = Omit<RowOf<typeof tables.accessToken>, 'hash' | 'password_stamp'>

const toAccessToken = ({ scope, networks, ...row }: AccessTokenRow): AccessToken => ({
  ...row,
  scope: JSON.parse(scope) as Scope,
  networks: JSON.parse(networks) as string[],
})
