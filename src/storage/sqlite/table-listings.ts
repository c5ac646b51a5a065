import type { Counter } from '../../lib/counter.ts'
import type { Entity, Page, TableSource } from '../../model/entities.ts'
import type { RecordFormat } from '../../model/record-format.ts'
import { separators } from '../../model/record-format.ts'
import type { Listing } from '../entities.ts'
import { isShortPage } from '../shared/page-limits.ts'
import type { VisibleRows } from '../shared/row-visibility.ts'
import { compileTable } from './compile.ts'
import type { ReaderThreads } from './reader-threads.ts'

interface Parts {
  readonly file: string
  readonly readerThreads: ReaderThreads
  /** Counts the long ones. */
  readonly listings: Counter
}

/**
 * Lists an entity that is a table, always on a reader thread. A long listing uses a cursor, which advances as fast as the
 * client reads.
 */
export async function listTable(
  { file, readerThreads, listings }: Parts,
  entity: Entity,
  source: TableSource,
  page: Page,
  rows: VisibleRows,
  format: RecordFormat,
): Promise<Listing> {
  const reader = readerThreads.leastBusy()
  const plan = compileTable(entity, source, page, rows)
  const listing = (total: number | null, body: Listing['body']): Listing => ({
    total: total ?? undefined,
    more: total === null || page.limit === null ? undefined : page.offset + page.limit < total,
    body,
  })
  if (isShortPage(page, format)) {
    const { total, body } = await reader.call('page', file, plan, separators[format])
    return listing(total, body)
  }

  const { cursor, total } = await reader.call('open', file, plan, format, entity.fields)
  async function* pieces() {
    listings.add(Number.POSITIVE_INFINITY)
    try {
      for (;;) {
        const piece = await reader.call('next', cursor)
        if (piece === null) return
        yield piece
      }
    } finally {
      listings.remove()
      // If the thread has ended, its cursors are closed already.
      await reader.call('close', cursor).catch(() => {})
    }
  }
  return listing(total, pieces())
}
