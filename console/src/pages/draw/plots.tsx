import { extent } from 'd3-array'
import { scaleLinear, scaleLog } from 'd3-scale'
import { line } from 'd3-shape'
import type { JSX } from 'preact'
import type { Amount } from '../../exact.ts'
import { formatShort } from '../../i18n/i18n.ts'
import { Along, alongOf } from './Along.tsx'
import { AxisName, Frame, Legend, legendOf, Mark, roomFor, Text, widthOf } from './Frame.tsx'
import type { Place } from './groups.ts'
import { type Drawn, extentOf, type Series, spansOf, written } from './series.ts'
import type { Steps } from './steps.ts'

interface PlotParts {
  readonly drawn: Drawn
  readonly width: number
  readonly label: string
  /** Names of the axis and of the values. */
  readonly by: string
  readonly measured: string
  readonly isLog: boolean
  /** Returns the path of the records of a mark; without a series, of all series. */
  readonly pathOf: (place: Place, series?: Series) => string | undefined
}

/** The description of a bar or a point. */
const titleOf = ({ series }: Drawn, place: Place, part: string, value: Amount | null): string =>
  `${place.text}${series.length > 1 ? `, ${part}` : ''}: ${written(value)}`

/** Returns the scale of the values, with its ticks and the value from which bars begin. */
function scaleOf(drawn: Drawn, isLog: boolean, range: readonly [number, number]) {
  if (!isLog) {
    const [lowest, highest] = extentOf(drawn)
    const scale = scaleLinear().domain([lowest, highest === lowest ? lowest + 1 : highest])
    if (range[0] > range[1]) scale.nice()
    return { scale: scale.range(range), ticks: scale.ticks(5), base: 0 }
  }
  const positive = drawn.series.flatMap(({ values }) =>
    values.filter(one => Number(one ?? 0) > 0).map(Number),
  )
  const [lowest = 1, highest = 1] = extent(positive)
  const base = lowest / 2
  const scale = scaleLog([base, Math.max(highest, lowest * 2)], range)
  const isWide = highest / lowest >= 100
  return { scale, ticks: scale.ticks().filter(tick => isRound(tick, isWide ? [1] : [1, 2, 5])), base }
}

const isRound = (tick: number, digits: readonly number[]) =>
  digits.includes(Math.round((tick / 10 ** Math.floor(Math.log10(tick) + 1e-9)) * 10) / 10)

/** Horizontal bars for names without an order of their own, the highest value first. */
export function Rows({ drawn, width, label, by, measured, isLog, pathOf }: PlotParts): JSX.Element {
  const { places, series, totals, isStacked } = drawn
  const lines = isStacked ? 1 : series.length
  const [thick, gap] = lines === 1 ? [20, 0] : [14, 1]
  const step = lines * (thick + gap) + 8
  const left = Math.min(width * 0.4, Math.max(roomFor(places.map(({ text }) => text)), widthOf(by) + 30))
  const legend = legendOf(series, width)
  const top = legend.height + 28
  const height = places.length * step + 8 + top
  const shown = (row: number, at: number) =>
    written(isStacked ? (totals[row] ?? null) : (series[at]?.values[row] ?? null))
  const labels = places.flatMap((_, row) => Array.from({ length: lines }, (_line, at) => shown(row, at)))
  const right = width - 16 - Math.min(width * 0.3, Math.max(...labels.map(widthOf)))
  const { scale: x, base } = scaleOf(drawn, isLog, [left, right])
  const to = (value: number) => x(Math.max(value, isLog ? base : value))
  return (
    <Frame width={width} height={height} label={label}>
      <Legend of={legend} width={width} />
      <AxisName text={by} room={left - 12} x={left - 10} y={top - 12} text-anchor="end" />
      <AxisName text={measured} room={width - left} x={left} y={top - 12} />
      {places.map((place, row) => {
        const values = series.map(one => one.values[row] ?? null)
        const spans = spansOf(values, isStacked)
        const end = (at: number) => Math.max(base, ...(isStacked ? spans : [spans[at] ?? [0, 0]]).flat())
        return (
          <g key={place.key} transform={`translate(0 ${top + row * step + 4})`}>
            <Text
              text={place.text}
              room={left - 12}
              x={left - 10}
              y={step / 2}
              text-anchor="end"
              dominant-baseline="middle"
            />
            {series.map((one, at) => {
              const [from, until] = spans[at] ?? [0, 0]
              return from === until ? null : (
                <Mark
                  key={one.name}
                  title={titleOf(drawn, place, one.name, values[at] ?? null)}
                  to={pathOf(place, one)}
                >
                  <rect
                    x={Math.min(to(from), to(until))}
                    y={4 + (isStacked ? 0 : at * (thick + gap))}
                    width={Math.max(1, Math.abs(to(until) - to(from)))}
                    height={thick}
                    rx={2}
                    fill={one.colour}
                  />
                </Mark>
              )
            })}
            {Array.from({ length: lines }, (_, at) => (
              <text
                key={at}
                x={to(end(at)) + 8}
                y={4 + at * (thick + gap) + thick / 2}
                dominant-baseline="middle"
                font-size={lines === 1 ? undefined : 11}
                fill="var(--ink)"
              >
                {shown(row, at)}
              </text>
            ))}
          </g>
        )
      })}
    </Frame>
  )
}

/** Height of a drawing with two axes without its legend, and its margins, in pixels. */
const plotHeight = 400
const margin = { top: 34, right: 20, bottom: 56 }

/** Bars or lines along an axis to scale. Bars that can be added up are stacked. */
export function Upright({
  drawn,
  steps,
  isLines,
  width,
  label,
  by,
  measured,
  isLog,
  pathOf,
}: PlotParts & { readonly steps: Steps; readonly isLines: boolean }): JSX.Element {
  const { places, series } = drawn
  const isStacked = drawn.isStacked && !isLines
  const legend = legendOf(series, width)
  const top = legend.height + margin.top
  const bottom = top + plotHeight - margin.top - margin.bottom
  const { scale: y, ticks, base } = scaleOf({ ...drawn, isStacked }, isLog, [bottom, top])
  const left = 20 + Math.max(...ticks.map(tick => widthOf(formatShort(tick))))
  const x = alongOf(places, steps, [left, width - margin.right])
  const to = (value: number) => y(Math.max(value, isLog ? base : value))
  return (
    <Frame width={width} height={bottom + margin.bottom} label={label}>
      <Legend of={legend} width={width} />
      <AxisName text={measured} room={width} x={0} y={top - 16} />
      {ticks.map(tick => (
        <g key={tick}>
          <line x1={left} x2={width - margin.right} y1={y(tick)} y2={y(tick)} stroke="var(--line)" />
          <text x={left - 10} y={y(tick)} text-anchor="end" dominant-baseline="middle" fill="var(--ink-soft)">
            {formatShort(tick)}
          </text>
        </g>
      ))}
      <Along of={x} y={bottom} name={by} from={left} to={width - margin.right} />
      {isLines &&
        series.map(one => <Path key={one.name} of={one} places={places} x={x} y={to} base={base} />)}
      {places.flatMap((place, row) => {
        const values = series.map(one => one.values[row] ?? null)
        const spans = spansOf(values, isStacked)
        const [from, wide] = x.room(place)
        const each = wide / (isStacked || isLines ? 1 : series.length)
        return series.map((one, at) => {
          const [start, end] = spans[at] ?? [0, 0]
          // A point at zero between records is part of the line only.
          if (isLines ? values[at] === null || (end === 0 && series.length > 1) : start === end) return null
          const edge = from + (isStacked || isLines ? 0 : at * each)
          return (
            <Mark
              key={`${place.key} ${one.name}`}
              title={titleOf(drawn, place, one.name, values[at] ?? null)}
              to={pathOf(place, one)}
            >
              {series.length === 1 && (
                // A thin or a low mark is reached over the whole height.
                <rect class="reach" x={from} y={top} width={wide} height={bottom - top} fill="transparent" />
              )}
              {isLines ? (
                <circle
                  cx={x.middle(place)}
                  cy={to(end)}
                  r={places.length > 60 ? 2 : 3.5}
                  fill={one.colour}
                />
              ) : (
                <rect
                  x={edge}
                  y={Math.min(to(start), to(end))}
                  width={each}
                  height={Math.max(1, Math.abs(to(end) - to(start)))}
                  fill={one.colour}
                />
              )}
            </Mark>
          )
        })
      })}
    </Frame>
  )
}

interface Parts {
  readonly of: Series
  readonly places: readonly Place[]
  readonly x: ReturnType<typeof alongOf>
  readonly y: (value: number) => number
  readonly base: number
}

/** A line through the values of a series. Between steps without records, counts are at zero, and others missing. */
function Path({ of: { values, colour }, places, x, y, base }: Parts): JSX.Element {
  const isCount = values.includes(0) || !values.includes(null)
  const points: (readonly [number, number] | undefined)[] = []
  for (const [at, place] of places.entries()) {
    const before = places[at - 1]
    if (before && !x.isNext(before, place)) {
      if (isCount) points.push([x.beside(before, 1), y(base)], [x.beside(place, -1), y(base)])
      else points.push(undefined)
    }
    const value = values[at]
    points.push(value === null || value === undefined ? undefined : [x.middle(place), y(Number(value))])
  }
  const path = line<readonly [number, number] | undefined>(
    point => point?.[0] ?? 0,
    point => point?.[1] ?? 0,
  ).defined(point => point !== undefined)
  return <path d={path(points) ?? ''} fill="none" stroke={colour} stroke-width={2} stroke-linejoin="round" />
}
