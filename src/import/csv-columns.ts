import { numberWritten, parseWritten } from '../lib/json.ts'
import { isJsonNumber } from '../lib/json-numbers.ts'
import type { FieldType } from '../model/entities.ts'
import { type Delimiter, nameOf } from './delimiters.ts'
import { maxFields } from './field-list.ts'
import { ImportError, shown } from './import-error.ts'
import { isTooDeep, maxDepth } from './json-lines.ts'
import {
  fromDayFirst,
  fromPlain,
  isDayFirst,
  isSurelyDayFirst,
  type Looks,
  localNumber,
} from './local-forms.ts'
import type { ReadingOptions } from './reading-options.ts'
import { localReader, type Shape } from './shapes.ts'

/** A column of a table, with what its cells have in common. */
export interface Column {
  /** The name in the file. */
  readonly name: string
  /** Its part of the recipe; undefined: none. */
  readonly shape: Shape | undefined
  /** True if the type is declared, so that values don't change it. */
  declared: boolean
  kind: 'unknown' | FieldType
  /** True while all values are numbers when read with decimal commas. */
  hasCommas: boolean
  /** True while all values are numbers when read with decimal points. */
  hasPoints: boolean
  /** True if one of these numbers is another one with a decimal comma than with a decimal point. */
  isEither: boolean
  /** True while these numbers have no parentheses, currencies, spaces and apostrophes, which only a field asks for. */
  isPlain: boolean
  /** The sign of a currency that was met; columns with several are no numbers. */
  currency: string
  /** True while all values are dates with the day first. */
  hasDays: boolean
  /** True if one of these dates can't have the month first. */
  isSure: boolean
}

export function readHeader(
  cells: readonly string[],
  line: number,
  delimiter: Delimiter,
  shapes: ((name: string) => Shape) | undefined,
): Column[] {
  if (cells.length > maxFields)
    throw new ImportError(
      `there are ${cells.length.toLocaleString('en')} columns, and at most ${maxFields.toLocaleString('en')} are taken; put those that vary into one column, as JSON`,
      { line },
    )
  const places = new Map<string, number>()
  return cells.map((name, at) => {
    if (name === '')
      throw new ImportError(`column ${at + 1} has no name; ${unnamed(cells, at, delimiter)}`, { line })
    if (places.has(name))
      throw new ImportError(`two columns are called ${shown(name)}; give each a name of its own`, { line })
    places.set(name, at)
    const shape = shapes?.(name)
    return {
      name,
      shape,
      declared: false,
      kind: 'unknown',
      hasCommas: true,
      hasPoints: true,
      isEither: false,
      isPlain: true,
      currency: '',
      hasDays: true,
      isSure: false,
    }
  })
}

/** The name of a column's field in the entity. */
export const fieldOf = ({ name, shape }: Pick<Column, 'name' | 'shape'>): string => shape?.name ?? name

/** @throws ImportError if two columns get one name */
export function refuseSameNames(columns: readonly Column[]): void {
  const names = new Map<string, string>()
  for (const column of columns) {
    const name = fieldOf(column)
    const other = names.get(name)
    if (other !== undefined)
      throw new ImportError(
        `the recipe gives the columns ${shown(other)} and ${shown(column.name)} one name, ${shown(name)}; give each a name of its own`,
        { field: column.name },
      )
    names.set(name, column.name)
  }
}

function unnamed(cells: readonly string[], at: number, delimiter: Delimiter): string {
  if (at === 0 && cells.length > 1)
    return 'R and pandas write the numbers of the rows there: leave them out (row.names = FALSE, index=False), or give the column a name'
  if (at > 0 && cells.slice(at).every(cell => cell === ''))
    return `the line ends in a ${nameOf(delimiter)}: remove it here and from the other lines, or give the column a name`
  return 'the first line names the columns'
}

export function narrow(column: Column | undefined, cell: string): void {
  if (!column || cell === '' || column.shape?.empty?.has(cell)) return
  if (column.kind === 'text' && !column.hasCommas && !column.hasPoints && !column.hasDays) return
  const kind = kindOf(cell)
  if ((column.hasCommas || column.hasPoints) && kind !== 'integer') narrowNumber(column, cell)
  if (column.hasDays) {
    column.hasDays = kind === 'text' && isDayFirst(cell)
    if (column.hasDays && !column.isSure) column.isSure = isSurelyDayFirst(cell)
  }
  if (column.declared) return
  if (column.kind === 'unknown') column.kind = kind
  else if (column.kind !== kind && column.kind !== 'text') {
    const bothNumbers = kind !== 'text' && kind !== 'boolean' && column.kind !== 'boolean'
    column.kind = bothNumbers ? 'number' : 'text'
  }
}

function narrowNumber(column: Column, cell: string): void {
  const { comma, point, currency, isPlain } = localNumber(cell)
  const isOneCurrency = column.currency === '' || currency === '' || column.currency === currency
  column.hasCommas &&= isOneCurrency && comma !== undefined
  column.hasPoints &&= isOneCurrency && point !== undefined
  column.isEither ||= comma !== point
  column.isPlain &&= isPlain
  column.currency ||= currency
}

export function looksOf(
  columns: readonly Column[],
  { decimalComma = false, decimalPoint = false, dayFirst }: ReadingOptions,
): ReadonlyMap<string, Looks> {
  const found = new Map<string, Looks>()
  for (const {
    kind,
    declared,
    hasCommas,
    hasPoints,
    isEither,
    isPlain,
    hasDays,
    isSure,
    ...column
  } of columns)
    if (kind === 'text' && !declared)
      if (hasCommas || hasPoints) {
        const isRead = isPlain && ((hasCommas && decimalComma) || (hasPoints && decimalPoint))
        const either = isEither ? 'decimal-comma-or-point' : 'decimal-point'
        const looks = hasCommas && hasPoints ? either : hasCommas ? 'decimal-comma' : 'decimal-point'
        if (!isRead) found.set(fieldOf(column), looks)
      } else if (hasDays && isSure && !dayFirst) found.set(fieldOf(column), 'day-first')
  return found
}

/**
 * Returns the kind of a cell. A cell is a number only if JSON would print it the same way: 007 and +1
 * are text, and so are dates.
 */
function kindOf(cell: string): 'integer' | 'number' | 'boolean' | 'text' {
  if (/^-?(0|[1-9]\d*)$/.test(cell)) return 'integer'
  if (/^-?(0|[1-9]\d*)\.\d+$/.test(cell)) return 'number'
  if (/^(true|false)$/i.test(cell)) return 'boolean'
  return 'text'
}

/**
 * @returns a function that converts cells that aren't empty. A cell that doesn't fit the declared type stays
 * text, and is refused later.
 */
export function converterOf(
  { name, shape, kind, declared, hasCommas, hasPoints, isPlain, hasDays }: Column,
  { decimalComma, decimalPoint, dayFirst }: ReadingOptions,
  refuse: (error: ImportError) => void,
): (cell: string, line: number) => unknown {
  const convert = shape?.convert
  // In an update, the entity's type decides: its texts stay texts.
  if (convert && (shape.type === kind || (shape.type === 'number' && kind === 'integer')))
    return (cell, line) => convert(cell, line, refuse)
  if (declared && kind === 'json') return (cell, line) => parseCell(name, cell, line, refuse)
  if (kind === 'boolean') return cell => /^true$/i.test(cell) || (/^false$/i.test(cell) ? false : cell)
  const style = decimalComma ? 'comma' : decimalPoint ? 'point' : undefined
  if (style && declared && (kind === 'number' || kind === 'integer')) {
    const read = localReader(name, style)
    const isNamed = shape?.type === 'number' || shape?.type === 'integer'
    return (cell, line) => {
      const value = isNamed ? read(cell, line, refuse) : fromPlain(cell, style)
      return typeof value === 'string' && isJsonNumber(value) ? numberWritten(value) : value
    }
  }
  if (style && !declared && isPlain && (decimalComma ? hasCommas : hasPoints)) {
    // If no value has a comma, a point may be a decimal point or separate thousands.
    if (decimalComma && kind === 'number') return cell => cell
    if (kind === 'text') return cell => fromPlain(cell, style)
  }
  if (kind === 'integer' || kind === 'number')
    return declared ? cell => (isJsonNumber(cell) ? numberWritten(cell) : cell) : numberWritten
  if (dayFirst && kind === 'text' && hasDays) return fromDayFirst
  return cell => cell
}

function parseCell(name: string, cell: string, line: number, refuse: (error: ImportError) => void): unknown {
  if (isTooDeep(cell)) {
    refuse(
      new ImportError(
        `the column ${shown(name)} has arrays and objects nested more than ${maxDepth.toLocaleString('en')} levels deep; flatten them`,
        { line, field: name },
      ),
    )
    return null
  }
  try {
    return parseWritten(cell)
  } catch (error) {
    refuse(
      new ImportError(
        `the column ${shown(name)} is declared as json and has the value ${shown(cell)}, which is not valid JSON`,
        { line, cause: error, field: name },
      ),
    )
    return cell
  }
}
