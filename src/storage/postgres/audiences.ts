import type { Page, TableSource } from '../../model/entities.ts'
import type { Viewer } from '../../model/readers.ts'
import { createAudiences, type Seen } from '../statements/audiences.ts'
import {
  counterColumn,
  isCollectingCheaper,
  type VisibleRows,
  visibleRows,
} from '../tables/row-visibility.ts'
import type { Connection, Pool } from './driver.ts'
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
