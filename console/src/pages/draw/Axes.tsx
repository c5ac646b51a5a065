import { type ScaleLinear, scaleLinear } from 'd3-scale'
import type { JSX } from 'preact'
import { formatShort } from '../../i18n/i18n.ts'
import { Text, widthOf } from './Frame.tsx'
import { every } from './series.ts'

/** Height and margins, in pixels, of a drawing with two axes. */
export const plotHeight = 380
export const margin = { top: 16, right: 16, bottom: 52, left: 64 }

/** A scale of values from the bottom up, ending at round numbers. */
export const upwards = ([lowest, highest]: readonly [number, number]): ScaleLinear<number, number> =>
  scaleLinear()
    .domain([lowest, highest === lowest ? lowest + 1 : highest])
    .nice()
    .range([plotHeight - margin.bottom, margin.top])

/** Maximum room in pixels for a name below a drawing. */
export const nameRoom = 96

export const longestOf = (names: readonly string[]): number =>
  Math.min(nameRoom, Math.max(0, ...names.map(name => widthOf(name.slice(0, 40)))))

/** The grid lines with their values, and the names below. */
export function Axes({
  names,
  width,
  y,
  at,
}: {
  readonly names: readonly string[]
  readonly width: number
  readonly y: ScaleLinear<number, number>
  readonly at: (name: string) => number
}): JSX.Element {
  const skip = every(names.length, width - margin.left - margin.right, longestOf(names) + 14)
  return (
    <g>
      {y.ticks(5).map(tick => (
        <g key={tick}>
          <line x1={margin.left} x2={width - margin.right} y1={y(tick)} y2={y(tick)} stroke="var(--line)" />
          <text
            x={margin.left - 10}
            y={y(tick)}
            text-anchor="end"
            dominant-baseline="middle"
            fill="var(--ink-soft)"
          >
            {formatShort(tick)}
          </text>
        </g>
      ))}
      {names.map((name, index) =>
        index % skip === 0 ? (
          <Text
            key={name}
            text={name}
            room={nameRoom}
            x={at(name)}
            y={plotHeight - margin.bottom + 22}
            text-anchor="middle"
          />
        ) : null,
      )}
    </g>
  )
}
