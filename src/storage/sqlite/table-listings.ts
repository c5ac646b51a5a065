import type { Counter } from '../../lib/counter.ts'
import type { Client } from '../../lib/fair-queue.ts'
import type { Page } from '../../model/entities.ts'
import type { Plan } from '../../model/plan.ts'
import { isShortPage, type RecordFormat, separators } from '../../model/record-format.ts'
import type { Listing } from '../entities.ts'
import { stepsAsJson } from '../plans/explain.ts'
import { whilePresent } from '../runtime/limits.ts'
import { csvFields, isByKey, listingOf } from '../tables/plan-shape.ts'
import { compileTable, type Statement, type TablePlan, type Visible } from './compile.ts'
import type { StoreFile } from './cursor.ts'
import type { Database } from './driver.ts'
import type { Reader, ReaderThreads } from './threads.ts'

/** Number of rows, skipped and sorted ones included, beyond which reading a page may take long. */
const nearby = 10_000

interface Parts {
  readonly store: StoreFile
  readonly db: Database
  readonly readerThreads: ReaderThreads
  /** Counts long listings. */
  readonly listings: Counter
}

/**
 * Lists entities that are tables, always on reader threads. A long listing uses a cursor, which advances as
 * fast as the client reads.
 */
export function createTableListings({ store, db, readerThreads, listings }: Parts) {
  const hasToSort = createSorting(db)
  const kindOf = ({ entity: { source } }: Plan, visible: Visible) =>
    source.kind === 'table' ? visible(source).kind : source.kind

  /** The number of rows that a condition reads is unknown, unless it names the key. */
  const mayTakeLong = (plan: Plan, visible: Visible, compiled: TablePlan) =>
    plan.where === null && plan.shape.kind === 'records'
      ? plan.page.offset > nearby || hasToSort(plan, kindOf(plan, visible), compiled)
      : !isByKey(plan)

  async function explainPlan(plan: Plan, visible: Visible, client: Client, runs: boolean) {
    const compiled = compileTable(plan, visible)
    const { sql, ...steps } = await readerThreads.long(client, reader =>
      whilePresent(client, stop => reader.call('explain', store.file, compiled, runs, stop)),
    )
    return stepsAsJson(plan, sql, steps)
  }

  async function list(plan: Plan, visible: Visible, format: RecordFormat, client: Client): Promise<Listing> {
    const { page } = plan
    const compiled = compileTable(plan, visible)
    const tells = page.total || !compiled.isFiltered
    if (isShortPage(page, format)) {
      const read = async (reader: Reader, most: number) =>
        whilePresent(client, stop =>
          reader.call('page', store.file, compiled, separators[format], most, stop),
        )
      // The quick thread finds out if the page reads many rows; then the page waits for the client's turn.
      const quick = mayTakeLong(plan, visible, compiled) ? null : await read(readerThreads.quick(), nearby)
      const found =
        quick ?? (await readerThreads.long(client, reader => read(reader, Number.POSITIVE_INFINITY)))
      return listingOf(page, found?.total ?? null, tells, found?.body ?? new Uint8Array())
    }

    const { reader, cursor, total } = await readerThreads.long(client, reader =>
      whilePresent(client, async stop => ({
        reader,
        ...(await reader.call('open', store, compiled, format, csvFields(plan), stop)),
      })),
    )
    return listingOf(page, total, tells, pieces(reader, cursor, client))
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
  return { list, explain: explainPlan }
}

/** @returns a function that tells if rows are sorted after they were read, as no index has their order */
function createSorting(db: Database) {
  /** Results of `hasToSort`, by the order, and by the entity and its visible rows. */
  const sorting = new WeakMap<Page['order'], Map<string, boolean>>()

  // https://sqlite.org/eqp.html: "USE TEMP B-TREE FOR ORDER BY", or for its last terms.
  const sorts = ({ sql, values }: Statement) =>
    db
      .all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values)
      .filter(({ detail }) => /^USE TEMP B-TREE/.test(detail)).length

  return ({ entity, page }: Plan, kind: string, { scan, audiences }: TablePlan): boolean => {
    if (page.order.length === 0) return false
    const known = sorting.get(page.order) ?? new Map<string, boolean>()
    sorting.set(page.order, known)
    const isMerged = audiences > 1
    const key = `${entity.name} ${kind} ${isMerged}`
    // Merged rows are sorted anyway, but they are few.
    const found = known.get(key) ?? sorts(scan.page) > Number(isMerged)
    known.set(key, found)
    return found
  }
}
