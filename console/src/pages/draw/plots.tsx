import { extent as extentOf } from 'd3-array'
import { scaleBand, scaleLinear, scalePoint } from 'd3-scale'
import { line } from 'd3-shape'
import type { JSX } from 'preact'
import type { Amount } from '../../exact.ts'
import { Axes, margin, plotHeight, upwards } from './Axes.tsx'
import { Frame, roomFor, Text, widthOf } from './Frame.tsx'
import { colour, type Drawn, spansOf, written } from './series.ts'

interface PlotParts {
  readonly drawn: Drawn
  readonly width: number
  readonly label: string
}

/** The description of a bar or a point. */
const titleOf = ({ series }: Drawn, name: string, part: string, value: Amount | null): string =>
  `${name}${series.length > 1 ? `, ${part}` : ''}: ${written(value)}`

/** Horizontal bars for names without an order of their own, the highest value first. */
export function Rows({ drawn, width, label }: PlotParts): JSX.Element {
  const { names, series, totals, isStacked, extent } = drawn
  const lines = isStacked ? 1 : series.length
  const [thick, gap] = lines === 1 ? [20, 0] : [14, 1]
  const step = lines * (thick + gap) + 8
  const left = Math.min(width * 0.4, roomFor(names))
  const height = names.length * step + 8
  const shown = (row: number, at: number) =>
    written(isStacked ? (totals[row] ?? null) : (series[at]?.values[row] ?? null))
  const labels = names.flatMap((_, row) => Array.from({ length: lines }, (_line, at) => shown(row, at)))
  const x = scaleLinear()
    .domain(extent[0] === extent[1] ? [0, 1] : extent)
    .range([left, width - 16 - Math.min(width * 0.3, Math.max(...labels.map(widthOf)))])
  return (
    <Frame width={width} height={height} label={label}>
      {names.map((name, row) => {
        const spans = spansOf(
          series.map(({ values }) => values[row] ?? null),
          isStacked,
        )
        const end = (at: number) => Math.max(0, ...(isStacked ? spans : [spans[at] ?? [0, 0]]).flat())
        return (
          <g key={name} transform={`translate(0 ${row * step + 4})`}>
            <Text
              text={name}
              room={left - 12}
              x={left - 10}
              y={step / 2}
              text-anchor="end"
              dominant-baseline="middle"
            />
            {series.map(({ name: part, values }, at) => {
              const [from, to] = spans[at] ?? [0, 0]
              return (
                <rect
                  key={part}
                  x={Math.min(x(from), x(to))}
                  y={4 + (isStacked ? 0 : at * (thick + gap))}
                  width={Math.abs(x(to) - x(from))}
                  height={thick}
                  rx={2}
                  fill={colour(at, part)}
                >
                  <title>{titleOf(drawn, name, part, values[row] ?? null)}</title>
                </rect>
              )
            })}
            {Array.from({ length: lines }, (_, at) => (
              <text
                key={at}
                x={x(end(at)) + 8}
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

/** Vertical bars along an ordered axis. Parts that can be added up are stacked. */
export function Columns({ drawn, width, label }: PlotParts): JSX.Element {
  const { names, series, isStacked, extent } = drawn
  const x = scaleBand<string>(names, [margin.left, width - margin.right]).padding(
    names.length > 60 ? 0.15 : 0.3,
  )
  const y = upwards(extent)
  const thick = x.bandwidth() / (isStacked ? 1 : series.length)
  return (
    <Frame width={width} height={plotHeight} label={label}>
      <Axes names={names} width={width} y={y} at={name => (x(name) ?? 0) + x.bandwidth() / 2} />
      {names.flatMap((name, column) => {
        const spans = spansOf(
          series.map(({ values }) => values[column] ?? null),
          isStacked,
        )
        return series.map(({ name: part, values }, at) => {
          const [from, to] = spans[at] ?? [0, 0]
          return from === to ? null : (
            <rect
              key={`${name} ${part}`}
              x={(x(name) ?? 0) + (isStacked ? 0 : at * thick)}
              y={Math.min(y(from), y(to))}
              width={thick}
              height={Math.abs(y(to) - y(from))}
              fill={colour(at, part)}
            >
              <title>{titleOf(drawn, name, part, values[column] ?? null)}</title>
            </rect>
          )
        })
      })}
    </Frame>
  )
}

export function Lines({ drawn, width, label }: PlotParts): JSX.Element {
  const { names, series } = drawn
  const x = scalePoint<string>(names, [margin.left + 8, width - margin.right - 8])
  const [lowest = 0, highest = 0] = extentOf([0, ...series.flatMap(({ values }) => values.map(Number))])
  const y = upwards([lowest, highest])
  const path = line<Amount | null>(
    (_, at) => x(names[at] ?? '') ?? 0,
    value => y(Number(value)),
  ).defined(value => value !== null)
  return (
    <Frame width={width} height={plotHeight} label={label}>
      <Axes names={names} width={width} y={y} at={name => x(name) ?? 0} />
      {series.map(({ name: part, values }, at) => (
        <g key={part} fill={colour(at, part)}>
          <path
            d={path(values) ?? ''}
            fill="none"
            stroke={colour(at, part)}
            stroke-width={2}
            stroke-linejoin="round"
          />
          {values.map(
            (value, column) =>
              value !== null &&
              // With many names, points at zero are left out, since most may be zero.
              (names.length <= 400 || Number(value) !== 0) && (
                <circle
                  key={names[column]}
                  cx={x(names[column] ?? '')}
                  cy={y(Number(value))}
                  r={names.length > 60 ? 2 : 3.5}
                >
                  <title>{titleOf(drawn, names[column] ?? '', part, value)}</title>
                </circle>
              ),
          )}
        </g>
      ))}
    </Frame>
  )
}
