import type { Entity, Listing, Page, Shape } from '../storage.ts'
import { compilePage, compileTotal } from './compile.ts'
import type { Readers } from './readers.ts'

/** A listing of an entity that is a table: always by a reader thread, by a cursor that moves when the client does. */
export async function listTable(
  { file, readers }: { readonly file: string; readonly readers: Readers },
  { fields, ...entity }: Entity,
  table: string,
  page: Page,
  shape: Shape,
): Promise<Listing> {
  const reader = readers.leastBusy()
  const counted = page.total || page.limit !== null ? compileTotal(table) : null
  const statement = compilePage({ ...entity, fields }, table, page)
  const { cursor, total } = await reader.call('open', file, statement, counted, shape, fields)
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
  const more = total === null || page.limit === null ? undefined : page.offset + page.limit < total
  return { total: total ?? undefined, more, body: pieces() }
}
