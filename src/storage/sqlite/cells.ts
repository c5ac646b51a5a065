import type { Entity, Field } from '../../model/entities.ts'
import type { Aggregate, FieldRef, Scalar } from '../../model/plan.ts'
import { type Cell, type Dialect, isWhole } from '../tables/cells.ts'
import { maskOf } from '../tables/hidden-metadata.ts'
import { relevance } from './text-search.ts'

/** Values of the tables in SQL. */

export const quoteName = (text: string): string => `"${text.replaceAll('"', '""')}"`
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

const kinds: Readonly<Record<Field['type'], Cell['kind']>> = {
  text: 'text',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  'date-time': 'time',
  json: 'json',
}

/** A whole field, as it is shown (Q19). @param hidden metadata fields */
export function fieldCell(entity: Entity, name: string, hidden: readonly string[] | undefined): Cell {
  const field = entity.fields.find(one => one.name === name)
  if (field === undefined) throw new Error('an entity has no such field')
  const kind = kinds[field.type]
  const sql = shownColumn(name, hidden)
  return { kind, sql, nullable: field.nullable, ...(kind === 'json' && { sortsByText: true }) }
}

function shownColumn(field: string, hidden: readonly string[] | undefined): string {
  const column = `t.${quoteName(field)}`
  const mask = maskOf(field, hidden)
  if (mask === undefined) return column
  if (mask.kind === 'null') return 'NULL'
  if (mask.kind === 'empty list') return literal('[]')
  return `json_remove(${[column, ...mask.fields.map(one => literal(`$."${one}"`))].join(', ')})`
}

interface Parts {
  readonly bind: (value: string | number) => string
  readonly field: (name: string) => Cell
}

export function createDialect({ bind, field }: Parts): Dialect {
  function cellFor(ref: FieldRef): Cell {
    const whole = field(ref.name)
    if (isWhole(ref)) return whole
    const sql = `carrel_member(${whole.sql}, ${bind(JSON.stringify(ref.path))})`
    return { kind: 'json', sql, nullable: true }
  }
  function scalar(value: Scalar): Cell {
    if (value.kind === 'field') return cellFor(value.field)
    // What is marked in it is marked in the rows.
    if (value.kind === 'highlight') return cellFor(value.field)
    if (value.kind === 'relevance') {
      const values = value.fields.map(cellFor).map(({ sql, kind }) => ({ sql, isJson: kind === 'json' }))
      return { kind: 'integer', sql: relevance(values, value.words, bind), nullable: false }
    }
    const { sql, kind } = cellFor(value.field)
    const convert = kind === 'time' ? 'carrel_time_to_char' : 'carrel_number_to_char'
    return { kind: 'text', sql: `${convert}(${sql}, ${bind(value.mask)})`, nullable: true }
  }
  function aggregate({ name, field: ref }: Aggregate): Cell {
    if (ref === null) return { kind: 'integer', sql: 'count(*)', nullable: false }
    const cell = cellFor(ref)
    if (name === 'count') return { kind: 'integer', sql: `count(${cell.sql})`, nullable: false }
    if (name === 'count_distinct')
      return { kind: 'integer', sql: `count(DISTINCT ${key(cell)})`, nullable: false }
    const isExtreme = name === 'min' || name === 'max'
    if (isExtreme && cell.kind !== 'json' && cell.kind !== 'number')
      return { kind: cell.kind, sql: `${name}(${cell.sql})`, nullable: true }
    return { kind: 'number', sql: `carrel_${name}(${cell.sql})`, nullable: true }
  }
  return { bind, bindText: bind, scalar, aggregate, key, representative, json, sort }
}

/** Equal values have the same key. */
export function key({ kind, sql }: Cell): string {
  if (kind === 'json') return `carrel_canonical(${sql})`
  return kind === 'number' ? `carrel_number_key(${sql})` : sql
}

const representative = ({ kind, sql }: Cell) => (kind === 'json' || kind === 'number' ? `min(${sql})` : sql)

/** SQLite has no column types for booleans or JSON. */
function json({ kind, sql }: Cell): string {
  if (kind === 'json' || kind === 'number') return `coalesce(${sql}, 'null')`
  if (kind === 'boolean') return `CASE ${sql} WHEN 1 THEN 'true' WHEN 0 THEN 'false' ELSE 'null' END`
  return `json_quote(${sql})`
}

/**
 * Nulls last ascending and first descending (Q6), written as in the indexes. For a column without nulls, that expression
 * would only keep SQLite from using its index.
 */
function sort({ kind, sql, nullable, sortsByText }: Cell, descending: boolean): string {
  const direction = descending ? ' DESC' : ''
  const value =
    kind === 'number'
      ? `carrel_number_key(${sql})`
      : kind === 'json' && !sortsByText
        ? `carrel_sort_key(${sql})`
        : sql
  return `${nullable ? `${sql} IS NULL${direction}, ` : ''}${value}${direction}`
}
