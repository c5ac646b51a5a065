import {
  carriageReturn,
  closedEarly,
  isLong,
  lineBreaksIn,
  lineFeed,
  mayBeText,
  quotingFault,
  type Reading,
  type Row,
  unevenRow,
} from './csv-text.ts'
import { ImportError } from './import-error.ts'
import { maxLineBytes, NotUtf8, utf8Text } from './utf8.ts'

/**
 * Maximum number of cells of a row, because a cell takes several times as much memory
 * as the delimiter after it.
 */
const maxCells = 100_000

/**
 * Iterates over the rows of a table. LF, CRLF and CR end a row anywhere outside quotes, and count as
 * a line break everywhere.
 * @throws ImportError naming the line, after the rows before it
 */
export async function* csvRows(chunks: AsyncIterable<Buffer>, reading: Reading): AsyncIterable<Row[]> {
  const reader = new RowReader(reading)
  try {
    for await (const text of utf8Text(chunks)) {
      reader.read(text, false)
      yield reader.take()
      reader.throwIfWrong()
    }
    reader.read('', true)
  } catch (error) {
    if (!(error instanceof NotUtf8)) throw error
    yield reader.take()
    throw error.at(reader.end(), !reading.isUtf8)
  }
  yield reader.take()
  reader.throwIfWrong()
}

/** @returns the complete rows at the beginning of a text, up to the first faulty one */
export function firstRows(text: string, isWhole: boolean, reading: Reading, most: number): readonly Row[] {
  const reader = new RowReader(reading)
  reader.read(text, isWhole, most)
  const rows = reader.take()
  if (rows.length > 0 || isWhole) return rows
  reader.read('', true, 1)
  return reader.take()
}

const quote = 0x22

/** Cuts text into rows as it arrives. */
class RowReader {
  readonly #delimiter: number
  /** The code of the quote; -1 if quotes are text. */
  readonly #quote: number
  readonly #lenient: boolean
  readonly #reading: Reading
  #rows: Row[] = []
  #columns: number | undefined
  /** The text of the row that isn't complete yet, and of what follows it. */
  #text = ''
  /** The line on which this text begins. */
  #line = 1
  #isFirst = true
  /**
   * Length of the text at which reading is tried again, so that a long row isn't read from
   * its start with each piece.
   */
  #tryAt = 0
  #wrong: ImportError | undefined

  constructor(reading: Reading) {
    this.#reading = reading
    this.#delimiter = reading.delimiter.charCodeAt(0)
    this.#quote = reading.quote === 'none' ? -1 : quote
    this.#lenient = reading.lenient ?? false
  }

  /** Reads a piece of text. @param isEnd true if nothing follows @param most maximum number of rows */
  read(piece: string, isEnd: boolean, most = Number.POSITIVE_INFINITY): void {
    if (this.#wrong) return
    this.#text += piece
    if (this.#isFirst) {
      if (!isEnd && this.#text.length < longestSeparatorLine) return
      this.#skipSeparatorLine()
    }
    if (!isEnd && this.#text.length < this.#tryAt && this.#text.length < maxLineBytes) return
    try {
      this.#cut(isEnd, most)
    } catch (error) {
      if (!(error instanceof ImportError)) throw error
      this.#wrong = error
    }
    this.#tryAt = 2 * this.#text.length
  }

  /** @returns the rows read since the last call */
  take(): Row[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  throwIfWrong(): void {
    if (this.#wrong) throw this.#wrong
  }

  /** Returns the line and column after everything that was read. */
  end(): { readonly line: number; readonly column: number } {
    const start = Math.max(this.#text.lastIndexOf('\n'), this.#text.lastIndexOf('\r')) + 1
    return {
      line: this.#line + lineBreaksIn(this.#text, 0, this.#text.length),
      column: this.#text.length - start + 1,
    }
  }

  /** Skips Excel's line `sep=;`, which precedes the header and is not a row. */
  #skipSeparatorLine(): void {
    this.#isFirst = false
    const [line] = separatorLine.exec(this.#text) ?? []
    if (line === undefined) return
    this.#text = this.#text.slice(line.length)
    this.#line++
  }

  #cut(isEnd: boolean, most: number): void {
    const text = this.#text
    const delimiter = this.#delimiter
    const lenient = this.#lenient
    const quote = this.#quote
    const end = text.length
    /** Position and line at which the current row begins. */
    let start = 0
    let line = this.#line
    let at = 0
    /** Position at which an unfinished quoted cell begins; -1 if there is none. */
    let open = -1

    rows: while (at < end && this.#rows.length < most) {
      const cells: string[] = []
      let breaks = 0
      let isBlank = true
      let isEnclosed = false
      let isQuoted = false
      let isProven = false
      /** True if a quoted cell holds a delimiter or a line break. */
      let holds = false
      for (;;) {
        let cell: string
        let from = at
        if (lenient) while (from < end && this.#isBlank(text, from)) from++
        if (text.charCodeAt(from) === quote) {
          isBlank = false
          let close = text.indexOf('"', from + 1)
          let isDoubled = false
          // Two double quotes stand for one.
          while (close >= 0 && text.charCodeAt(close + 1) === quote) {
            isDoubled = true
            close = text.indexOf('"', close + 2)
          }
          if (close < 0 || (close + 1 === end && !isEnd)) {
            open = from
            break rows
          }
          cell = text.slice(from + 1, close)
          isQuoted = true
          isProven ||= isDoubled
          if (isDoubled) cell = cell.replaceAll('""', '"')
          const inside = lineBreaksIn(text, from + 1, close)
          breaks += inside
          const hasDelimiter = cell.includes(this.#reading.delimiter)
          isEnclosed ||= inside > 0 && hasDelimiter
          holds ||= inside > 0 || hasDelimiter
          at = close + 1
          if (lenient) while (at < end && this.#isBlank(text, at)) at++
          if (at < end && !this.#endsCell(text.charCodeAt(at)))
            throw closedEarly(
              line + lineBreaksIn(text, start, from),
              line + lineBreaksIn(text, start, close),
              this.#reading.delimiter,
            )
        } else {
          from = at
          for (; at < end; at++) {
            const code = text.charCodeAt(at)
            if (code === delimiter || code === lineFeed || code === carriageReturn) break
            if (code === quote)
              throw quotingFault(
                line + lineBreaksIn(text, start, at),
                `a double quote inside a cell that does not begin with one; write the whole cell in double quotes and double those inside`,
                this.#reading.delimiter,
              )
          }
          cell = text.slice(from, at)
          if (lenient) cell = cell.trim()
          if (cell !== '') isBlank = false
        }
        // The cell may continue, or its CR may be half of a CRLF.
        if (!isEnd && (at === end || (at + 1 === end && text.charCodeAt(at) === carriageReturn))) break rows
        if (cells.push(cell) > maxCells)
          throw new ImportError(
            `a row of more than ${maxCells.toLocaleString('en')} cells; is a line break missing?`,
            { line },
          )
        if (text.charCodeAt(at) !== delimiter || at >= end) break
        at++
      }
      const row = text.slice(start, at)
      if (isEnclosed) this.#reading.enclosed?.(line, this.#isEven(row, cells.length))
      if (isQuoted && this.#reading.proven && cells.length === (this.#columns ?? cells.length)) {
        if (this.#columns === undefined) isProven ||= breaks === 0
        if (isProven || (holds && !this.#isEven(row, cells.length))) this.#reading.proven()
      }
      at += text.charCodeAt(at) === carriageReturn && text.charCodeAt(at + 1) === lineFeed ? 2 : 1
      if (!isBlank || cells.length > 1) this.#add({ line, cells }, row)
      line += breaks + 1
      start = at
    }
    this.#line = line
    this.#text = text.slice(start)
    if (open >= 0) this.#throwIfOpen(line + lineBreaksIn(text, start, open), isEnd)
    else if (isLong(this.#text)) throw new ImportError(`a row longer than 16 MB`, { line })
  }

  /** @param text of the row, with its quotes */
  #add(row: Row, text: string): void {
    this.#columns ??= row.cells.length
    const { short, delimiter } = this.#reading
    const isFewer = row.cells.length < this.#columns
    if (isFewer && short && row.cells.length === 1 && row.cells[0]?.trim() === '') return
    const split = isFewer && this.#quote >= 0 && text.includes('"') ? text.split(delimiter).length : undefined
    const isShort = isFewer && short !== undefined && !mayBeText(this.#reading, this.#columns, split)
    if (isShort) short(row.line, this.#columns - row.cells.length)
    if (isShort || row.cells.length === this.#columns || this.#lenient) {
      this.#rows.push(row)
      return
    }
    const error = unevenRow(row, this.#columns, this.#reading, split)
    if (!this.#reading.refuse) throw error
    this.#reading.refuse(error)
  }

  /** @param row text of a row @param cells number of its cells */
  #isEven(row: string, cells: number): boolean {
    const columns = this.#columns ?? cells
    return row.split(/\r\n|\n|\r/).every(line => line.split(this.#reading.delimiter).length === columns)
  }

  #throwIfOpen(line: number, isEnd: boolean): void {
    if (!isEnd && !isLong(this.#text)) return
    const where = isEnd ? 'before the file does' : 'within 16 MB'
    throw quotingFault(
      line,
      `the quoted value that begins here doesn't end ${where}; is its closing double quote missing?`,
      this.#reading.delimiter,
    )
  }

  #endsCell(code: number): boolean {
    return code === this.#delimiter || code === lineFeed || code === carriageReturn
  }

  /** True for white space within a row, including byte-order marks. */
  #isBlank(text: string, at: number): boolean {
    const code = text.charCodeAt(at)
    return !this.#endsCell(code) && (code === 0x20 || code === 0x09 || code === 0xa0 || code === 0xfeff)
  }
}

/**
 * The separator line, which Microsoft's spreadsheets write and read if the delimiter is not
 * the country's usual one.
 */
export const separatorLine = /^(?:sep=([,;\t|])|"sep=([,;\t|])")(?:\r\n|\n|\r)/i
const longestSeparatorLine = '"sep=;"\r\n'.length
