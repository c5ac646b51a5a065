import { plainNumber, printNumber, readDecimal } from '../../lib/decimals.ts'
import { inUtc } from '../../lib/instants.ts'
import { numberText } from '../../lib/json.ts'
import type { TimeUnit } from '../plan.ts'
import { type Argument, type ComputedValue, type FieldFunction, numbers } from './function.ts'

/** Buckets (docs/decisions/0074): one of numbers is named by its lower bound, one of instants by its beginning. */

export const bucket: FieldFunction = {
  kind: 'computed',
  documentation: 'a [bucket](#buckets) of numbers or times',
  types: ['date-time', ...numbers],
  takes: { words: 'a field, and the width of a bucket or a unit of time', examples: [10, 'month'] },
  inConditions: 'by',
  plan: (of, by) => {
    if (of === 'date-time') return { computed: { kind: 'period', unit: readUnit(by) }, type: of }
    const width = widthOf(by)
    const isWhole = of === 'integer' && !width.includes('.')
    return { computed: { kind: 'interval', width }, type: isWhole ? 'integer' : 'number' }
  },
}

function readUnit({ kind, text, shown, wrong }: Argument): TimeUnit {
  if (kind === 'text' && isTimeUnit(text)) return text
  throw wrong(`A time is put into buckets by one of ${timeUnits.join(', ')}, not by ${shown}.`, {
    legal: timeUnits,
  })
}

function widthOf({ kind, text, shown, wrong }: Argument): string {
  if (kind !== 'number')
    throw wrong(`A number is put into buckets by their width, such as 10, not by ${shown}.`)
  const width = readWidth(text)
  if (width !== undefined) return width
  throw wrong(
    `The width of a bucket is above 0, has at most ${maxWidthPower} digits, and lies between 1e-${maxWidthPower} and 1e${maxWidthPower}; ${shown} doesn't.`,
  )
}

/** The greatest multiple of the width that is not above the number. */
export const interval: ComputedValue<'interval'> = {
  gives: 'number',
  of: ({ width }, value) => {
    const number = numberText(value)
    return number === undefined ? undefined : intervalOf(number, width)
  },
  isGradual: () => true,
  // Division would round; `mod` doesn't.
  postgres: ({ width }, { number }) => {
    const by = `CAST('${width}' AS NUMERIC)`
    return `(SELECT CASE WHEN abs(n.v) < 1e1000 THEN n.v - mod(n.v, ${by}) - CASE WHEN mod(n.v, ${by}) < 0 THEN ${by} ELSE 0 END END
    FROM (SELECT ${number()} AS v OFFSET 0) AS n)`
  },
  next: ({ width }, start) => nextInterval(start, width),
}

/** The instant at which the year, month or other period of the instant began, in UTC. */
export const period: ComputedValue<'period'> = {
  gives: 'date-time',
  of: ({ unit }, value) => (typeof value === 'string' ? periodOf(value, unit) : undefined),
  isGradual: () => true,
  // The instant as the built-in tables write it.
  postgres: ({ unit }, { time }) =>
    `(SELECT CASE WHEN p.v >= TIMESTAMP '0001-01-01' AND p.v < TIMESTAMP '10000-01-01' THEN to_char(p.v, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END
    FROM (SELECT date_trunc('${unit}', ${time()}) AS v OFFSET 0) AS p)`,
  next: ({ unit }, start) => nextPeriod(start, unit),
}

/** Widths lie between ten to the power of minus this and ten to the power of this. */
const maxWidthPower = 100
/** Numbers with more digits before the decimal point are in no bucket, and digits as far behind it don't count. */
const maxPower = 1_000

/** @param text a number as JSON writes it @returns the width in plain digits; undefined if it is none */
function readWidth(text: string): string | undefined {
  const { isNegative, digits, exponent } = readDecimal(text)
  if (isNegative || digits === '' || digits.length > maxWidthPower || Math.abs(exponent) > maxWidthPower)
    return undefined
  return plainNumber(text)
}

/**
 * Finds the bucket of a number, exactly.
 * @param number as JSON writes it
 * @param width as `readWidth` returns it
 * @returns the lower bound as JSON; undefined for a number that is too large
 */
function intervalOf(number: string, width: string): string | undefined {
  if (/^-?\d{1,15}$/.test(number) && /^\d{1,15}$/.test(width)) {
    const [value, by] = [Number(number), Number(width)]
    const rest = value % by
    const low = value - (rest < 0 ? rest + by : rest)
    if (Number.isSafeInteger(low)) return String(low + 0)
  }
  const found = unitsOf(number, width)
  if (found === undefined) return undefined
  const { units, by, places } = found
  const rest = units % by
  return inDigits(units - (rest < 0n ? rest + by : rest), places)
}

/** Writes a whole number of the smallest decimal place as JSON. */
function inDigits(units: bigint, places: number): string {
  return printNumber(`${units}e${-places}`)
}

/** A number and a width as whole numbers of one decimal place. A number behind all of them is next to zero. */
function unitsOf(number: string, width: string) {
  const { isNegative, digits, exponent } = readDecimal(number)
  if (exponent > maxPower) return undefined
  const step = readDecimal(width)
  const sign = isNegative ? -1n : 1n
  const finest = Math.max(0, step.digits.length - step.exponent)
  if (exponent < -maxPower) return { units: sign, by: inUnits(step, finest + 1), places: finest + 1 }
  const places = Math.max(finest, digits.length - exponent)
  return { units: sign * inUnits({ digits, exponent }, places), by: inUnits(step, places), places }
}

const inUnits = (
  { digits, exponent }: { readonly digits: string; readonly exponent: number },
  places: number,
) => (digits === '' ? 0n : BigInt(digits) * 10n ** BigInt(places + exponent - digits.length))

/** Returns the bucket of numbers after this one. */
function nextInterval(low: string, width: string): string {
  const { units, by, places } = unitsOf(low, width) ?? { units: 0n, by: 1n, places: 0 }
  return inDigits(units + by, places)
}

export const timeUnits = [
  'year',
  'quarter',
  'month',
  'week',
  'day',
  'hour',
] as const satisfies readonly TimeUnit[]

export const isTimeUnit = (text: string): text is TimeUnit => (timeUnits as readonly string[]).includes(text)

const dayLength = 86_400_000

/**
 * Finds the period of an instant, in UTC. Weeks begin on Mondays.
 * @param text an RFC 3339 date-time
 * @returns the instant at which it began; undefined outside of the years 1 to 9999
 */
function periodOf(text: string, unit: TimeUnit): string | undefined {
  const [, year = '', month = '', day = '', hour = ''] =
    /^(\d{4})-(\d\d)-(\d\d)T(\d\d)/.exec(inUtc(text)) ?? []
  if (year === '' || year === '0000') return undefined
  switch (unit) {
    case 'year':
      return `${year}-01-01T00:00:00.000Z`
    case 'quarter':
      return `${year}-${String(Math.floor((Number(month) - 1) / 3) * 3 + 1).padStart(2, '0')}-01T00:00:00.000Z`
    case 'month':
      return `${year}-${month}-01T00:00:00.000Z`
    case 'week': {
      const days = Date.parse(`${year}-${month}-${day}T00:00:00Z`) / dayLength
      // The first of January 1970 was a Thursday.
      const sinceMonday = (((days + 3) % 7) + 7) % 7
      return new Date((days - sinceMonday) * dayLength).toISOString()
    }
    case 'day':
      return `${year}-${month}-${day}T00:00:00.000Z`
    case 'hour':
      return `${year}-${month}-${day}T${hour}:00:00.000Z`
  }
}

const monthsIn: Partial<Record<TimeUnit, number>> = { year: 12, quarter: 3, month: 1 }
const lengths: Partial<Record<TimeUnit, number>> = {
  week: 7 * dayLength,
  day: dayLength,
  hour: dayLength / 24,
}

/** Returns the period after this one. @param start as `periodOf` returns it */
function nextPeriod(start: string, unit: TimeUnit): string {
  const at = new Date(start)
  at.setUTCMonth(at.getUTCMonth() + (monthsIn[unit] ?? 0))
  return new Date(at.getTime() + (lengths[unit] ?? 0)).toISOString()
}
