import { canonicalNumber } from './decimals.ts'
import { withoutLastZeros } from './json.ts'

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

/** An instant that was read. */
interface ReadInstant {
  /** In UTC, such as `2026-01-01T04:19:47.5Z`. */
  readonly text: string
  /** The parts that were assumed: the time of day, which is midnight then, or the zone, which is UTC. */
  readonly lacks?: 'time' | 'zone'
}

/** The commonest forms, for messages. */
export const instantForms = 'a date such as "2026-01-31", a date-time such as "2026-01-31T04:19:47Z"'

/**
 * Reads a date or a date-time, as PuppetDB does: ISO 8601 in many forms, and in UTC unless it says otherwise.
 * Queries and imports read them alike.
 * @returns undefined if it isn't one
 */
export function readInstant(text: string): ReadInstant | undefined {
  if (text.length > maxLength) return undefined
  const [, date = '', rest] = /^([\dW-]+)(?:[Tt ](.*))?$/.exec(text) ?? []
  if (rest === undefined) {
    // Five or more digits alone aren't a date: as text, they are mostly seconds or milliseconds.
    const day = /^\d{5,}$/.test(date) ? undefined : dayIn([...longer, ...days], date)
    return read(day && printed(day.getTime()), 'time')
  }
  const day = dayIn(days, date)
  const parts = time.exec(rest)?.groups
  if (!day || !parts) return undefined
  const isLeap = parts.second === '60'
  const seconds =
    Number(parts.hour) * 3600 + Number(parts.minute ?? 0) * 60 + (isLeap ? 59 : Number(parts.second ?? 0))
  const offset =
    (Number(parts.hours ?? 0) * 60 + Number(parts.minutes ?? 0)) * (parts.sign === '-' ? -60 : 60)
  return read(
    printed(day.getTime() + (seconds - offset) * 1000, parts.fraction, isLeap),
    parts.zone === undefined ? 'zone' : undefined,
  )
}

const read = (text: string | undefined, lacks: ReadInstant['lacks']): ReadInstant | undefined =>
  text === undefined ? undefined : { text, ...(lacks && { lacks }) }

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
