import { effect } from '@preact/signals'
import { CarrelProblem } from '../api.ts'
import type { Entity } from '../entities.ts'
import { language, t } from '../i18n/i18n.ts'
import { who } from '../session.ts'
import { placeAt } from './pql.ts'
import { misread, type Refusal, refusalOf } from './reading.ts'

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
  /** A replacement for the word at the place. */
  readonly nearest?: string
  /** A replacement for the whole condition. */
  readonly instead?: string
}

/** Thrown when a condition that the user has typed is wrong. */
export class RefusedCondition extends Error {
  readonly condition: string
  readonly #entity: Entity
  readonly #refusal: Refusal

  constructor(entity: Entity, condition: string, refusal: Refusal) {
    super(refusal.message)
    this.condition = condition
    this.#entity = entity
    this.#refusal = refusal
  }

  /** Describes the fault in the current language where possible. */
  get fault(): Fault {
    const { fields } = this.#entity
    return (
      wholeQuery(this.#entity, this.condition) ??
      faultOf(this.#refusal, this.condition, { fields, isWhole: false })
    )
  }
}

/** Thrown when a whole query that the user has typed is wrong. */
export class RefusedQuery extends Error {
  readonly text: string
  readonly #refusal: Refusal

  constructor(text: string, refusal: Refusal) {
    super(refusal.message)
    this.text = text
    this.#refusal = refusal
  }

  /** Describes the fault in the current language where possible. */
  get fault(): Fault {
    return faultOf(this.#refusal, this.text, { fields: [], isWhole: true })
  }
}

/**
 * Recently refused conditions. The page needs the answer several times, while the condition is typed, for the
 * table and for a drawing, and browsers log each refusal.
 */
const known = new Map<string, { readonly refused: RefusedCondition; readonly until: number }>()
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
 * @throws RefusedCondition if the condition is wrong; it is not asked for if that can be seen here
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
  const misreadAs = condition.trim() === '' ? undefined : misread(entity, condition)
  // No collection of records leads to itself, so this is the whole query of the page.
  if (misreadAs === undefined && wholeQuery(entity, condition)?.instead !== undefined)
    throw new RefusedCondition(entity, condition, { message: '' })
  if (misreadAs) throw new RefusedCondition(entity, condition, misreadAs)
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof CarrelProblem) || !isAbout(error, condition, prefix)) throw error
    const refused = new RefusedCondition(entity, condition, refusalOf(error, prefix))
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

/** The text that a fault is in: a condition on records with these fields, or a whole query. */
interface Context {
  readonly fields: Entity['fields']
  readonly isWhole: boolean
}

function faultOf(refusal: Refusal, condition: string, context: Context): Fault {
  const { message: said, line, column, nearest } = refusal
  if (line === undefined || column === undefined) {
    const own = inOwnWords(refusal, context, { condition, at: 0, word: refusal.found ?? '' })
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
  const own = inOwnWords(refusal, context, { condition, at, word })
  const instead = nearest ?? (refusal.mistake === 'quotes' && own?.isText ? JSON.stringify(word) : undefined)
  return {
    ...(own === undefined ? { message: said, lang: 'en' } : { message: own.text, lang: language.value }),
    line: isEnd ? (lines.at(-1) ?? '') : text,
    column: isEnd ? (lines.at(-1) ?? '').length : place,
    at: isEnd ? condition.length : at,
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

interface Where {
  readonly condition: string
  readonly at: number
  /** The word at the place; empty at the end of the condition. */
  readonly word: string
}

/** @returns undefined if the English message of the service says more */
function inOwnWords(
  { mistake, found = '', expected, legal = [], nearest }: Refusal,
  { fields, isWhole }: Context,
  { condition, at, word }: Where,
): { readonly text: string; readonly isText?: boolean } | undefined {
  if (mistake === 'field' || mistake === 'entity')
    return { text: t(mistake === 'field' ? 'fault.field' : 'fault.entity.none', { name: word }) }
  if (mistake === 'type') {
    const type = named(types, legal[0] ?? '')
    return type && { text: t('fault.type', { found, type: t(type) }) }
  }
  if (mistake === 'quotes' || mistake === 'letters') {
    const before = placeAt(condition, at, fields).expected
    const type = before.kind === 'value' && before.field && named(types, before.field.type)
    return type && type !== 'fault.text'
      ? { text: t('fault.type', { found: word, type: t(type) }) }
      : { text: t('fault.quotes', { found: word }), isText: true }
  }
  if (mistake !== undefined)
    return { text: t(`fault.${mistake}`, { found: found || word, nearest: nearest ?? '' }) }
  if (expected) {
    if (word !== '' && nearest !== undefined) return { text: t('fault.nearest', { found: word, nearest }) }
    const wanted = expected
      .filter(one => isWhole || !behind.has(one))
      .map(one => {
        const kind = named(kinds, one)
        return kind ? t(kind) : one
      })
      .join(', ')
    return {
      text: t(word !== '' ? 'fault.unexpected' : isWhole ? 'fault.end.query' : 'fault.end', {
        found: word,
        expected: wanted,
      }),
    }
  }
  if (language.value === 'en') return undefined
  const isField = fields.some(({ name }) => name === word || word.startsWith(`${name}.`))
  if (!isField && legal.length > 0 && legal.includes(fields[0]?.name ?? ''))
    return { text: t('fault.field', { name: word }) }
  const type = legal.length === 1 ? named(types, legal[0] ?? '') : undefined
  return type && { text: t('fault.type', { found: word, type: t(type) }) }
}
