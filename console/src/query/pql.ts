import type { Entity, EntityField } from '../entities.ts'

/** A token of PQL. The console refuses nothing: text that it doesn't understand is left to the service. */
export interface Token {
  readonly kind: 'word' | 'text' | 'number' | 'sign'
  readonly text: string
  readonly start: number
  readonly end: number
}

const pattern =
  /(?<text>"(?:\\.|[^"\\])*"?|'(?:\\'|[^'])*'?)|(?<number>-?\d[\w.+-]*)|(?<word>[\p{L}_][\p{L}\p{N}_.-]*)|(?<sign>~>|[<>!]=|!~|[=<>~!(){}[\],*])/gu

export const tokensIn = (text: string): readonly Token[] =>
  [...text.matchAll(pattern)].map(match => {
    const [kind = 'sign'] = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined) ?? []
    return {
      kind: kind as Token['kind'],
      text: match[0],
      start: match.index,
      end: match.index + match[0].length,
    }
  })

/** True for a value of a condition; another word would be a field. */
export const isValue = ({ kind, text }: Token): boolean =>
  kind === 'text' || kind === 'number' || text === 'true' || text === 'false'

const reserved = new Set([
  'and',
  'or',
  'in',
  'is',
  'not',
  'null',
  'true',
  'false',
  'match',
  'group',
  'order',
  'limit',
  'offset',
  'having',
  'distinct',
])

/** Writes a field's name in PQL, quoted where necessary. */
export const written = (name: string): string =>
  /^[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*$/.test(name) && !reserved.has(name.toLowerCase())
    ? name
    : JSON.stringify(name)

/** The text before the condition in a query. Offsets in faults count from its start. */
export const prefixOf = (entity: Entity): string => `${entity.name} { `
export const pqlOf = (entity: Entity, condition: string): string => `${prefixOf(entity)}${condition} }`

/** Returns the field that a token names, alone or with a path into its value. */
const fieldOf = ({ kind, text }: Token, fields: readonly EntityField[]): EntityField | undefined => {
  const name = kind === 'text' ? unquoted(text) : text
  return fields.find(one => one.name === name) ?? fields.find(one => one.name === name.split('.', 1)[0])
}

export function unquoted(text: string): string {
  if (text.startsWith("'")) return text.slice(1, text.endsWith("'") ? -1 : undefined).replaceAll("\\'", "'")
  try {
    return JSON.parse(text) as string
  } catch {
    return text.slice(1)
  }
}

/** The kinds of things that may follow at a place; completion suggests them. */
type Expected =
  | { readonly kind: 'condition' | 'joiner' | 'null' | 'list' }
  | { readonly kind: 'operator' | 'value'; readonly field: EntityField | undefined }

export interface Place {
  readonly expected: Expected
  /** The text already written at the place, and the offset at which it begins. */
  readonly begun: string
  readonly start: number
}

const comparing = new Set(['=', '!=', '<', '<=', '>', '>=', '~', '!~', '~>', 'match'])

/** @param cursor the offset in the text at which writing goes on */
export function placeAt(text: string, cursor: number, fields: readonly EntityField[]): Place {
  const before = tokensIn(text.slice(0, cursor))
  const last = before.at(-1)
  const isBegun = last !== undefined && last.end === cursor && last.kind !== 'sign'
  const done = isBegun ? before.slice(0, -1) : before
  const begun = isBegun ? last.text : ''
  return { expected: expectedAfter(done, fields), begun, start: isBegun ? last.start : cursor }
}

/** Returns what may follow the tokens of a condition. */
export function expectedAfter(tokens: readonly Token[], fields: readonly EntityField[]): Expected {
  let state: Expected = { kind: 'condition' }
  let field: EntityField | undefined
  let isList = false
  for (const token of tokens) {
    const { kind, text } = token
    if (isList) {
      if (text === ']') [isList, state] = [false, { kind: 'joiner' }]
      else state = text === '[' || text === ',' ? { kind: 'value', field } : { kind: 'list' }
    } else if (text === '(' || text === '!' || text === '{' || /^(and|or|not)$/i.test(text)) {
      state = state.kind === 'null' ? state : { kind: 'condition' }
    } else if (text === ')' || text === '}') state = { kind: 'joiner' }
    else if (state.kind === 'condition') {
      field = fieldOf(token, fields)
      state = { kind: 'operator', field }
    } else if (state.kind === 'operator') {
      if (text === 'in') isList = true
      state = text === 'is' ? { kind: 'null' } : comparing.has(text) ? { kind: 'value', field } : state
    } else if (state.kind === 'value' || (state.kind === 'null' && kind === 'word'))
      state = { kind: 'joiner' }
  }
  return state
}

export interface Suggestion {
  /** The text that is inserted. */
  readonly text: string
  /** A note on the suggestion, such as a type or a count. */
  readonly about?: string
}

const operatorsOf = (type: EntityField['type'] | undefined): readonly string[] =>
  type === 'boolean'
    ? ['=', 'in [', 'is null', 'is not null']
    : type === 'text'
      ? ['=', '!=', '~', 'match', 'in [', '<', '<=', '>', '>=', '!~', 'is null', 'is not null']
      : type === 'json'
        ? ['=', '~', '<', '<=', '>', '>=', '~>', 'match', 'in [', 'is null', 'is not null']
        : ['=', '!=', '<', '<=', '>', '>=', 'in [', 'is null', 'is not null']

/** Returns the suggestions that need no request. Values come from the service. */
export function suggest({ expected, begun }: Place, fields: readonly EntityField[]): readonly Suggestion[] {
  const start = begun.toLowerCase().replace(/^["']/, '')
  const fitting = (list: readonly Suggestion[]) =>
    list.filter(({ text }) => {
      const plain = text.toLowerCase().replace(/^["']/, '')
      return plain.startsWith(start) && plain !== start
    })
  const words = (...list: readonly string[]) => fitting(list.map(text => ({ text })))
  if (expected.kind === 'condition') {
    const named = fields.map(({ name, type }) => ({ text: written(name), about: type }))
    const inside = start.length < 2 ? [] : named.filter(({ text }) => text.toLowerCase().includes(start))
    const found = new Map([...fitting(named), ...inside].map(one => [one.text, one]))
    return [...found.values()].filter(({ text }) => text.toLowerCase() !== start)
  }
  if (expected.kind === 'operator') return words(...operatorsOf(expected.field?.type))
  if (expected.kind === 'joiner') return words('and', 'or')
  if (expected.kind === 'null') return words('null', 'not null')
  if (expected.kind === 'list') return [{ text: ',' }, { text: ']' }]
  return expected.kind === 'value' && expected.field?.type === 'boolean' ? words('true', 'false') : []
}
