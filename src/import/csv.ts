import { parseExact } from '../lib/json.ts'
import { csvRows } from './csv-rows.ts'
import type { ReadRecord } from './json-lines.ts'
import { readLines } from './lines.ts'
import { ImportError, type Source } from './source.ts'

/**
 * CSV (RFC 4180, with byte-order mark and any line end). Cells have no types, so the file is read twice: once to find
 * what all the values of each column are, once to make the records. An empty cell is null.
 */
export async function* readCsv(source: Source): AsyncIterable<ReadRecord[]> {
  const columns: Column[] = []
  for await (const rows of readRows(source))
    for (const { line, cells } of rows)
      if (columns.length === 0) columns.push(...readHeader(cells, line))
      else for (const [at, cell] of cells.entries()) narrow(columns[at], cell)

  let isHeader = true
  for await (const rows of readRows(source)) {
    const records: ReadRecord[] = []
    for (const { line, cells } of rows) {
      if (!isHeader)
        records.push({
          line,
          record: Object.fromEntries(
            columns.map((column, at) => [column.name, toValue(column, cells[at] ?? '')]),
          ),
        })
      isHeader = false
    }
    yield records
  }
}

/** The names of the columns, for a file without rows. */
export async function csvColumns(source: Source): Promise<string[]> {
  for await (const [header] of readRows(source))
    if (header) return readHeader(header.cells, header.line).map(column => column.name)
  return []
}

interface Column {
  readonly name: string
  kind: 'unknown' | 'integer' | 'number' | 'boolean' | 'text'
}

function readHeader(cells: readonly string[], line: number): Column[] {
  return cells.map((name, at) => {
    if (name === '') throw new ImportError(`line ${line}: column ${at + 1} has no name`)
    if (cells.indexOf(name) !== at)
      throw new ImportError(`line ${line}: two columns are called ${JSON.stringify(name)}`)
    return { name, kind: 'unknown' }
  })
}

function narrow(column: Column | undefined, cell: string): void {
  if (!column || column.kind === 'text' || cell === '') return
  const kind = kindOf(cell)
  if (column.kind === 'unknown') column.kind = kind
  else if (column.kind !== kind) {
    const bothNumbers = kind !== 'text' && kind !== 'boolean' && column.kind !== 'boolean'
    column.kind = bothNumbers ? 'number' : 'text'
  }
}

/** Only what JSON would print the same way is a number: 007 and +1 are texts, and so is everything that looks like a date. */
function kindOf(cell: string): 'integer' | 'number' | 'boolean' | 'text' {
  if (/^-?(0|[1-9]\d*)$/.test(cell)) return 'integer'
  if (/^-?(0|[1-9]\d*)\.\d+$/.test(cell)) return 'number'
  if (/^(true|false)$/i.test(cell)) return 'boolean'
  return 'text'
}

function toValue(column: Column, cell: string): unknown {
  if (cell === '') return null
  if (column.kind === 'integer' || column.kind === 'number') return parseExact(cell)
  if (column.kind === 'boolean') return cell.toLowerCase() === 'true'
  return cell
}

async function* textOf(source: Source): AsyncIterable<string> {
  for await (const { text } of readLines(source.open())) yield text
}

const readRows = (source: Source) => csvRows(textOf(source))
