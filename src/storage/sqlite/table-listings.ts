import type { Counter } from '../../lib/counter.ts'
import type { Client } from '../../lib/fair-queue.ts'
import type { Entity, Page, TableSource } from '../../model/entities.ts'
import type { RecordFormat } from '../../model/record-format.ts'
import { separators } from '../../model/record-format.ts'
import { isShortPage } from '../../model/short-pages.ts'
import type { Listing } from '../entities.ts'
import type { VisibleRows } from '../shared/row-visibility.ts'
import { whilePresent } from '../shared/while-present.ts'
import { compileTable, type TablePlan } from './compile.ts'
import type { StoreFile } from './cursor.ts'
import type { Database } from './driver.ts'
import { nearby, readPage } from './pages.ts'
import type { Reader, ReaderThreads } from './reader-threads.ts'

interface Parts {
  readonly store: StoreFile
  readonly db: Database
  readonly readerThreads: ReaderThreads
  /** Counts the long ones. */
  readonly listings: Counter
}

/**
 * Lists entities that are tables, always on reader threads. A long listing uses a cursor, which advances as fast as the
 * client reads.
 */
export function createTableListings({ store, db, readerThreads, listings }: Parts) {
  /** Whether the rows of an order have to be sorted, by the order and by which rows are visible. */
  const sorting = new WeakMap<Page['order'], Map<string, boolean>>()

  function hasToSort(
    page: Page,
    entity: Entity,
    kind: VisibleRows['kind'],
    { sql, values }: TablePlan['page'],
  ): boolean {
    if (page.order.length === 0) return false
    const known = sorting.get(page.order) ?? new Map<string, boolean>()
    sorting.set(page.order, known)
    const key = `${entity.name} ${kind}`
    const found = known.get(key) ?? explain(sql, values)
    known.set(key, found)
    return found
  }

  // https://sqlite.org/eqp.html: "USE TEMP B-TREE FOR ORDER BY", or for its last terms.
  const explain = (sql: string, values: TablePlan['page']['values']) =>
    db
      .all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values)
      .some(({ detail }) => /^USE TEMP B-TREE/.test(detail))

  return async (
    entity: Entity,
    source: TableSource,
    page: Page,
    rows: VisibleRows,
    format: RecordFormat,
    client: Client,
  ): Promise<Listing> => {
    const plan = compileTable(entity, source, page, rows)
    const listing = (total: number | null, body: Listing['body']): Listing => ({
      total: total ?? undefined,
      more: total === null || page.limit === null ? undefined : page.offset + page.limit < total,
      body,
    })
    if (isShortPage(page, format)) {
      const isLong = page.offset > nearby || hasToSort(page, entity, rows.kind, plan.page)
      const wanted = { file: store.file, plan, separator: separators[format], isLong }
      const { total, body } = await readPage(readerThreads, wanted, client)
      return listing(total, body)
    }

    const { reader, cursor, total } = await readerThreads.long(client, reader =>
      whilePresent(client, async stop => ({
        reader,
        ...(await reader.call('open', store, plan, format, entity.fields, stop)),
      })),
    )
    return listing(total, pieces(reader, cursor, client))
  }

  async function* pieces(reader: Reader, cursor: number, client: Client) {
    listings.add(Number.POSITIVE_INFINITY)
    try {
      for (;;) {
        const piece = await readerThreads.long(client, () =>
          whilePresent(client, stop => reader.call('next', cursor, stop)),
        )
        if (piece === null) return
        yield piece
      }
    } finally {
      listings.remove()
      // If the thread has ended, its cursors are closed already.
      await reader.call('close', cursor).catch(() => {})
    }
  }
}
