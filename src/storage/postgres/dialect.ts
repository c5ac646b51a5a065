import type { Field } from '../../model/entities.ts'
import { aggregates, computedValue } from '../../model/functions/functions.ts'
import { asDouble, isDouble, shortest } from '../../model/functions/sums.ts'
import { numericBound } from '../tables/bounds.ts'
import { type Bind, type Cell, namedKeys, quoteName } from '../tables/cells.ts'
import type { Dialect, ReadTable, ShownColumn } from '../tables/dialect.ts'
import { keyOf } from '../tables/values.ts'
import type { Value } from './driver.ts'
import {
  alternativesOf,
  asJsonb,
  asReadable,
  givenRows,
  jsonAmong,
  jsonbAt,
  jsonTextAt,
  numberOf,
  patternOf,
  testJson,
} from './json.ts'
import { readRows } from './row-selection.ts'
import { finds, relevance } from './text-search.ts'

/** The SQL of statements on tables in PostgreSQL. */

const types: Readonly<Record<Cell['kind'], string>> = {
  text: 'TEXT',
  time: 'TEXT',
  integer: 'BIGINT',
  number: 'NUMERIC',
  numeric: 'NUMERIC',
  boolean: 'BOOLEAN',
  instant: 'TIMESTAMPTZ',
  json: 'JSONB',
}

/** The kinds of values that are computed. */
const kinds = { integer: 'integer', number: 'numeric', text: 'text', 'date-time': 'time' } as const

const byCodePoint = (text: string) => `${text} COLLATE "C"`
const keyOfNumber = (number: string) => `CAST(${number} AS NUMERIC)`

export function postgresDialect(bind: Bind<Value>): Dialect {
  const bindText = (text: string) => `CAST(${bind(text)} AS TEXT)`

  const dialect: Dialect = {
    read: reading => readRows(reading, bind),
    recordPage,
    window: (limit, offset) => `LIMIT ${bind(limit)} OFFSET ${bind(offset)}`,
    bindNumber: bind,
    bindText,

    column,
    masked: (column, mask) => {
      if (mask.kind === 'null') return 'CAST(NULL AS TEXT)'
      if (mask.kind === 'empty list') return "CAST('[]' AS JSON)"
      return `(SELECT CAST('{' || coalesce(string_agg(CAST(to_json(m.key) AS TEXT) || ':' || CAST(m.value AS TEXT), ',' ORDER BY m.n), '') || '}' AS JSON)
    FROM json_each(${column}) WITH ORDINALITY AS m (key, value, n) WHERE m.key NOT IN (${mask.fields.map(one => `'${one}'`).join(', ')}))`
    },
    member: (json, path, once) => jsonTextAt(once(asReadable(json)), path, bind),
    byCodePoint,
    keyOfJson: asJsonb,
    keyOfNumber,
    sortTerms,
    json,
    computed: (cell, computed) => {
      const { gives, postgres } = computedValue(computed)
      const sql = postgres(computed, {
        sql: cell.sql,
        isTime: cell.kind === 'time' || cell.kind === 'instant',
        number: () => numeric(cell),
        time: () => `CAST(${cell.sql} AS TIMESTAMPTZ) AT TIME ZONE 'UTC'`,
        json: () => asReadable(cell.sql),
        bindText,
      })
      const isText = gives === 'text' || gives === 'date-time'
      return { kind: kinds[gives], sql: isText ? byCodePoint(sql) : sql, nullable: true }
    },
    shuffle: (cells, seed) => {
      const texts = cells.map(({ sql }) => `CAST(${sql} AS TEXT)`).join(', ')
      return { kind: 'text', sql: byCodePoint(`md5(concat_ws(',', '${seed}', ${texts}))`), nullable: false }
    },
    relevance: (cells, words) =>
      relevance(
        cells.map(cell => ({ sql: keyOf(cell, dialect), isJson: cell.kind === 'json' })),
        words,
        bind,
      ),
    ofNumbers: (name, cell, argument) => {
      const sql = aggregates[name].numbers?.postgres(numeric(cell), argument) ?? 'NULL'
      return { kind: 'numeric', sql, nullable: true }
    },

    hasNul: false,
    numberBound: numericBound,
    constant: (kind, value) => `CAST(${bind(storedAs(kind, value))} AS ${types[kind]})`,
    oneOf: (kind, values, negated) => {
      const list = `CAST(${bind(values.map(value => storedAs(kind, value)))} AS ${types[kind]}[])`
      return negated ? `<> ALL(${list})` : `= ANY(${list})`
    },
    indexTerm: ({ indexed }, equal) =>
      indexed === undefined || equal === undefined ? undefined : `${indexed} ${equal}`,
    matches: (text, expression, negated) =>
      `(${text}) COLLATE "C" ${negated ? '!~' : '~'} ${patternOf(expression, bind)}`,
    parsed: (json, once) => once(asJsonb(json)),
    memberOf: (parsed, path) => jsonbAt(parsed, path, bind),
    testJson: (leaf, parsed) => testJson(leaf, jsonbAt(parsed, leaf.field.path, bind), bind),
    finds: (values, words) => finds(values, words, bind),
    given: (rows, kinds) => givenRows(rows, kinds, bind),
    // Other kinds are compared in a form that no index of a column has.
    looksUp: kind => kind === 'integer' || kind === 'numeric',
    firstOf: (keys, value, from) => {
      const places = keys.map((_, at) => at + 1).join(', ')
      return `SELECT DISTINCT ON (${places}) ${namedKeys(keys)}, ${value} AS v FROM ${from} ORDER BY ${places}`
    },
    // Numbers stay numbers, and JSON becomes `jsonb`.
    comparable: (cell, isJson) => {
      if (isJson && cell.kind !== 'json') return `to_jsonb(${keyOf(cell, dialect)})`
      return cell.kind === 'time' ? `CAST(${cell.sql} AS TIMESTAMPTZ)` : keyOf(cell, dialect)
    },
    side: (cell, value, how) => {
      if (how === 'number') return cell.kind === 'json' ? numberOf(value) : numeric(cell)
      if (how === 'json') return cell.kind === 'json' ? value : `to_jsonb(${keyOf(cell, dialect)})`
      return cell.kind === 'text' ? byCodePoint(cell.sql) : dialect.comparable(cell, false)
    },
    jsonAmong,
    // PostgreSQL makes a join of NOT EXISTS, but not of NOT IN.
    among: (outer, { from, values, complete }, negated) => {
      const elements = outer.map(({ field, cell, value }, at) => {
        if (cell.kind !== 'json') return ''
        const own = `, (SELECT ${value} AS v OFFSET 0) AS o${at}`
        return field.list ? `${own}, jsonb_array_elements(${alternativesOf(`o${at}.v`)}) AS e${at} (v)` : own
      })
      const equal = outer.map(({ field, cell, isJson }, at) => {
        const left =
          cell.kind === 'json' ? `${field.list ? 'e' : 'o'}${at}.v` : dialect.comparable(cell, isJson)
        return `${left} = ${values[at]}`
      })
      const conditions = [...complete, ...equal].join(' AND ')
      return `${negated ? 'NOT ' : ''}EXISTS (SELECT 1 FROM ${from}${elements.join('')} WHERE ${conditions})`
    },
  }
  return dialect
}

/** PostgreSQL has no year 0: it calls it 1 BC. */
const storedAs = (kind: Cell['kind'], value: string) =>
  kind === 'instant' && value.startsWith('0000') ? `0001${value.slice(4)} BC` : value

function recordPage(columns: readonly ShownColumn[], rows: string, { isExposed }: ReadTable): string {
  // A column of the same name would shadow the row.
  const row = quoteName(unusedName(columns))
  const shown = columns.map(({ name, sql }) =>
    sql === `t.${quoteName(name)}` ? sql : `${sql} AS ${quoteName(name)}`,
  )
  const json = `CAST(row_to_json(${row}) AS TEXT)`
  // The inner select picks the rows of the page; only those are converted to JSON.
  return `SELECT ${isExposed ? inOneLine(json) : json} AS json FROM (SELECT ${shown.join(', ')} ${rows}) ${row}`
}

/** A name that no field has. */
function unusedName(columns: readonly ShownColumn[]): string {
  const names = new Set(columns.map(({ name }) => name))
  let name = 'record'
  while (names.has(name)) name += '_'
  return name
}

/** Replaces line breaks between tokens of the operator's JSON, because a record is one line (NDJSON). */
const inOneLine = (json: string) => `translate(${json}, chr(10) || chr(13), '  ')`

function column(field: Field, sql: string, table: ReadTable): Omit<Cell, 'nullable'> {
  const value = columnValue(field, sql, table)
  if (table.asText.includes(field.name)) return { ...value, sort: byCodePoint(`CAST(${sql} AS TEXT)`) }
  return field.sortable === false ? value : { ...value, sort: sql }
}

function columnValue({ name, type }: Field, sql: string, table: ReadTable): Omit<Cell, 'nullable'> {
  const { isExposed, asText } = table
  switch (type) {
    case 'json': {
      // JSON's null may stand between blanks.
      const text = `NULLIF(btrim(CAST(to_json(${sql}) AS TEXT), E' \\t\\n\\r'), 'null')`
      return { kind: 'json', sql: text, sortsByText: true }
    }
    case 'number':
      return { kind: 'number', sql: `CAST(${sql} AS TEXT)` }
    case 'date-time':
      return { kind: isExposed ? 'instant' : 'time', sql }
    case 'text': {
      if (!isExposed) return { kind: 'text', sql }
      // A value that isn't text in the table is compared as it is shown.
      if (!asText.includes(name)) return { kind: 'text', sql: byCodePoint(`(to_json(${sql}) #>> '{}')`) }
      const text = `CAST(${sql} AS TEXT)`
      return { kind: 'text', sql: byCodePoint(text), indexed: text }
    }
    default:
      return { kind: type, sql }
  }
}

/** PostgreSQL sorts nulls last ascending and first descending by default (Q6). */
function sortTerms({ kind, sql, sort, sortsByText }: Cell): readonly string[] {
  if (sort !== undefined) return [sort]
  if (kind !== 'json') return [kind === 'number' ? keyOfNumber(sql) : sql]
  if (sortsByText) return [byCodePoint(sql)]
  const value = asJsonb(sql)
  return [
    `(SELECT CASE jsonb_typeof(k.v) WHEN 'string' THEN 0 WHEN 'number' THEN 1 WHEN 'boolean' THEN 2
      WHEN 'array' THEN 3 + jsonb_array_length(k.v) WHEN 'object' THEN ${behindArrays} + (SELECT count(*) FROM jsonb_object_keys(k.v)) END
      FROM (SELECT ${value} AS v OFFSET 0) AS k)`,
    numberOf(value),
    byCodePoint(`(CASE WHEN jsonb_typeof(${value}) = 'string' THEN ${value} #>> '{}' ELSE ${sql} END)`),
  ]
}

/** Larger than the length of any array. */
const behindArrays = 2 ** 40

function json({ kind, sql }: Cell, { isExposed }: ReadTable): string {
  return `coalesce(${asJson()}, 'null')`
  function asJson(): string {
    if (kind === 'json') return isExposed ? inOneLine(sql) : sql
    if (kind === 'numeric') return printed(sql)
    if (kind === 'number') return `CASE WHEN ${sql} ~ '[NI]' THEN '"' || ${sql} || '"' ELSE ${sql} END`
    return `CAST(to_json(${sql}) AS TEXT)`
  }
}

/** SQL of a number; NULL for other values. */
function numeric({ kind, sql }: Cell): string {
  if (kind === 'json') return numberOf(asJsonb(sql))
  return kind === 'numeric' ? sql : keyOfNumber(sql)
}

/** SQL of a number as JavaScript prints the equal double; with all digits if there is none. */
function printed(number: string): string {
  const double = asDouble(number)
  const digits = `CAST(trim_scale(${number}) AS TEXT)`
  return `CASE WHEN ${number} IN ('NaN', 'Infinity', '-Infinity') THEN '"' || ${number} || '"'
    WHEN NOT ${isDouble(number)} THEN ${digits}
    WHEN ${number} <> 0 AND (abs(${number}) >= 1e21 OR abs(${number}) < 1e-6) AND ${shortest(double)} = ${number}
      THEN regexp_replace(CAST(${double} AS TEXT), 'e([+-])0*', E'e\\\\1')
    ELSE ${digits} END`
}
