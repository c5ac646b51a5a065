import { CsvError, parse } from 'csv-parse'
import { maxLineBytes } from './lines.ts'
import { ImportError } from './source.ts'

/** A row of a CSV file (RFC 4180), with the number of its first line. */
export interface Row {
  readonly line: number
  readonly cells: readonly string[]
}

/**
 * @param lenient rows may have more or fewer cells than the first, and blanks around quoted cells are ignored
 * @throws ImportError naming the line, after the rows before it
 */
export async function* csvRows(text: AsyncIterable<string>, lenient = false): AsyncIterable<Row[]> {
  let rows: Row[] = []
  let line = 1
  let columns: number | undefined
  const parser = parse({
    skip_empty_lines: true,
    relax_column_count: lenient,
    trim: lenient,
    // A quoted cell that never ends would otherwise read the rest of the file into memory.
    max_record_size: maxLineBytes,
    // Collected here and not read from the stream: a stream that fails drops what it has buffered.
    on_record: (cells: string[], { lines }) => {
      columns ??= cells.length
      rows.push({ line, cells })
      // `lines` is the line that the record ends on: quoted cells may contain line breaks.
      line = lines + 1
      return null
    },
  })
  // Each call gets its own error.
  parser.on('error', () => {}).resume()
  const done = (call: (callback: (error?: Error | null) => void) => unknown) =>
    new Promise<void>((resolve, reject) => call(error => (error ? reject(error) : resolve())))
  const take = () => {
    const taken = rows
    rows = []
    return taken
  }
  try {
    for await (const part of text) {
      await done(callback => parser.write(part, callback))
      yield take()
    }
    await done(callback => parser.end(callback))
    yield take()
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    // The rows before the bad line are good.
    yield take()
    throw new ImportError(`line ${error.lines ?? line}: ${explain(error, columns)}`, { cause: error })
  } finally {
    parser.destroy()
  }
}

/** What is wrong with a row, and what would be right. */
function explain(error: CsvError, columns: number | undefined): string {
  const { code, record } = error as CsvError & { readonly record?: unknown }
  if (code === 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH' && Array.isArray(record))
    return `the row and the header differ in length: ${record.length} and ${columns} cells; write a cell that has a comma in double quotes`
  if (code === 'CSV_QUOTE_NOT_CLOSED')
    return 'the file ends within a quoted cell; is the closing double quote missing?'
  if (code === 'INVALID_OPENING_QUOTE')
    return 'a double quote inside a cell that does not begin with one; write the whole cell in double quotes and double those inside'
  if (code === 'CSV_INVALID_CLOSING_QUOTE')
    return 'text after the closing double quote of a cell; double the quotes that belong to the text'
  if (code === 'CSV_MAX_RECORD_SIZE') return 'a row longer than 16 MB; is a closing double quote missing?'
  return error.message
}
