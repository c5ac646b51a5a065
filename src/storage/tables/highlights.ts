import { parseWritten } from '../../lib/json.ts'
import type { TextQuery } from '../../model/plan.ts'
import { highlight } from '../../model/text-query.ts'

/** A member of rows whose text is shown with marks. */
export interface Highlighted {
  readonly name: string
  readonly words: TextQuery
}

/**
 * Marks what was found in rows that an engine has read: a statement shows the plain text of such a column.
 * @param rows JSON objects, joined by commas
 */
export function highlightRows(rows: string, columns: readonly Highlighted[]): string {
  if (columns.length === 0) return rows
  const marked = (parseWritten(`[${rows}]`) as Record<string, unknown>[]).map(row => {
    for (const { name, words } of columns) {
      const text = row[name]
      if (typeof text === 'string') row[name] = highlight(text, words)
    }
    return JSON.stringify(row)
  })
  return marked.join(',')
}
