import { max, min } from 'd3-array'
import { scaleBand } from 'd3-scale'
import type { JSX } from 'preact'
import { formatNumber } from '../../i18n/i18n.ts'
import { Along, alongOf } from './Along.tsx'
import { AxisName, Frame, Mark, roomFor, Text, widthOf } from './Frame.tsx'
import type { Group, Measure, Place } from './groups.ts'
import { addsUp, keptOf, written } from './series.ts'
import type { Steps } from './steps.ts'

/** Maximum number of columns with names, and of rows, that can be read. */
const [mostColumns, mostRows] = [80, 60]

/** Room in pixels that a slanted name takes along the axis, and the longest one below it. */
const [slanted, mostBelow] = [20, 200]

interface Grid {
  readonly columns: readonly Place[]
  readonly rows: readonly Place[]
  readonly steps: Steps | undefined
  readonly groups: readonly Group[]
  /** The number of groups drawn, and the number of records in those that have no place on the axis. */
  readonly count: number
  readonly unplaced: number
}

export function gridOf(groups: readonly Group[], steps: Steps | undefined): Grid {
  const placed = steps ? groups.filter(one => steps.at(one.by.value) !== undefined) : groups
  const columns = keptOf(placed, one => one.by, steps ? undefined : mostColumns)
  const rows = keptOf(placed, one => one.within, mostRows)
  const [isColumn, isRow] = [columns, rows].map(list => new Set(list.map(({ key }) => key)))
  const drawn = placed.filter(({ by, within }) => isColumn?.has(by.key) && isRow?.has(within?.key ?? ''))
  return {
    columns: steps
      ? columns.toSorted((a, b) => (steps.at(a.value) ?? 0) - (steps.at(b.value) ?? 0))
      : columns,
    rows: rows.toSorted((a, b) => a.text.localeCompare(b.text, undefined, { numeric: true })),
    steps,
    groups: drawn,
    count: drawn.length,
    unplaced: groups.reduce((sum, one) => sum + (placed.includes(one) ? 0 : one.records), 0),
  }
}

/**
 * The values of the faintest and the strongest color. If there are positive and negative values, these are
 * distances from zero.
 */
interface Range {
  readonly low: number
  readonly high: number
  readonly isLog: boolean
}

function rangeOf(groups: readonly Group[], measure: Measure['kind'], isLog: boolean): Range {
  const values = groups.flatMap(({ value }) => (value === null ? [] : [Number(value)]))
  const [low, high] = [min(values) ?? 0, max(values) ?? 0]
  if (isLog) return { low: min(values.filter(one => one > 0)) ?? 1, high, isLog }
  // Counts and sums are amounts, which begin at zero; averages and other measures are only compared.
  if (low >= 0) return { low: addsUp(measure) ? 0 : low, high, isLog }
  return high <= 0 ? { low: -high, high: -low, isLog } : { low: 0, high: Math.max(-low, high), isLog }
}

/**
 * Returns the opacity of a value. The square root keeps small values apart when one is far above the others.
 */
function strength(value: number, { low, high, isLog }: Range): number {
  if (value === 0) return 0.06
  const part = isLog
    ? Math.log(Math.max(value, low) / low) / Math.log(high / low || 1)
    : Math.sqrt((Math.abs(value) - low) / (high - low))
  return 0.16 + 0.8 * (Number.isFinite(part) ? Math.max(0, part) : 1)
}

/** A legend for the colors of the cells, shown if numbers don't fit in them. */
function Scale({ range, right, y }: { readonly range: Range; readonly right: number; readonly y: number }) {
  const { low, high, isLog } = range
  const steps = [0, 0.25, 0.5, 0.75, 1]
  const [first, last] = [formatNumber(low), formatNumber(high)]
  const start = right - widthOf(last) - 8 - steps.length * 24
  return (
    <g>
      <text x={start - 8} y={y} text-anchor="end" fill="var(--ink-soft)">
        {first}
      </text>
      {steps.map((part, at) => (
        <rect
          key={part}
          x={start + at * 24}
          y={y - 11}
          width="24"
          height="12"
          fill="var(--series-1)"
          fill-opacity={strength(
            isLog ? low * (high / low) ** part : low + part * part * (high - low),
            range,
          )}
        />
      ))}
      <text x={right} y={y} text-anchor="end" fill="var(--ink-soft)">
        {last}
      </text>
    </g>
  )
}

interface CellParts {
  readonly grid: Grid
  readonly width: number
  readonly label: string
  readonly by: string
  readonly within: string
  readonly measure: Measure['kind']
  readonly isLog: boolean
  readonly pathOf: (group: Group) => string | undefined
}

/** A drawing of two fields: each pair of values is a cell, and a darker cell has a higher value. */
export function Cells(parts: CellParts): JSX.Element {
  const { grid, label, by, within, measure, isLog, pathOf } = parts
  const { columns, rows, steps, groups } = grid
  const range = rangeOf(groups, measure, isLog)
  const left = Math.min(
    parts.width * 0.36,
    Math.max(roomFor(rows.map(({ text }) => text)), widthOf(within) + 30),
  )
  const longest = Math.max(0, ...columns.map(({ text }) => widthOf(text.slice(0, 120))))
  const top = 34
  const step = 36
  // All names are there. If they don't fit side by side, they are slanted, and if that is not enough, the
  // drawing becomes wider than the page.
  const isSlanted = !steps && (parts.width - left) / columns.length < longest + 10
  const width = isSlanted ? Math.max(parts.width, left + columns.length * slanted + 8) : parts.width
  const below = steps ? 60 : isSlanted ? Math.min(mostBelow, longest * 0.65) + 56 : 60
  const bottom = top + rows.length * step
  const [from, to] = [left, width - 8]
  const bands = scaleBand<string>(
    columns.map(({ key }) => key),
    [from, to],
  ).padding(0.04)
  const along = steps && alongOf(columns, steps, [from, to])
  const roomOf = (place: Place): readonly [number, number] =>
    along ? along.room(place) : [bands(place.key) ?? 0, bands.bandwidth()]
  const y = scaleBand<string>(
    rows.map(({ key }) => key),
    [top, bottom],
  ).padding(0.06)
  const thin = Math.min(...columns.map(one => roomOf(one)[1]))
  const isWide = thin > Math.max(...groups.map(({ value }) => widthOf(written(value))))
  return (
    <Frame width={width} height={bottom + below} label={label} isWider={width > parts.width}>
      <AxisName text={within} room={left - 12} x={left - 10} y={top - 14} text-anchor="end" />
      {!isWide && <Scale range={range} right={to} y={top - 14} />}
      {rows.map(row => (
        <g key={row.key}>
          <Text
            text={row.text}
            room={left - 12}
            x={left - 10}
            y={(y(row.key) ?? 0) + y.bandwidth() / 2}
            text-anchor="end"
            dominant-baseline="middle"
          />
          <rect x={from} y={y(row.key)} width={to - from} height={y.bandwidth()} fill="var(--wash)" />
        </g>
      ))}
      {along ? (
        <Along of={along} y={bottom + 4} name={by} from={from} to={to} />
      ) : (
        <>
          {columns.map(column => {
            const [start, wide] = roomOf(column)
            const middle = start + wide / 2
            return isSlanted ? (
              <Text
                key={column.key}
                text={column.text}
                room={Math.min(mostBelow / 0.65, (middle - 8) / 0.77)}
                transform={`translate(${middle + 4} ${bottom + 18}) rotate(-40)`}
                text-anchor="end"
              />
            ) : (
              <Text
                key={column.key}
                text={column.text}
                room={wide}
                x={middle}
                y={bottom + 22}
                text-anchor="middle"
              />
            )
          })}
          <AxisName
            text={by}
            room={to - from}
            x={(from + to) / 2}
            y={bottom + below - 14}
            text-anchor="middle"
          />
        </>
      )}
      {groups.map(one => {
        const [start, wide] = roomOf(one.by)
        const row = y(one.within?.key ?? '') ?? 0
        const value = Number(one.value ?? 0)
        const opacity = one.value === null ? 0 : strength(value, range)
        return (
          <Mark
            key={`${one.by.key} ${one.within?.key}`}
            title={`${one.by.text}, ${one.within?.text}: ${written(one.value)}`}
            to={pathOf(one)}
          >
            <rect
              x={start}
              y={row}
              width={wide}
              height={y.bandwidth()}
              rx={thin > 6 ? 2 : 0}
              fill={value < 0 ? 'var(--series-2)' : 'var(--series-1)'}
              fill-opacity={isWide ? opacity / 2 : opacity}
            />
            {isWide && (
              <text
                x={start + wide / 2}
                y={row + y.bandwidth() / 2}
                text-anchor="middle"
                dominant-baseline="central"
                font-size={11}
                fill="var(--ink)"
              >
                {written(one.value)}
              </text>
            )}
          </Mark>
        )
      })}
    </Frame>
  )
}
