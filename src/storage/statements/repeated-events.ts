import { networkPrefix } from '../../lib/addresses.ts'
import { msNow } from '../../lib/ms-now.ts'
import { type AuditEvent, detached, isCounted } from '../../model/audit-events.ts'
import type { Refreshed } from '../sessions.ts'
import { type CountedObject, eventOfCounts } from './counted-objects.ts'
import { countFailures } from './keep-trail.ts'

/** Time in ms for which repetitions of an event are counted before their number is written. */
const countFor = 60_000
/** Time in ms between two looks for counts to write. */
const lookEvery = 1_000
/** Maximum number of rows that a session has written at once in that time, for each kind of event, on a node. */
export const mostAtOnce = 30
/** Maximum number of objects and networks that are kept of one session and kind, and that one row names. */
const mostOfGroup = 5_000
const mostNamed = 1_000
/** Maximum number of objects and networks that an event loop keeps. */
const mostKept = 20_000
const writtenAtOnce = 20

interface RecordedEvents {
  /** Records an event that belongs to no change, or counts it. */
  record(event: AuditEvent): Promise<void>
  /** Records a refresh and when its session was used, or counts it. */
  refresh(refreshed: Refreshed, event: AuditEvent): Promise<void>
  /** Records what was counted. */
  close(): Promise<void>
}

interface Writers {
  /** Writes one event. */
  readonly record: (event: AuditEvent) => Promise<void>
  /** Writes a refresh. @param clientIp the address that it came from, which counts don't have */
  readonly refresh: (refreshed: Refreshed, event: AuditEvent, clientIp: string | null) => Promise<void>
  /** The part of `mostAtOnce` that this event loop has. */
  readonly atOnce: number
}

/** Events of one session and kind. They differ by their objects and networks. */
interface Group {
  readonly key: string
  readonly event: AuditEvent
  /** Time in ms for which it is counted. */
  readonly window: number
  /** Beginning of the window, on the clock of performance.now(). */
  since: number
  /** Number of rows that were written at once in this window. */
  rows: number
  readonly items: Map<string, Item>
  /** The last refresh. */
  used: Used | undefined
  /** Time in ms since 1970 until which the store knows that the session may be alive; 0 before it does. */
  expires: number
  writing: Promise<void> | undefined
}

interface Item extends CountedObject {
  /** Settles when the first row has been written; undefined afterwards. */
  writing: Promise<void> | undefined
}

interface Used {
  readonly refreshed: Refreshed
  readonly clientIp: string | null
  /** Time of the refresh, on the clock of performance.now(). */
  readonly at: number
}

/** Parts that an event loop may forget when it writes counts: those that weren't repeated, all names, or also the group. */
type Forgotten = 'unrepeated' | 'names' | 'group'

/**
 * Records events that belong to no change (docs/decisions/0069). Those that repeat for one session are counted in
 * memory: the first is written at once, the number of the others once a minute. Each event loop counts its own. Counts
 * that are not yet written are lost if the process is killed.
 */
export function recordEvents({ record, refresh, atOnce: share }: Writers): RecordedEvents {
  const atOnce = Math.max(1, share)
  const failures = countFailures(record)
  const groups = new Map<string, Group>()
  /** Number of items in all groups. */
  let kept = 0
  let timer: NodeJS.Timeout | undefined
  let isLooking = false

  /**
   * Writes one event at once. A refresh is written with the end of the last token that may be handed out before its
   * session is written again, so that no session is forgotten while it is alive.
   */
  async function write(group: Group, event: AuditEvent, used: Used | undefined): Promise<void> {
    if (!used) return record(event)
    const { refreshed, clientIp, at } = used
    const expires = Math.ceil(refreshed.expires + performance.now() - at + group.window)
    await refresh({ ...refreshed, expires }, event, clientIp)
    group.expires = Math.max(group.expires, expires)
  }

  async function count(event: AuditEvent, refreshed?: Refreshed): Promise<void> {
    const at = performance.now()
    const used = refreshed && { refreshed, clientIp: event.clientIp, at }
    const key = groupOf(event)
    let group = groups.get(key)
    if (group && at - group.since >= group.window) {
      await writeCounts(group)
      return count(event, refreshed)
    }
    // The time between the making of a token and this line varies, so a token may outlive what was written.
    if (group && refreshed && group.expires > 0 && refreshed.expires > group.expires) {
      group.used = used
      return write(group, detached(event), used)
    }
    const clientIp = event.clientIp === null ? null : networkPrefix(event.clientIp)
    const { object } = event
    const name = `${object}\n${clientIp}`
    const known = group?.items.get(name)
    if (group && known) {
      if (known.writing) {
        await known.writing
        return count(event, refreshed)
      }
      known.last = msNow()
      if (known.count++ === 0) known.first = known.last
      group.used = used
      return
    }
    group ??= {
      key,
      event: detached(event),
      window: refreshed ? Math.min(countFor, refreshed.expires - refreshed.used) : countFor,
      since: at,
      rows: 0,
      items: new Map(),
      used,
      expires: 0,
      writing: undefined,
    }
    if (kept >= mostKept || group.items.size >= mostOfGroup) {
      makeRoom(group)
      if (kept >= mostKept || group.items.size >= mostOfGroup) return write(group, detached(event), used)
    }
    groups.set(key, group)
    group.used = used
    timer ??= setInterval(() => void look(), lookEvery).unref()
    const now = msNow()
    const item: Item = { object, clientIp, count: 0, first: now, last: now, writing: undefined }
    group.items.set(name, item)
    kept++
    if (group.rows >= atOnce) {
      item.count = 1
      return
    }
    group.rows++
    item.writing = write(group, detached(event), used)
    try {
      await item.writing
    } catch (error) {
      drop(group, name)
      if (group.items.size === 0) groups.delete(key)
      throw error
    } finally {
      item.writing = undefined
    }
  }

  function drop(group: Group, name: string): void {
    if (group.items.delete(name)) kept--
  }

  /** Writes the counts of the group if it is full, or else those of the group that was kept longest. */
  function makeRoom(group: Group): void {
    const [full, forgets] =
      group.items.size >= mostOfGroup
        ? ([group, 'names'] as const)
        : ([[...groups.values()].find(one => one.writing === undefined), 'group'] as const)
    // Counts that can't be written now stay, and are tried again later.
    if (full) writeCounts(full, forgets).catch(() => {})
  }

  /** Writes what was counted until now, also if earlier counts are just being written. */
  async function writeAllCounts(group: Group): Promise<void> {
    await group.writing
    await writeCounts(group)
  }

  function writeCounts(group: Group, forgets: Forgotten = 'unrepeated'): Promise<void> {
    group.writing ??= writeRows(group, forgets).finally(() => {
      group.writing = undefined
    })
    return group.writing
  }

  async function writeRows(group: Group, forgets: Forgotten): Promise<void> {
    const at = performance.now()
    let counted: Item[] = []
    for (const [name, item] of group.items) {
      if (item.writing) continue
      if (item.count > 0) counted.push({ ...item })
      // An event that was not repeated is a first one again.
      if (forgets !== 'unrepeated' || item.count === 0) drop(group, name)
      else item.count = 0
    }
    try {
      while (counted.length > 0) {
        await write(group, eventOfCounts(group.event, counted.slice(0, mostNamed)), group.used)
        counted = counted.slice(mostNamed)
      }
    } catch (error) {
      for (const item of counted) putBack(group, item)
      throw error
    }
    if (forgets === 'unrepeated') {
      group.since = at
      group.rows = 0
    }
    // A group whose names are forgotten still knows how many rows it has written.
    if (forgets !== 'names' && group.items.size === 0) groups.delete(group.key)
  }

  /** Keeps a count that could not be written, together with what was counted since. */
  function putBack(group: Group, { count, first, ...item }: Item): void {
    const name = `${item.object}\n${item.clientIp}`
    const later = group.items.get(name)
    if (!later) {
      group.items.set(name, { ...item, count, first })
      kept++
      return
    }
    if (later.count === 0) later.last = item.last
    later.first = first
    later.count += count
  }

  async function writeAll(due: readonly Group[]): Promise<void> {
    for (let at = 0; at < due.length; at += writtenAtOnce) {
      const some = due.slice(at, at + writtenAtOnce)
      const results = await Promise.allSettled(some.map(writeAllCounts))
      // A store that doesn't answer is left alone until the next time.
      if (results.some(({ status }) => status === 'rejected')) return
    }
  }

  async function look(): Promise<void> {
    if (isLooking) return
    isLooking = true
    const now = performance.now()
    await writeAll([...groups.values()].filter(({ since, window }) => now - since >= window))
    isLooking = false
    if (groups.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    record: event => (isCounted(event) ? count(event) : failures.record(event)),
    refresh: (refreshed, event) => count(event, refreshed),
    close: async () => {
      clearInterval(timer)
      await writeAll([...groups.values()])
      await failures.close()
    },
  }
}

/** While acting, the networks are told apart: the eperson may not see them. */
const groupOf = ({ event, session, eperson, actor, method, reason, clientIp }: AuditEvent): string =>
  `${event}\n${session}\n${eperson}\n${actor}\n${method}\n${actor === eperson ? '' : clientIp}\n${reason}`
