import { parseExact } from '../lib/json.ts'
import type { FieldType } from '../model/entities.ts'
import { csvRows } from './csv-rows.ts'
import type { Faults } from './faults.ts'
import { maxFields } from './field-list.ts'
import { ImportError } from './import-error.ts'
import type { ReadRecord } from './json-lines.ts'
import { readLines } from './lines.ts'
import type { Source } from './source.ts'

/**
 * CSV (RFC 4180; a byte-order mark and any line ending are accepted). Cells have no types, so the file is read twice: first
 * to find the type of each column, then to make the records. An empty cell is null.
 * @param types columns whose type is given
 * @param faults receives each row of another length than the header, and each cell that is not what its column is declared as
 * @param progress called with the share that is done of both readings together
 */
export async function* readCsv(
  source: Source,
  types: ReadonlyMap<string, FieldType>,
  faults: Faults,
  progress: (share: number) => void,
): AsyncIterable<ReadRecord[]> {
  const columns: Column[] = []
  const refuse = (error: ImportError) => faults.add(error)
  let read = 0
  for await (const rows of readRows(source, { refuse, progress: share => progress(share / 2) })) {
    for (const { line, cells } of rows)
      if (columns.length === 0) columns.push(...readHeader(cells, line, types))
      else for (const [at, cell] of cells.entries()) narrow(columns[at], cell)
    read += rows.length
    faults.throwIfEnough(read)
  }

  let isHeader = true
  // Uneven rows are known by now.
  for await (const rows of readRows(source, {
    refuse: () => {},
    progress: share => progress(0.5 + share / 2),
  })) {
    const records: ReadRecord[] = []
    for (const { line, cells } of rows) {
      if (!isHeader)
        records.push({
          line,
          record: Object.fromEntries(
            columns.map((column, at) => [column.name, toValue(column, cells[at] ?? '', line, refuse)]),
          ),
        })
      isHeader = false
    }
    yield records
  }
}

/**
 * The names of the columns, even if the file has no rows.
 * @param key names that the operator gave: a column with such a name is intended
 * @throws ImportError for a file whose cells are separated by something other than commas
 */
export async function csvColumns(source: Source, key: readonly string[]): Promise<string[]> {
  for await (const [header] of readRows(source)) {
    if (!header) continue
    const names = readHeader(header.cells, header.line, new Map()).map(column => column.name)
    const [only = ''] = names
    const separator = /[;\t]/.exec(only)?.[0]
    if (names.length === 1 && separator !== undefined && !key.includes(only))
      throw new ImportError(
        `line ${header.line}: there is one column, ${JSON.stringify(only)}; its cells seem to be separated by ${separator === ';' ? 'semicolons' : 'tabs'}: separate them by commas, for example by saving the table as CSV (comma delimited)`,
      )
    return names
  }
  return []
}

interface Column {
  readonly name: string
  /** Whether the operator gave the type; values don't change it then. */
  readonly declared: boolean
  kind: 'unknown' | FieldType
}

function readHeader(cells: readonly string[], line: number, types: ReadonlyMap<string, FieldType>): Column[] {
  if (cells.length > maxFields)
    throw new ImportError(
      `line ${line}: there are ${cells.length.toLocaleString('en')} columns, and at most ${maxFields.toLocaleString('en')} are taken; put those that vary into one column, as JSON`,
    )
  return cells.map((name, at) => {
    if (name === '')
      throw new ImportError(`line ${line}: column ${at + 1} has no name; the first line names the columns`)
    if (cells.indexOf(name) !== at)
      throw new ImportError(
        `line ${line}: two columns are called ${JSON.stringify(name)}; give each a name of its own`,
      )
    return { name, declared: types.has(name), kind: types.get(name) ?? 'unknown' }
  })
}

function narrow(column: Column | undefined, cell: string): void {
  if (!column || column.declared || column.kind === 'text' || cell === '') return
  const kind = kindOf(cell)
  if (column.kind === 'unknown') column.kind = kind
  else if (column.kind !== kind) {
    const bothNumbers = kind !== 'text' && kind !== 'boolean' && column.kind !== 'boolean'
    column.kind = bothNumbers ? 'number' : 'text'
  }
}

/** A cell is a number only if JSON would print it the same way: 007 and +1 are text, and so are dates. */
function kindOf(cell: string): 'integer' | 'number' | 'boolean' | 'text' {
  if (/^-?(0|[1-9]\d*)$/.test(cell)) return 'integer'
  if (/^-?(0|[1-9]\d*)\.\d+$/.test(cell)) return 'number'
  if (/^(true|false)$/i.test(cell)) return 'boolean'
  return 'text'
}

/** A cell that doesn't fit the declared type of its column stays text, and is refused when the record is staged. */
function toValue(
  { name, kind, declared }: Column,
  cell: string,
  line: number,
  refuse: (error: ImportError) => void,
): unknown {
  if (cell === '') return null
  if (declared && kind === 'json') return parseCell(name, cell, line, refuse)
  if (kind === 'integer' || kind === 'number')
    return !declared || isNumber.test(cell) ? parseExact(cell) : cell
  if (kind === 'boolean') return /^true$/i.test(cell) || (/^false$/i.test(cell) ? false : cell)
  return cell
}

/** A number as JSON writes it (RFC 8259 §6). */
const isNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/

function parseCell(name: string, cell: string, line: number, refuse: (error: ImportError) => void): unknown {
  try {
    return parseExact(cell)
  } catch (error) {
    refuse(
      new ImportError(
        `line ${line}: the column ${JSON.stringify(name)} is declared as json and has the value ${JSON.stringify(cell).slice(0, 60)}, which is not valid JSON`,
        { cause: error, field: name },
      ),
    )
    return cell
  }
}

interface Reading {
  readonly progress?: (share: number) => void
  readonly refuse?: (error: ImportError) => void
}

const readRows = (source: Source, { progress, refuse }: Reading = {}) =>
  csvRows(readLines(source.open(progress)), { ...(refuse && { refuse }) })
