import { max, min } from 'd3-array'
import { scaleBand } from 'd3-scale'
import type { JSX } from 'preact'
import { formatNumber } from '../../i18n/i18n.ts'
import { longestOf, nameRoom } from './Axes.tsx'
import { Frame, roomFor, Text, widthOf } from './Frame.tsx'
import { type Axis, type Group, isOrdered } from './groups.ts'
import { every, keptOf, label as name, written } from './series.ts'
import { stepsOf } from './steps.ts'

/** Maximum number of columns and rows that fit in a drawing. */
const [mostColumns, mostRows] = [400, 60]

/** Room in pixels below the cells for slanted names. */
const slantRoom = 110

export interface Grid {
  readonly columns: readonly string[]
  readonly rows: readonly string[]
  /** True if the columns have an order of their own. */
  readonly ordered: boolean
  /** The number of groups drawn. */
  readonly count: number
  /** True if there is a column for each step, with or without records. */
  readonly isWhole: boolean
}

export function gridOf(groups: readonly Group[], axis: Axis): Grid {
  const kept = keptOf(groups, one => name(one.name), mostColumns)
  const rows = keptOf(groups, one => name(one.within), mostRows)
  const ordered = isOrdered(axis)
  const steps = ordered ? stepsOf(kept, axis, mostColumns) : { all: kept, isWhole: true }
  const [columns, isRow] = [new Set(kept), new Set(rows)]
  return {
    columns: steps.all,
    rows: rows.toSorted((a, b) => a.localeCompare(b, undefined, { numeric: true })),
    ordered,
    count: groups.filter(one => columns.has(name(one.name)) && isRow.has(name(one.within))).length,
    isWhole: steps.isWhole,
  }
}

/**
 * The values of the faintest and the strongest color. If there are positive and negative values, these are
 * distances from zero.
 */
interface Range {
  readonly low: number
  readonly high: number
}

function rangeOf(groups: readonly Group[]): Range {
  const values = groups.flatMap(({ value }) => (value === null ? [] : [Number(value)]))
  const [low, high] = [min(values) ?? 0, max(values) ?? 0]
  return low >= 0
    ? { low, high }
    : high <= 0
      ? { low: -high, high: -low }
      : { low: 0, high: Math.max(-low, high) }
}

/**
 * Returns the opacity of a value. The square root keeps small values apart when one is far above the others.
 */
function strength(value: number, { low, high }: Range): number {
  const part = high === low ? 1 : (Math.abs(value) - low) / (high - low)
  return value === 0 ? 0.06 : 0.16 + 0.8 * Math.sqrt(Math.max(0, part))
}

/** A legend for the colors of the cells, shown if numbers don't fit in them. */
function Scale({ groups }: { readonly groups: readonly Group[] }): JSX.Element {
  const range = rangeOf(groups)
  const { low, high } = range
  const steps = [0, 0.25, 0.5, 0.75, 1]
  return (
    <p class="legend">
      <span>{formatNumber(low)}</span>
      <svg width={steps.length * 24} height="12" aria-hidden="true">
        {steps.map((part, at) => (
          <rect
            key={part}
            x={at * 24}
            width="24"
            height="12"
            fill="var(--series-1)"
            fill-opacity={strength(low + part * part * (high - low), range)}
          />
        ))}
      </svg>
      <span>{formatNumber(high)}</span>
    </p>
  )
}

/** A drawing of two fields: each pair of values is a cell, and a darker cell has a higher value. */
export function Cells({
  groups,
  grid: { columns, rows, ordered },
  width,
  label,
}: {
  readonly groups: readonly Group[]
  readonly grid: Grid
  readonly width: number
  readonly label: string
}): JSX.Element {
  const range = rangeOf(groups)
  const left = Math.min(width * 0.36, roomFor(rows))
  const step = 36
  // Names without an order can't be guessed from their neighbors. Slanting makes room for more of them.
  const isSlanted = !ordered && (width - left) / columns.length < longestOf(columns) + 10
  const below = isSlanted ? slantRoom : 60
  const height = rows.length * step + below
  const x = scaleBand<string>(columns, [left, width - 8]).padding(0.04)
  const y = scaleBand<string>(rows, [8, height - below + 8]).padding(0.06)
  const filled = new Set(groups.map(one => `${name(one.name)}\n${name(one.within)}`))
  const isWide = x.bandwidth() > Math.max(...groups.map(({ value }) => widthOf(written(value))))
  const skip = every(columns.length, width - left, isSlanted ? 18 : longestOf(columns) + 10)
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
          at % skip !== 0 ? null : isSlanted ? (
            <Text
              key={column}
              text={column}
              room={slantRoom}
              transform={`translate(${(x(column) ?? 0) + x.bandwidth() / 2 + 4} ${height - below + 20}) rotate(-40)`}
              text-anchor="end"
            />
          ) : (
            <Text
              key={column}
              text={column}
              room={nameRoom}
              x={at === columns.length - 1 ? width - 8 : (x(column) ?? 0) + x.bandwidth() / 2}
              y={height - 30}
              text-anchor={at === columns.length - 1 ? 'end' : 'middle'}
            />
          ),
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
          const opacity = one.value === null ? 0 : strength(value, range)
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
