import { readPqlCondition } from '../../../src/query/language/read-pql.ts'
import type { EntityField } from '../entities.ts'
import { isValue, type Token, tokensIn, unquoted, written } from './pql.ts'

/**
 * The requirements of a condition, which must all hold. What is searched, ticked in a facet or brushed in a
 * histogram is a requirement like any other, so the address of a view has one condition, and drawings,
 * downloads and questions take it as it is.
 */
export interface Requirements {
  readonly list: readonly Requirement[]
  /** Clauses behind the condition, such as `limit 5`. */
  readonly clauses: string
}

export type Requirement =
  | { readonly kind: 'search'; readonly text: string; readonly words: string }
  /** The field has one of these values; each is written in PQL, and null stands for no value. */
  | {
      readonly kind: 'choice'
      readonly text: string
      readonly field: string
      readonly values: readonly Value[]
    }
  /** One end of a range, whose value is written in PQL. */
  | { readonly kind: 'bound'; readonly text: string; readonly field: string; readonly bound: Bound }
  | { readonly kind: 'other'; readonly text: string }

/** A value as PQL writes it: JSON of a text, a number or a boolean. */
export type Value = string | null
export interface Bound {
  readonly sign: '<' | '<=' | '>' | '>='
  readonly value: string
}

/** The words that clauses begin with, and what follows each of them where it is no field. */
const clauseWords: Readonly<Record<string, RegExp>> = {
  order: /^by$/,
  group: /^by$/,
  with: /^empty$/,
  limit: /^\d/,
  offset: /^\d/,
  sample: /^\d/,
  having: /^(?!(?:in|is|match)$)[\p{L}_"'(]|^!$/u,
}

/** @returns undefined if the condition can't be read */
export function requirementsOf(condition: string, fields: readonly EntityField[]): Requirements | undefined {
  if (condition.trim() === '') return { list: [], clauses: '' }
  try {
    readPqlCondition(condition)
  } catch {
    return undefined
  }
  const { own, clauses } = apart(condition)
  const joins = joinsIn(own)
  if (joins.some(({ text }) => text === 'or')) return { list: [requirementOf(own, fields, true)], clauses }
  const texts = [0, ...joins.map(one => one.end)].map((start, at) =>
    own.slice(start, joins[at]?.start).trim(),
  )
  return { list: texts.filter(Boolean).map(text => requirementOf(text, fields)), clauses }
}

/** Returns the words that join conditions outside of parentheses, lists and subqueries. */
const joinsIn = (own: string): readonly Token[] =>
  // A field at the beginning may have such a name, too.
  wordsOf(tokensIn(own)).filter(({ text, start }) => (text === 'and' || text === 'or') && start > 0)

/** Returns the words outside of parentheses, lists and subqueries. */
function wordsOf(tokens: readonly Token[]): readonly Token[] {
  let depth = 0
  return tokens.filter(({ text, kind }) => {
    if (kind === 'sign') depth += { '(': 1, '[': 1, '{': 1, ')': -1, ']': -1, '}': -1 }[text] ?? 0
    return depth === 0 && kind === 'word'
  })
}

interface Apart {
  readonly own: string
  readonly clauses: string
  /** The clause that asks for a sample; it is about the records, and the others are about rows. */
  readonly sample: string
}

/** Takes what was typed apart into a condition and the clauses behind it. */
export function apart(typed: string): Apart {
  const tokens = tokensIn(typed)
  const words = wordsOf(tokens).filter(word => {
    const next = tokens[tokens.indexOf(word) + 1]?.text ?? ''
    return Object.hasOwn(clauseWords, word.text) && clauseWords[word.text]?.test(next)
  })
  const textOf = (at: number, end?: number) => typed.slice(words[at]?.start ?? typed.length, end).trim()
  const sample = words.findIndex(({ text }) => text === 'sample')
  return {
    own: typed.slice(0, words[0]?.start).trim(),
    clauses: textOf(0),
    sample: sample < 0 ? '' : textOf(sample, words[sample + 1]?.start),
  }
}

/** Returns what was typed without the clauses about rows, for a query that has other rows. */
export const aboutRecords = (typed: string): string => {
  const { own, sample } = apart(typed)
  return [own, sample].filter(Boolean).join(' ')
}

/**
 * Adds conditions to one that was typed, without the clauses behind it.
 *
 * @returns undefined if one of the conditions is undefined, or if a sample is asked for, which can't be narrowed down
 */
export function narrowed(typed: string, more: readonly (string | undefined)[]): string | undefined {
  const { own, sample } = apart(typed)
  if (more.includes(undefined) || sample !== '') return undefined
  const isEither = joinsIn(own).some(({ text }) => text === 'or')
  return [isEither && more.length > 0 ? `(${own})` : own, ...more].filter(Boolean).join(' and ')
}

function requirementOf(text: string, fields: readonly EntityField[], isMixed = false): Requirement {
  const words = /^\*\s*match\s+("(?:\\.|[^"\\])*")$/.exec(text)?.[1]
  if (words !== undefined) return { kind: 'search', text, words: unquoted(words) }
  const tokens = tokensIn(text)
  const choice = isMixed ? undefined : readChoice(tokens, fields)
  if (choice) return { kind: 'choice', text, ...choice }
  const [name, sign, value, ...rest] = tokens
  const field = fieldIn(name, fields)
  const ends = ['<', '<=', '>', '>=']
  if (field !== undefined && sign && ends.includes(sign.text) && value && isValue(value) && rest.length === 0)
    return { kind: 'bound', text, field, bound: { sign: sign.text as Bound['sign'], value: literal(value) } }
  // Joined to others, one with `or` needs parentheses.
  return { kind: 'other', text: isMixed ? `(${text})` : text }
}

const fieldIn = (token: Token | undefined, fields: readonly EntityField[]) => {
  const name = token?.kind === 'text' ? unquoted(token.text) : token?.text
  return fields.some(one => one.name === name) ? name : undefined
}

const literal = ({ kind, text }: Token) => (kind === 'text' ? JSON.stringify(unquoted(text)) : text)

type Choice = { readonly field: string; readonly values: readonly Value[] }

/** Reads `a = 1`, `a in [1, 2]`, `a is null`, and one of the first two with the last: `(a = 1 or a is null)`. */
function readChoice(tokens: readonly Token[], fields: readonly EntityField[]): Choice | undefined {
  if (tokens[0]?.text === '(' && tokens.at(-1)?.text === ')') {
    const inside = tokens.slice(1, -1)
    const at = inside.findIndex(({ text, kind }) => kind === 'word' && text === 'or')
    const [one, other] = [readChoice(inside.slice(0, at), fields), readChoice(inside.slice(at + 1), fields)]
    return at > 0 && one && other && one.field === other.field
      ? { field: one.field, values: [...one.values, ...other.values] }
      : undefined
  }
  const [name, sign, ...rest] = tokens
  const field = fieldIn(name, fields)
  if (field === undefined || !sign) return undefined
  const [value] = rest
  if (sign.text === '=' && value && isValue(value) && rest.length === 1)
    return { field, values: [literal(value)] }
  if (sign.text === 'is' && value?.text === 'null' && rest.length === 1) return { field, values: [null] }
  const list = rest.slice(1, -1)
  const isList = sign.text === 'in' && value?.text === '[' && rest.at(-1)?.text === ']'
  const isPlain = list.every((one, at) => (at % 2 === 1 ? one.text === ',' : isValue(one)))
  return isList && isPlain && list.length % 2 === 1
    ? { field, values: list.filter((_, at) => at % 2 === 0).map(literal) }
    : undefined
}

/** Writes requirements as one condition. */
export const joined = ({ list, clauses }: Requirements): string => {
  const [only, ...more] = list
  // One that stands alone needs no parentheses.
  const alone = only && more.length === 0 && only.kind === 'other' && /^\((.*)\)$/s.exec(only.text)?.[1]
  const isOne = alone && requirementsOf(alone, [])?.list.length === 1
  return [isOne ? alone : list.map(({ text }) => text).join(' and '), clauses].filter(Boolean).join(' ')
}

/** Puts requirements in the place of those that are about the same; at the end if there are none. */
function replacing(
  all: Requirements,
  isOld: (one: Requirement) => boolean,
  now: readonly Requirement[],
): Requirements {
  const at = all.list.findIndex(isOld)
  const kept = all.list.filter(one => !isOld(one))
  return { ...all, list: kept.toSpliced(at < 0 ? kept.length : at, 0, ...now) }
}

export const isOf =
  (field: string, ...kinds: readonly ('choice' | 'bound')[]) =>
  (one: Requirement): boolean =>
    (one.kind === 'choice' || one.kind === 'bound') &&
    one.field === field &&
    (kinds.length === 0 || kinds.includes(one.kind))

export const withoutField = (all: Requirements, field: string): Requirements =>
  replacing(all, isOf(field), [])

export function withSearch(all: Requirements, words: string): Requirements {
  const text = `* match ${JSON.stringify(words)}`
  return replacing(
    all,
    ({ kind }) => kind === 'search',
    words === '' ? [] : [{ kind: 'search', text, words }],
  )
}

export function withChoice(all: Requirements, field: string, values: readonly Value[]): Requirements {
  const name = written(field)
  const given = values.filter(one => one !== null)
  const list = given.length === 1 ? `${name} = ${given[0]}` : `${name} in [${given.join(', ')}]`
  const none = `${name} is null`
  const text = !values.includes(null) ? list : given.length === 0 ? none : `(${list} or ${none})`
  return replacing(
    all,
    isOf(field, 'choice'),
    values.length === 0 ? [] : [{ kind: 'choice', text, field, values }],
  )
}

export const withRange = (all: Requirements, field: string, bounds: readonly Bound[]): Requirements =>
  replacing(
    all,
    isOf(field, 'bound'),
    bounds.map(bound => ({
      kind: 'bound',
      text: `${written(field)} ${bound.sign} ${bound.value}`,
      field,
      bound,
    })),
  )

export const searchedIn = ({ list }: Requirements): string =>
  list.flatMap(one => (one.kind === 'search' ? [one.words] : []))[0] ?? ''

export const chosenIn = ({ list }: Requirements, field: string): readonly Value[] =>
  list.flatMap(one => (one.kind === 'choice' && one.field === field ? one.values : []))

export const boundsIn = ({ list }: Requirements, field: string): readonly Bound[] =>
  list.flatMap(one => (one.kind === 'bound' && one.field === field ? [one.bound] : []))
