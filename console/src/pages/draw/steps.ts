import type { Axis } from './groups.ts'

/** An axis with an order has a place for each of its steps, with or without a record: what is missing is a gap. */

/** More places than these have no room: then the axis says that it leaves some out. */
const mostSteps = 2_000

interface Scale {
  /** The number of the step that has this name; undefined for what is none. */
  readonly at: (name: string) => number | undefined
  readonly name: (at: number) => string
}

const whole = (text: string) => (/^-?\d{1,15}$/.test(text) ? Number(text) : undefined)
const two = (value: number) => String(value).padStart(2, '0')
const dayLength = 86_400_000

const numbers: Scale = { at: whole, name: String }

const scales = {
  // `to_string` writes the years from 0 on with four digits.
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
 * The names along an axis, with those that no group has. What is on no scale, such as no value, comes last.
 * @param isWhole every step between the first and the last has its place
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
