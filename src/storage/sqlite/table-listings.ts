import { separators } from '../../model/record-format.ts'
import type { RowsSeen } from '../shared/row-visibility.ts'
import type { Entity, Listing, Page, Shape, TableSource } from '../storage.ts'
import { compileTable } from './compile.ts'
import type { Readers } from './reader-threads.ts'

/** A page of at most this many records is read in one go. */
const shortPage = 100

/** A listing of an entity that is a table: always by a reader thread; what is long by a cursor that moves when the client does. */
export async function listTable(
  { file, readers }: { readonly file: string; readonly readers: Readers },
  entity: Entity,
  source: TableSource,
  page: Page,
  rows: RowsSeen,
  shape: Shape,
): Promise<Listing> {
  const reader = readers.leastBusy()
  const plan = compileTable(entity, source, page, rows)
  const listing = (total: number | null, body: Listing['body']): Listing => ({
    total: total ?? undefined,
    more: total === null || page.limit === null ? undefined : page.offset + page.limit < total,
    body,
  })
  if (page.limit !== null && page.limit <= shortPage && shape !== 'csv') {
    const { total, body } = await reader.call('page', file, plan, separators[shape])
    return listing(total, body)
  }

  const { cursor, total } = await reader.call('open', file, plan, shape, entity.fields)
  async function* pieces() {
    try {
      for (;;) {
        const piece = await reader.call('next', cursor)
        if (piece === null) return
        yield piece
      }
    } finally {
      // A thread that has ended holds nothing any more.
      await reader.call('close', cursor).catch(() => {})
    }
  }
  return listing(total, pieces())
}
