import type { Axis } from './groups.ts'

/** An ordered axis has a place for each of its steps, so that missing records show as a gap. */

/**
 * Maximum number of places on an axis. Above it, steps without records are left out, and the axis says so.
 */
const mostSteps = 2_000

interface Scale {
  /** Returns the number of the step with this name, or undefined if the name is not a step. */
  readonly at: (name: string) => number | undefined
  readonly name: (at: number) => string
}

const whole = (text: string) => (/^-?\d{1,15}$/.test(text) ? Number(text) : undefined)
const two = (value: number) => String(value).padStart(2, '0')
const dayLength = 86_400_000

const numbers: Scale = { at: whole, name: String }

const scales = {
  // `to_string` writes years from 0 on with four digits.
  year: { at: whole, name: at => String(at).padStart(4, '0') },
  month: {
    at: name => {
      const [, year, month] = /^(\d{4,})-(\d\d)$/.exec(name) ?? []
      return month === undefined ? undefined : Number(year) * 12 + Number(month) - 1
    },
    name: at => `${String(Math.floor(at / 12)).padStart(4, '0')}-${two((at % 12) + 1)}`,
  },
  day: {
    at: name => {
      const time = /^\d{4}-\d\d-\d\d$/.test(name) ? Date.parse(name) : Number.NaN
      return Number.isNaN(time) ? undefined : time / dayLength
    },
    name: at => new Date(at * dayLength).toISOString().slice(0, 10),
  },
  weekday: numbers,
  hour: { at: whole, name: two },
} as const satisfies Record<string, Scale>

const scaleOf = ({ field, unit }: Axis): Scale | undefined =>
  unit ? scales[unit] : field.type === 'integer' ? numbers : undefined

/**
 * Completes the names along an ordered axis with the steps that have no group, so that they show as gaps.
 * Names that are not steps, such as a missing value, come last.
 *
 * @returns `isWhole` is true if every step between the first and the last has its place
 */
export function stepsOf(
  names: readonly string[],
  axis: Axis,
  limit = mostSteps,
): { readonly all: readonly string[]; readonly isWhole: boolean } {
  const scale = scaleOf(axis)
  if (!scale) return { all: names, isWhole: names.length < 2 }
  const placeOf = (name: string) => {
    const at = scale.at(name)
    return at !== undefined && scale.name(at) === name ? at : undefined
  }
  const placed = names.flatMap(name => placeOf(name) ?? [])
  if (placed.length === 0) return { all: names, isWhole: true }
  const first = placed.reduce((one, other) => Math.min(one, other))
  const last = placed.reduce((one, other) => Math.max(one, other))
  if (last - first >= limit) return { all: names, isWhole: false }
  const others = names.filter(name => placeOf(name) === undefined)
  return {
    all: [...Array.from({ length: last - first + 1 }, (_, at) => scale.name(first + at)), ...others],
    isWhole: true,
  }
}
