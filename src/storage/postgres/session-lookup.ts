import { StoreUnavailable } from '../../lib/errors.ts'
import type { Session } from '../../model/accounts.ts'
import type { AllowedSessions } from '../../model/sessions.ts'
import { toSession } from '../statements/people-rows.ts'
import type { HotSessions } from '../statements/sessions.ts'
import type { Connection, Pool } from './driver.ts'
import { isStorable } from './events.ts'
import { logout, lookUpSessions, recordLogin, type WholeSession, wholeSession } from './hot.ts'
import type { ServerWatch } from './servers.ts'
import type { TimeRead } from './shared-state.ts'

/** The result of a look-up: the stamps of sessions, and counters that tell whether anything else has changed. */
export interface SessionLookupResult {
  /** The stamps of the requested epersons who are enabled, by uuid. */
  readonly stamps: ReadonlyMap<string, number>
  /** Grows when the list of entities changes. */
  readonly entities: number
  /** Grows when a single record is written. */
  readonly records: number
  /** Grows when the secrets change. */
  readonly secrets: number
  /** Grows when groups in groups change. */
  readonly groups: number
  /** The id of the newest audience. */
  readonly audiences: number
  /** A time that has certainly passed, in ms since 1970. */
  readonly mark: number
  /** The time by the database's clock. */
  readonly time: TimeRead
  /** The sessions that the active alert allows; null: no alert is active. */
  readonly allowed: AllowedSessions | null
  /** Grows when the store may have gone back to an earlier state, so that nothing read before holds (docs/decisions/0085). */
  readonly generation: number
}

interface Parts {
  /** Opens the connection that is reserved for look-ups, so that they never wait for a slow query. */
  readonly connect: () => Promise<Connection>
  readonly watch: ServerWatch
  /** Brings what this node caches up to date with a result, before the result is returned. */
  readonly refresh: (result: SessionLookupResult, db: Connection) => Promise<void> | undefined
}

type LookupRow = Omit<SessionLookupResult, 'stamps' | 'time' | 'generation'> & {
  store: string
  tables: number
  now: number
  uuid: string | null
  stamp: number
}

/** A dead connection fails within this time, in ms, and is replaced once. After a hang there is no time for a retry. */
const maxRetryDelay = 1_000

interface Batch {
  readonly uuids: Set<string>
  readonly result: Promise<SessionLookupResult>
  readonly resolve: (result: SessionLookupResult) => void
  readonly reject: (error: unknown) => void
}

function newBatch(): Batch {
  const { promise: result, resolve, reject } = Promise.withResolvers<SessionLookupResult>()
  return { uuids: new Set(), result, resolve, reject }
}

/** Looks stamps up on one connection, which is opened when it is needed. */
function createLookUp({ connect, watch, refresh }: Parts) {
  let connection: Connection | undefined
  /** The id of the store that this node has opened. */
  let opened: string | undefined
  /** The tables that the connection has found. */
  let tables: number | undefined

  /** Retries once if the connection was lost since the last look-up, for example by a restart of the database. */
  async function lookUp(uuids: ReadonlySet<string>): Promise<SessionLookupResult> {
    const isNew = connection === undefined
    const start = performance.now()
    try {
      return await lookUpOnce(uuids)
    } catch (error) {
      // The state of the connection is unknown, so the next look-up opens a new one.
      disconnect()
      if (isNew || !(error instanceof StoreUnavailable) || performance.now() - start > maxRetryDelay)
        throw error
      return lookUpOnce(uuids)
    }
  }

  function disconnect(): void {
    connection?.destroy()
    connection = undefined
    tables = undefined
  }

  async function lookUpOnce(uuids: ReadonlySet<string>): Promise<SessionLookupResult> {
    if (connection?.generation !== watch.generation) disconnect()
    connection ??= await connect()
    const sent = performance.now()
    const rows = await connection.rows<LookupRow>(lookUpSessions, [...uuids])
    const received = performance.now()
    const [first] = rows
    if (!first)
      throw new StoreUnavailable('the store has lost its state row: restore the database from a backup')
    opened ??= first.store
    if (first.store !== opened)
      throw new StoreUnavailable(
        'the database has another store than the one that was opened: put that one back, or restart the service to use this one',
      )
    tables ??= first.tables
    // An older dump was loaded into the same database: a new connection recognizes that.
    if (first.tables !== tables) throw new StoreUnavailable('the tables of the store were replaced')
    const stamps = new Map<string, number>()
    for (const { uuid, stamp } of rows) if (uuid !== null) stamps.set(uuid, stamp)
    const { entities, records, secrets, groups, audiences, mark, now, allowed } = first
    const time = { now, sent, received }
    const { generation = 0 } = connection
    const result = { stamps, entities, records, secrets, groups, audiences, mark, time, allowed, generation }
    await refresh(result, connection)
    return result
  }

  return { lookUp, close: () => connection?.close() }
}

export function createSessionLookup(parts: Parts) {
  const { lookUp, close } = createLookUp(parts)
  let nextBatch: Batch | undefined
  let running: Promise<void> | undefined
  let closed = false
  /** The batch that formed during the last look-up: a function, because TypeScript narrows the variable. */
  const waiting = () => nextBatch

  async function run(): Promise<void> {
    // Waits for one turn of the event loop, so that requests that came together share the first look-up.
    await new Promise(resolve => setImmediate(resolve))
    while (nextBatch) {
      const batch = nextBatch
      nextBatch = undefined
      try {
        batch.resolve(await lookUp(batch.uuids))
      } catch (error) {
        batch.reject(error)
        // Requests that arrived since then have waited as long, and another try could double their wait.
        waiting()?.reject(error)
        nextBatch = undefined
      }
    }
    running = undefined
  }

  return {
    /**
     * Looks up the stamp of an eperson. Requests that arrive during a look-up share the next one (docs/decisions/0007).
     * Their result is read after they asked, so it always includes a logout that was acknowledged before (T4).
     */
    ask: (uuid?: string): Promise<SessionLookupResult> => {
      if (closed) return Promise.reject(new StoreUnavailable('the store is closed'))
      nextBatch ??= newBatch()
      if (uuid !== undefined) nextBatch.uuids.add(uuid)
      running ??= run()
      return nextBatch.result
    },
    close: async (): Promise<void> => {
      closed = true
      await running
      await close()
    },
  }
}

export type SessionLookup = ReturnType<typeof createSessionLookup>

/** Maximum number of cached sessions. Each use checks the stamp, so a stale session is never used. */
const maxCachedSessions = 10_000

interface SessionParts {
  readonly pool: Pool
  readonly lookup: SessionLookup
  readonly refresh: HotSessions['refresh']
}

/** Sessions: requests during a look-up share the next one, and each write takes one round trip. */
export function postgresSessions({ pool, lookup, refresh }: SessionParts): HotSessions {
  const sessions = new Map<string, Session>()
  let known = 0

  let allowed: AllowedSessions = 'all'
  async function stampOf(uuid: string): Promise<number | undefined> {
    if (!isStorable(uuid)) return undefined
    const result = await lookup.ask(uuid)
    allowed = result.allowed ?? 'all'
    if (result.generation !== known) sessions.clear()
    known = result.generation
    return result.stamps.get(uuid)
  }

  async function of(uuid: string): Promise<Session | undefined> {
    const stamp = await stampOf(uuid)
    if (stamp === undefined) return undefined
    const cached = sessions.get(uuid)
    if (cached?.stamp === stamp) return cached
    const [row] = await pool.rows<WholeSession>(
      `SELECT ${wholeSession} FROM eperson WHERE uuid = $1 AND enabled = 1`,
      uuid,
    )
    if (!row) return undefined
    if (sessions.size >= maxCachedSessions) sessions.clear()
    const current = toSession(row, row.groups)
    sessions.set(uuid, current)
    return current
  }

  return {
    stampOf,
    of,
    allowed: () => allowed,
    begin: (login, event) => recordLogin(pool, login, event),
    refresh,
    logout: (uuid, event) => logout(pool, uuid, event),
  }
}
