import { scaleLinear } from 'd3-scale'
import { line } from 'd3-shape'
import type { JSX } from 'preact'
import { a } from '../../i18n/admin.ts'
import { formatClock, formatNumber, zone } from '../../i18n/i18n.ts'

export interface Series {
  readonly name: string
  /** One value for each time; null if it is not known. */
  readonly values: readonly (number | null)[]
}

interface Parts {
  readonly title: string
  readonly unit: string
  readonly times: readonly Date[]
  readonly series: readonly Series[]
}

const [width, height] = [480, 170]
const [left, right, top, bottom] = [46, 6, 10, 20]
/** Maximum number of series that can be told apart. */
const most = 6

/** Returns the series with the highest peaks. */
function busiest(all: readonly Series[]): readonly Series[] {
  const peak = ({ values }: Series) => peakOf(values) ?? 0
  const kept = new Set(all.toSorted((one, other) => peak(other) - peak(one)).slice(0, most))
  return all.filter(one => kept.has(one))
}

const round = (value: number) => formatNumber(value >= 100 ? Math.round(value) : Number(value.toPrecision(2)))

/** Lines over time. A table below has the same figures for screen readers. */
export function LinePlot({ title, unit, times, series: all }: Parts): JSX.Element {
  const series = busiest(all)
  const first = times[0]?.getTime() ?? 0
  const last = Math.max(first + 60_000, times.at(-1)?.getTime() ?? 0)
  const x = scaleLinear([first, last], [left, width - right])
  const largest = Math.max(0, ...series.flatMap(({ values }) => values.map(value => value ?? 0)))
  const y = scaleLinear([0, largest === 0 ? 1 : largest], [height - bottom, top]).nice(3)
  const path = line<number | null>()
    .defined(value => value !== null)
    .x((_value, at) => x(times[at]?.getTime() ?? first))
    .y(value => y(value ?? 0))
  const ticks = y.ticks(3)
  return (
    <figure class="plot">
      <figcaption>
        <h2>{title}</h2> <span class="soft small">{unit}</span>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        {ticks.map(value => (
          <g key={value}>
            <line class="grid" x1={left} x2={width - right} y1={y(value)} y2={y(value)} />
            <text x={left - 8} y={y(value)} dy="0.32em" text-anchor="end">
              {round(value)}
            </text>
          </g>
        ))}
        <text x={left} y={height - 4}>
          {`${formatClock(first)} ${zone}`}
        </text>
        <text x={width - right} y={height - 4} text-anchor="end">
          {`${formatClock(last)} ${zone}`}
        </text>
        {series.map(({ name, values }, at) => (
          <path key={name} class={`series series-${at + 1}`} d={path(values) ?? ''} />
        ))}
      </svg>
      <table class="legend">
        <caption class="sr-only">{title}</caption>
        <thead class="sr-only">
          <tr>
            <th scope="col">{a('plot.series')}</th>
            <th scope="col">{a('plot.now')}</th>
            <th scope="col">{a('plot.most')}</th>
          </tr>
        </thead>
        <tbody>
          {series.map(({ name, values }, at) => (
            <tr key={name}>
              <th scope="row">
                <i class={`key series-${at + 1}`} />
                {name}
              </th>
              <td>{written(values.at(-1))}</td>
              <td class="soft">{a('plot.max', { value: written(peakOf(values)) })}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  )
}

/** @returns undefined before anything was measured */
const peakOf = (values: Series['values']): number | undefined => {
  const known = values.filter(value => value !== null)
  return known.length === 0 ? undefined : Math.max(...known)
}

const written = (value: number | null | undefined) =>
  value === null || value === undefined ? '–' : round(value)
