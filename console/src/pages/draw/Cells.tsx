import { scaleBand } from 'd3-scale'
import type { JSX } from 'preact'
import { formatNumber, t } from '../../i18n/i18n.ts'
import { Frame, letterSize, Text } from './Frame.tsx'
import type { Group } from './groups.ts'
import { every } from './series.ts'

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
    Math.min(12, Math.max(...columns.map(one => one.length))) * letterSize * 0.56 + 8,
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
