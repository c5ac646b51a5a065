import type { Check } from './facts.ts'
import { findingsAbout } from './finding.ts'

const { ok, warning, error } = findingsAbout('clock')

/**
 * Tolerance in ms. Short-lived tokens live for two seconds (T2), so nodes may not differ by more than about
 * half of that.
 */
const tolerance = 1_000
const seconds = (ms: number) => `${(Math.abs(ms) / 1000).toFixed(1)} s`

/** Compares the clock of this machine with the database's, and with the newest event of the trail. */
export const checkClock: Check = function* ({ store, now }) {
  if (!store) return
  const advice = 'set the clock by NTP on every machine (timedatectl set-ntp true)'
  const ahead = store.server?.clockAhead
  if (ahead !== undefined && Math.abs(ahead) > tolerance)
    yield warning(
      `this clock is ${seconds(ahead)} ${ahead > 0 ? 'behind' : 'ahead of'} the database's: if nodes differ like that, short-lived tokens fail`,
      advice,
    )
  else if (ahead !== undefined) yield ok("this clock and the database's agree within a second")
  if (store.newestEvent !== null && store.newestEvent > now + tolerance)
    yield error(
      `this clock is ${seconds(store.newestEvent - now)} behind the newest event of the audit trail: it was set back, or a node's clock is ahead. Events may be in the wrong order, and access rules with a date may hold too long`,
      advice,
    )
  else if (store.newestEvent !== null) yield ok('this clock is not behind the audit trail')
}
