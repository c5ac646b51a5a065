import type { Client } from '../../lib/fair-queue.ts'
import { whilePresent } from '../runtime/limits.ts'
import type { TablePlan } from './compile.ts'
import type { ReaderThreads } from './reader-threads.ts'

/** A page that reads more rows than this, those that it skips or sorts included, may take long. */
export const nearby = 10_000

/** What a page is of. */
interface Wanted {
  /** The store. */
  readonly file: string
  readonly plan: TablePlan
  readonly separator: string
  /** Whether it is known to take long. Else its thread finds out how many rows it reads. */
  readonly isLong: boolean
}

/** Reads a short page on a reader thread; one that may take long waits for the client's turn. */
export async function readPage(
  readerThreads: ReaderThreads,
  { file, plan, separator, isLong }: Wanted,
  client: Client,
) {
  const quick = isLong
    ? null
    : await whilePresent(client, stop =>
        readerThreads.quick().call('quickPage', file, plan, separator, nearby, stop),
      )
  return (
    quick ??
    readerThreads.long(client, reader =>
      whilePresent(client, stop => reader.call('page', file, plan, separator, stop)),
    )
  )
}
