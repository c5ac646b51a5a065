import type * as csvParse from 'csv-parse'
import { onDemand } from '../lib/on-demand.ts'
import { quoteFault, rowWithMoreThan } from './csv-quotes.ts'
import { ImportError } from './import-error.ts'
import { LongLine, maxLineBytes } from './lines.ts'

const library = onDemand<typeof csvParse>('csv-parse')

/** A row of a CSV file (RFC 4180), with the number of its first line. */
export interface Row {
  readonly line: number
  readonly cells: readonly string[]
}

/** A cell takes several times as much memory as the comma after it. */
const maxCells = 100_000
/** Rows of fewer bytes have their cells counted by nobody. */
const longRow = 1024 * 1024

interface Leniency {
  /** Rows may have more or fewer cells than the first, and blanks around quoted cells are ignored. */
  readonly lenient?: boolean
  /** Is told of each row that differs from the first in length, which is left out. */
  readonly refuse?: (error: ImportError) => void
}

/**
 * @param lines whole lines in UTF-8, without a byte-order mark
 * @throws ImportError naming the line, after the rows before it
 */
export async function* csvRows(
  lines: AsyncIterable<Buffer>,
  { lenient = false, refuse }: Leniency = {},
): AsyncIterable<Row[]> {
  let uneven: ImportError | undefined
  let rows: Row[] = []
  let columns: number | undefined
  const place = new RowPlace(lenient)
  const parser = library().parse({
    skip_empty_lines: true,
    // They are compared below, where the parser goes on after a row of another length.
    relax_column_count: true,
    trim: lenient,
    // Collected here and not read from the stream: a stream that fails drops what it has buffered.
    on_record: (cells: string[], { bytes }) => {
      columns ??= cells.length
      const { line } = place
      if (!lenient && cells.length !== columns) {
        const error = unevenRow(line, cells.length, columns)
        if (refuse) refuse(error)
        else uneven ??= error
      } else if (!uneven) rows.push({ line, cells })
      place.next(bytes)
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
    for await (const part of lines) {
      place.add(part)
      const wide = place.row.length > longRow ? rowWithMoreThan(maxCells, place.row) : undefined
      if (wide !== undefined)
        throw new ImportError(
          `line ${place.lineAt(wide)}: a row of more than ${maxCells.toLocaleString('en')} cells; is a line break missing?`,
        )
      await done(callback => parser.write(part, callback))
      yield take()
      if (uneven) throw uneven
      if (place.row.length > maxLineBytes) throw new LongLine(`line ${place.line}: a row longer than 16 MB`)
    }
    await done(callback => parser.end(callback))
    yield take()
    if (uneven) throw uneven
  } catch (error) {
    if (!(error instanceof library().CsvError || error instanceof LongLine)) throw error
    // The rows before the bad line are good.
    yield take()
    throw new ImportError(explain(error, place, lenient), { cause: error })
  } finally {
    parser.destroy()
  }
}

/** Where the parser is. It doesn't count the lines inside of quoted cells as others do, nor say where a row begins. */
class RowPlace {
  /** The bytes from the start of the row that isn't whole yet. */
  row: Buffer = Buffer.alloc(0)
  /** The line that the row begins on. */
  line = 1
  /** How many bytes are before it. */
  #start = 0
  /** Old Macs ended their lines with a carriage return. */
  #lineBreak = 0x0a
  readonly #skipsBlanks: boolean

  constructor(lenient: boolean) {
    this.#skipsBlanks = lenient
  }

  /** Adds what the parser gets. */
  add(part: Buffer): void {
    const isFirst = this.#start === 0 && this.row.length === 0
    if (isFirst && !part.includes(0x0a)) this.#lineBreak = 0x0d
    this.row = this.row.length === 0 ? part : Buffer.concat([this.row, part])
    this.#skipEmptyLines()
  }

  /** @param end how many bytes there are before the next row */
  next(end: number): void {
    this.#pass(end - this.#start)
    this.#skipEmptyLines()
  }

  /** @returns the line that this byte of the row is in */
  lineAt(offset: number): number {
    let line = this.line
    // Rows are so short that a call for each line break takes longer.
    for (let at = 0; at < offset; at++) if (this.row[at] === this.#lineBreak) line++
    return line
  }

  #pass(bytes: number): void {
    this.line = this.lineAt(bytes)
    this.row = this.row.subarray(bytes)
    this.#start += bytes
  }

  #skipEmptyLines(): void {
    let end = 0
    for (let at = 0; at < this.row.length; at++) {
      const byte = this.row[at]
      if (byte === 0x0a || byte === 0x0d) end = at + 1
      else if (!this.#skipsBlanks || (byte !== 0x20 && byte !== 0x09)) break
    }
    if (end > 0) this.#pass(end)
  }
}

/** What is wrong with a row, where that begins, and what would be right. */
function explain(error: csvParse.CsvError | LongLine, place: RowPlace, lenient: boolean): string {
  const fault = quoteFault(place.row, lenient)
  const line = place.lineAt(fault?.from ?? 0)
  if (fault?.kind === 'open')
    return error instanceof LongLine
      ? `line ${line}: the quoted value that begins here doesn't end within 16 MB; is its closing double quote missing?`
      : `line ${line}: the quoted value that begins here doesn't end before the file does; is its closing double quote missing?`
  if (error instanceof LongLine) return error.message
  if (fault?.kind === 'closed early') {
    const end = place.lineAt(fault.to)
    return end === line
      ? `line ${line}: text after the closing double quote of a cell; double the quotes that belong to the text`
      : `line ${line}: the quoted value that begins here ends on line ${end}, where text follows its double quote; is a closing double quote missing before? Double the quotes that belong to the text`
  }
  if (fault?.kind === 'inside')
    return `line ${line}: a double quote inside a cell that does not begin with one; write the whole cell in double quotes and double those inside`
  if (error.code === 'CSV_INVALID_CLOSING_QUOTE')
    return `line ${line}: the row ends in another line break than the first one does; use the same ones (LF or CRLF) in the whole file`
  return `line ${line}: ${error.message}`
}

const unevenRow = (line: number, cells: number, columns: number): ImportError =>
  new ImportError(
    `line ${line}: the row and the header differ in length: ${cells} and ${columns} cells; write a cell that has a comma in double quotes`,
  )
