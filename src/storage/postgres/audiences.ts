import type { Page, TableSource } from '../../model/entities.ts'
import { readReaders, type Viewer } from '../../model/readers.ts'
import { createAudiences } from '../shared/audiences.ts'
import {
  counterColumn,
  isCollectingCheaper,
  type VisibleRows,
  visibleRows,
} from '../shared/row-visibility.ts'
import type { RowsFound } from './compile.ts'
import type { Pool, Queries } from './driver.ts'

/** How old counts may be, in ms, that only decide which way leads to a page; totals are counted with each page. */
const countsLast = 10_000

interface Counts {
  readonly at: number
  readonly rows: readonly { readonly id: number; readonly items: number; readonly bitstreams: number }[]
}

export interface PostgresAudiences {
  /** Reads those that are new. @param last the number of the last that there is */
  follow(last: number, db: Queries): Promise<void> | undefined
  /** The rows of a table that the viewer sees, and the way to them. */
  rowsFor(source: TableSource, viewer: Viewer, page: Page): Promise<RowsFound>
  /** The numbers of the audiences that these texts stand for; new ones are added. */
  numbersOf(texts: readonly string[]): Promise<ReadonlyMap<string, number>>
}

/** Audiences on PostgreSQL (docs/decisions/0011): all in the memory of every node, which looks for new ones with each look-up. */
export function postgresAudiences(pool: Pool): PostgresAudiences {
  const audiences = createAudiences()
  let counts: Counts | undefined

  async function read(db: Queries): Promise<void> {
    const added = await db.rows<{ id: number; readers: string }>(
      'SELECT id, readers FROM carrel.audience WHERE id > $1 ORDER BY id',
      audiences.lastId,
    )
    for (const { id, readers } of added) audiences.add(id, readReaders(readers))
  }

  async function recentCounts(): Promise<Counts['rows']> {
    if (counts === undefined || Date.now() - counts.at > countsLast)
      counts = { at: Date.now(), rows: await pool.rows('SELECT id, items, bitstreams FROM carrel.audience') }
    return counts.rows
  }

  async function shouldGather(table: string, ids: readonly number[], page: Page): Promise<boolean> {
    const counter = counterColumn(table)
    const wanted = new Set(ids)
    let seen = 0
    let all = 0
    for (const row of await recentCounts()) {
      all += row[counter]
      if (wanted.has(row.id)) seen += row[counter]
    }
    return isCollectingCheaper(seen, all, page.limit === null ? all : Math.min(page.offset + page.limit, all))
  }

  const knownNumbers = async (db: Queries, texts: readonly string[]) =>
    new Map(
      (
        await db.rows<{ id: number; readers: string }>(
          'SELECT id, readers FROM carrel.audience WHERE readers = ANY($1)',
          texts,
        )
      ).map(({ id, readers }) => [readers, id] as const),
    )

  return {
    follow: (last, db) => (last === audiences.lastId ? undefined : read(db)),
    rowsFor: async (source, viewer, page) => {
      const rows: VisibleRows = visibleRows(source, viewer, audiences.admitting)
      if (rows.kind === 'all')
        return source.rows === 'audience' ? { kind: 'counted', counter: counterColumn(source.table) } : rows
      if (rows.kind === 'own') return rows
      const gather = await shouldGather(source.table, rows.ids, page)
      return { ...rows, counter: counterColumn(source.table), gather }
    },
    numbersOf: async texts => {
      const known = await knownNumbers(pool, texts)
      const missing = texts.filter(text => !known.has(text))
      if (missing.length === 0) return known
      return pool.transaction(async db => {
        // One at a time: numbers grow in the order in which they become visible, so that nobody passes one over.
        await db.run('UPDATE carrel.state SET audiences = audiences')
        const before = await knownNumbers(db, texts)
        for (const text of missing.filter(one => !before.has(one)).toSorted()) {
          const sql = `WITH next AS (UPDATE carrel.state SET audiences = audiences + 1 RETURNING audiences)
            INSERT INTO carrel.audience (id, readers) SELECT audiences, $1 FROM next`
          await db.run(sql, text)
        }
        return knownNumbers(db, texts)
      })
    },
  }
}
