import { parseWritten } from '../../lib/json.ts'
import type { Field, Page } from '../../model/entities.ts'
import { equality } from '../../model/operators/list.ts'
import { type Condition, isWholeField, type Plan, type TextQuery } from '../../model/plan.ts'
import { plansIn, termsOf } from '../../model/plan-fields.ts'
import { highlight } from '../../model/text-query.ts'
import type { Listing } from '../entities.ts'

/** @param count of the records or rows; null: unknown @param tells true if the answer includes the total */
export const listingOf = (
  { offset, limit }: Page,
  count: number | null,
  tells: boolean,
  body: Listing['body'],
): Listing => ({
  total: tells && count !== null ? count : undefined,
  more: limit === null || count === null ? undefined : offset + limit < count,
  body,
})

/** False if the plan lists all visible rows of a table as they are. */
export const isFiltered = ({ where, shape }: Plan): boolean => where !== null || shape.kind === 'rows'

/** The columns of a table in CSV: fields of the records, or columns of the rows. */
export const csvFields = ({ entity, shape }: Plan): readonly Field[] =>
  shape.kind === 'records'
    ? entity.fields
    : shape.columns.map(({ name, type }) => ({ name, type, nullable: true }))

/** True if each row shows one record, in the order of the records' values. */
export const isOfRecords = (shape: Plan['shape']): boolean =>
  shape.kind === 'records' ||
  (shape.groups === null &&
    shape.having === null &&
    !shape.distinct &&
    shape.columns.every(({ value }) => value.kind !== 'aggregate'))

/** Maximum number of keys that are looked up one by one. */
const maxKeys = 100

/**
 * True if the condition leaves so few records, found by their key, that the plan takes no time.
 * @param most maximum number of keys in a list
 */
export function isByKey({ entity, where }: Pick<Plan, 'entity' | 'where'>, most = maxKeys): boolean {
  const terms = termsOf(where)
  const isNamed = (name: string) => terms.some(term => names(term, name, most))
  return terms.length > 0 && [entity.key].flat().every(isNamed) && plansIn(where).length === 0
}

/** True if the condition lists the values that the field may have. */
function names(condition: Condition, name: string, most: number): boolean {
  const equal = equality(condition)
  if (!equal || equal.negated || equal.values.length > most) return false
  return equal.field.name === name && isWholeField(equal.field)
}

/** A member of rows whose text is shown with marks. */
export interface Highlighted {
  readonly name: string
  readonly words: TextQuery
}

/** The columns in which matches are marked. */
export const highlightsIn = ({ shape }: Pick<Plan, 'shape'>): readonly Highlighted[] =>
  shape.kind === 'records'
    ? []
    : shape.columns.flatMap(({ name, value }) =>
        value.kind === 'highlight' ? [{ name, words: value.words }] : [],
      )

/**
 * Marks matches in rows that an engine has read, because statements return plain text.
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
