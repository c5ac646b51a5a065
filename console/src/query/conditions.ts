import type { Node } from '../../../src/query/language/node.ts'
import type { EntityField } from '../entities.ts'
import { compared, type Operator, signs } from './operators.ts'
import { literalOf, literalsOf, partsOf, read, textOf, written } from './pql.ts'

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
    .map(one => (type === 'json' ? one : plain(one)))

/** Returns what is in the quotes of a text. */
function plain(text: string): string {
  if (!/^".*"$/s.test(text)) return text
  try {
    return JSON.parse(text) as string
  } catch {
    return text.slice(1)
  }
}

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
  if (text.trim() === '') return { join: 'and', conditions: [] }
  const { node, parts } = read(text, 'condition')
  if (!node || parts.some(({ kind }) => kind === 'clause')) return undefined
  const join = partsOf(node, 'or') ? 'or' : 'and'
  const conditions = (partsOf(node, join) ?? [node]).map(one => conditionOf(one, fields))
  return conditions.every(one => one !== undefined) ? { join, conditions } : undefined
}

function conditionOf(node: Node, fields: readonly EntityField[]): Condition | undefined {
  const [negated] = partsOf(node, 'not') ?? []
  const one = negated ?? node
  const [operator, subject, given] = one.kind === 'array' ? one.items : []
  const [sign = '', field = ''] = [textOf(operator), textOf(subject)]
  const type = fields.find(({ name }) => name === field)?.type
  const made = (operator: Operator, value: string | undefined): Condition | undefined =>
    value === undefined ? undefined : { field, operator, value }
  if (sign === 'match' && (type || field === anyText) && !negated) return made('words', textOf(given))
  if (type === undefined) return undefined
  const value = typedIn(given, type)
  if (negated) return sign === '=' ? made('unequal', value) : undefined
  if (sign === 'null?') return made(value === 'true' ? 'null' : 'not-null', '')
  if (sign === 'in') {
    const values = literalsOf(given)
    return made('one-of', type === 'json' ? values?.join(', ') : values && printValues(values.map(plain)))
  }
  if (sign !== '~') return compared[sign] && made(compared[sign], value)
  const [, begins, rest = ''] = /^\(\?i\)(\^?)([\s\S]*)$/.exec(textOf(given) ?? '') ?? []
  if (begins === undefined || !isLiteral(rest)) return undefined
  return made(begins ? 'begins' : 'contains', unescaped(rest))
}

/** Returns a value as it is typed. Quotes tell a text in JSON from a number. */
function typedIn(node: Node | undefined, type: EntityField['type']): string | undefined {
  const text = textOf(node)
  return text === undefined || (type === 'json' && inJson(text) === text) ? literalOf(node) : text
}
