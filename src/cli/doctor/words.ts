import { quantity } from '../../lib/quantities.ts'

/** Length of a day in ms. */
export const day = 24 * 3_600_000

/**
 * Writes a duration such as `12 hours`, `1.5 hours`, `90 seconds`: in the largest unit of which there are at
 * least two, or in seconds.
 */
export function duration(seconds: number): string {
  const units = [
    [24 * 3_600, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ] as const
  const [size, unit] = units.find(([one]) => seconds >= 2 * one) ?? [1, 'second']
  return quantity(Number((seconds / size).toFixed(1)), unit)
}

/** Writes the time since an event. @param age in ms; below 0 counts as now */
export function ago(age: number): string {
  const days = Math.floor(age / day)
  return `${days < 1 ? 'less than a day' : quantity(days, 'day')} ago`
}
