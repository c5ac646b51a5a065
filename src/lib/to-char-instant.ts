import { instants, ordinalOf, readMask } from './to-char-mask.ts'

/** An instant in UTC as the fields of date and time. The year 0 is 1 BC. */
interface Moment {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  readonly microseconds: number
}

const months = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October'],
  ...['November', 'December'],
]
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const romanMonths = ['I', 'II', 'III', 'IV', 'V', 'VI', 'VII', 'VIII', 'IX', 'X', 'XI', 'XII']

/** Returns the Julian day: days since -4713-11-24, a Monday, in the proleptic Gregorian calendar. */
function julianDay(year: number, month: number, day: number): number {
  // A year that begins in March has its leap day at its end.
  const shifted = month > 2 ? month - 3 : month + 9
  const from = month > 2 ? year : year - 1
  const days = Math.floor((153 * shifted + 2) / 5) + day - 1
  return (
    365 * from + Math.floor(from / 4) - Math.floor(from / 100) + Math.floor(from / 400) + days + 1_721_120
  )
}

const weekdayOf = (julian: number) => (((julian + 1) % 7) + 7) % 7

/** Returns the ISO 8601 week. A week belongs to the year that contains its Thursday. */
function isoWeek({ year, month, day }: Moment): { year: number; week: number; dayOfYear: number } {
  const julian = julianDay(year, month, day)
  const firstMonday = (of: number) => {
    const fourth = julianDay(of, 1, 4)
    return fourth - ((weekdayOf(fourth) + 6) % 7)
  }
  const isoYear = julian >= firstMonday(year + 1) ? year + 1 : julian < firstMonday(year) ? year - 1 : year
  const dayOfYear = julian - firstMonday(isoYear) + 1
  return { year: isoYear, week: Math.floor((dayOfYear - 1) / 7) + 1, dayOfYear }
}

const dayOfYear = ({ year, month, day }: Moment) => julianDay(year, month, day) - julianDay(year, 1, 1) + 1

/** Returns the year as it is shown, without a year 0: 1 BC is 1. */
const shownYear = (year: number) => (year > 0 ? year : 1 - year)

const century = (year: number) => (year > 0 ? Math.floor((year - 1) / 100) + 1 : Math.trunc(year / 100) - 1)

/** A numeric pattern, which can be padded with zeros and written as an ordinal. */
interface Numeric {
  readonly digits: number
  readonly of: (moment: Moment) => number
  /** True if `FM` does not remove its zeros. */
  readonly isFixed?: boolean
}

const fraction = (digits: number): Numeric => ({
  digits,
  of: ({ microseconds }) => Math.floor(microseconds / 10 ** (6 - digits)),
  isFixed: true,
})
const yearDigits = (digits: number): Numeric => ({ digits, of: ({ year }) => shownYear(year) % 10 ** digits })
const isoYearDigits = (digits: number): Numeric => ({
  digits,
  of: moment => shownYear(isoWeek(moment).year) % 10 ** digits,
})
const hour12: Numeric = { digits: 2, of: ({ hour }) => hour % 12 || 12 }
const secondsOfDay: Numeric = {
  digits: 0,
  of: ({ hour, minute, second }) => hour * 3600 + minute * 60 + second,
}

const numeric: ReadonlyMap<string, Numeric> = new Map<string, Numeric>([
  ['HH', hour12],
  ['HH12', hour12],
  ['HH24', { digits: 2, of: ({ hour }) => hour }],
  ['MI', { digits: 2, of: ({ minute }) => minute }],
  ['SS', { digits: 2, of: ({ second }) => second }],
  ['MS', fraction(3)],
  ['US', fraction(6)],
  ...([1, 2, 3, 4, 5, 6] as const).map(digits => [`FF${digits}`, fraction(digits)] as const),
  ['SSSS', secondsOfDay],
  ['SSSSS', secondsOfDay],
  ['MM', { digits: 2, of: ({ month }) => month }],
  ['DDD', { digits: 3, of: dayOfYear }],
  ['IDDD', { digits: 3, of: moment => isoWeek(moment).dayOfYear }],
  ['DD', { digits: 2, of: ({ day }) => day }],
  ['D', { digits: 0, of: ({ year, month, day }) => weekdayOf(julianDay(year, month, day)) + 1 }],
  ['ID', { digits: 0, of: ({ year, month, day }) => weekdayOf(julianDay(year, month, day)) || 7 }],
  ['WW', { digits: 2, of: moment => Math.floor((dayOfYear(moment) - 1) / 7) + 1 }],
  ['IW', { digits: 2, of: moment => isoWeek(moment).week }],
  ['W', { digits: 0, of: ({ day }) => Math.floor((day - 1) / 7) + 1 }],
  ['Q', { digits: 0, of: ({ month }) => Math.floor((month - 1) / 3) + 1 }],
  ['J', { digits: 0, of: ({ year, month, day }) => julianDay(year, month, day) }],
  ['YYYY', { digits: 4, of: ({ year }) => shownYear(year) }],
  ['IYYY', { digits: 4, of: moment => shownYear(isoWeek(moment).year) }],
  ...([1, 2, 3] as const).flatMap(digits => [
    ['Y'.repeat(digits), yearDigits(digits)] as const,
    ['IYY'.slice(0, digits), isoYearDigits(digits)] as const,
  ]),
  ['CC', { digits: 2, of: ({ year }) => century(year) }],
])

/** Writes a number. Zeros go between the sign and the digits, of which there are equally many for negative numbers. */
function printNumber({ digits, of, isFixed = false }: Numeric, moment: Moment, isBare: boolean): string {
  const value = of(moment)
  const sign = value < 0 ? '-' : ''
  return sign + String(Math.abs(value)).padStart(isBare && !isFixed ? 0 : digits, '0')
}

/** Writes a word in the case of its pattern. */
function word(name: string, { year, month, day, hour }: Moment, isBare: boolean): string | undefined {
  const inCase = (text: string) =>
    name === name.toUpperCase() ? text.toUpperCase() : name === name.toLowerCase() ? text.toLowerCase() : text
  const filled = (text: string, width: number) => (isBare ? text : text.padEnd(width))
  const weekday = () => weekdays[weekdayOf(julianDay(year, month, day))] ?? ''
  const monthName = months[month - 1] ?? ''
  switch (name.toUpperCase()) {
    case 'MONTH':
      return inCase(filled(monthName, 9))
    case 'MON':
      return inCase(monthName.slice(0, 3))
    case 'DAY':
      return inCase(filled(weekday(), 9))
    case 'DY':
      return inCase(weekday().slice(0, 3))
    case 'AM':
    case 'PM':
      return inCase(hour < 12 ? 'AM' : 'PM')
    case 'A.M.':
    case 'P.M.':
      return inCase(hour < 12 ? 'A.M.' : 'P.M.')
    case 'AD':
    case 'BC':
      return inCase(year > 0 ? 'AD' : 'BC')
    case 'A.D.':
    case 'B.C.':
      return inCase(year > 0 ? 'A.D.' : 'B.C.')
    case 'RM':
      return inCase(filled(romanMonths[month - 1] ?? '', 4))
    case 'TZ':
      return inCase('UTC')
    case 'TZH':
      return '+00'
    case 'TZM':
      return '00'
    case 'OF':
      return isBare ? '+0' : '+00'
    // FX only affects parsing.
    case 'FX':
      return ''
    default:
      return undefined
  }
}

const thousands = (year: number) =>
  `${Math.floor(shownYear(year) / 1000)},${String(shownYear(year) % 1000).padStart(3, '0')}`

/** Returns a function that writes instants with a mask. They are RFC 3339 in UTC, truncated to microseconds. */
export function instantFormat(mask: string): (instant: string) => string {
  const parts = readMask(mask, instants)
  return instant => {
    const moment = readMoment(instant)
    return parts
      .map(part => {
        if (part.kind === 'copied') return part.text
        const { name, isBare, ordinal } = part
        const known = numeric.get(name.toUpperCase())
        const number = known
          ? printNumber(known, moment, isBare)
          : name.toUpperCase() === 'Y,YYY'
            ? thousands(moment.year)
            : undefined
        if (number === undefined) return word(name, moment, isBare) ?? ''
        if (ordinal === null) return number
        return number + (ordinal === 'TH' ? ordinalOf(number).toUpperCase() : ordinalOf(number))
      })
      .join('')
  }
}

function readMoment(instant: string): Moment {
  const [, year, month, day, hour, minute, second, digits = ''] =
    /^([+-]?\d{4,6})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?Z$/.exec(instant) ?? []
  return {
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    microseconds: Number(digits.slice(0, 6).padEnd(6, '0')),
  }
}
