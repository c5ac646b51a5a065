import { quote } from '../../http/parameters.ts'
import { canonicalNumber } from '../../lib/decimals.ts'
import { withoutLastZeros } from '../../lib/json.ts'
import { type Constant, eachElement } from '../../model/plan.ts'
import type { Node } from '../language/node.ts'
import { type Found, typeNames } from './fields.ts'
import { most, type Scope } from './scope.ts'
import { described, wrong } from './wrong.ts'

/** The owner of the compared fields. */
type Owner = Pick<Scope, 'name' | 'entity'>

/**
 * Reads a value to compare a field with. Nothing is converted silently: a number never becomes text, nor text
 * a number.
 * @throws QueryError for a value of another type, which says what to write
 */
export function constantFor({ ref, field }: Found, node: Node, scope: Owner): Constant {
  const steps = ref.path.map(step => (step === eachElement ? '*' : step))
  const name = [field.name, ...steps].join('.')
  const refused = (advice: string) =>
    wrong(node, `${quote(name)} is ${typeNames[ref.type]}, and ${described(node)} isn't: ${advice}`, {
      legal: [ref.type],
    })
  if (node.kind === 'null')
    throw wrong(node, `Nothing compares with null. Write ["null?", ${quote(name)}, true].`)
  switch (ref.type) {
    case 'text':
      if (node.kind === 'text') return textConstant(node, scope)
      if (node.kind === 'number' || node.kind === 'boolean')
        throw refused(`write ${quote(writtenOf(node))}, in quotes.`)
      throw refused('write a text in quotes.')
    case 'integer':
    case 'number':
      if (node.kind === 'number') return numberConstant(node)
      if (node.kind === 'text' && /^-?\d{1,20}(\.\d{1,20})?$/.test(node.text))
        throw refused(`write ${node.text}, without quotes.`)
      throw refused('write a number, such as 5.')
    case 'boolean':
      if (node.kind === 'boolean') return { kind: 'boolean', value: node.value }
      throw refused('write true or false, without quotes.')
    case 'date-time':
      return instantConstant(node, refused)
    case 'json':
      return jsonConstant(node, scope)
  }
}

/** Reads a value of `in`. For a field of text, numbers and booleans become text, as in PuppetDB. */
export const elementFor = (found: Found, node: Node, scope: Owner): Constant =>
  found.ref.type === 'text' && (node.kind === 'number' || node.kind === 'boolean')
    ? { kind: 'text', text: writtenOf(node) }
    : constantFor(found, node, scope)

const writtenOf = (node: Extract<Node, { kind: 'number' | 'boolean' }>) =>
  node.kind === 'number' ? node.text : String(node.value)

function textConstant(node: Extract<Node, { kind: 'text' }>, scope: Owner): Constant {
  return { kind: 'text', text: usable(node.text, node, scope) }
}

/**
 * Returns a text that any store can compare with. Only imported records can hold U+0000; columns of a
 * database can't.
 * @throws QueryError for any other text
 */
export function usable(text: string, node: Node, scope: Owner): string {
  if (!text.isWellFormed())
    throw wrong(node, 'The text has half of a surrogate pair, which is no character of Unicode.')
  if (text.includes('\0') && scope.entity?.source.kind !== 'records')
    throw wrong(node, `The text has the character U+0000, which ${scope.name} can't have.`)
  return text
}

const numberConstant = (node: Extract<Node, { kind: 'number' }>): Constant => ({
  kind: 'number',
  text: exactNumber(node),
})

function exactNumber(node: Extract<Node, { kind: 'number' }>): string {
  const text = canonicalNumber(node.text)
  if (text === undefined) throw wrong(node, `The number ${described(node)} has more than 1,000 digits.`)
  return text
}

const instantForms =
  'write a date such as "2026-01-31", a date-time such as "2026-01-31T04:19:47Z", or milliseconds since 1970 as a number.'

function instantConstant(node: Node, refused: (advice: string) => Error): Constant {
  const text =
    node.kind === 'text' ? readInstant(node.text) : node.kind === 'number' ? instantAt(node.text) : undefined
  if (text === undefined) throw refused(instantForms)
  return { kind: 'instant', text }
}

function jsonConstant(node: Node, scope: Owner): Constant {
  if (node.kind === 'text') return textConstant(node, scope)
  if (node.kind === 'number') return numberConstant(node)
  if (node.kind === 'boolean') return { kind: 'boolean', value: node.value }
  const json = canonicalJson(node, scope)
  if (json.length > most.json)
    throw wrong(
      node,
      `A value of JSON has at most ${most.json.toLocaleString('en')} characters. Ask for some of its members.`,
    )
  return { kind: 'json', json }
}

/** Writes JSON with sorted keys and canonical numbers. The recursion is no deeper than the readers allow. */
function canonicalJson(node: Node, scope: Owner): string {
  switch (node.kind) {
    case 'text':
      return JSON.stringify(usable(node.text, node, scope))
    case 'number':
      return exactNumber(node)
    case 'array':
      return `[${node.items.map(item => canonicalJson(item, scope)).join()}]`
    case 'object': {
      const members = [...node.members].toSorted(([one], [other]) => (one < other ? -1 : 1))
      const written = members.map(
        ([key, value]) => `${JSON.stringify(usable(key, node, scope))}:${canonicalJson(value, scope)}`,
      )
      return `{${written.join()}}`
    }
    default:
      return described(node)
  }
}

/**
 * Forms of a day in ISO 8601, extended and basic; the groups of an expression are the arguments of its
 * function.
 */
const days: readonly {
  readonly form: RegExp
  readonly day: (...parts: readonly number[]) => Date | undefined
}[] = [
  { form: /^(\d{4})-(\d\d)-(\d\d)$/, day: calendarDay },
  { form: /^(\d{4})(\d\d)(\d\d)$/, day: calendarDay },
  { form: /^(\d{4})-?(\d{3})$/, day: (year = 0, day = 0) => sameYear(dayOf(year, 1, day), year) },
  { form: /^(\d{4})-?W(\d\d)-?([1-7])$/, day: weekDay },
]

/** Forms of a year, a month and a week, which stand for their first day and take no time of day. */
const longer: typeof days = [
  { form: /^(\d{4})$/, day: (year = 0) => dayOf(year, 1, 1) },
  { form: /^(\d{4})-(\d\d)$/, day: (year, month) => calendarDay(year, month, 1) },
  { form: /^(\d{4})-W(\d\d)$/, day: (year, week) => weekDay(year, week, 1) },
]

/** A time of day, with a fraction of at most 30 digits, and an offset from UTC. */
const time =
  /^(?<hour>[01]\d|2[0-3])(?::?(?<minute>[0-5]\d)(?::?(?<second>[0-5]\d|60)(?:[.,](?<fraction>\d{1,30}))?)?)?(?<zone>[Zz]|(?<sign>[+-])(?<hours>[01]\d|2[0-3])(?::?(?<minutes>[0-5]\d))?)?$/

/** Maximum length in characters of a date-time. */
const maxLength = 64

/**
 * Reads a date or a date-time, as PuppetDB does: ISO 8601 in many forms, and in UTC unless it says otherwise.
 * @returns the instant in UTC, such as `2026-01-01T04:19:47.5Z`; undefined if it isn't one
 */
export function readInstant(text: string): string | undefined {
  if (text.length > maxLength) return undefined
  const [, date = '', rest] = /^([\dW-]+)(?:[Tt ](.*))?$/.exec(text) ?? []
  if (rest === undefined) {
    // Five or more digits alone aren't a date: as text, they are mostly seconds or milliseconds.
    const day = /^\d{5,}$/.test(date) ? undefined : dayIn([...longer, ...days], date)
    return day && printed(day.getTime())
  }
  const day = dayIn(days, date)
  const parts = time.exec(rest)?.groups
  if (!day || !parts) return undefined
  const isLeap = parts.second === '60'
  const seconds =
    Number(parts.hour) * 3600 + Number(parts.minute ?? 0) * 60 + (isLeap ? 59 : Number(parts.second ?? 0))
  const offset =
    (Number(parts.hours ?? 0) * 60 + Number(parts.minutes ?? 0)) * (parts.sign === '-' ? -60 : 60)
  return printed(day.getTime() + (seconds - offset) * 1000, parts.fraction, isLeap)
}

/** @param text a number of JSON: milliseconds since 1970 */
export function instantAt(text: string): string | undefined {
  const number = canonicalNumber(text)
  if (number === undefined || !/^-?\d{1,15}$/.test(number)) return undefined
  const milliseconds = Number(number)
  const second = Math.floor(milliseconds / 1000)
  return printed(second * 1000, String(milliseconds - second * 1000).padStart(3, '0'))
}

function dayIn(forms: typeof days, text: string): Date | undefined {
  for (const { form, day } of forms) {
    const found = form.exec(text)
    if (found) return day(...found.slice(1).map(Number))
  }
  return undefined
}

/** Makes a date in UTC. The constructor of Date would take the years 0 to 99 for 1900 to 1999. */
function dayOf(year: number, month: number, day: number): Date {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date
}

function calendarDay(year = 0, month = 0, day = 0): Date | undefined {
  const date = dayOf(year, month, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date : undefined
}

/** ISO 8601: weeks begin on Mondays, and the first week of a year is the one with January 4. */
function weekDay(year = 0, week = 0, day = 0): Date | undefined {
  const fourth = dayOf(year, 1, 4)
  const monday = 4 - ((fourth.getUTCDay() + 6) % 7) + (week - 1) * 7
  // A week belongs to the year of its Thursday.
  return week > 0 && sameYear(dayOf(year, 1, monday + 3), year) ? dayOf(year, 1, monday + day - 1) : undefined
}

const sameYear = (date: Date, year: number) => (date.getUTCFullYear() === year ? date : undefined)

/**
 * Bounds in ms: no database has instants before the year 1, and four digits can't write a year after 9999.
 */
const [first, end] = [dayOf(1, 1, 1).getTime(), dayOf(10_000, 1, 1).getTime()]

function printed(milliseconds: number, fraction = '', isLeap = false): string | undefined {
  if (!(milliseconds >= first && milliseconds < end)) return undefined
  const seconds = new Date(milliseconds).toISOString().slice(0, 19)
  const digits = withoutLastZeros(fraction)
  return `${isLeap ? seconds.replace(/59$/, '60') : seconds}${digits && `.${digits}`}Z`
}
