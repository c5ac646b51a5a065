import type { EntityField } from '../../entities.ts'
import { type Token, tokensIn, unquoted, written } from './pql.ts'

/** A filter made of single conditions, of which all or at least one must hold. */
export interface Filter {
  readonly join: 'and' | 'or'
  readonly conditions: readonly Condition[]
}

export interface Condition {
  readonly field: string
  readonly operator: Operator
  readonly value: string
}

export type Operator =
  | 'equal'
  | 'unequal'
  | 'less'
  | 'at-most'
  | 'more'
  | 'at-least'
  | 'contains'
  | 'begins'
  | 'words'
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
  if (type === 'text') return ['equal', 'unequal', 'contains', 'begins', 'words', 'less', 'more', ...nulls]
  if (type === 'json')
    return ['equal', 'contains', 'begins', 'words', 'less', 'at-most', 'more', 'at-least', ...nulls]
  return ['equal', 'unequal', 'less', 'at-most', 'more', 'at-least', ...nulls]
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
  const name = written(field)
  const type = fields.find(one => one.name === field)?.type
  if (operator === 'null') return `${name} is null`
  if (operator === 'not-null') return `${name} is not null`
  if (operator === 'words') return `${name} match ${JSON.stringify(value)}`
  if (operator === 'contains') return `${name} ~ ${JSON.stringify(`(?i)${literally(value)}`)}`
  if (operator === 'begins') return `${name} ~ ${JSON.stringify(`(?i)^${literally(value)}`)}`
  if (type === 'json') return `${name} ${signs[operator]} ${inJson(value)}`
  const isBare = type === 'integer' || type === 'number' || type === 'boolean'
  // Text that is not a number goes into quotes, so that the service reports it.
  return `${name} ${signs[operator]} ${isBare && /^[\w.+-]+$/.test(value) ? value : JSON.stringify(value)}`
}

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
    const read = readCondition(tokens.slice(at, at + 4), fields)
    if (!read) return undefined
    conditions.push(read.condition)
    at += read.length
  }
  const [join = 'and', ...more] = joins
  return more.length === 0 && (join === 'and' || join === 'or') ? { join, conditions } : undefined
}

type Read = { readonly condition: Condition; readonly length: number } | undefined

function readCondition([name, sign, value, last]: readonly Token[], fields: readonly EntityField[]): Read {
  if (!name || !sign || !value) return undefined
  const field = name.kind === 'text' ? unquoted(name.text) : name.text
  if (!fields.some(one => one.name === field)) return undefined
  if (sign.text === 'is') {
    if (value.text === 'null') return { condition: { field, operator: 'null', value: '' }, length: 3 }
    const isNot = value.text === 'not' && last?.text === 'null'
    return isNot ? { condition: { field, operator: 'not-null', value: '' }, length: 4 } : undefined
  }
  if (value.kind === 'sign') return undefined
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
