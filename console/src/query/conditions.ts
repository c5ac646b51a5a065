import type { EntityField } from '../entities.ts'
import { isValue, type Token, tokensIn, unquoted, written } from './pql.ts'

/** A filter made of single conditions, of which all or at least one must hold. */
export interface Filter {
  readonly join: 'and' | 'or'
  readonly conditions: readonly Condition[]
}

/** Stands for all texts of a record, in which words are searched. */
export const anyText = '*'

export interface Condition {
  readonly field: string
  readonly operator: Operator
  readonly value: string
}

type Operator =
  | 'equal'
  | 'unequal'
  | 'less'
  | 'at-most'
  | 'more'
  | 'at-least'
  | 'contains'
  | 'begins'
  | 'words'
  | 'one-of'
  | 'null'
  | 'not-null'

const signs = { equal: '=', unequal: '!=', less: '<', 'at-most': '<=', more: '>', 'at-least': '>=' } as const
const compared = Object.fromEntries(Object.entries(signs).map(([name, sign]) => [sign, name])) as Record<
  string,
  Operator
>

export const operatorsFor = (type: EntityField['type']): readonly Operator[] => {
  const nulls = ['null', 'not-null'] as const
  if (type === 'boolean') return ['equal', ...nulls]
  if (type === 'text')
    return ['equal', 'unequal', 'one-of', 'contains', 'begins', 'words', 'less', 'more', ...nulls]
  if (type === 'json')
    return ['equal', 'one-of', 'contains', 'begins', 'words', 'less', 'at-most', 'more', 'at-least', ...nulls]
  return ['equal', 'unequal', 'one-of', 'less', 'at-most', 'more', 'at-least', ...nulls]
}

/** Returns the usual operator of a type. Dates are more often compared than looked up. */
export const firstOperator = (type: EntityField['type']): Operator =>
  type === 'date-time' ? 'at-least' : type === 'text' || type === 'json' ? 'contains' : 'equal'

export const needsValue = (operator: Operator): boolean => operator !== 'null' && operator !== 'not-null'

export const literally = (text: string) => text.replaceAll(/[\\.+*?()|[\]{}^$]/g, '\\$&')
const unescaped = (text: string) => text.replaceAll(/\\([\\.+*?()|[\]{}^$])/g, '$1')
const isLiteral = (text: string) => !/[.+*?()|[\]{}^$\\]/.test(text.replaceAll(/\\[\\.+*?()|[\]{}^$]/g, ''))

export const printFilter = ({ join, conditions }: Filter, fields: readonly EntityField[]): string =>
  conditions.map(one => printCondition(one, fields)).join(` ${join} `)

function printCondition({ field, operator, value }: Condition, fields: readonly EntityField[]): string {
  if (field === anyText) return `* match ${JSON.stringify(value)}`
  const name = written(field)
  const type = fields.find(one => one.name === field)?.type
  if (operator === 'null') return `${name} is null`
  if (operator === 'not-null') return `${name} is not null`
  if (operator === 'words') return `${name} match ${JSON.stringify(value)}`
  if (operator === 'contains') return `${name} ~ ${JSON.stringify(`(?i)${literally(value)}`)}`
  if (operator === 'begins') return `${name} ~ ${JSON.stringify(`(?i)^${literally(value)}`)}`
  if (operator === 'one-of')
    return `${name} in [${valuesIn(value, type)
      .map(one => printValue(one, type))
      .join(', ')}]`
  return `${name} ${signs[operator]} ${printValue(value, type)}`
}

function printValue(value: string, type: EntityField['type'] | undefined): string {
  if (type === 'json') return inJson(value)
  const isBare = type === 'integer' || type === 'number' || type === 'boolean'
  // Text that is not a number goes into quotes, so that the service reports it.
  return isBare && /^[\w.+-]+$/.test(value) ? value : JSON.stringify(value)
}

/** Splits values at commas. One in quotes may contain commas; in JSON, quotes also tell a text from a number. */
const valuesIn = (text: string, type: EntityField['type'] | undefined): readonly string[] =>
  (text.match(/\s*"(?:[^"\\]|\\.)*"\s*(?=,|$)|[^,]+/g) ?? [])
    .map(one => one.trim())
    .filter(Boolean)
    .map(one => (type !== 'json' && /^".*"$/s.test(one) ? unquoted(one) : one))

/** Writes values as they are typed, with quotes around those that commas or quotes would break. */
const printValues = (values: readonly string[]): string =>
  values.map(one => (/[,"]|^\s|\s$|^$/.test(one) ? JSON.stringify(one) : one)).join(', ')

const isNumber = (text: string) => /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(text)

/** Writes a value of JSON: a number as one, and in quotes what is typed in quotes or is no number. */
function inJson(value: string): string {
  const isQuoted = /^"(?:[^"\\]|\\.)*"$/.test(value)
  return isNumber(value) || value === 'true' || value === 'false' || isQuoted ? value : JSON.stringify(value)
}

/** Returns the index of the condition at an offset in the printed filter. */
export function conditionAt(
  { join, conditions }: Filter,
  fields: readonly EntityField[],
  place: number | undefined,
): number | undefined {
  if (place === undefined) return undefined
  let end = 0
  return conditions.findIndex(one => {
    end += printCondition(one, fields).length + join.length + 2
    return place < end
  })
}

const numeric = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/** Returns the type of a value that is plainly of another type. The service checks times more strictly. */
export function wrongValue(
  { field, operator, value }: Condition,
  fields: readonly EntityField[],
): 'integer' | 'number' | 'date-time' | undefined {
  const type = fields.find(({ name }) => name === field)?.type
  if (!needsValue(operator) || value === '') return undefined
  if (operator === 'one-of')
    return valuesIn(value, type)
      .map(one => wrongValue({ field, operator: 'equal', value: one }, fields))
      .find(wrong => wrong !== undefined)
  if (type === 'integer' || type === 'number') return numeric.test(value) ? undefined : type
  const isCompared = ['less', 'at-most', 'more', 'at-least'].includes(operator)
  if (type === 'json') return isCompared && !isNumber(value) ? 'number' : undefined
  return type === 'date-time' && !/^[+-]?\d{4}/.test(value) ? type : undefined
}

/** @returns undefined if a list of conditions can't express the text */
export function readFilter(text: string, fields: readonly EntityField[]): Filter | undefined {
  const tokens = tokensIn(text)
  const conditions: Condition[] = []
  const joins = new Set<string>()
  let at = 0
  while (at < tokens.length) {
    if (conditions.length > 0) joins.add(tokens[at++]?.text.toLowerCase() ?? '')
    const read = readCondition(tokens.slice(at), fields)
    if (!read) return undefined
    conditions.push(read.condition)
    at += read.length
  }
  const [join = 'and', ...more] = joins
  return more.length === 0 && (join === 'and' || join === 'or') ? { join, conditions } : undefined
}

type Read = { readonly condition: Condition; readonly length: number } | undefined

function readCondition(tokens: readonly Token[], fields: readonly EntityField[]): Read {
  const [name, sign, value, last] = tokens
  if (!name || !sign || !value) return undefined
  if (name.text === anyText && sign.text === 'match' && value.kind === 'text')
    return { condition: { field: anyText, operator: 'words', value: unquoted(value.text) }, length: 3 }
  const field = name.kind === 'text' ? unquoted(name.text) : name.text
  if (!fields.some(one => one.name === field)) return undefined
  if (sign.text === 'is') {
    if (value.text === 'null') return { condition: { field, operator: 'null', value: '' }, length: 3 }
    const isNot = value.text === 'not' && last?.text === 'null'
    return isNot ? { condition: { field, operator: 'not-null', value: '' }, length: 4 } : undefined
  }
  if (sign.text === 'in' && value.text === '[') return readList(field, tokens, fields)
  if (!isValue(value)) return undefined
  const text = value.kind === 'text' ? unquoted(value.text) : value.text
  if (sign.text === '~') {
    const [, begins, rest = ''] = /^\(\?i\)(\^?)([\s\S]*)$/.exec(text) ?? []
    if (begins === undefined || !isLiteral(rest)) return undefined
    return {
      condition: { field, operator: begins ? 'begins' : 'contains', value: unescaped(rest) },
      length: 3,
    }
  }
  const operator = sign.text === 'match' ? 'words' : compared[sign.text]
  const type = fields.find(one => one.name === field)?.type
  // Quotes tell a text in JSON from a number.
  if (type === 'json' && value.kind === 'text' && operator && operator !== 'words' && inJson(text) === text)
    return { condition: { field, operator, value: JSON.stringify(text) }, length: 3 }
  return operator && { condition: { field, operator, value: text }, length: 3 }
}

/** Reads `field in [1, 2]`. */
function readList(field: string, tokens: readonly Token[], fields: readonly EntityField[]): Read {
  const isJson = fields.find(({ name }) => name === field)?.type === 'json'
  const end = tokens.findIndex(({ text, kind }) => kind === 'sign' && text === ']')
  const list = tokens.slice(3, Math.max(3, end))
  const isPlain = list.every((one, at) => (at % 2 === 1 ? one.text === ',' : isValue(one)))
  if (!isPlain || list.length % 2 === 0) return undefined
  const values = list.filter((_, at) => at % 2 === 0)
  const texts = values.map(({ kind, text }) => (kind === 'text' ? unquoted(text) : text))
  const value = isJson
    ? values.map(({ kind, text }) => (kind === 'text' ? JSON.stringify(unquoted(text)) : text)).join(', ')
    : printValues(texts)
  return { condition: { field, operator: 'one-of', value }, length: end + 1 }
}
