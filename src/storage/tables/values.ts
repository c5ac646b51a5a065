import type { Entity } from '../../model/entities.ts'
import { aggregates } from '../../model/functions/functions.ts'
import { summaryFields } from '../../model/items.ts'
import type { Aggregate, FieldRef, Scalar } from '../../model/plan.ts'
import type { Cell } from './cells.ts'
import type { Dialect, Mask, ReadTable, Source } from './dialect.ts'

/**
 * Finds the mask of a column. It applies wherever the column is read, sorted by or compared, so that nothing
 * depends on a hidden value.
 * @param hidden metadata fields
 * @returns undefined for a column that is shown as it is
 */
function maskOf(column: string, hidden: readonly string[] | undefined): Mask | undefined {
  if (hidden === undefined || hidden.length === 0) return undefined
  if (column === 'metadata') return { kind: 'without', fields: hidden }
  const source = Object.entries(summaryFields).find(([name]) => name === column)?.[1]
  if (source === undefined || !hidden.includes(source)) return undefined
  return { kind: column === 'authors' ? 'empty list' : 'null' }
}

/** A column as it is shown (Q19). Text that stays is unchanged, so that both engines print the same bytes. */
export function shownColumn(name: string, column: string, { rows }: ReadTable, dialect: Dialect): string {
  const mask = maskOf(name, rows.kind === 'audiences' ? rows.hidden : undefined)
  return mask === undefined ? column : dialect.masked(column, mask)
}

/** A whole field, as it is shown. @param column the quoted name */
export function fieldCell(
  entity: Entity,
  name: string,
  column: string,
  table: ReadTable,
  dialect: Dialect,
): Cell {
  const field = entity.fields.find(one => one.name === name)
  if (field === undefined) throw new Error('an entity has no such field')
  const shown = shownColumn(name, column, table, dialect)
  return { ...dialect.column(field, shown, table), nullable: field.nullable }
}

export function keyOf({ kind, sql }: Pick<Cell, 'kind' | 'sql'>, dialect: Dialect): string {
  if (kind === 'json') return dialect.keyOfJson(sql)
  return kind === 'number' ? dialect.keyOfNumber(sql) : sql
}

interface Parts {
  readonly dialect: Dialect
  readonly table: ReadTable
  readonly field: (name: string) => Cell
  readonly once: Source['once']
}

/** Writes the values of a select. */
export function createValueWriter({ dialect, table, field, once }: Parts) {
  function cellFor({ computed, ...ref }: FieldRef): Cell {
    if (computed) return dialect.computed(cellFor(ref), computed)
    const whole = field(ref.name)
    if (ref.path.length === 0) return whole
    return { kind: 'json', sql: dialect.member(whole.sql, ref.path, once), nullable: true }
  }

  function scalar(value: Scalar): Cell {
    switch (value.kind) {
      case 'field':
      case 'highlight':
        // `highlightRows` marks the matches.
        return cellFor(value.field)
      case 'relevance':
        return {
          kind: 'integer',
          sql: dialect.relevance(value.fields.map(cellFor), value.words),
          nullable: false,
        }
      case 'shuffle':
        return dialect.shuffle(value.fields.map(cellFor), value.seed)
    }
  }

  /** An aggregate over the records of a group. */
  function aggregate({ name, field: ref, argument = '' }: Aggregate): Cell {
    if (ref === null) return { kind: 'integer', sql: 'count(*)', nullable: false }
    const cell = cellFor(ref)
    const { counts, numbers, sql } = aggregates[name]
    const isNumber = cell.kind === 'json' || cell.kind === 'number'
    if (numbers && (!sql || isNumber)) return dialect.ofNumbers(name, cell, argument)
    const written = sql?.(cell.sql, () => keyOf(cell, dialect)) ?? ''
    return { kind: counts ? 'integer' : cell.kind, sql: written, nullable: !counts }
  }

  return {
    bindText: dialect.bindText,
    scalar,
    aggregate,
    /** Equal values have the same key, and no others. */
    key: (cell: Cell): string => keyOf(cell, dialect),
    /** One value for a group of equal ones: always the same. */
    representative: ({ kind, sql }: Cell): string =>
      kind === 'json' || kind === 'number' ? `min(${dialect.byCodePoint(sql)})` : sql,
    /** The value as JSON. */
    json: (cell: Cell): string => dialect.json(cell, table),
    /** Terms of an order, nulls last ascending and first descending (Q6). */
    sort: (cell: Cell, descending: boolean): string =>
      dialect
        .sortTerms(cell)
        .map(term => `${term}${descending ? ' DESC' : ''}`)
        .join(', '),
  }
}

export type ValueWriter = ReturnType<typeof createValueWriter>
