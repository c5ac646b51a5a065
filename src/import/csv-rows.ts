import { CsvError, parse } from 'csv-parse'
import { ImportError } from './source.ts'

/** The rows of a CSV file (RFC 4180), some at a time, each with the number of its first line. */
export interface Row {
  readonly line: number
  readonly cells: readonly string[]
}

/**
 * @param lenient rows may have more or fewer cells than the first, and blanks around quoted cells count for nothing
 * @throws ImportError naming the line, after the rows before it
 */
export async function* csvRows(text: AsyncIterable<string>, lenient = false): AsyncIterable<Row[]> {
  let rows: Row[] = []
  let line = 1
  const parser = parse({
    skip_empty_lines: true,
    relax_column_count: lenient,
    trim: lenient,
    // Kept here, not in the stream: a stream that fails drops what was not taken from it.
    on_record: (cells: string[], { lines }) => {
      rows.push({ line, cells })
      // `lines` is where the record ended: quoted cells may hold line ends.
      line = lines + 1
      return null
    },
  })
  // Each call is told of its own failure.
  parser.on('error', () => {}).resume()
  const done = (call: (told: (error?: Error | null) => void) => unknown) =>
    new Promise<void>((resolve, reject) => call(error => (error ? reject(error) : resolve())))
  const take = () => {
    const taken = rows
    rows = []
    return taken
  }
  try {
    for await (const part of text) {
      await done(told => parser.write(part, told))
      yield take()
    }
    await done(told => parser.end(told))
    yield take()
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    yield take()
    throw new ImportError(`line ${error.lines ?? line}: ${error.message}`, { cause: error })
  } finally {
    parser.destroy()
  }
}
