import { scaleBand, scaleLinear, scalePoint } from 'd3-scale'
import { line } from 'd3-shape'
import type { ComponentChildren, JSX } from 'preact'
import { formatNumber, t } from '../../i18n/i18n.ts'
import { cut } from '../../parts/Value.tsx'
import type { Group } from './groups.ts'
import { colour, type Drawn, every } from './series.ts'

interface PlotParts {
  readonly drawn: Drawn
  readonly width: number
  readonly label: string
}

const size = 13
const plotHeight = 380
const margin = { top: 16, right: 16, bottom: 52, left: 64 }

interface FrameParts {
  readonly width: number
  readonly height: number
  readonly label: string
  readonly children: ComponentChildren
}

const Frame = ({ width, height, label, children }: FrameParts): JSX.Element => (
  <svg class="plot" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} font-size={size}>
    {children}
  </svg>
)

const Text = ({
  text,
  of = 22,
  ...rest
}: { readonly text: string; readonly of?: number } & JSX.IntrinsicElements['text']): JSX.Element => (
  <text fill="var(--ink-soft)" {...rest}>
    {cut(text, of)}
    {text.length > of && <title>{cut(text, 300)}</title>}
  </text>
)

/** Names have no order of their own: bars from left to right, the highest first. */
export function Rows({ drawn, width, label }: PlotParts): JSX.Element {
  const { names, series, stacked } = drawn
  const step = 28
  const left = Math.min(190, width * 0.32)
  const height = names.length * step + 8
  const x = scaleLinear()
    .domain([0, stacked || 1])
    .range([left, width - 72])
  const letters = Math.floor(left / (size * 0.56))
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
                  <title>{`${name}${series.length > 1 ? `, ${part}` : ''}: ${formatNumber(value)}`}</title>
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

/** The lines of the values, and the names below. */
function Axes({
  drawn,
  width,
  highest,
  at,
}: {
  readonly drawn: Drawn
  readonly width: number
  readonly highest: number
  readonly at: (name: string) => number
}): JSX.Element {
  const { names } = drawn
  const y = scaleLinear()
    .domain([0, highest || 1])
    .nice()
    .range([plotHeight - margin.bottom, margin.top])
  const longest = Math.min(12, Math.max(...names.map(name => name.length)))
  const skip = every(names.length, width - margin.left - margin.right, longest * size * 0.62 + 14)
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
            {formatNumber(tick)}
          </text>
        </g>
      ))}
      {names.map((name, index) =>
        index % skip === 0 ? (
          <Text
            key={name}
            text={name}
            of={12}
            x={at(name)}
            y={plotHeight - margin.bottom + 22}
            text-anchor="middle"
          />
        ) : null,
      )}
    </g>
  )
}

/** Along an axis that has an order: bars side by side, parts on top of each other. */
export function Columns({ drawn, width, label }: PlotParts): JSX.Element {
  const { names, series, stacked } = drawn
  const x = scaleBand<string>(names, [margin.left, width - margin.right]).padding(
    names.length > 60 ? 0.15 : 0.3,
  )
  const y = scaleLinear()
    .domain([0, stacked || 1])
    .nice()
    .range([plotHeight - margin.bottom, margin.top])
  return (
    <Frame width={width} height={plotHeight} label={label}>
      <Axes drawn={drawn} width={width} highest={stacked} at={name => (x(name) ?? 0) + x.bandwidth() / 2} />
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
              <title>{`${name}${series.length > 1 ? `, ${part}` : ''}: ${formatNumber(value)}`}</title>
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
  const y = scaleLinear()
    .domain([0, highest || 1])
    .nice()
    .range([plotHeight - margin.bottom, margin.top])
  const path = line<number>(
    (_, at) => x(names[at] ?? '') ?? 0,
    value => y(value),
  )
  return (
    <Frame width={width} height={plotHeight} label={label}>
      <Axes drawn={drawn} width={width} highest={highest} at={name => x(name) ?? 0} />
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
              <title>{`${names[column]}${series.length > 1 ? `, ${part}` : ''}: ${formatNumber(value)}`}</title>
            </circle>
          ))}
        </g>
      ))}
    </Frame>
  )
}

/** Two fields: each pair is a cell, the darker the more. */
export function Cells({
  groups,
  width,
  label,
}: {
  readonly groups: readonly Group[]
  readonly width: number
  readonly label: string
}): JSX.Element {
  const name = (text: string | null) => text ?? t('null')
  const columns = [...new Set(groups.map(one => name(one.name)))].slice(0, 60)
  const rows = [...new Set(groups.map(one => name(one.within)))]
    .toSorted((a, b) => a.localeCompare(b))
    .slice(0, 40)
  const highest = Math.max(1, ...groups.map(({ value }) => value))
  const left = Math.min(150, width * 0.28)
  const step = 36
  const height = rows.length * step + 60
  const x = scaleBand<string>(columns, [left, width - 8]).padding(0.04)
  const y = scaleBand<string>(rows, [8, height - 52]).padding(0.06)
  const filled = new Set(groups.map(one => `${name(one.name)}\n${name(one.within)}`))
  const isWide = x.bandwidth() > 44
  const skip = every(
    columns.length,
    width - left,
    Math.min(12, Math.max(...columns.map(one => one.length))) * size * 0.56 + 8,
  )
  return (
    <Frame width={width} height={height} label={label}>
      {rows.map(row => (
        <Text
          key={row}
          text={row}
          of={Math.floor(left / 7.6)}
          x={left - 10}
          y={(y(row) ?? 0) + y.bandwidth() / 2}
          text-anchor="end"
          dominant-baseline="middle"
        />
      ))}
      {columns.map((column, at) =>
        at % skip === 0 ? (
          <Text
            key={column}
            text={column}
            of={12}
            x={at === columns.length - 1 ? width - 8 : (x(column) ?? 0) + x.bandwidth() / 2}
            y={height - 30}
            text-anchor={at === columns.length - 1 ? 'end' : 'middle'}
          />
        ) : null,
      )}
      {rows.flatMap(row =>
        columns.map(column =>
          filled.has(`${column}\n${row}`) ? null : (
            <rect
              key={`${column}\n${row}`}
              x={x(column)}
              y={y(row)}
              width={x.bandwidth()}
              height={y.bandwidth()}
              rx={2}
              fill="var(--wash)"
            />
          ),
        ),
      )}
      {groups.map(one => {
        const [column, row] = [x(name(one.name)), y(name(one.within))]
        if (column === undefined || row === undefined) return null
        const share = one.value / highest
        return (
          <g key={`${one.name} ${one.within}`}>
            <rect
              x={column}
              y={row}
              width={x.bandwidth()}
              height={y.bandwidth()}
              rx={2}
              fill="var(--series-1)"
              fill-opacity={isWide ? 0.06 + 0.44 * share : 0.06 + 0.9 * share}
            >
              <title>{`${name(one.name)}, ${name(one.within)}: ${formatNumber(one.value)}`}</title>
            </rect>
            {isWide && (
              <text
                x={column + x.bandwidth() / 2}
                y={row + y.bandwidth() / 2}
                text-anchor="middle"
                dominant-baseline="central"
                font-size={11}
                fill="var(--ink)"
              >
                {formatNumber(one.value)}
              </text>
            )}
          </g>
        )
      })}
    </Frame>
  )
}
