import { effect } from '@preact/signals'
import { CarrelProblem } from '../../api.ts'
import type { Entity } from '../../entities.ts'
import { language, t } from '../../i18n/i18n.ts'
import { who } from '../../session.ts'

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

/** Thrown when the service refuses a condition that the user has typed. */
export class RefusedCondition extends Error {
  readonly condition: string
  readonly problem: CarrelProblem
  readonly #prefix: string
  readonly #entity: Entity

  constructor(problem: CarrelProblem, entity: Entity, condition: string, prefix: string) {
    super(problem.detail)
    this.problem = problem
    this.condition = condition
    this.#prefix = prefix
    this.#entity = entity
  }

  /** Describes the fault in the current language where possible. */
  get fault(): Fault {
    return faultOf(this.problem, this.#entity, this.condition, this.#prefix)
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
 * @throws RefusedCondition if the service refuses the request because of the condition
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
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof CarrelProblem) || !isAbout(error, condition, prefix)) throw error
    const refused = new RefusedCondition(error, entity, condition, prefix)
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

function faultOf(problem: CarrelProblem, entity: Entity, condition: string, prefix: string): Fault {
  const { line, column, nearest } = problem.members
  const said = problem.detail.replace(
    /^The query is wrong( at line \d+, column \d+:|\. Line \d+, column \d+:)\s*/,
    '',
  )
  const whole = wholeQuery(entity, condition)
  if (whole) return whole
  if (typeof line !== 'number' || typeof column !== 'number') return { message: said, lang: 'en' }
  const lines = condition.split('\n')
  const shift = line === 1 ? prefix.length : 0
  const place = Math.max(0, column - 1 - shift)
  const text = lines[line - 1] ?? ''
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0)
  // A fault in the text that the console appends is shown at the end of the condition.
  const isEnd = line > lines.length || (line === lines.length && place >= text.length)
  const at = Math.min(before + place, condition.length)
  const own = inOwnWords(problem, entity, isEnd ? '' : wordAt(condition, at), isEnd)
  return {
    ...(own === undefined ? { message: said, lang: 'en' } : { message: own, lang: language.value }),
    line: isEnd ? (lines.at(-1) ?? '') : text,
    column: isEnd ? (lines.at(-1) ?? '').length : place,
    at: isEnd ? condition.length : at,
    ...(typeof nearest === 'string' && !isEnd ? { nearest } : {}),
  }
}

const wordAt = (text: string, at: number) =>
  /^(?:"[^"]*"?|[\p{L}\p{N}_.-]+|\S)/u.exec(text.slice(at))?.[0] ?? ''

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

/** @returns undefined if the English message of the service says more */
function inOwnWords(
  { members: { expected, legal } }: CarrelProblem,
  { fields }: Entity,
  word: string,
  isEnd: boolean,
): string | undefined {
  const texts = (list: unknown) =>
    Array.isArray(list) ? list.filter(one => typeof one === 'string') : undefined
  const wanted = texts(expected)
    ?.filter(one => !['}', '<entity> {', '<end>'].includes(one))
    .map(one => {
      const kind = named(kinds, one)
      return kind ? t(kind) : one
    })
  if (wanted && isEnd) return t('fault.end', { expected: wanted.join(', ') })
  if (language.value === 'en') return undefined
  if (wanted) return t('fault.unexpected', { found: word, expected: wanted.join(', ') })
  const allowed = texts(legal) ?? []
  const isField = fields.some(({ name }) => name === word || word.startsWith(`${name}.`))
  if (!isField && allowed.length > 0 && allowed.includes(fields[0]?.name ?? ''))
    return t('fault.field', { name: word })
  const type = allowed.length === 1 ? named(types, allowed[0] ?? '') : undefined
  return type && t('fault.type', { found: word, type: t(type) })
}
