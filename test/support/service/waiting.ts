import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Asks until `exp` has passed. What was answered before it must be yes, what was asked from it on must be no, however
 * slow the machine is.
 * @param exp seconds since 1970
 */
export async function assertAcceptedUntil(exp: number, isAccepted: () => Promise<boolean>): Promise<void> {
  for (;;) {
    const asked = Date.now()
    const accepted = await isAccepted()
    if (asked >= exp * 1000) return assert.equal(accepted, false, 'accepted after exp')
    if (Date.now() < exp * 1000) assert.equal(accepted, true, 'refused before exp')
    // Often enough to ask within the last moments, too.
    await sleep(Math.max(0, Math.min(100, exp * 1000 - Date.now())))
  }
}
