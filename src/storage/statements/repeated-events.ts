import { networkPrefix } from '../../lib/addresses.ts'
import { msNow } from '../../lib/ms-now.ts'
import { type AuditEvent, detached, isCounted } from '../../model/audit-events.ts'
import { type CountedObject, eventOfCounts } from './counted-objects.ts'
import { countFailures } from './keep-trail.ts'
import type { Refreshed } from './sessions.ts'

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
export class RepeatedEvents {
  readonly #writers: Writers
  readonly #atOnce: number
  readonly #failures: ReturnType<typeof countFailures>
  readonly #groups = new Map<string, Group>()
  /** Number of items in all groups. */
  #kept = 0
  #timer: NodeJS.Timeout | undefined
  #isLooking = false

  constructor(writers: Writers) {
    this.#writers = writers
    this.#atOnce = Math.max(1, writers.atOnce)
    this.#failures = countFailures(writers.record)
  }

  /** Records an event that belongs to no change, or counts it. */
  record(event: AuditEvent): Promise<void> {
    return isCounted(event) ? this.#count(event) : this.#failures.record(event)
  }

  /** Records a refresh and when its session was used, or counts it. */
  refresh(refreshed: Refreshed, event: AuditEvent): Promise<void> {
    return this.#count(event, refreshed)
  }

  /** Records what was counted. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writeAll([...this.#groups.values()])
    await this.#failures.close()
  }

  /**
   * Writes one event at once. A refresh is written with the end of the last token that may be handed out before its
   * session is written again, so that no session is forgotten while it is alive.
   */
  async #write(group: Group, event: AuditEvent, used: Used | undefined): Promise<void> {
    if (!used) return this.#writers.record(event)
    const { refreshed, clientIp, at } = used
    const expires = Math.ceil(refreshed.expires + performance.now() - at + group.window)
    await this.#writers.refresh({ ...refreshed, expires }, event, clientIp)
    group.expires = Math.max(group.expires, expires)
  }

  async #count(event: AuditEvent, refreshed?: Refreshed): Promise<void> {
    const at = performance.now()
    const used = refreshed && { refreshed, clientIp: event.clientIp, at }
    const key = groupOf(event)
    const group = this.#groups.get(key)
    if (!group) return this.#addFirst(newGroup(key, event, at, refreshed), event, used)
    if (at - group.since >= group.window) {
      await this.#writeCounts(group)
      return this.#count(event, refreshed)
    }
    // The time between the making of a token and this line varies, so a token may outlive what was written.
    if (refreshed && group.expires > 0 && refreshed.expires > group.expires) {
      group.used = used
      return this.#write(group, detached(event), used)
    }
    const known = group.items.get(nameOf(countedIn(event)))
    if (!known) return this.#addFirst(group, event, used)
    if (known.writing) {
      await known.writing
      return this.#count(event, refreshed)
    }
    known.last = msNow()
    if (known.count++ === 0) known.first = known.last
    group.used = used
  }

  /** Writes the first event with an object and a network, or counts it if its group has written enough. */
  async #addFirst(group: Group, event: AuditEvent, used: Used | undefined): Promise<void> {
    const isFull = () => this.#kept >= mostKept || group.items.size >= mostOfGroup
    if (isFull()) this.#makeRoom(group)
    if (isFull()) return this.#write(group, detached(event), used)
    this.#groups.set(group.key, group)
    group.used = used
    this.#timer ??= setInterval(() => void this.#look(), lookEvery).unref()
    const now = msNow()
    const item: Item = { ...countedIn(event), count: 0, first: now, last: now, writing: undefined }
    const name = nameOf(item)
    group.items.set(name, item)
    this.#kept++
    if (group.rows >= this.#atOnce) {
      item.count = 1
      return
    }
    group.rows++
    item.writing = this.#write(group, detached(event), used)
    try {
      await item.writing
    } catch (error) {
      this.#drop(group, name)
      if (group.items.size === 0) this.#groups.delete(group.key)
      throw error
    } finally {
      item.writing = undefined
    }
  }

  #drop(group: Group, name: string): void {
    if (group.items.delete(name)) this.#kept--
  }

  /** Writes the counts of the group if it is full, or else those of the group that was kept longest. */
  #makeRoom(group: Group): void {
    const [full, forgets] =
      group.items.size >= mostOfGroup
        ? ([group, 'names'] as const)
        : ([[...this.#groups.values()].find(one => one.writing === undefined), 'group'] as const)
    // Counts that can't be written now stay, and are tried again later.
    if (full) this.#writeCounts(full, forgets).catch(() => {})
  }

  /** Writes what was counted until now, also if earlier counts are just being written. */
  async #writeAllCounts(group: Group): Promise<void> {
    await group.writing
    await this.#writeCounts(group)
  }

  #writeCounts(group: Group, forgets: Forgotten = 'unrepeated'): Promise<void> {
    group.writing ??= this.#writeRows(group, forgets).finally(() => {
      group.writing = undefined
    })
    return group.writing
  }

  async #writeRows(group: Group, forgets: Forgotten): Promise<void> {
    const at = performance.now()
    let counted: Item[] = []
    for (const [name, item] of group.items) {
      if (item.writing) continue
      if (item.count > 0) counted.push({ ...item })
      // An event that was not repeated is a first one again.
      if (forgets !== 'unrepeated' || item.count === 0) this.#drop(group, name)
      else item.count = 0
    }
    try {
      while (counted.length > 0) {
        await this.#write(group, eventOfCounts(group.event, counted.slice(0, mostNamed)), group.used)
        counted = counted.slice(mostNamed)
      }
    } catch (error) {
      for (const item of counted) this.#putBack(group, item)
      throw error
    }
    if (forgets === 'unrepeated') {
      group.since = at
      group.rows = 0
    }
    // A group whose names are forgotten still knows how many rows it has written.
    if (forgets !== 'names' && group.items.size === 0) this.#groups.delete(group.key)
  }

  /** Keeps a count that could not be written, together with what was counted since. */
  #putBack(group: Group, item: Item): void {
    const later = group.items.get(nameOf(item))
    if (!later) {
      group.items.set(nameOf(item), item)
      this.#kept++
      return
    }
    if (later.count === 0) later.last = item.last
    later.first = item.first
    later.count += item.count
  }

  async #writeAll(due: readonly Group[]): Promise<void> {
    for (let at = 0; at < due.length; at += writtenAtOnce) {
      const some = due.slice(at, at + writtenAtOnce)
      const results = await Promise.allSettled(some.map(group => this.#writeAllCounts(group)))
      // A store that doesn't answer is left alone until the next time.
      if (results.some(({ status }) => status === 'rejected')) return
    }
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    const now = performance.now()
    await this.#writeAll([...this.#groups.values()].filter(({ since, window }) => now - since >= window))
    this.#isLooking = false
    if (this.#groups.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

const newGroup = (key: string, event: AuditEvent, since: number, refreshed?: Refreshed): Group => ({
  key,
  event: detached(event),
  window: refreshed ? Math.min(countFor, refreshed.expires - refreshed.used) : countFor,
  since,
  rows: 0,
  items: new Map(),
  used: undefined,
  expires: 0,
  writing: undefined,
})

/** The object and the network by which the events of a group differ. */
const countedIn = ({ object, clientIp }: AuditEvent): Pick<Item, 'object' | 'clientIp'> => ({
  object,
  clientIp: clientIp === null ? null : networkPrefix(clientIp),
})

const nameOf = ({ object, clientIp }: Pick<Item, 'object' | 'clientIp'>) => `${object}\n${clientIp}`

/** While acting, the networks are told apart: the eperson may not see them. */
const groupOf = ({ event, session, eperson, actor, method, reason, clientIp }: AuditEvent): string =>
  `${event}\n${session}\n${eperson}\n${actor}\n${method}\n${actor === eperson ? '' : clientIp}\n${reason}`
