import type { Session } from '../../model/accounts.ts'
import type { AllowedSessions } from '../../model/sessions.ts'
import type { Logins } from '../accounts.ts'
import { countFailures } from '../statements/repeated-failures.ts'
import type { Pool } from './driver.ts'
import { recordEvent } from './events.ts'
import { logout, recordLogin } from './hot.ts'
import { isStorable, type SessionRow, sessionColumns, toSession } from './rows.ts'
import type { SessionLookup } from './session-lookup.ts'

/** How many sessions are cached. Each use checks the stamp, so a stale session is never used. */
const maxCachedSessions = 10_000

interface Parts {
  readonly pool: Pool
  readonly lookup: SessionLookup
}

/** Accounts in PostgreSQL. */
export function postgresAccounts({ pool, lookup }: Parts): Logins & { close(): Promise<void> } {
  const failures = countFailures(event => recordEvent(pool, event))
  const sessions = new Map<string, Session>()

  let allowed: AllowedSessions = 'all'
  async function stampOf(uuid: string): Promise<number | undefined> {
    if (!isStorable(uuid)) return undefined
    const result = await lookup.ask(uuid)
    allowed = result.allowed ?? 'all'
    return result.stamps.get(uuid)
  }

  async function session(uuid: string): Promise<Session | undefined> {
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
    session,
    allowedSessions: () => allowed,
    recordLogin: (login, event) => recordLogin(pool, login, event),
    logout: (uuid, event) => logout(pool, uuid, event),
    recordEvent: failures.record,
    close: failures.close,
  }
}
