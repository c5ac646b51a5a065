import { scaleBand } from 'd3-scale'
import type { JSX } from 'preact'
import { formatNumber } from '../../i18n/i18n.ts'
import { longestOf, nameRoom } from './Axes.tsx'
import { Frame, Text, widthOf } from './Frame.tsx'
import type { Group } from './groups.ts'
import { every, keptOf, label as name, written } from './series.ts'

/** What there is room for. */
const [mostColumns, mostRows] = [400, 60]

export interface Grid {
  readonly columns: readonly string[]
  readonly rows: readonly string[]
  /** Some of them were left out. */
  readonly cut: boolean
}

export function gridOf(groups: readonly Group[]): Grid {
  const columns = keptOf(groups, one => name(one.name), mostColumns)
  const rows = keptOf(groups, one => name(one.within), mostRows)
  return {
    columns: columns.all,
    rows: rows.all.toSorted((a, b) => a.localeCompare(b, undefined, { numeric: true })),
    cut: columns.cut || rows.cut,
  }
}

/** The furthest from zero that any group is. */
const mostOf = (groups: readonly Group[]) =>
  Math.max(0, ...groups.map(({ value }) => Math.abs(Number(value ?? 0)))) || 1

/** By the root: where one value is far above the others, they can still be told apart. */
const strength = (value: number, most: number) =>
  value === 0 ? 0.06 : 0.16 + 0.8 * Math.sqrt(Math.abs(value) / most)

/** What the colours of cells stand for, where there is no room for numbers in them. */
function Scale({ groups }: { readonly groups: readonly Group[] }): JSX.Element {
  const most = mostOf(groups)
  const steps = [0, 0.25, 0.5, 0.75, 1]
  return (
    <p class="legend">
      <span>{formatNumber(0)}</span>
      <svg width={steps.length * 24} height="12" aria-hidden="true">
        {steps.map((part, at) => (
          <rect
            key={part}
            x={at * 24}
            width="24"
            height="12"
            fill="var(--series-1)"
            fill-opacity={strength(part * part * most, most)}
          />
        ))}
      </svg>
      <span>{formatNumber(most)}</span>
    </p>
  )
}

/** Two fields: each pair is a cell, the darker the more. */
export function Cells({
  groups,
  grid: { columns, rows },
  width,
  label,
}: {
  readonly groups: readonly Group[]
  readonly grid: Grid
  readonly width: number
  readonly label: string
}): JSX.Element {
  const most = mostOf(groups)
  const left = Math.min(150, width * 0.28)
  const step = 36
  const height = rows.length * step + 60
  const x = scaleBand<string>(columns, [left, width - 8]).padding(0.04)
  const y = scaleBand<string>(rows, [8, height - 52]).padding(0.06)
  const filled = new Set(groups.map(one => `${name(one.name)}\n${name(one.within)}`))
  const isWide = x.bandwidth() > Math.max(...groups.map(({ value }) => widthOf(written(value))))
  const skip = every(columns.length, width - left, longestOf(columns) + 10)
  return (
    <>
      {!isWide && <Scale groups={groups} />}
      <Frame width={width} height={height} label={label}>
        {rows.map(row => (
          <Text
            key={row}
            text={row}
            room={left - 12}
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
              room={nameRoom}
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
          const value = Number(one.value ?? 0)
          const opacity = one.value === null ? 0 : strength(value, most)
          return (
            <g key={`${one.name} ${one.within}`}>
              <rect
                x={column}
                y={row}
                width={x.bandwidth()}
                height={y.bandwidth()}
                rx={2}
                fill={value < 0 ? 'var(--series-2)' : 'var(--series-1)'}
                fill-opacity={isWide ? opacity / 2 : opacity}
              >
                <title>{`${name(one.name)}, ${name(one.within)}: ${written(one.value)}`}</title>
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
                  {written(one.value)}
                </text>
              )}
            </g>
          )
        })}
      </Frame>
    </>
  )
}
