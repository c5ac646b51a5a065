import { pipeline, Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { ImportError } from './source.ts'

/** The rows of a CSV file (RFC 4180), some at a time, each with the number of its first line. */
export interface Row {
  readonly line: number
  readonly cells: readonly string[]
}

const rowsAtOnce = 1_000

/**
 * @param ragged rows may have more or fewer cells than the first
 * @throws ImportError naming the line
 */
export async function* csvRows(text: AsyncIterable<string>, ragged = false): AsyncIterable<Row[]> {
  // What goes wrong on the way comes out of the parser; the callback has nothing left to do.
  const parser = pipeline(
    Readable.from(text),
    parse({ info: true, skip_empty_lines: true, relax_column_count: ragged }),
    () => {},
  )
  let rows: Row[] = []
  let line = 1
  let failure: ImportError | undefined
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: string[]
      info: { lines: number }
    }>) {
      rows.push({ line, cells: record })
      // `lines` is where the record ended: quoted cells may hold line ends.
      line = info.lines + 1
      if (rows.length < rowsAtOnce) continue
      yield rows
      rows = []
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    failure = new ImportError(`line ${error.lines ?? line}: ${error.message}`, { cause: error })
  }
  // Those before the bad line are good.
  yield rows
  if (failure) throw failure
}
