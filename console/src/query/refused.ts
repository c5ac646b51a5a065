import { effect } from '@preact/signals'
import { CarrelProblem } from '../api.ts'
import type { Entity } from '../entities.ts'
import { language, t } from '../i18n/i18n.ts'
import { who } from '../session.ts'
import { misread, type Refusal, refusalOf } from './refusals.ts'

/** A fault in a condition, with its place. */
export interface Fault {
  readonly message: string
  /** The language of the message; messages of the service are in English. */
  readonly lang: string
  /** The line with the fault, and its offset in the line. */
  readonly line?: string
  readonly column?: number
  /** The offset in the whole condition. */
  readonly at?: number
  /** The word at the place; empty at the end. */
  readonly word?: string
  /** A replacement for the word. */
  readonly nearest?: string
  /** A replacement for the whole condition. */
  readonly instead?: string
}

/** Thrown when what the user has typed is wrong: a condition on records of an entity, or a whole query. */
export class Refused extends Error {
  readonly text: string
  readonly #refusal: Refusal
  readonly #entity: Entity | undefined

  constructor(text: string, refusal: Refusal, entity?: Entity) {
    super(refusal.message)
    this.text = text
    this.#refusal = refusal
    this.#entity = entity
  }

  /** Describes the fault in the current language where possible. */
  get fault(): Fault {
    const entity = this.#entity
    return (entity && wholeQuery(entity, this.text)) ?? faultOf(this.#refusal, this.text, entity?.fields)
  }
}

/**
 * Recently refused conditions. The page needs the answer several times, while the condition is typed, for the
 * table and for a drawing, and browsers log each refusal.
 */
const known = new Map<string, { readonly refused: Refused; readonly until: number }>()
const mostKnown = 50
/** Time in ms for which a refusal is remembered. */
const lifetime = 60_000

let asker = ''
effect(() => {
  const now = who.value.kind === 'eperson' ? who.value.eperson.uuid : who.value.kind
  if (asker !== now && asker !== 'unknown') known.clear()
  asker = now
})

/**
 * Runs a request that contains a condition.
 *
 * @param prefix the part of the query before the condition
 * @throws Refused if the condition is wrong; it is not asked for if that can be seen here
 */
export async function asking<T>(
  entity: Entity,
  condition: string,
  prefix: string,
  ask: () => Promise<T>,
): Promise<T> {
  const key = `${entity.name} ${condition}`
  const before = known.get(key)
  if (before && before.until > performance.now()) throw before.refused
  if (condition.trim() !== '') {
    // No collection of records leads to itself, so this is the whole query of the page.
    const isWhole = wholeQuery(entity, condition)?.instead !== undefined
    const refusal = misread(entity, condition) ?? (isWhole ? { message: '' } : undefined)
    if (refusal) throw new Refused(condition, refusal, entity)
  }
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof CarrelProblem) || !isAbout(error, condition, prefix)) throw error
    const refused = new Refused(condition, refusalOf(error, prefix), entity)
    if (known.size >= mostKnown) known.clear()
    known.set(key, { refused, until: performance.now() + lifetime })
    throw refused
  }
}

/** True if the fault is in the condition, not in the text that the console adds to it. */
function isAbout({ members }: CarrelProblem, condition: string, prefix: string): boolean {
  if (condition === '' || members.parameter !== 'query') return false
  const { line, column } = members
  if (typeof line !== 'number' || typeof column !== 'number') return true
  const lines = condition.split('\n')
  const start = line === 1 ? prefix.length : 0
  // If the condition is incomplete, the service reports the position just behind it.
  return column > start && column - 1 - start <= (lines[line - 1]?.length ?? 0) + 1
}

/** @param fields those of the records that a condition is about; undefined for a whole query */
function faultOf(refusal: Refusal, condition: string, fields: Entity['fields'] | undefined): Fault {
  const { message: said, line, column, nearest } = refusal
  if (line === undefined || column === undefined) {
    const own = inOwnWords(refusal, refusal.found ?? '', fields)
    return own ? { message: own.text, lang: language.value } : { message: said, lang: 'en' }
  }
  const lines = condition.split('\n')
  const text = lines[line - 1] ?? ''
  const place = [...text].slice(0, column - 1).join('').length
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0)
  // A fault in the text that the console appends is shown at the end of the condition.
  const isEnd = line > lines.length || (line === lines.length && place >= text.length)
  const at = Math.min(before + place, condition.length)
  const word = isEnd ? '' : wordAt(condition, at)
  const own = inOwnWords(refusal, word, fields)
  const instead = nearest ?? (refusal.mistake === 'quotes' && own?.isText ? JSON.stringify(word) : undefined)
  return {
    ...(own === undefined ? { message: said, lang: 'en' } : { message: own.text, lang: language.value }),
    line: isEnd ? (lines.at(-1) ?? '') : text,
    column: isEnd ? (lines.at(-1) ?? '').length : place,
    at: isEnd ? condition.length : at,
    word,
    ...(instead !== undefined && !isEnd ? { nearest: instead } : {}),
  }
}

const wordAt = (text: string, at: number) =>
  /^(?:"[^"]*"?|[\p{L}\p{N}_.-]+|[=<>!~&|]+|\S)/u.exec(text.slice(at))?.[0] ?? ''

/** Recognizes a whole query, in PQL or as JSON, where only a condition belongs. */
function wholeQuery(entity: Entity, condition: string): Fault | undefined {
  const [, name, inside] = /^\s*([\w-]+)\s*(?:\[[^{}]*\])?\s*\{([\s\S]*)\}\s*$/.exec(condition) ?? []
  const message = t('fault.whole')
  if (name === entity.name && inside !== undefined)
    return { message, lang: language.value, ...(inside.trim() === '' ? {} : { instead: inside.trim() }) }
  const isOther = name !== undefined && !entity.fields.some(one => one.name === name)
  return isOther || /^\s*\[\s*"/.test(condition) ? { message, lang: language.value } : undefined
}

/** Placeholders that the service uses for kinds of expected things. */
const kinds = {
  '<field>': 'fault.field.some',
  '<text>': 'fault.text',
  '<number>': 'fault.number',
  '<whole number>': 'fault.number',
  '<entity>': 'fault.entity',
  '<end>': 'fault.nothing',
} as const
const types = {
  text: 'fault.text',
  integer: 'fault.number',
  number: 'fault.number',
  boolean: 'fault.boolean',
  'date-time': 'fault.time',
} as const

const named = <Key extends string>(table: Readonly<Record<string, Key>>, name: string): Key | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

/** Words that end a condition: the filter of the console has no use for them. */
const behind = new Set(['}', '<end>', '<entity> {', 'group by', 'having', 'limit', 'offset', 'order by'])

/**
 * @param word at the place; empty at the end of the text
 * @returns undefined if the English message of the service says more
 */
function inOwnWords(
  { mistake, found = '', expected, legal = [], nearest, type: own }: Refusal,
  word: string,
  fields: Entity['fields'] | undefined,
): { readonly text: string; readonly isText?: boolean } | undefined {
  if (mistake === 'field' || mistake === 'entity')
    return { text: t(mistake === 'field' ? 'fault.field' : 'fault.entity.none', { name: word }) }
  if (mistake === 'type') {
    const type = named(types, legal[0] ?? '')
    return type && { text: t('fault.type', { found, type: t(type) }) }
  }
  if (mistake === 'quotes' || mistake === 'letters') {
    const type = named(types, own ?? '')
    return type && type !== 'fault.text'
      ? { text: t('fault.type', { found: word, type: t(type) }) }
      : { text: t('fault.quotes', { found: word }), isText: true }
  }
  if (mistake !== undefined)
    return { text: t(`fault.${mistake}`, { found: found || word, nearest: nearest ?? '' }) }
  if (expected) {
    if (word !== '' && nearest !== undefined) return { text: t('fault.nearest', { found: word, nearest }) }
    const wanted = expected
      .filter(one => !fields || !behind.has(one))
      .map(one => {
        const kind = named(kinds, one)
        return kind ? t(kind) : one
      })
      .join(', ')
    return {
      text: t(word !== '' ? 'fault.unexpected' : !fields ? 'fault.end.query' : 'fault.end', {
        found: word,
        expected: wanted,
      }),
    }
  }
  if (language.value === 'en') return undefined
  const isField = fields?.some(({ name }) => name === word || word.startsWith(`${name}.`))
  if (!isField && legal.length > 0 && legal.includes(fields?.[0]?.name ?? ''))
    return { text: t('fault.field', { name: word }) }
  const type = legal.length === 1 ? named(types, legal[0] ?? '') : undefined
  return type && { text: t('fault.type', { found: word, type: t(type) }) }
}
