import { plainMask } from '../../lib/to-char.ts'
import type { Entity, Field } from '../../model/entities.ts'
import type { Aggregate, FieldRef, Scalar } from '../../model/plan.ts'
import { type Cell, type Dialect, isWhole } from '../tables/cells.ts'
import { maskOf } from '../tables/hidden-metadata.ts'
import { asJsonb, asReadable, jsonTextAt, numberOf } from './json.ts'
import { relevance } from './text-search.ts'

/** Values of the tables in SQL. */

export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Which values a table has. */
export interface ColumnRules {
  /** Whether it is one of the operator's. */
  readonly isExposed: boolean
  /** Fields whose values are compared as text by code point, whatever the column's type (Q6). */
  readonly asText: readonly string[]
  /** Metadata fields that aren't shown (Q19). */
  readonly hidden: readonly string[] | undefined
}

/** A whole field, as it is shown. */
export function fieldCell(entity: Entity, name: string, rules: ColumnRules): Cell {
  const field = entity.fields.find(one => one.name === name)
  if (field === undefined) throw new Error('an entity has no such field')
  const column = shownColumn(name, rules.hidden)
  const value = { ...valueOfColumn(field, column, rules), nullable: field.nullable }
  if (rules.asText.includes(name)) return { ...value, sort: `CAST(${column} AS TEXT) COLLATE "C"` }
  return field.sortable === false ? value : { ...value, sort: column }
}

function valueOfColumn({ name, type }: Field, column: string, { isExposed, asText }: ColumnRules) {
  switch (type) {
    case 'json':
      // JSON's null may stand between blanks.
      return {
        kind: 'json',
        sql: `NULLIF(btrim(CAST(to_json(${column}) AS TEXT), E' \\t\\n\\r'), 'null')`,
        sortsByText: true,
      } as const
    case 'number':
      return { kind: 'number', sql: `CAST(${column} AS TEXT)` } as const
    case 'date-time':
      return { kind: isExposed ? 'instant' : 'time', sql: column } as const
    case 'text':
      if (!isExposed) return { kind: 'text', sql: column } as const
      // What isn't text in the table is compared as it is shown.
      return asText.includes(name)
        ? ({
            kind: 'text',
            sql: `CAST(${column} AS TEXT) COLLATE "C"`,
            indexed: `CAST(${column} AS TEXT)`,
          } as const)
        : ({ kind: 'text', sql: `(to_json(${column}) #>> '{}') COLLATE "C"` } as const)
    default:
      return { kind: type, sql: column } as const
  }
}

/** A column as it is shown (Q19). The text of what stays is not changed, so that both engines print the same bytes. */
export function shownColumn(field: string, hidden: readonly string[] | undefined): string {
  const column = `t.${quoteName(field)}`
  const mask = maskOf(field, hidden)
  if (mask === undefined) return column
  if (mask.kind === 'null') return 'CAST(NULL AS TEXT)'
  if (mask.kind === 'empty list') return "CAST('[]' AS JSON)"
  return `(SELECT CAST('{' || coalesce(string_agg(CAST(to_json(m.key) AS TEXT) || ':' || CAST(m.value AS TEXT), ',' ORDER BY m.n), '') || '}' AS JSON)
    FROM json_each(${column}) WITH ORDINALITY AS m (key, value, n) WHERE m.key NOT IN (${mask.fields.map(one => `'${one}'`).join(', ')}))`
}

interface Parts {
  readonly bind: (value: string | number) => string
  readonly field: (name: string) => Cell
  /** @returns the name of a value that is found once for each record */
  readonly once: (sql: string) => string
  /** As in `TableShape`. */
  readonly mayHaveLineBreaks: boolean
}

export function createDialect({ bind, field, once, mayHaveLineBreaks }: Parts): Dialect {
  function cellFor(ref: FieldRef): Cell {
    const whole = field(ref.name)
    if (isWhole(ref)) return whole
    return { kind: 'json', sql: jsonTextAt(once(asReadable(whole.sql)), ref.path, bind), nullable: true }
  }

  function scalar(value: Scalar): Cell {
    if (value.kind === 'field') return cellFor(value.field)
    // What is marked in it is marked in the rows.
    if (value.kind === 'highlight') return cellFor(value.field)
    if (value.kind === 'relevance') {
      const values = value.fields
        .map(cellFor)
        .map(cell => ({ sql: keyOf(cell), isJson: cell.kind === 'json' }))
      return { kind: 'integer', sql: relevance(values, value.words, bind), nullable: false }
    }
    const cell = cellFor(value.field)
    const isTime = cell.kind === 'time' || cell.kind === 'instant'
    const mask = `CAST(${bind(plainMask(value.mask, isTime ? 'instant' : 'number'))} AS TEXT)`
    const sql = isTime
      ? `to_char(CAST(${cell.sql} AS TIMESTAMPTZ) AT TIME ZONE 'UTC', ${mask})`
      : `to_char(${numeric(cell)}, ${mask})`
    return { kind: 'text', sql: `${sql} COLLATE "C"`, nullable: true }
  }

  function aggregate({ name, field: ref }: Aggregate): Cell {
    if (ref === null) return { kind: 'integer', sql: 'count(*)', nullable: false }
    const cell = cellFor(ref)
    if (name === 'count') return { kind: 'integer', sql: `count(${cell.sql})`, nullable: false }
    if (name === 'count_distinct')
      return { kind: 'integer', sql: `count(DISTINCT ${keyOf(cell)})`, nullable: false }
    if (name === 'sum' || name === 'avg') {
      const number = numeric(cell)
      return { kind: 'numeric', sql: (name === 'sum' ? sumOf : meanOf)(number), nullable: true }
    }
    if (cell.kind === 'json' || cell.kind === 'number')
      return { kind: 'numeric', sql: `${name}(${numeric(cell)})`, nullable: true }
    const call = cell.kind === 'boolean' ? (name === 'min' ? 'bool_and' : 'bool_or') : name
    return { kind: cell.kind, sql: `${call}(${cell.sql})`, nullable: true }
  }

  function json({ kind, sql }: Cell): string {
    const value =
      kind === 'json'
        ? mayHaveLineBreaks
          ? `translate(${sql}, chr(10) || chr(13), '  ')`
          : sql
        : kind === 'numeric'
          ? printed(sql)
          : kind === 'number'
            ? `CASE WHEN ${sql} ~ '[NI]' THEN '"' || ${sql} || '"' ELSE ${sql} END`
            : `CAST(to_json(${sql}) AS TEXT)`
    return `coalesce(${value}, 'null')`
  }

  function sort(cell: Cell, descending: boolean): string {
    const direction = descending ? ' DESC' : ' ASC'
    return sortTerms(cell)
      .map(term => `${term}${direction}`)
      .join(', ')
  }
  return {
    bind,
    bindText: text => `CAST(${bind(text)} AS TEXT)`,
    scalar,
    aggregate,
    key: keyOf,
    representative,
    json,
    sort,
  }
}

/** Equal values have the same key. */
export function keyOf({ kind, sql }: Cell): string {
  if (kind === 'json') return asJsonb(sql)
  return kind === 'number' ? `CAST(${sql} AS NUMERIC)` : sql
}

/** The number, NULL if it is none. */
function numeric(cell: Cell): string {
  if (cell.kind === 'json') return numberOf(asJsonb(cell.sql))
  return cell.kind === 'numeric' ? cell.sql : `CAST(${cell.sql} AS NUMERIC)`
}

const representative = ({ kind, sql }: Cell) =>
  kind === 'json' || kind === 'number' ? `min(${sql} COLLATE "C")` : sql

/** PostgreSQL sorts nulls last ascending and first descending by default (Q6). */
function sortTerms(cell: Cell): readonly string[] {
  const { kind, sql, sort, sortsByText } = cell
  if (sort !== undefined) return [sort]
  if (kind !== 'json') return [kind === 'number' ? keyOf(cell) : sql]
  if (sortsByText) return [`${sql} COLLATE "C"`]
  const value = asJsonb(sql)
  return [
    `CASE jsonb_typeof(${value}) WHEN 'number' THEN 0 WHEN 'string' THEN 1 WHEN 'boolean' THEN 2 WHEN 'array' THEN 3 WHEN 'object' THEN 3 END`,
    numberOf(value),
    `(CASE WHEN jsonb_typeof(${value}) = 'string' THEN ${value} #>> '{}' ELSE ${sql} END) COLLATE "C"`,
  ]
}

/** Without leaving the range of doubles, which would be an error. */
const isDouble = (number: string) =>
  `(${number} = 0 OR abs(${number}) BETWEEN 5e-324 AND 1.7976931348623158e308)`
const asDouble = (number: string) => `CAST(${number} AS DOUBLE PRECISION)`
/** The shortest decimal number that is this double. */
const shortest = (double: string) => `CAST(CAST(${double} AS TEXT) AS NUMERIC)`

/** Exact for whole numbers, else a double. */
const sumOf = (number: string) => {
  const sum = `sum(${number})`
  return `CASE WHEN NOT bool_and(${number} = trunc(${number})) AND ${isDouble(sum)} THEN ${shortest(asDouble(sum))} ELSE ${sum} END`
}

const meanOf = (number: string) => {
  const sum = `sum(${number})`
  const exact = `${sum} / count(${number})`
  // A quotient of doubles that is too small for one would be an error, too, and a sum may be larger than every double.
  return `CASE WHEN ${isDouble(sum)} AND (${sum} = 0 OR abs(${sum}) > 1e-280) THEN ${shortest(`${asDouble(sum)} / count(${number})`)}
    WHEN ${isDouble(`(${exact})`)} THEN ${shortest(asDouble(exact))} ELSE ${exact} END`
}

/** As JavaScript prints the double that is equal, else all digits. */
function printed(number: string): string {
  const double = asDouble(number)
  const digits = `CAST(trim_scale(${number}) AS TEXT)`
  return `CASE WHEN ${number} IN ('NaN', 'Infinity', '-Infinity') THEN '"' || ${number} || '"'
    WHEN NOT ${isDouble(number)} THEN ${digits}
    WHEN ${number} <> 0 AND (abs(${number}) >= 1e21 OR abs(${number}) < 1e-6) AND ${shortest(double)} = ${number}
      THEN regexp_replace(CAST(${double} AS TEXT), 'e([+-])0*', E'e\\\\1')
    ELSE ${digits} END`
}
