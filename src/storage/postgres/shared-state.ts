import { randomBytes } from 'node:crypto'
import { setAhead } from '../../lib/ms-now.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Page, TableSource } from '../../model/entities.ts'
import type { Viewer } from '../../model/readers.ts'
import { createAudiences, type Seen } from '../statements/audiences.ts'
import { createClock, type Mark } from '../statements/clock.ts'
import { createSigningOrder } from '../statements/sessions.ts'
import { rights, storeTime } from '../statements/statements.ts'
import {
  counterColumn,
  isCollectingCheaper,
  type VisibleRows,
  visibleRows,
} from '../tables/row-visibility.ts'
import type { Connection, Pool, Queries } from './driver.ts'
import { recordEvent } from './events.ts'
import { perform } from './perform.ts'

/** The maximum age, in ms, of counts that only choose how to read a page. Totals are counted for each page. */
const maxCountsAge = 10_000

interface Counts {
  readonly readAt: number
  readonly rows: readonly { readonly id: number; readonly items: number; readonly bitstreams: number }[]
}

/** Parts of a look-up's result. */
interface AudienceState {
  readonly audiences: number
  readonly generation: number
}

/**
 * Audiences in PostgreSQL (docs/decisions/0011). Every node holds all of them in memory, and each session
 * look-up tells it whether there are new ones.
 * @param hidden metadata fields of items that only administrators see (Q19)
 */
export function postgresAudiences(pool: Pool, hidden: readonly string[]) {
  let audiences = createAudiences()
  let loaded: AudienceState = { audiences: 0, generation: 0 }
  let counts: Counts | undefined

  async function recentCounts(): Promise<Counts['rows']> {
    if (counts === undefined || Date.now() - counts.readAt > maxCountsAge)
      counts = { readAt: Date.now(), rows: await pool.rows('SELECT id, items, bitstreams FROM audience') }
    return counts.rows
  }

  async function read(state: AudienceState, db: Connection): Promise<void> {
    if (state.generation !== loaded.generation) audiences = createAudiences()
    await perform(db, audiences.readNew())
    loaded = state
  }

  /** True if a page of them is cheaper when all of them are collected and sorted. */
  async function shouldCollect({ table }: TableSource, rows: VisibleRows, page: Page): Promise<boolean> {
    if (rows.kind !== 'audiences') return false
    const counter = counterColumn(table)
    const wanted = new Set(rows.ids)
    let visible = 0
    let total = 0
    for (const row of await recentCounts()) {
      total += row[counter]
      if (wanted.has(row.id)) visible += row[counter]
    }
    const end = page.limit === null ? total : Math.min(page.offset + page.limit, total)
    return isCollectingCheaper(visible, total, end)
  }

  return {
    /** Reads new audiences, if there are any, or all of them if the store may have gone back. */
    refresh: (state: AudienceState, db: Connection): Promise<void> | undefined =>
      state.audiences === loaded.audiences && state.generation === loaded.generation
        ? undefined
        : read(state, db),
    admitting: (viewer: Viewer, how?: Seen) => audiences.admitting(viewer, how),
    visibleRows: (source: TableSource, viewer: Viewer) =>
      visibleRows(source, viewer, one => audiences.admitting(one), hidden),
    shouldCollect,
  }
}

export type PostgresAudiences = ReturnType<typeof postgresAudiences>

/** A reading of the database's clock, in ms since 1970, between two times of performance.now(). */
export interface TimeRead {
  readonly now: number
  readonly sent: number
  readonly received: number
}

/** Largest relative difference in speed between the database's clock and the monotonic one. */
const maxDrift = 0.001

/**
 * The database's clock, which every look-up reads; in between, the monotonic clock carries it on. Each reading
 * bounds the difference of the two by its round trip. The bounds of several are narrower, and a node that was
 * paused during one loses nothing. When they contradict each other, a clock was set, or another server answers:
 * then only the newest counts.
 */
export function databaseTime() {
  let [least, most, at] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, 0]
  return {
    /** @returns 0 before the first reading */
    now: (): number => (at === 0 ? 0 : Math.floor(performance.now() + (least + most) / 2)),
    read: ({ now, sent, received }: TimeRead): void => {
      const drift = (received - at) * maxDrift
      // The time that the database returns is rounded to a millisecond.
      const [low, high] = [now - 0.5 - received, now + 0.5 - sent]
      const isConsistent = low <= most + drift && high >= least - drift
      least = isConsistent ? Math.max(low, least - drift) : low
      most = isConsistent ? Math.min(high, most + drift) : high
      at = received
    },
  }
}

/** The clock of all nodes, which comes with every look-up: the database's, and the mark. */
export function postgresClock(raise: Mark['raise']) {
  const time = databaseTime()
  const skew = () => Date.now() - time.now()
  let current = 0
  return {
    ...createClock({ read: () => current, raise }, time.now),
    skew,
    refresh: (mark: number, read: TimeRead): void => {
      time.read(read)
      current = mark
      setAhead(skew())
    },
  }
}

/** Time in ms during which a replaced secret is accepted. The next rotation removes older ones. */
const keptFor = 90 * 24 * 3600 * 1000

/** The secrets that all nodes share (T7), stored in the database. */
export function sharedSecrets(pool: Pool) {
  const order = createSigningOrder()
  let loadedState = -1

  async function read(state: number, db: Queries): Promise<void> {
    order.update(
      await db.rows<{ id: number; secret: Uint8Array; age: number }>(
        `SELECT id, secret, ${storeTime.postgres} - made AS age FROM secret ORDER BY id DESC`,
      ),
    )
    loadedState = state
  }

  return {
    current: order.current,
    /** Reads the secrets again if the state has changed since they were read. */
    refresh: (state: number, db: Queries) => (state === loadedState ? undefined : read(state, db)),
    rotate: (event: AuditEvent): Promise<number> =>
      pool.transaction(async db => {
        await db.run('UPDATE state SET secrets = secrets + 1')
        await perform(db, rights(event, 'shared'))
        // A secret is replaced when the next one is created.
        await db.run(
          `DELETE FROM secret s WHERE EXISTS (SELECT 1 FROM secret newer
             WHERE newer.id > s.id AND newer.made < ${storeTime.postgres} - $1::bigint)`,
          keptFor,
        )
        await db.run(`INSERT INTO secret (secret, made) VALUES ($1, ${storeTime.postgres})`, randomBytes(32))
        await recordEvent(db, event)
        const [row] = await db.rows<{ count: number }>('SELECT count(*) AS count FROM secret')
        return row?.count ?? 0
      }),
  }
}
