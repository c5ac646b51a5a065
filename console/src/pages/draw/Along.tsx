import { extent, min } from 'd3-array'
import { scaleLinear, scaleUtc } from 'd3-scale'
import type { JSX } from 'preact'
import { AxisName } from './Frame.tsx'
import type { Place } from './groups.ts'
import { middleOf, type Steps, spanOf } from './steps.ts'

/** Returns the scale of an axis of numbers or times, with the room that each step has. */
export function alongOf(places: readonly Place[], steps: Steps, range: readonly [number, number]) {
  const starts = places.flatMap(({ value }) => steps.at(value) ?? [])
  const [from = 0, to = 1] = extent(starts.flatMap(at => spanOf(steps, at)))
  const domain = from === to ? [from - 1, to + 1] : [from, to]
  const scale = steps.isTime ? scaleUtc(domain, range) : scaleLinear(domain, range)
  const nearest = min(starts.slice(1).map((at, index) => scale(at) - scale(starts[index] ?? 0)))
  const at = (place: Place) => steps.at(place.value) ?? 0
  return {
    middle: (place: Place) => scale(middleOf(steps, at(place))),
    /** The left edge and the width of a place, with a gap to the next one where there is room. */
    room: (place: Place): readonly [number, number] => {
      const [left, right] = spanOf(steps, at(place)).map(one => scale(one))
      if (left === undefined || right === undefined) return [0, 0]
      if (!steps.next) {
        const wide = Math.max(1.5, Math.min(20, (nearest ?? 20) * 0.8))
        return [left - wide / 2, wide]
      }
      const gap = right - left > 4 ? Math.min(6, (right - left) * 0.2) : 0
      return [left + gap / 2, Math.max(1, right - left - gap)]
    },
    ticks: scale.ticks(Math.max(2, Math.round((range[1] - range[0]) / 90))).flatMap(tick => {
      const place = Number(tick)
      const text = steps.tick(place)
      // A tick of time is in the middle of its step; a bound of numbers is where it is.
      const x = scale(steps.isTime ? middleOf(steps, place) : place)
      return text === undefined || x > range[1] ? [] : [{ text, x }]
    }),
    /** The middles of the empty steps beside a place, where a line of counts is at zero. */
    beside: (place: Place, by: 1 | -1): number => {
      const other = steps.next?.(at(place), by)
      return other === undefined ? Number.NaN : scale(middleOf(steps, other))
    },
    isNext: (one: Place, other: Place): boolean =>
      !steps.next || steps.next(at(one), 1) >= at(other) || steps.next(at(other), -1) <= at(one),
  }
}

interface Parts {
  readonly of: ReturnType<typeof alongOf>
  readonly y: number
  readonly name: string
  readonly from: number
  readonly to: number
}

/** Ticks and name of an axis of numbers or times. */
export const Along = ({ of: { ticks }, y, name, from, to }: Parts): JSX.Element => (
  <g>
    <line x1={from} x2={to} y1={y} y2={y} stroke="var(--line-strong)" />
    {ticks.map(({ text, x }) => (
      <g key={text}>
        <line x1={x} x2={x} y1={y} y2={y + 5} stroke="var(--line-strong)" />
        <text x={Math.min(x, to)} y={y + 20} text-anchor="middle" fill="var(--ink-soft)">
          {text}
        </text>
      </g>
    ))}
    <AxisName text={name} room={to - from} x={(from + to) / 2} y={y + 42} text-anchor="middle" />
  </g>
)
