import { PlanRefused } from '../../lib/errors.ts'
import { postgresExpression, postgresRefusal } from '../../lib/expressions.ts'
import { exactText, parseExact } from '../../lib/json.ts'
import { foundIn, holdsIfMissing } from '../../model/operators/list.ts'
import type { Searched } from '../../model/operators/operator.ts'
import {
  type Constant,
  differsIfMissing,
  eachElement,
  type FieldRef,
  type ValueCondition,
} from '../../model/plan.ts'
import { numericBound } from '../tables/bounds.ts'
import type { Bind, Cell } from '../tables/cells.ts'
import type { Inner, Outer } from '../tables/dialect.ts'
import type { Value } from './driver.ts'

/**
 * JSON in PostgreSQL. `jsonb` compares numbers by value and objects in any order, but it refuses some of what
 * `json` and text may hold. No statement may fail because of a row's content, so what `jsonb` refuses is
 * replaced.
 */

/** NUL becomes a noncharacter, and an unpaired surrogate becomes what every encoder makes of it. */
const replacements = { nul: '\uffff', surrogate: '\ufffd' } as const

/** A text of a client as it would be in `jsonb`. */
const storableInJson = (text: string): string => text.replaceAll('\0', replacements.nul).toWellFormed()

/** Makes the JSON of a constant storable in `jsonb`; undefined if it has a number that no `jsonb` holds. */
function storableJson(json: string): string | undefined {
  const value = storable(parseExact(json))
  return value === undefined ? undefined : JSON.stringify(value)
}

/** Parts of JSON that `jsonb` may refuse: escapes, exponents, and numbers of many digits. */
const suspicious = /\\u|[eE][-+]?\d{3}|\d{250}/

/**
 * Makes rows that were read before storable. Leaves out rows that are in no table: those with a number that
 * no `jsonb` holds, or with a text that no column of text holds.
 */
function storableRows(rows: string, kinds: readonly Cell['kind'][]): string {
  if (!suspicious.test(rows)) return rows
  const all = parseExact(rows) as readonly (readonly unknown[])[]
  const some = all.filter(row => !row.some((value, at) => kinds[at] === 'text' && isUnstorable(value)))
  return JSON.stringify(some.map(storable).filter(row => row !== undefined))
}

const isUnstorable = (value: unknown) => typeof value === 'string' && storableInJson(value) !== value

/** Recurses no deeper than a query, whose depth has a bound. */
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
const isStorableNumber = (number: string): boolean => typeof numericBound('=', number) !== 'string'

/** Replaces what `jsonb` refuses. Escaped backslashes become `\u005c`, so that each `\u` begins an escape. */
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

/** Numbers that `numeric` might not hold: an exponent of at least 4 digits, or 250 digits. */
const long = escaped(String.raw`(^|[\s,:\[])-?[0-9.]+[eE][-+]?[0-9]{4}|[0-9.]{250}`)
/** Numbers that `numeric` can't hold: an exponent of at least 5 digits. */
const tooLong = escaped(String.raw`(^|[\s,:\[])-?[0-9.]+[eE][-+]?[0-9]{5}`)
/** Length in characters up to which no text has a number with too many digits. */
const safeLength = 6_000

/** SQL of JSON text as `jsonb`. JSON with a number that `numeric` can't hold becomes a string. */
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
  const each = path.lastIndexOf(eachElement)
  if (each >= 0) {
    const member = jsonbAt('e.v', path.slice(each + 1), bind)
    const lists = jsonbAt(whole, path.slice(0, each), bind)
    // What is found in elements of elements is one list, so only the outermost arrays are taken apart once more.
    const list =
      path.indexOf(eachElement) === each
        ? `(VALUES (${lists})) AS l (v)`
        : `jsonb_array_elements(${lists}) AS l (v)`
    return `(SELECT jsonb_agg(m.v) FROM ${list}, jsonb_array_elements(CASE WHEN jsonb_typeof(l.v) = 'array' THEN l.v ELSE '[]' END) AS e (v),
      LATERAL (SELECT ${member} AS v OFFSET 0) AS m WHERE m.v IS NOT NULL)`
  }
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
  const each = path.indexOf(eachElement)
  if (each >= 0) {
    const rest = path.slice(each + 1)
    const member = jsonTextAt('e.v', rest, bind)
    const text = rest.includes(eachElement) ? 'substr(m.t, 2, length(m.t) - 2)' : 'm.t'
    const array = jsonTextAt(whole, path.slice(0, each), bind)
    return `(SELECT '[' || string_agg(${text}, ',' ORDER BY e.n) || ']' FROM (SELECT CAST(${array} AS JSON) AS v OFFSET 0) AS l,
      json_array_elements(CASE WHEN json_typeof(l.v) = 'array' THEN l.v ELSE '[]' END) WITH ORDINALITY AS e (v, n),
      LATERAL (SELECT ${member} AS t OFFSET 0) AS m WHERE m.t IS NOT NULL)`
  }
  if (!path.every(isStep)) return 'CAST(NULL AS TEXT)'
  const way = path.map(one => ` -> ${step(one, bind)}`).join('')
  // Restores the backslashes that `replaced` has written as `\u005c`.
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
      // Leap seconds, the year 0, and too many digits would be rounded, or would be an error.
      return when('string', `r.v ->> ${at} ~ '${instants}'`, `CAST(r.v ->> ${at} AS TIMESTAMPTZ)`)
  }
}

/** Has no backslashes, which may be escapes in a literal. */
const instants = '^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-5][0-9]([.][0-9]{1,6}0*)?Z$'

/** A condition on JSON, as SQL on `jsonb`. @param value of the leaf's field */
export function testJson(leaf: ValueCondition, value: string, bind: Bind<Value>): string {
  return whereKnown(value, leaf.negated, holdsIfMissing(leaf), foundIn(searched(leaf, bind), leaf))
}

/** @param select of one column of `jsonb` */
export function jsonAmong(
  { field, value }: Pick<Outer, 'field' | 'value'>,
  select: string,
  negated: boolean,
) {
  const test = someOf(field, one => `${one} IN (${select})`)
  return whereKnown(value, negated, negated && differsIfMissing(field), test)
}

/** The SQL name of the value that is tested. */
const it = 'v.v'

/** @param test is true or false of a value that isn't null */
const whereKnown = (value: string, negated: boolean, isTrueOfNull: boolean, test: string): string =>
  `(SELECT ${it} ${isTrueOfNull ? 'IS NULL OR' : 'IS NOT NULL AND'} ${negated ? 'NOT ' : ''}(${test}) FROM (SELECT ${value} AS v OFFSET 0) AS v)`

/** A value of `jsonb`, as its operator finds it. */
function searched({ field }: ValueCondition, bind: Bind<Value>): Searched<string> {
  const ofElements = (test: (one: string) => string) =>
    field.list
      ? `CASE jsonb_typeof(${it}) WHEN 'array' THEN ${someElement(test)} ELSE ${test(it)} END`
      : test(it)
  return {
    equal: constants => {
      const all = constants.flatMap(constant => jsonOf(constant) ?? [])
      if (constants.length === 1 && all.length === 0) return 'false'
      const wanted =
        constants.length === 1 ? `CAST(${bind(all[0] ?? '')} AS JSONB)` : `ANY(CAST(${bind(all)} AS JSONB[]))`
      return someOf(field, one => `${one} = ${wanted}`)
    },
    ordered: (operator, constant) => {
      if (constant.kind !== 'number') return 'false'
      const bound = numericBound(operator, constant.text)
      if (bound === 'none') return 'false'
      if (bound === 'all') return someOf(field, one => `jsonb_typeof(${one}) = 'number'`)
      const limit = `${bound.comparison} CAST(${bind(bound.value)} AS NUMERIC)`
      const isNumber = (one: string) =>
        `CASE WHEN jsonb_typeof(${one}) = 'number' THEN CAST(${one} AS NUMERIC) ${limit} ELSE false END`
      return someOf(field, isNumber)
    },
    matching: expression => {
      const pattern = patternOf(expression, bind)
      return ofElements(one => matchesText(one, pattern))
    },
    tested: ({ sql }, isOfArrays) => {
      const matches = (value: string, expression: string) => matchesText(value, patternOf(expression, bind))
      const test = (value: string) => sql({ value, isJson: true, bind, matches })
      return isOfArrays ? test(it) : ofElements(test)
    },
  }
}

/** A constant as JSON text; undefined if `jsonb` holds none that is equal. */
function jsonOf(constant: Constant): string | undefined {
  if (constant.kind === 'boolean') return String(constant.value)
  if (constant.kind === 'json') return storableJson(constant.json)
  if (constant.kind !== 'number') return JSON.stringify(storableInJson(constant.text))
  return isStorableNumber(constant.text) ? constant.text : undefined
}

/** True if the value or, of a list, one of its elements passes the test. */
const someOf = ({ list }: Pick<FieldRef, 'list'>, test: (one: string) => string) =>
  list ? `${test(it)} OR ${someElement(test)}` : test(it)

const someElement = (test: (one: string) => string) =>
  `CASE WHEN jsonb_typeof(${it}) = 'array' THEN EXISTS (SELECT 1 FROM jsonb_array_elements(${it}) AS e (v) WHERE ${test('e.v')}) ELSE false END`

const matchesText = (value: string, pattern: string) => `${matchedText(value)} COLLATE "C" ~ ${pattern}`

/** The text that expressions see of `jsonb`: of a number, all digits. */
const matchedText = (value: string) =>
  `(CASE jsonb_typeof(${value}) WHEN 'number' THEN CAST(trim_scale(CAST(${value} AS NUMERIC)) AS TEXT) ELSE ${value} #>> '{}' END)`

/** @throws PlanRefused for an expression that PostgreSQL can't match */
export function patternOf(expression: string, bind: Bind<Value>): string {
  const converted = postgresExpression(expression)
  if (converted !== undefined && !converted.includes('\0')) return `CAST(${bind(converted)} AS TEXT)`
  throw new PlanRefused(
    `PostgreSQL can't match the expression ${JSON.stringify(expression)}: ${postgresRefusal(expression) ?? 'it has no NUL'}.`,
  )
}
