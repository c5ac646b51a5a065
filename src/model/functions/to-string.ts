import { inUtc } from '../../lib/instants.ts'
import { numberText } from '../../lib/json.ts'
import { RecentlyUsed } from '../../lib/memo.ts'
import { instantFormat } from '../../lib/to-char-instant.ts'
import { instants, numbers, readMask, writePlainMask } from '../../lib/to-char-mask.ts'
import { checkNumberMask, numberFormat } from '../../lib/to-char-number.ts'
import type { ComputedValue, FieldFunction } from './function.ts'

export const toText: FieldFunction & ComputedValue<'to_string'> = {
  kind: 'computed',
  documentation:
    "a date-time (in UTC) or a number as text, by a mask of PostgreSQL's [`to_char`](https://www.postgresql.org/docs/18/functions-formatting.html)",
  types: ['date-time', 'integer', 'number'],
  takes: { words: 'a field and a mask', examples: ['YYYY-MM-DD'] },
  plan: (of, { kind, text, shown, wrong }) => {
    if (kind !== 'text') throw wrong(`A mask is text, such as "YYYY-MM-DD", not ${shown}.`)
    const reason = checkMask(text, of === 'date-time' ? 'instant' : 'number')
    if (reason !== undefined) throw wrong(`The mask ${shown} can't be used: ${reason}.`)
    return { computed: { kind: 'to_string', mask: text }, type: 'text' }
  },
  gives: 'text',
  of: ({ mask }, value) => {
    if (typeof value === 'string') return toChar('instant', inUtc(value), mask)
    const number = numberText(value)
    return number === undefined ? undefined : toChar('number', number, mask)
  },
  // Masks show instants before the year 1 as they show the year 0.
  isGradual: ({ mask }, first) => typeof first === 'string' && isGradual(mask) && inUtc(first) >= '0001',
  postgres: ({ mask }, { isTime, time, number, bindText }) =>
    `to_char(${isTime ? time() : number()}, ${bindText(plainMask(mask, isTime ? 'instant' : 'number'))})`,
}

/** Maximum length in UTF-16 units. */
const maxLength = 200

const kept = new RecentlyUsed<string, (text: string) => string>(100)

/**
 * Writes an instant in UTC or a number with a mask, as PostgreSQL's `to_char` does on a server with the locale C
 * (https://www.postgresql.org/docs/18/functions-formatting.html).
 */
function toChar(kind: 'instant' | 'number', text: string, mask: string): string {
  const key = `${kind} ${mask}`
  const format = kept.get(key) ?? (kind === 'instant' ? instantFormat : numberFormat)(mask)
  if (kept.get(key) === undefined) kept.add(key, format)
  return format(text)
}

/** @returns the reason why a mask is refused for values of this kind; undefined if it is valid */
function checkMask(mask: string, kind: 'instant' | 'number'): string | undefined {
  // PostgreSQL would return null for an instant.
  if (mask === '') return 'a mask has at least one character'
  if (mask.length > maxLength) return `a mask may have at most ${maxLength} characters`
  if (mask.includes('\0') || !mask.isWellFormed()) return 'a mask is well-formed text without NUL'
  if (kind === 'number') return checkNumberMask(mask)
  const isLocal = readMask(mask, instants).some(part => part.kind === 'pattern' && part.isLocal)
  return isLocal ? 'TM depends on the language of the server' : undefined
}

/**
 * Returns a mask that gives the same result on a PostgreSQL of any locale and time zone.
 * @param mask a mask that was checked
 */
function plainMask(mask: string, kind: 'instant' | 'number'): string {
  const language = kind === 'instant' ? instants : numbers
  return writePlainMask(readMask(mask, language), language)
}

/** Patterns of masks for units of time, the largest first. */
const units = [['YYYY'], ['MM', 'MON', 'MONTH'], ['DD'], ['HH24'], ['MI'], ['SS']]

/**
 * True if two instants with the same text have no other text between them, from the year 1 on: a mask that names
 * a unit names all larger ones.
 */
function isGradual(mask: string): boolean {
  const named = readMask(mask, instants).flatMap(part =>
    part.kind === 'pattern' ? units.findIndex(names => names.includes(part.name.toUpperCase())) : [],
  )
  return named.length > 0 && !named.includes(-1) && new Set(named).size === Math.max(...named) + 1
}
