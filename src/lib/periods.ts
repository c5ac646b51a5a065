import { inUtc } from './instants.ts'

/** Buckets of instants (docs/decisions/0074): each is named by the instant at which it begins. */

export const timeUnits = ['year', 'quarter', 'month', 'week', 'day', 'hour'] as const
export type TimeUnit = (typeof timeUnits)[number]

export const isTimeUnit = (text: string): text is TimeUnit => (timeUnits as readonly string[]).includes(text)

const dayLength = 86_400_000

/**
 * Finds the period of an instant, in UTC. Weeks begin on Mondays.
 * @param text an RFC 3339 date-time
 * @returns the instant at which it began; undefined outside of the years 1 to 9999
 */
export function periodOf(text: string, unit: TimeUnit): string | undefined {
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
export function nextPeriod(start: string, unit: TimeUnit): string {
  const at = new Date(start)
  at.setUTCMonth(at.getUTCMonth() + (monthsIn[unit] ?? 0))
  return new Date(at.getTime() + (lengths[unit] ?? 0)).toISOString()
}
