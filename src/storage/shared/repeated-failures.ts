import { networkOf } from '../../lib/addresses.ts'
import type { AuditEvent } from '../../model/audit-events.ts'

/** How long identical failures are counted before the count is recorded, in ms. */
const countFor = 5 * 60_000
/** How many different failures are counted at a time. Any others are recorded one by one. */
const maxCounted = 10_000
const writtenAtOnce = 20

export interface RepeatedFailures {
  record(event: AuditEvent): Promise<void>
  /** Records what was counted. */
  close(): Promise<void>
}

interface Count {
  readonly event: AuditEvent
  readonly since: number
  /** After the first, which was recorded at once. */
  repeats: number
}

/**
 * Records the first of several identical failures at once, and the number of the others after some minutes, so that
 * nobody can fill the audit trail by failing. Each event loop counts its own. What was counted since is lost if the process
 * is killed (D9).
 * @param record writes one event
 */
export function countFailures(record: (event: AuditEvent) => Promise<void>): RepeatedFailures {
  const counts = new Map<string, Count>()
  let timer: NodeJS.Timeout | undefined

  /** Counts are in the order of their beginnings. */
  async function flush(begunBefore: number): Promise<void> {
    const old: (readonly [string, Count])[] = []
    for (const [key, count] of counts) {
      if (count.since > begunBefore) break
      counts.delete(key)
      if (count.repeats > 0) old.push([key, count])
    }
    // A few at a time: others wait for the store, too.
    for (let at = 0; at < old.length; at += writtenAtOnce)
      await Promise.all(old.slice(at, at + writtenAtOnce).map(([key, count]) => write(key, count)))
  }

  async function write(key: string, { event, repeats, since }: Count): Promise<void> {
    try {
      await record({ ...event, count: repeats })
    } catch (error) {
      // Once more, with what was counted since.
      const later = counts.get(key)
      if (later) later.repeats += repeats
      else counts.set(key, { event, since, repeats })
      flushLater()
      throw error
    }
  }

  /** Until nothing is counted any more. */
  function flushLater(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      if (counts.size > 0) flushLater()
      // What can't be recorded now is tried again.
      flush(performance.now() - countFor).catch(() => {})
    }, countFor / 5).unref()
  }

  return {
    record: async event => {
      if (event.outcome !== 'failure') return record(event)
      const from = { ...event, clientIp: event.clientIp === null ? null : networkOf(event.clientIp) }
      const key = JSON.stringify(Object.values(from))
      const known = counts.get(key)
      if (known) {
        known.repeats++
        return
      }
      if (counts.size >= maxCounted) return record(event)
      counts.set(key, { event: from, since: performance.now(), repeats: 0 })
      flushLater()
      try {
        await record(event)
      } catch (error) {
        counts.delete(key)
        throw error
      }
    },
    close: async () => {
      clearTimeout(timer)
      // A store that doesn't answer must not keep the process.
      await flush(Number.POSITIVE_INFINITY).catch(() => {})
    },
  }
}
