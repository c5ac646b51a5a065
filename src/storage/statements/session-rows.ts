import { randomBytes } from 'node:crypto'
import type { KeptSession } from '../../model/accounts.ts'
import { isAlive, readState, stateWithOnly } from '../../model/sessions.ts'
import { type Change, nextStamp, row, run } from './statements.ts'

/** Ends all sessions but one, which must still be alive. @param own undefined: all */
export function* keepOnly(uuid: string, own: KeptSession | undefined): Change<void> {
  const known = yield* row<{ session_key: Uint8Array; session_state: string | null }>(
    'SELECT session_key, session_state FROM eperson WHERE uuid = $1 FOR NO KEY UPDATE',
    uuid,
  )
  if (!known) return
  const { session_key: sessionKey, session_state: text } = known
  const kept = own && isAlive({ sessionKey, ...readState(text, sessionKey) }, own) ? own : undefined
  const key = randomBytes(32)
  yield* run(
    'UPDATE eperson SET session_key = $1, session_state = $2, stamp = $3 WHERE uuid = $4',
    key,
    kept ? stateWithOnly(kept, key) : null,
    yield* nextStamp(),
    uuid,
  )
  const begun = kept?.begun ?? null
  yield* run('UPDATE session SET session_key = $1 WHERE eperson = $2 AND begun = $3', key, uuid, begun)
  const others = (column: string) =>
    `eperson = $1 AND (CAST($2 AS BIGINT) IS NULL OR ${column} IS DISTINCT FROM CAST($2 AS BIGINT))`
  yield* run(`DELETE FROM session WHERE ${others('begun')}`, uuid, begun)
  yield* run(`DELETE FROM provider_session WHERE ${others('session')}`, uuid, begun)
}
