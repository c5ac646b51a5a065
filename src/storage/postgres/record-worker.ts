import { lowerPriority, serveThread } from '../../lib/threads/thread.ts'
import type { Field } from '../../model/entities.ts'
import { csvLines } from '../../model/record-format.ts'
import { recordWork } from '../columns/work.ts'
import { limitStatements } from '../runtime/limits.ts'
import { type Highlighted, highlightRows } from '../tables/plan-shape.ts'

/** Long-running work on records, off the thread that answers requests. */
lowerPriority(10)

const handlers = {
  ...recordWork,

  /** @param rows each or some of them, joined by commas */
  highlight: (rows: readonly string[], columns: readonly Highlighted[]) =>
    rows.map(row => highlightRows(row, columns)),

  /** @param json records joined by commas */
  csv(json: string, fields: readonly Field[]) {
    return csvLines(json, fields)
  },
}

export type WorkerHandlers = typeof handlers

serveThread(({ statementTimeout }: { readonly statementTimeout: number }) => {
  limitStatements(statementTimeout)
  return { handlers, close: () => {} }
})
