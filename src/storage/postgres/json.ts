import { exactText, parseExact } from '../../lib/json.ts'
import type { FieldRef } from '../../model/plan.ts'
import { numericBound } from '../tables/bounds.ts'
import type { Bind, Cell } from '../tables/cells.ts'
import type { Inner } from '../tables/dialect.ts'

/**
 * JSON in PostgreSQL. `jsonb` compares numbers by value and objects whatever their order, but it refuses what `json` and
 * text may hold. No statement may fail for what a row holds, so what `jsonb` refuses is replaced.
 */

/** NUL becomes a noncharacter, and an unpaired surrogate what every encoder makes of it. */
const replacements = { nul: '\uffff', surrogate: '\ufffd' } as const

/** A text of a client as it would be in `jsonb`. */
export const storableInJson = (text: string): string => text.replaceAll('\0', replacements.nul).toWellFormed()

/** The same for the JSON of a constant; undefined if it has a number that no `jsonb` holds. */
export function storableJson(json: string): string | undefined {
  const value = storable(parseExact(json))
  return value === undefined ? undefined : JSON.stringify(value)
}

/** What may need a second look in JSON of rows: escapes, exponents, and numbers of many digits. */
const suspicious = /\\u|[eE][-+]?\d{3}|\d{250}/

/**
 * The same for rows that were read before. A row with a number that no `jsonb` holds is in no table, nor is one with a
 * text that no column of text holds.
 */
function storableRows(rows: string, kinds: readonly Cell['kind'][]): string {
  if (!suspicious.test(rows)) return rows
  const all = parseExact(rows) as readonly (readonly unknown[])[]
  const some = all.filter(row => !row.some((value, at) => kinds[at] === 'text' && isUnstorable(value)))
  return JSON.stringify(some.map(storable).filter(row => row !== undefined))
}

const isUnstorable = (value: unknown) => typeof value === 'string' && storableInJson(value) !== value

/** The depth is that of a query, which has a bound. */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableInJson(value)
  const number = typeof value === 'number' ? String(value) : exactText(value)
  if (number !== undefined) return isStorableNumber(number) ? value : undefined
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([key, one]) => [storableInJson(key), storable(one)] as const)
  if (members.some(([, one]) => one === undefined)) return undefined
  return Array.isArray(value) ? members.map(([, one]) => one) : Object.fromEntries(members)
}

/** @param number as JSON writes it */
export const isStorableNumber = (number: string): boolean => typeof numericBound('=', number) !== 'string'

/** The same for JSON of a row. An escaped backslash is written otherwise first, so that no other one is in front of `\u`. */
const replaced = (text: string) =>
  [
    [String.raw`\\u0000`, String.raw`\\uffff`],
    [String.raw`\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])`, String.raw`\\ufffd`],
    [String.raw`(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}`, String.raw`\\ufffd`],
  ].reduce(
    (sql, [from = '', to = '']) => `regexp_replace(${sql}, ${escaped(from)}, ${escaped(to)}, 'g')`,
    `replace(${text}, ${escaped('\\\\')}, ${escaped('\\u005c')})`,
  )

/** A literal that means the same whatever `standard_conforming_strings` is. */
const escaped = (text: string) => `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`

/** Numbers of so many digits that `numeric` might not hold them. */
const long = escaped(String.raw`(^|[\s,:\[])-?[0-9.]+[eE][-+]?[0-9]{4}|[0-9.]{250}`)
const tooLong = escaped(String.raw`(^|[\s,:\[])-?[0-9.]+[eE][-+]?[0-9]{5}`)
/** In characters: a shorter text has no number that is too long by its digits. */
const safeLength = 6_000

/** What holds a number that `numeric` doesn't is the text of its JSON. */
const converted = (text: string) => `CASE
  WHEN ${text} ~ ${long} AND (length(${text}) > ${safeLength} OR ${text} ~ ${tooLong}) THEN to_jsonb(${text})
  WHEN strpos(${text}, ${escaped('\\u')}) = 0 THEN CAST(${text} AS JSONB)
  ELSE CAST(${replaced(text)} AS JSONB) END`

/** Beyond this an index can't be a PostgreSQL integer, and no array is so long. */
const maxIndex = 2 ** 31 - 1

/** A negative index would count from the end. */
const isStep = (one: string | number) => typeof one === 'string' || (one >= 0 && one <= maxIndex)

/** The operand of `->`. */
const step = (one: string | number, bind: Bind<string | number>) =>
  typeof one === 'string' ? `CAST(${bind(storableInJson(one))} AS TEXT)` : `CAST(${bind(one)} AS INTEGER)`

/** JSON text as `jsonb`. */
export const asJsonb = (text: string): string =>
  // OFFSET 0 keeps the planner from writing an expression wherever its value is used.
  `(SELECT ${converted('j.x')} FROM (SELECT ${text} AS x OFFSET 0) AS j)`

/** JSON text in the form in which members of `json` can be read: without what `jsonb` refuses in texts. */
export const asReadable = (text: string): string =>
  `(SELECT CASE WHEN strpos(j.x, ${escaped('\\u')}) = 0 THEN CAST(j.x AS JSON) ELSE CAST(${replaced('j.x')} AS JSON) END FROM (SELECT ${text} AS x OFFSET 0) AS j)`

/** A member of `jsonb`; NULL also for JSON's null. */
export function jsonbAt(whole: string, path: FieldRef['path'], bind: Bind<string | number>): string {
  if (!path.every(isStep)) return 'CAST(NULL AS JSONB)'
  const member = path.reduce((value, one) => {
    const operand = step(one, bind)
    if (typeof one === 'string') return `(${value} -> ${operand})`
    // To `->`, a scalar is an array of one element.
    return `(SELECT CASE WHEN jsonb_typeof(s.v) = 'array' THEN s.v -> ${operand} END FROM (SELECT ${value} AS v OFFSET 0) AS s)`
  }, whole)
  return `NULLIF(${member}, CAST('null' AS JSONB))`
}

/** A member as its JSON is written; NULL also for JSON's null. @param whole as `asReadable` gives it */
export function jsonTextAt(whole: string, path: FieldRef['path'], bind: Bind<string | number>): string {
  if (!path.every(isStep)) return 'CAST(NULL AS TEXT)'
  const way = path.map(one => ` -> ${step(one, bind)}`).join('')
  // What `replaced` wrote otherwise.
  const written = `replace(CAST(${whole}${way} AS TEXT), ${escaped('\\u005c')}, ${escaped('\\\\')})`
  return `NULLIF(${written}, 'null')`
}

/** A number of `jsonb`; NULL for other values. */
export const numberOf = (jsonb: string): string =>
  `(SELECT CASE WHEN jsonb_typeof(n.v) = 'number' THEN CAST(n.v AS NUMERIC) END FROM (SELECT ${jsonb} AS v OFFSET 0) AS n)`

/** The value, and if it is an array, its elements, as an array of `jsonb`. @param value SQL of a name */
export const alternativesOf = (value: string): string =>
  `CASE WHEN jsonb_typeof(${value}) = 'array' THEN jsonb_build_array(${value}) || ${value} ELSE jsonb_build_array(${value}) END`

/** Rows that were read before, as a select. */
export function givenRows(rows: string, kinds: readonly Cell['kind'][], bind: Bind<string>): Inner {
  const cells = kinds.map((kind, at) => ({ kind: kindOfRows(kind), sql: `i.c${at}`, nullable: true }))
  const columns = kinds.map((kind, at) => `${readAs(kind, at)} AS c${at}`)
  const json = bind(storableRows(rows, kinds))
  return {
    sql: `SELECT ${columns.join(', ')} FROM jsonb_array_elements(CAST(${json} AS JSONB)) AS r (v)`,
    cells,
  }
}

/** A time in a built-in table is compared as an instant. */
const kindOfRows = (kind: Cell['kind']): Cell['kind'] =>
  kind === 'time' ? 'instant' : kind === 'number' ? 'numeric' : kind

/** A value of a row; NULL if no value of the field is equal. */
function readAs(kind: Cell['kind'], at: number): string {
  const value = `(r.v -> ${at})`
  const when = (type: string, test: string, sql: string) =>
    `CASE WHEN jsonb_typeof(${value}) = '${type}' THEN CASE WHEN ${test} THEN ${sql} END END`
  switch (kind) {
    case 'json':
      return `CAST(${value} AS TEXT)`
    case 'boolean':
      return when('boolean', 'true', `CAST(${value} AS BOOLEAN)`)
    case 'integer': {
      const number = `CAST(${value} AS NUMERIC)`
      const fits = `${number} = trunc(${number}) AND abs(${number}) <= 9223372036854775807`
      return when('number', fits, `CAST(${number} AS BIGINT)`)
    }
    case 'number':
    case 'numeric':
      return when('number', 'true', `CAST(${value} AS NUMERIC)`)
    case 'text':
      return when('string', 'true', `(r.v ->> ${at}) COLLATE "C"`)
    default:
      // Leap seconds, the year 0, and more digits than there are would be rounded, or an error.
      return when('string', `r.v ->> ${at} ~ '${instants}'`, `CAST(r.v ->> ${at} AS TIMESTAMPTZ)`)
  }
}

/** Without backslashes, which may be escapes. */
const instants = '^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-5][0-9]([.][0-9]{1,6}0*)?Z$'
