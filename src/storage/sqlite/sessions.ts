import type { AllowedSessions } from '../../model/sessions.ts'
import type { HotSessions } from '../sessions.ts'
import type { Database } from './driver.ts'
import { readSession } from './hot.ts'
import type { SharedSnapshot } from './shared-snapshot.ts'
import type { Write } from './threads.ts'

interface Parts {
  readonly db: Database
  readonly snapshot: SharedSnapshot
  readonly write: Write
  readonly refresh: HotSessions['refresh']
}

/** Maximum number of cached stamps. */
const maxStamps = 10_000

/** Sessions: reads are synchronous on the caller's thread, writes go through the single writer. */
export function sqliteSessions({ db, snapshot, write, refresh }: Parts): HotSessions {
  const stamp = db.prepare('SELECT stamp FROM eperson WHERE uuid = ? AND enabled = 1')
  const stamps = new Map<string, number | undefined>()
  /** The state of the store when the stamps were read. */
  let stampsState = -1
  const allowedSessions = db.prepare('SELECT allow_sessions FROM alert WHERE active = 1')
  let allowed: AllowedSessions = 'all'
  let allowedState = -1
  function refreshAllowed(state: number): void {
    if (state === allowedState) return
    allowed = (allowedSessions.get()?.[0] as AllowedSessions | undefined) ?? 'all'
    allowedState = state
  }

  return {
    stampOf: uuid => {
      if (snapshot.state() === stampsState && stamps.has(uuid)) return stamps.get(uuid)
      const state = snapshot.enter()
      if (state !== stampsState || stamps.size >= maxStamps) stamps.clear()
      stampsState = state
      refreshAllowed(state)
      const found = stamp.get(uuid)?.[0] as number | undefined
      stamps.set(uuid, found)
      return found
    },
    of: uuid => {
      refreshAllowed(snapshot.enter())
      return readSession(db, uuid)
    },
    allowed: () => allowed,
    begin: (login, event) => write('recordLogin', login, event),
    refresh,
    logout: (uuid, event) => write('logout', uuid, event),
  }
}
