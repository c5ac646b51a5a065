import type { Node } from '../../../src/query/language/node.ts'
import type { EntityField } from '../entities.ts'
import { literalOf, literalsOf, type Part, partsOf, read, textOf, written } from './pql.ts'

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

/** @returns undefined if the condition can't be read */
export function requirementsOf(condition: string, fields: readonly EntityField[]): Requirements | undefined {
  if (condition.trim() === '') return { list: [], clauses: '' }
  if (read(condition, 'condition').mistake) return undefined
  const { own, clauses, conditions, isEither } = partsIn(condition)
  // Joined to others, one with `or` needs parentheses.
  if (isEither) return { list: [{ kind: 'other', text: `(${own})` }], clauses }
  return { list: conditions.map(one => requirementOf(one, condition, fields)), clauses }
}

/** Takes what was typed apart into a condition and the clauses behind it. */
function partsIn(typed: string) {
  const { parts } = read(typed, 'condition')
  const conditions = parts.filter(({ kind }) => kind === 'condition')
  const [first, ...more] = parts.filter(({ kind }) => kind === 'clause')
  const clauses = [first, ...more].map(one => (one ? typed.slice(one.start, one.end).trim() : ''))
  return {
    own: typed.slice(0, first?.start).trim(),
    clauses: first ? typed.slice(first.start).trim() : '',
    /** The clause that asks for a sample; it is about the records, and the others are about rows. */
    sample: clauses.find(one => one.startsWith('sample')) ?? '',
    conditions,
    isEither: conditions.some(({ end }, at) => typed.slice(end, conditions[at + 1]?.start).trim() === 'or'),
  }
}

export const apart = (typed: string): Readonly<Record<'own' | 'clauses' | 'sample', string>> => {
  const { own, clauses, sample } = partsIn(typed)
  return { own, clauses, sample }
}

/** Returns what was typed without the clauses about rows, for a query that has other rows. */
export const aboutRecords = (typed: string): string => {
  const { own, sample } = partsIn(typed)
  return [own, sample].filter(Boolean).join(' ')
}

/**
 * Adds conditions to one that was typed, without the clauses behind it.
 *
 * @returns undefined if one of the conditions is undefined, or if a sample is asked for, which can't be narrowed down
 */
export function narrowed(typed: string, more: readonly (string | undefined)[]): string | undefined {
  const { own, sample, isEither } = partsIn(typed)
  if (more.includes(undefined) || sample !== '') return undefined
  return [isEither && more.length > 0 ? `(${own})` : own, ...more].filter(Boolean).join(' and ')
}

function requirementOf(
  { node, start, end }: Part,
  condition: string,
  fields: readonly EntityField[],
): Requirement {
  const text = condition.slice(start, end)
  const [place, words] = (partsOf(node, 'match') ?? []).map(textOf)
  if (place === '*' && words !== undefined) return { kind: 'search', text, words }
  const choice = choiceIn(node, fields)
  if (choice) return { kind: 'choice', text, ...choice }
  for (const sign of ['<', '<=', '>', '>='] as const) {
    const [subject, given] = partsOf(node, sign) ?? []
    const [field, value] = [fieldIn(subject, fields), literalOf(given)]
    if (field !== undefined && value !== undefined)
      return { kind: 'bound', text, field, bound: { sign, value } }
  }
  return { kind: 'other', text }
}

const fieldIn = (node: Node | undefined, fields: readonly EntityField[]) =>
  fields.find(({ name }) => name === textOf(node))?.name

type Choice = { readonly field: string; readonly values: readonly Value[] }

/** Reads `a = 1`, `a in [1, 2]`, `a is null`, and one of the first two with the last: `(a = 1 or a is null)`. */
function choiceIn(node: Node | undefined, fields: readonly EntityField[]): Choice | undefined {
  const either = partsOf(node, 'or')
  if (either) {
    const [one, other] = either.map(part => choiceIn(part, fields))
    return either.length === 2 && one && other && one.field === other.field
      ? { field: one.field, values: [...one.values, ...other.values] }
      : undefined
  }
  const [operator, subject, given] = node?.kind === 'array' ? node.items : []
  const field = fieldIn(subject, fields)
  const one = textOf(operator) === '=' ? literalOf(given) : undefined
  const isNull = textOf(operator) === 'null?' && literalOf(given) === 'true'
  const values = one !== undefined ? [one] : isNull ? [null] : partsOf(node, 'in') && literalsOf(given)
  return field !== undefined && values ? { field, values } : undefined
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
