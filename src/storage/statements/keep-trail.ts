import { networkPrefix } from '../../lib/addresses.ts'
import type { Awaitable } from '../../lib/awaitable.ts'
import { msNow } from '../../lib/ms-now.ts'
import { countRepeats } from '../../lib/repeats.ts'
import { type AuditEvent, detached } from '../../model/audit-events.ts'
import type { Clock } from '../storage.ts'
import type { Trail } from '../trail.ts'

/** Time in ms between two signatures of the heads. Later events could be cut off the end unnoticed. */
const checkpointInterval = 10_000
/** Time in ms between two rounds of pruning. */
const pruneInterval = 60_000
/** Maximum number of steps in a round of pruning, and the pause between two steps in ms. */
const pruneSteps = 200
const prunePause = 50
const day = 24 * 3600 * 1000

interface Kept extends Pick<Trail, 'pruneSome'> {
  readonly checkpoint: () => Promise<unknown>
  /** True if this node does it for all; missing if there is no other. */
  readonly isOnDuty?: () => Awaitable<boolean>
  /** Looks for a new key with which another node signs. */
  readonly lookForKey?: () => Promise<unknown>
}

/**
 * Signs checkpoints, and removes events that are older than the retention.
 * @param retention in days; null: forever
 */
export function keepTrail(trail: Kept, retention: number | null, { certain }: Pick<Clock, 'certain'>) {
  let isClosed = false
  let running: Promise<unknown> = Promise.resolve()
  const run = (work: () => Promise<unknown>) => {
    // A failed round is followed by the next; it must not end the process.
    running = running.then(work).catch(() => {})
    return running
  }

  const { isOnDuty = () => true, lookForKey } = trail
  const sign = async () => ((await isOnDuty()) ? trail.checkpoint() : lookForKey?.())
  const prune = async (days: number) => {
    if (await isOnDuty()) await pruneOlder(trail, days, () => isClosed, certain())
  }

  const timers = [setInterval(() => void run(sign), checkpointInterval).unref()]
  if (retention !== null)
    timers.push(setInterval(() => void run(() => prune(retention)), pruneInterval).unref())
  return {
    /** Signs the newest events, for the last time. */
    close: async (): Promise<void> => {
      isClosed = true
      for (const timer of timers) clearInterval(timer)
      await run(trail.checkpoint)
    },
  }
}

/**
 * Removes events that are older than the given number of days, in steps with a pause between them.
 * @param certain a time that has certainly passed, in ms since 1970: what a clock that is ahead for a moment removes is gone
 */
export async function pruneOlder(
  trail: Pick<Trail, 'pruneSome'>,
  days: number,
  isClosed: () => boolean,
  certain: number,
): Promise<void> {
  const before = new Date(Math.min(msNow(), certain) - days * day).toISOString()
  for (let step = 0; step < pruneSteps && !isClosed(); step++) {
    if ((await trail.pruneSome(before)) === 0) return
    await new Promise(resolve => setTimeout(resolve, prunePause))
  }
}

/**
 * Counts identical failures of one network (D9), so that failures can't fill the audit trail.
 * @param record writes one event
 */
export function countFailures(record: (event: AuditEvent) => Promise<void>) {
  const repeats = countRepeats()
  return {
    record: async (given: AuditEvent): Promise<void> => {
      const event = detached(given)
      if (event.outcome !== 'failure') return record(event)
      const { request: _, ...same } = event
      const from = { ...same, clientIp: event.clientIp === null ? null : networkPrefix(event.clientIp) }
      return repeats.add(JSON.stringify(Object.values(from)), {
        first: () => record(event),
        others: count => record({ ...from, count }),
      })
    },
    close: repeats.close,
  }
}
