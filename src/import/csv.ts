import type { FieldType } from '../model/entities.ts'
import {
  type Column,
  converterOf,
  fieldOf,
  looksOf,
  narrow,
  readHeader,
  refuseSameNames,
} from './csv-columns.ts'
import { csvRows } from './csv-rows.ts'
import { type Delimiter, delimiters } from './delimiters.ts'
import type { Faults } from './faults.ts'
import { guessDelimiter } from './guess-delimiter.ts'
import { ImportError } from './import-error.ts'
import type { ReadRecord } from './json-lines.ts'
import type { Looks } from './local-forms.ts'
import { type Note, type Notes, numberedNote, rowNumber } from './notes.ts'
import type { ReadingOptions } from './reading-options.ts'
import { shapesOf } from './shapes.ts'
import type { Source } from './source.ts'
import { NotUtf8, utf8Text } from './utf8.ts'

/** A table in CSV, or in another format whose rows are lines. */
export interface Table {
  readonly delimiter: Delimiter
  /** The names of the columns in the file, also if there are no rows. */
  readonly names: readonly string[]
  /** The names of the fields that the recipe makes of them. */
  readonly fields: readonly string[]
  /**
   * Reads the records. Cells have no types, so the file is read twice: first to determine the type of each
   * column, then to make the records. An empty cell is null.
   * @param types declared types of columns
   * @param faults receives each row whose length differs from the header's, and each cell that doesn't fit
   * its column's declared type
   * @param progress called with the share that is done of both readings together
   */
  records(
    types: ReadonlyMap<string, FieldType>,
    faults: Faults,
    progress: (share: number) => void,
  ): AsyncIterable<ReadRecord[]>
  /**
   * Returns the columns whose values look like a local format that wasn't requested. It is complete
   * once the records were read.
   */
  looks(): ReadonlyMap<string, Looks>
  /** Reads all rows that have as many cells as the header, which is the first of them, unconverted. */
  rows(): AsyncIterable<readonly (readonly string[])[]>
}

/**
 * @param key columns that the table should have
 * @param notes receives what is assumed when records are read
 * @param maxFilled maximum number of missing cells that are taken as empty, because a row of two bytes may become a
 * record of many fields
 * @throws ImportError if the header can't name columns
 */
export async function openTable(
  source: Source,
  key: readonly string[],
  options: ReadingOptions = {},
  notes?: Notes,
  maxFilled = 20_000_000,
): Promise<Table> {
  const { text, isWhole } = await beginningOf(source)
  const named = namesInFile(key, options).filter(name => name !== rowNumber)
  const delimiter = options.delimiter ?? guessDelimiter(text, isWhole, named, delimiters, options.quote)
  const textFrom = options.quote === undefined ? await lineOfText(source, delimiter) : undefined
  const quote = textFrom === undefined ? options.quote : 'none'
  const shapes = shapesOf(options)
  let isNumbered = key.includes(rowNumber)
  const note = (kind: Note['kind'], line: number) => notes?.add({ kind, field: null, count: 1, line })
  let filled = 0
  const rows: Rows = (refuse, progress, isFirst = false) =>
    csvRows(source.open(progress), {
      delimiter,
      quote,
      refuse,
      ...(options.shortRows && {
        short: (line, missing) => {
          if (!isFirst) return
          note('short-rows', line)
          filled += missing
          if (filled > maxFilled) throw tooShort(line, maxFilled)
        },
      }),
      ...(isFirst &&
        quote === undefined && {
          enclosed: (line, isEven) => (isEven || delimiter === '\t') && note('rows-in-quotes', line),
        }),
    })
  let columns: Column[] = []
  for await (const [header] of rows(() => {}))
    if (header) {
      columns = readHeader(header.cells, header.line, delimiter, shapes)
      if (columns.some(one => !one.shape?.isLeftOut && fieldOf(one) === rowNumber)) isNumbered = false
      break
    }
  const taken = columns.filter(({ shape }) => !shape?.isLeftOut)
  if (shapes) refuseSameNames(taken)
  return {
    delimiter,
    names: columns.map(({ name }) => name),
    fields: [...(isNumbered ? [rowNumber] : []), ...taken.map(fieldOf)],
    records: (types, faults, progress) => {
      if (textFrom !== undefined) note('quotes-are-text', textFrom)
      if (isNumbered) notes?.add(numberedNote)
      return readRecords({ columns, options, types, isNumbered }, rows, faults, progress)
    },
    looks: () => looksOf(columns, options),
    rows: async function* () {
      for await (const some of rows(() => {})) yield some.map(({ cells }) => cells)
    },
  }
}

/**
 * Finds a quoted cell of a table with tabs that would take in whole rows, where nothing proves quoting. Many such
 * files know none
 * (https://www.iana.org/assignments/media-types/text/tab-separated-values).
 * @returns its line; undefined: there is none
 */
async function lineOfText(source: Source, delimiter: Delimiter): Promise<number | undefined> {
  if (delimiter !== '\t') return undefined
  let found: number | undefined
  let isProven = false
  const enclosed = (line: number, isEven: boolean) => {
    if (isEven) found ??= line
  }
  const proven = () => {
    isProven = true
  }
  try {
    if (!(await hasQuote(source))) return undefined
    for await (const _ of csvRows(source.open(), { delimiter, refuse: () => {}, enclosed, proven }))
      if (isProven) return undefined
  } catch (error) {
    // The fault is reported later, after the rows before it have been read.
    if (!(error instanceof ImportError)) throw error
  }
  return found
}

async function hasQuote(source: Source): Promise<boolean> {
  for await (const chunk of source.open()) if (chunk.includes(0x22)) return true
  return false
}

/** Maximum number of records made at a time, for the same reason. */
const maxTogether = 1_000

const tooShort = (line: number, maxFilled: number) =>
  new ImportError(
    `up to here, more than ${maxFilled.toLocaleString('en')} cells are missing at the ends of rows; write them`,
    { line },
  )

/** Returns the names that key fields have in the file, before they are renamed. */
const namesInFile = (key: readonly string[], { fields }: ReadingOptions): readonly string[] =>
  fields === undefined
    ? key
    : key.map(name => [...fields].find(([, { rename }]) => rename === name)?.[0] ?? name)

/** Number of characters from which the delimiter is guessed. */
const leastBeginning = 64 * 1024

async function beginningOf(source: Source): Promise<{ text: string; isWhole: boolean }> {
  let text = ''
  try {
    for await (const piece of utf8Text(source.open())) {
      if (text.length >= leastBeginning) return { text, isWhole: false }
      text = (text + piece).replace(/^[\r\n]+/, '')
    }
    return { text, isWhole: true }
  } catch (error) {
    // The encoding error is reported later, after the rows before it have been read.
    if (error instanceof NotUtf8) return { text, isWhole: false }
    throw error
  }
}

/** @param isFirst true to note what is assumed */
type Rows = (
  refuse: (error: ImportError) => void,
  progress?: (share: number) => void,
  isFirst?: boolean,
) => ReturnType<typeof csvRows>

interface Wanted {
  readonly columns: readonly Column[]
  readonly options: ReadingOptions
  readonly types: ReadonlyMap<string, FieldType>
  readonly isNumbered: boolean
}

async function* readRecords(
  { columns, options, types, isNumbered }: Wanted,
  rowsOf: Rows,
  faults: Faults,
  progress: (share: number) => void,
): AsyncIterable<ReadRecord[]> {
  const refuse = (error: ImportError) => faults.add(error)
  for (const column of columns) {
    column.declared = types.has(fieldOf(column))
    column.kind = types.get(fieldOf(column)) ?? 'unknown'
  }
  let read = 0
  let isHeader = true
  for await (const rows of rowsOf(refuse, share => progress(share / 2), true)) {
    for (const { cells } of rows) {
      if (!isHeader) for (let at = 0; at < cells.length; at++) narrow(columns[at], cells[at] as string)
      isHeader = false
    }
    read += rows.length
    faults.throwIfEnough(read)
  }

  /** The columns that the records have, and their places among the cells. */
  const taken = columns.flatMap((column, at) => (column.shape?.isLeftOut ? [] : [{ column, at }]))
  const convert = taken.map(({ column, at }) => {
    const value = converterOf(column, options, refuse)
    return { at, empty: column.shape?.empty, value }
  })
  const names = [...(isNumbered ? [rowNumber] : []), ...taken.map(({ column }) => fieldOf(column))]
  // Assigning to `__proto__` would change the prototype.
  const isOdd = names.includes('__proto__')
  isHeader = true
  let n = 0
  // Uneven rows were already reported by the first reading.
  for await (const rows of rowsOf(
    () => {},
    share => progress(0.5 + share / 2),
  )) {
    let records: ReadRecord[] = []
    for (const { line, cells } of rows) {
      if (!isHeader) {
        const values: unknown[] = isNumbered ? [++n] : []
        for (const { at, empty, value } of convert) {
          const cell = cells[at] ?? ''
          values.push(cell === '' || empty?.has(cell) ? null : value(cell, line))
        }
        records.push({ line, record: isOdd ? oddRecord(names, values) : recordOf(names, values) })
      }
      isHeader = false
      if (records.length < maxTogether) continue
      yield records
      records = []
    }
    yield records
  }
}

function recordOf(names: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const record: Record<string, unknown> = {}
  for (let at = 0; at < names.length; at++) record[names[at] as string] = values[at]
  return record
}

const oddRecord = (names: readonly string[], values: readonly unknown[]): Record<string, unknown> =>
  Object.fromEntries(names.map((name, at) => [name, values[at]]))
