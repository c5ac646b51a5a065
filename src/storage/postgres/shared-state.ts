import { randomBytes } from 'node:crypto'
import type { Page, TableSource } from '../../model/entities.ts'
import type { Viewer } from '../../model/readers.ts'
import type { Secrets } from '../sessions.ts'
import { createAudiences, type Seen } from '../statements/audiences.ts'
import { createClock, type Mark } from '../statements/clock.ts'
import { createSigningOrder } from '../statements/sessions.ts'
import { rights, storeTime } from '../statements/statements.ts'
import type { Clock } from '../storage.ts'
import {
  counterColumn,
  isCollectingCheaper,
  type VisibleRows,
  visibleRows,
} from '../tables/row-visibility.ts'
import type { Connection, Pool, Queries } from './driver.ts'
import { recordEvent } from './events.ts'
import { perform } from './perform.ts'

/**
 * The maximum age, in ms, of counts that only choose how to read a page. Totals are counted for each page.
 */
const maxCountsAge = 10_000

interface Counts {
  readonly readAt: number
  readonly rows: readonly { readonly id: number; readonly items: number; readonly bitstreams: number }[]
}

export interface PostgresAudiences {
  /** Reads new audiences, if there are any. @param lastId the id of the newest audience */
  refresh(lastId: number, db: Connection): Promise<void> | undefined
  admitting(viewer: Viewer, how?: Seen): readonly number[]
  visibleRows(source: TableSource, viewer: Viewer): VisibleRows
  /** True if a page of them is cheaper when all of them are collected and sorted. */
  shouldCollect(source: TableSource, rows: VisibleRows, page: Page): Promise<boolean>
}

/**
 * Audiences in PostgreSQL (docs/decisions/0011). Every node holds all of them in memory, and each session
 * look-up tells it whether there are new ones.
 * @param hidden metadata fields of items that only administrators see (Q19)
 */
export function postgresAudiences(pool: Pool, hidden: readonly string[]): PostgresAudiences {
  const audiences = createAudiences()
  let counts: Counts | undefined

  async function recentCounts(): Promise<Counts['rows']> {
    if (counts === undefined || Date.now() - counts.readAt > maxCountsAge)
      counts = {
        readAt: Date.now(),
        rows: await pool.rows('SELECT id, items, bitstreams FROM audience'),
      }
    return counts.rows
  }

  const shouldCollect: PostgresAudiences['shouldCollect'] = async ({ table }, rows, page) => {
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
    refresh: (lastId, db) => (lastId === audiences.lastId ? undefined : perform(db, audiences.readNew())),
    admitting: (viewer, how) => audiences.admitting(viewer, how),
    visibleRows: (source, viewer) => visibleRows(source, viewer, one => audiences.admitting(one), hidden),
    shouldCollect,
  }
}

/** The clock of all nodes, whose mark comes with every look-up. */
export interface PostgresClock extends Clock {
  refresh(mark: number): void
}

export function postgresClock(raise: Mark['raise']): PostgresClock {
  let current = 0
  return {
    ...createClock({ read: () => current, raise }),
    refresh: mark => {
      current = mark
    },
  }
}

/** Time in ms during which a replaced secret is accepted. The next rotation removes older ones. */
const keptFor = 90 * 24 * 3600 * 1000

export interface SharedSecrets extends Secrets {
  /** Reads the secrets again if the state has changed since they were read. */
  refresh(state: number, db: Queries): Promise<void> | undefined
}

/** The secrets that all nodes share (T7), stored in the database. */
export function sharedSecrets(pool: Pool): SharedSecrets {
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
    refresh: (state, db) => (state === loadedState ? undefined : read(state, db)),
    rotate: event =>
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
