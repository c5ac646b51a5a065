import type { Quoting } from '../model/recipes.ts'
import { firstRows, separatorLine } from './csv-rows.ts'
import { type Delimiter, delimiterIn, delimiters } from './delimiters.ts'

/** Number of rows examined, including the header. */
const rowsLookedAt = 20

/**
 * Guesses the delimiter of a table: the one that gives the most columns, and as many in the
 * first rows as in the header.
 * @param text the beginning of the table
 * @param isWhole true if nothing follows
 * @param key columns that the table should have
 */
export function guessDelimiter(
  text: string,
  isWhole: boolean,
  key: readonly string[] = [],
  candidates: readonly Delimiter[] = delimiters,
  quote?: Quoting,
): Delimiter {
  const [, plain, quoted] = separatorLine.exec(text) ?? []
  const said = plain ?? quoted
  if (said !== undefined) return delimiterIn(said) ?? ','
  const [best] = candidates
    .map((delimiter, at) => {
      const widths: number[] = []
      const reading = { delimiter, quote, lenient: true }
      const rows = firstRows(text, isWhole, reading, rowsLookedAt)
      for (const { cells } of rows) widths.push(cells.length)
      const [columns = 0] = widths
      const isEven = widths.every(width => width === columns)
      const hasKey = key.every(name => rows[0]?.cells.includes(name))
      return { delimiter, columns, rank: [Number(hasKey), Number(isEven), columns, -at] }
    })
    .filter(({ columns }) => columns > 1)
    .toSorted((one, other) => compare(other.rank, one.rank))
  return best?.delimiter ?? ','
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((value, place) => value !== other[place])
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0)
}
