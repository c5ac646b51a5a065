import { decimalKey } from '../../lib/decimals.ts'
import type { Field } from '../../model/entities.ts'
import { computedValue } from '../../model/functions/functions.ts'
import { canonicalJson, constantValue } from '../../model/json-values.ts'
import { equality, holdsIfMissing } from '../../model/operators/list.ts'
import { differsIfMissing, type TextQuery } from '../../model/plan.ts'
import { type Bind, type Cell, namedKeys } from '../tables/cells.ts'
import { selectOf } from '../tables/conditions.ts'
import type { Dialect, Outer, Reading, SearchedValue, Source } from '../tables/dialect.ts'
import { keyOf } from '../tables/values.ts'
import { tick } from './driver.ts'
import type { Search, searchFunctions } from './functions.ts'

/** The SQL of statements on tables in SQLite. `functions.ts` adds the functions that it lacks. */

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

const kinds: Readonly<Record<Field['type'], Cell['kind']>> = {
  text: 'text',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  'date-time': 'time',
  json: 'json',
}

const isWholeNumber = (kind: Cell['kind']) => kind === 'integer' || kind === 'boolean'
/** false comes before true, as 0 before 1. */
const wholeNumber = (kind: Cell['kind'], value: string) =>
  kind === 'boolean' ? String(Number(value === 'true')) : value

export function sqliteDialect(bind: Bind<number | string>): Dialect {
  const callOf = (name: keyof typeof searchFunctions, values: readonly SearchedValue[], words: TextQuery) => {
    const search: Search = { words, json: values.map(({ isJson }) => isJson) }
    return `${name}(${[bind(JSON.stringify(search)), ...values.map(({ sql }) => sql)].join(', ')})`
  }
  const memberOf: Dialect['memberOf'] = (json, path) =>
    `carrel_member(${json}, ${bind(JSON.stringify(path))})`

  const dialect: Dialect = {
    read: reading => readRows(reading, bind),
    recordPage: (columns, rows) => {
      const members = columns.map(({ name, type, sql }) => `${literal(name)}, ${memberJson(type, sql)}`)
      return `SELECT json_object(${members.join(', ')}) AS json ${rows}`
    },
    // SQLite accepts OFFSET only after LIMIT; -1 means no limit
    // (https://sqlite.org/lang_select.html#limitoffset).
    window: (limit, offset) => `LIMIT ${bind(limit ?? -1)} OFFSET ${bind(offset)}`,
    bindNumber: bind,
    bindText: bind,

    column: ({ type }, sql) => ({ kind: kinds[type], sql, ...(type === 'json' && { sortsByText: true }) }),
    masked: (column, mask) => {
      if (mask.kind === 'null') return 'NULL'
      if (mask.kind === 'empty list') return literal('[]')
      return `json_remove(${[column, ...mask.fields.map(one => literal(`$."${one}"`))].join(', ')})`
    },
    member: memberOf,
    // SQLite compares all texts by code point.
    byCodePoint: text => text,
    keyOfJson: json => `carrel_canonical(${json})`,
    keyOfNumber: number => `carrel_number_key(${number})`,
    sortTerms,
    json,
    computed: ({ kind, sql }, computed) => {
      const { gives } = computedValue(computed)
      const of = kind === 'time' || kind === 'text' ? 'carrel_of_text' : 'carrel_of_json'
      const call = `${of}(${sql}, ${bind(JSON.stringify(computed))})`
      // A number from JavaScript is a REAL, which would be written with a decimal point.
      return {
        kind: kinds[gives],
        sql: gives === 'integer' ? `CAST(${call} AS INTEGER)` : call,
        nullable: true,
      }
    },
    shuffle: (cells, seed) => ({
      kind: 'text',
      sql: `carrel_shuffle(${[String(seed), ...cells.map(({ sql }) => sql)].join(', ')})`,
      nullable: false,
    }),
    relevance: (cells, words) => {
      const values = cells.map(({ sql, kind }) => ({ sql, isJson: kind === 'json' }))
      return `CAST(${callOf('carrel_relevance', values, words)} AS INTEGER)`
    },
    ofNumbers: (name, { sql }, argument) => ({
      kind: 'number',
      sql: `carrel_of_numbers_${name}(${sql}, ${literal(argument)})`,
      nullable: true,
    }),

    hasNul: true,
    numberBound: (comparison, number) => ({ comparison, value: decimalKey(number) }),
    constant: (kind, value) => {
      if (!isWholeNumber(kind)) return bind(value)
      const number = wholeNumber(kind, value)
      // Bound as a number if that is exact, because SQLite doesn't use an index for every CAST.
      return `CAST(${bind(Number.isSafeInteger(Number(number)) ? Number(number) : number)} AS INTEGER)`
    },
    oneOf: (kind, values, negated) => {
      const list = isWholeNumber(kind)
        ? `[${values.map(value => wholeNumber(kind, value)).join()}]`
        : JSON.stringify(values)
      return `${negated ? 'NOT ' : ''}IN (SELECT value FROM json_each(${bind(list)}))`
    },
    // The term is that of the indexes (`sortTerms`).
    indexTerm: ({ nullable, sql }) => (nullable ? `(${sql} IS NULL) = 0` : undefined),
    matches: (text, expression, negated) =>
      `carrel_matches(${text}, ${bind(expression)}) = ${Number(!negated)}`,
    parsed: json => json,
    memberOf,
    testJson: (leaf, whole) => {
      const { field, negated } = leaf
      const { values = [] } = equality(leaf) ?? {}
      if (values.length > 1) {
        const wanted = bind(JSON.stringify(values.map(one => canonicalJson(constantValue(one)))))
        const value = memberOf(whole, field.path)
        return amongJson({ field, value }, `SELECT value FROM json_each(${wanted})`, negated)
      }
      const passed = `carrel_json(${whole}, ${bind(JSON.stringify(leaf))})`
      return holdsIfMissing(leaf) ? `${passed} IS NOT 1` : `${passed} = ${Number(!negated)}`
    },
    finds: (values, words) => callOf('carrel_match', values, words),
    given: (rows, kinds) => {
      const columns = kinds.map((kind, at) => `${givenValue(kind, at)} AS c${at}`)
      return {
        sql: `SELECT ${columns.join(', ')} FROM json_each(${bind(rows)}) AS r WHERE ${tick}`,
        cells: kinds.map((kind, at) => ({ kind, sql: `i.c${at}`, nullable: true })),
      }
    },
    looksUp: () => true,
    // SQLite makes a table of a select with groups, and an index on it.
    firstOf: (keys, value, from) =>
      `SELECT ${namedKeys(keys)}, ${value} AS v FROM ${from} GROUP BY ${keys.map((_, at) => at + 1).join(', ')}`,
    comparable: (cell, isJson) => (isJson ? canonical(cell) : keyOf(cell, dialect)),
    side: ({ kind }, value, how) =>
      how === 'json'
        ? canonical({ kind, sql: value, nullable: true })
        : how === 'number'
          ? `carrel_key_of_number(${value})`
          : value,
    jsonAmong: amongJson,
    among: (outer, inner, negated) => {
      const lists = outer.flatMap(({ field, value }, at) =>
        field.list ? [`json_each(carrel_alternatives(${value})) AS e${at}`] : [],
      )
      const left = outer.map(({ field, cell, value, isJson }, at) => {
        if (field.list) return `e${at}.value`
        return cell.kind === 'json' ? `carrel_canonical(${value})` : dialect.comparable(cell, isJson)
      })
      const one = left.length === 1 ? left[0] : `(${left.join(', ')})`
      const among = `${one} IN (${selectOf(inner)})`
      const found =
        lists.length === 0 ? among : `EXISTS (SELECT 1 FROM ${lists.join(' CROSS JOIN ')} WHERE ${among})`
      return negated ? `(${found}) IS NOT 1` : found
    },
  }
  return dialect
}

/** SQL of a cell's JSON. SQLite has no column types for booleans or JSON. */
function json({ kind, sql }: Cell): string {
  if (kind === 'json' || kind === 'number') return `coalesce(${sql}, 'null')`
  if (kind === 'boolean') return `CASE ${sql} WHEN 1 THEN 'true' WHEN 0 THEN 'false' ELSE 'null' END`
  return `json_quote(${sql})`
}

/** SQL of the JSON of a field of a whole record. */
function memberJson(type: Field['type'], sql: string): string {
  if (type === 'boolean') return `json(iif(${sql}, 'true', 'false'))`
  return type === 'json' ? `json(${sql})` : sql
}

/** The terms of the indexes. Without nulls, the first term would only keep SQLite from using the index. */
function sortTerms({ kind, sql, nullable, sortsByText }: Cell): readonly string[] {
  const known = nullable ? [`${sql} IS NULL`] : []
  if (kind === 'number') return [...known, `carrel_number_key(${sql})`]
  return [...known, kind === 'json' && !sortsByText ? `carrel_sort_key(${sql})` : sql]
}

/** @param wanted SQL that selects canonical texts */
function amongJson(
  { field, value }: Pick<Outer, 'field' | 'value'>,
  wanted: string,
  negated: boolean,
): string {
  const found = field.list
    ? `EXISTS (SELECT 1 FROM json_each(carrel_alternatives(${value})) AS e WHERE e.value IN (${wanted}))`
    : `carrel_canonical(${value}) IN (${wanted})`
  if (!negated) return found
  // A missing value has no canonical text, and is in no list.
  return differsIfMissing(field) ? `(${found}) IS NOT 1` : `${value} IS NOT NULL AND NOT ${found}`
}

/** SQL of a value of a row that was read before. */
function givenValue(kind: Cell['kind'], at: number): string {
  const value = `r.value ->> ${at}`
  const when = (types: string, sql: string) =>
    `CASE WHEN json_type(r.value, '$[${at}]') IN (${types}) THEN ${sql} END`
  if (kind === 'json') return `r.value -> ${at}`
  if (kind === 'boolean') return when("'true', 'false'", value)
  if (kind === 'integer') return when("'integer', 'real'", value)
  if (kind === 'number') return when("'integer', 'real'", `r.value -> ${at}`)
  return when("'text'", kind === 'time' ? `carrel_time(${value})` : value)
}

/** SQL of the canonical text of any value. */
function canonical({ kind, sql }: Cell): string {
  if (kind === 'json' || kind === 'number') return `carrel_canonical(${sql})`
  if (kind === 'boolean') return `carrel_canonical(iif(${sql}, 'true', 'false'))`
  return `carrel_canonical(json_quote(${sql}))`
}

/** The rows of a table that a select reads. `tick` comes first: SQLite skips the terms after a false one. */
function readRows(reading: Reading, bind: Bind<number | string>): Source {
  const { way, key, first } = reading
  const { view, each, own, asked } = visibleFrom(reading, bind)
  return {
    once: sql => sql,
    ...(own !== undefined && { own }),
    from: (filter, order) => {
      const where = `WHERE ${asked}${filter === '' ? '' : ` AND ${filter}`}`
      if (way !== 'merge' || order === '') return `FROM ${each}${view} ${where}`
      const some = `SELECT ${key} FROM ${view} ${where} ORDER BY ${order} LIMIT ${bind(first ?? -1)}`
      return `FROM ${each}${view} ON ${key} IN (${some})`
    },
  }
}

function visibleFrom({ table: { name, rows }, way }: Reading, bind: Bind<number | string>) {
  const view = `${name} AS t`
  if (rows.kind === 'all') return { view, each: '', asked: tick }
  if (rows.kind === 'own') return { view, each: '', asked: `${tick} AND t.eperson = ${bind(rows.eperson)}` }
  if (way === 'scan') {
    const wanted = `(SELECT value FROM json_each(${bind(`[${rows.ids.join()}]`)}))`
    // + keeps SQLite from using the index by audience, which would need a sort
    // (https://sqlite.org/optoverview.html#uplus).
    return { view, each: '', asked: `${tick} AND +t.audience IN ${wanted}` }
  }
  const [only, ...others] = rows.ids
  if (only !== undefined && others.length === 0) {
    const own = `t.audience = ${bind(only)}`
    return { view, each: '', own, asked: `${tick} AND ${own}` }
  }
  const own = 't.audience = seen'
  // CROSS JOIN keeps the order of the loops. The last term keeps `tick` in the inner one.
  const each = `(SELECT value AS seen FROM json_each(${bind(`[${rows.ids.join()}]`)})) CROSS JOIN `
  return { view, each, own, asked: `(${tick} OR t.audience IS NULL) AND ${own}` }
}
