import { canonicalNumber } from '../../lib/canonical-number.ts'
import { withoutLastZeros } from '../../lib/json.ts'

/** The days that ISO 8601 can name, in its extended and its basic form; the groups say which form it is. */
const days: readonly {
  readonly form: RegExp
  readonly day: (...parts: readonly number[]) => Date | undefined
}[] = [
  { form: /^(\d{4})-(\d\d)-(\d\d)$/, day: calendarDay },
  { form: /^(\d{4})(\d\d)(\d\d)$/, day: calendarDay },
  { form: /^(\d{4})-?(\d{3})$/, day: (year = 0, day = 0) => sameYear(dayOf(year, 1, day), year) },
  { form: /^(\d{4})-?W(\d\d)-?([1-7])$/, day: weekDay },
]

/** What stands for its first day. It takes no time of day. */
const longer: typeof days = [
  { form: /^(\d{4})$/, day: (year = 0) => dayOf(year, 1, 1) },
  { form: /^(\d{4})-(\d\d)$/, day: (year, month) => calendarDay(year, month, 1) },
  { form: /^(\d{4})-W(\d\d)$/, day: (year, week) => weekDay(year, week, 1) },
]

/** A fraction has at most so many digits. */
const time =
  /^(?<hour>[01]\d|2[0-3])(?::?(?<minute>[0-5]\d)(?::?(?<second>[0-5]\d|60)(?:[.,](?<fraction>\d{1,30}))?)?)?(?<zone>[Zz]|(?<sign>[+-])(?<hours>[01]\d|2[0-3])(?::?(?<minutes>[0-5]\d))?)?$/

/** The longest text of these forms. */
const maxLength = 64

/**
 * Reads a date or a date-time, as PuppetDB does: ISO 8601 in many forms, and in UTC unless it says otherwise.
 * @returns the instant in UTC, such as `2026-01-01T04:19:47.5Z`; undefined if it isn't one
 */
export function readInstant(text: string): string | undefined {
  if (text.length > maxLength) return undefined
  const [, date = '', rest] = /^([\dW-]+)(?:[Tt ](.*))?$/.exec(text) ?? []
  if (rest === undefined) {
    // Eight digits are no date: digits as text are mostly seconds or milliseconds.
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

/** Date's constructor takes the years 0 to 99 for those of the last century. */
function dayOf(year: number, month: number, day: number): Date {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date
}

function calendarDay(year = 0, month = 0, day = 0): Date | undefined {
  const date = dayOf(year, month, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date : undefined
}

/** ISO 8601: the first week of a year is the one with the fourth of January, and weeks begin on Mondays. */
function weekDay(year = 0, week = 0, day = 0): Date | undefined {
  const fourth = dayOf(year, 1, 4)
  const monday = 4 - ((fourth.getUTCDay() + 6) % 7) + (week - 1) * 7
  // The Thursday says which year a week belongs to.
  return week > 0 && sameYear(dayOf(year, 1, monday + 3), year) ? dayOf(year, 1, monday + day - 1) : undefined
}

const sameYear = (date: Date, year: number) => (date.getUTCFullYear() === year ? date : undefined)

/** No database has instants before the year 1, and no text of four digits has any after 9999. */
const [first, end] = [dayOf(1, 1, 1).getTime(), dayOf(10_000, 1, 1).getTime()]

function printed(milliseconds: number, fraction = '', isLeap = false): string | undefined {
  if (!(milliseconds >= first && milliseconds < end)) return undefined
  const seconds = new Date(milliseconds).toISOString().slice(0, 19)
  const digits = withoutLastZeros(fraction)
  return `${isLeap ? seconds.replace(/59$/, '60') : seconds}${digits && `.${digits}`}Z`
}
