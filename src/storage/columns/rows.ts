import { comparable, parseWritten } from '../../lib/json.ts'
import { textForm } from '../../lib/sort-keys.ts'
import type { Field } from '../../model/entities.ts'
import { computing } from '../../model/functions/functions.ts'
import { memberAt } from '../../model/json-values.ts'
import type { Column, FieldRef, Rows, Scalar } from '../../model/plan.ts'
import { csvLines, joinPieces, type RecordFormat, separators } from '../../model/record-format.ts'
import { highlight, relevanceOf, searchable, textsIn } from '../../model/text-query.ts'

/** A column of rows that show one record each. */
export type ScalarColumn = Column & { readonly value: Scalar }

/** @throws Error if some are aggregates */
export const scalarColumns = ({ columns }: Rows): readonly ScalarColumn[] =>
  columns.map(column => {
    const { value } = column
    if (value.kind === 'aggregate') throw new Error('a record has no aggregates')
    return { ...column, value }
  })

/** Describes columns as fields, for CSV. */
export const fieldsOf = (columns: readonly Column[]): Field[] =>
  columns.map(({ name, type }) => ({ name, type, nullable: true }))

/** Writes a piece of a listing. @param records joined by commas @param columns null: whole records */
export function pieceOf(
  records: string,
  format: RecordFormat,
  fields: readonly Field[],
  columns: readonly ScalarColumn[] | null,
): Uint8Array<ArrayBuffer> {
  const rows = columns === null ? undefined : rowsOf(records, columns)
  if (format === 'csv') return csvLines(rows?.join(',') ?? records, fields)
  return joinPieces(rows ?? [records], separators[format])
}

/** Writes records as JSON, with members in the order of the columns. @param records joined by commas */
export function rowsOf(records: string, columns: readonly ScalarColumn[]): string[] {
  const names = columns.map(({ name }, at) => `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`)
  const read = columns.map(({ value }) => readerOf(value))
  return (parseWritten(`[${records}]`) as Readonly<Record<string, unknown>>[]).map(record => {
    let row = names.length === 0 ? '{' : ''
    for (let at = 0; at < names.length; at++)
      row += (names[at] as string) + JSON.stringify(read[at]?.(record) ?? null)
    return `${row}}`
  })
}

function readerOf(scalar: Scalar): (record: Readonly<Record<string, unknown>>) => unknown {
  if (scalar.kind === 'relevance') {
    const texts = scalar.fields.map(field => [field, readField(field)] as const)
    return record => relevanceOf(searchedTexts(texts, record), scalar.words)
  }
  if (scalar.kind === 'shuffle') throw new Error('records are shuffled by their numbers')
  const value = readField(scalar.field)
  if (scalar.kind === 'field') return value
  return record => {
    const text = value(record)
    return typeof text === 'string' ? highlight(text, scalar.words) : text
  }
}

type ValueOf = (record: Readonly<Record<string, unknown>>) => unknown

function readField({ name, path, computed }: FieldRef): ValueOf {
  const read: ValueOf = record => (Object.hasOwn(record, name) ? memberAt(record[name], path) : undefined)
  if (computed === undefined) return read
  const compute = computing(computed)
  return record => {
    const value = read(record) ?? null
    const json = value === null ? undefined : compute(comparable(value))
    return json === undefined ? undefined : parseWritten(json)
  }
}

/** Returns the searchable texts of the fields that have a value. */
function searchedTexts(
  fields: readonly (readonly [field: FieldRef, value: ValueOf])[],
  record: Readonly<Record<string, unknown>>,
): string[] {
  return fields.flatMap(([{ type }, read]) => {
    const value = read(record)
    if (value === undefined || value === null) return []
    return searchable(type === 'json' ? textsIn(value) : [textForm(value)])
  })
}
