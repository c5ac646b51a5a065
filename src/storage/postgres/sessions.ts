import type { Session } from '../../model/accounts.ts'
import type { AllowedSessions } from '../../model/sessions.ts'
import type { HotSessions } from '../sessions.ts'
import type { Pool } from './driver.ts'
import { logout, recordLogin, refreshSession } from './hot.ts'
import { isStorable, type SessionRow, sessionColumns, toSession } from './rows.ts'
import type { SessionLookup } from './session-lookup.ts'

/** Maximum number of cached sessions. Each use checks the stamp, so a stale session is never used. */
const maxCachedSessions = 10_000

interface Parts {
  readonly pool: Pool
  readonly lookup: SessionLookup
}

/** Sessions: requests during a look-up share the next one, and each write takes one round trip. */
export function postgresSessions({ pool, lookup }: Parts): HotSessions {
  const sessions = new Map<string, Session>()

  let allowed: AllowedSessions = 'all'
  async function stampOf(uuid: string): Promise<number | undefined> {
    if (!isStorable(uuid)) return undefined
    const result = await lookup.ask(uuid)
    allowed = result.allowed ?? 'all'
    return result.stamps.get(uuid)
  }

  async function of(uuid: string): Promise<Session | undefined> {
    const stamp = await stampOf(uuid)
    if (stamp === undefined) return undefined
    const cached = sessions.get(uuid)
    if (cached?.stamp === stamp) return cached
    const [row] = await pool.rows<SessionRow>(
      `SELECT ${sessionColumns} FROM eperson WHERE uuid = $1 AND enabled = 1`,
      uuid,
    )
    if (!row) return undefined
    if (sessions.size >= maxCachedSessions) sessions.clear()
    const current = toSession(row)
    sessions.set(uuid, current)
    return current
  }

  return {
    stampOf,
    of,
    allowed: () => allowed,
    begin: (login, event) => recordLogin(pool, login, event),
    refresh: (refreshed, event) => refreshSession(pool, refreshed, event),
    logout: (uuid, event) => logout(pool, uuid, event),
  }
}
