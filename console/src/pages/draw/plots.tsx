import { scaleBand, scaleLinear, scalePoint } from 'd3-scale'
import { line } from 'd3-shape'
import type { JSX } from 'preact'
import { formatNumber } from '../../i18n/i18n.ts'
import { Axes, margin, plotHeight, upwards } from './Axes.tsx'
import { Frame, letterSize, Text } from './Frame.tsx'
import { colour, type Drawn } from './series.ts'

interface PlotParts {
  readonly drawn: Drawn
  readonly width: number
  readonly label: string
}

/** What a bar or a point stands for. */
const titleOf = ({ series }: Drawn, name: string, part: string, value: number): string =>
  `${name}${series.length > 1 ? `, ${part}` : ''}: ${formatNumber(value)}`

/** Names have no order of their own: bars from left to right, the highest first. */
export function Rows({ drawn, width, label }: PlotParts): JSX.Element {
  const { names, series, stacked } = drawn
  const step = 28
  const left = Math.min(190, width * 0.32)
  const height = names.length * step + 8
  const x = scaleLinear()
    .domain([0, stacked || 1])
    .range([left, width - 72])
  const letters = Math.floor(left / (letterSize * 0.56))
  return (
    <Frame width={width} height={height} label={label}>
      {names.map((name, row) => {
        let from = 0
        return (
          <g key={name} transform={`translate(0 ${row * step + 4})`}>
            <Text
              text={name}
              of={letters}
              x={left - 10}
              y={step / 2}
              text-anchor="end"
              dominant-baseline="middle"
            />
            {series.map(({ name: part, values }, at) => {
              const value = values[row] ?? 0
              const start = from
              from += value
              return (
                <rect
                  key={part}
                  x={x(start)}
                  y={4}
                  width={Math.max(0, x(from) - x(start))}
                  height={step - 8}
                  rx={2}
                  fill={colour(at)}
                >
                  <title>{titleOf(drawn, name, part, value)}</title>
                </rect>
              )
            })}
            <text x={x(from) + 8} y={step / 2} dominant-baseline="middle" fill="var(--ink)">
              {formatNumber(from)}
            </text>
          </g>
        )
      })}
    </Frame>
  )
}

/** Along an axis that has an order: bars side by side, parts on top of each other. */
export function Columns({ drawn, width, label }: PlotParts): JSX.Element {
  const { names, series, stacked } = drawn
  const x = scaleBand<string>(names, [margin.left, width - margin.right]).padding(
    names.length > 60 ? 0.15 : 0.3,
  )
  const y = upwards(stacked)
  return (
    <Frame width={width} height={plotHeight} label={label}>
      <Axes names={names} width={width} y={y} at={name => (x(name) ?? 0) + x.bandwidth() / 2} />
      {names.flatMap((name, column) => {
        let from = 0
        return series.map(({ name: part, values }, at) => {
          const value = values[column] ?? 0
          const start = from
          from += value
          return (
            <rect
              key={`${name} ${part}`}
              x={x(name)}
              y={y(from)}
              width={x.bandwidth()}
              height={Math.max(0, y(start) - y(from))}
              fill={colour(at)}
            >
              <title>{titleOf(drawn, name, part, value)}</title>
            </rect>
          )
        })
      })}
    </Frame>
  )
}

export function Lines({ drawn, width, label }: PlotParts): JSX.Element {
  const { names, series, highest } = drawn
  const x = scalePoint<string>(names, [margin.left + 8, width - margin.right - 8])
  const y = upwards(highest)
  const path = line<number>(
    (_, at) => x(names[at] ?? '') ?? 0,
    value => y(value),
  )
  return (
    <Frame width={width} height={plotHeight} label={label}>
      <Axes names={names} width={width} y={y} at={name => x(name) ?? 0} />
      {series.map(({ name: part, values }, at) => (
        <g key={part} fill={colour(at)}>
          <path
            d={path(values) ?? ''}
            fill="none"
            stroke={colour(at)}
            stroke-width={2}
            stroke-linejoin="round"
          />
          {values.map((value, column) => (
            <circle
              key={names[column]}
              cx={x(names[column] ?? '')}
              cy={y(value)}
              r={names.length > 60 ? 2 : 3.5}
            >
              <title>{titleOf(drawn, names[column] ?? '', part, value)}</title>
            </circle>
          ))}
        </g>
      ))}
    </Frame>
  )
}
