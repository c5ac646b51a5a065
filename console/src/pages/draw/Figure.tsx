import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { formatNumber, t } from '../../i18n/i18n.ts'
import { Download } from '../../icons.ts'
import { Icon } from '../../parts/Icon.tsx'
import { Table } from '../../parts/Table.tsx'
import { toast } from '../../parts/toast.tsx'
import { Cells, gridOf } from './Cells.tsx'
import { type Axis, type Groups, isOrdered, type Measure } from './groups.ts'
import { savePng, saveSvg } from './picture.ts'
import { Columns, Lines, Rows } from './plots.tsx'
import { colour, drawnOf, label as nameOf, written } from './series.ts'

export type Kind = 'bars' | 'lines' | 'cells'

interface Parts {
  readonly groups: Groups
  readonly kind: Kind
  /** The field, or the unit of time, whose values the names are. */
  readonly axis: Axis
  /** Titles of the axes and of the measured value. */
  readonly by: string
  readonly within: string | undefined
  readonly measured: string
  readonly measure: Measure['kind']
  readonly title: string
}

const mostNames = 40

/** A drawing with its legend, the same values as a table, and downloads. */
export function Figure({
  groups: { groups, total },
  kind,
  axis,
  by,
  within,
  measured,
  measure,
  title,
}: Parts): JSX.Element {
  const frame = useRef<HTMLDivElement>(null)
  const width = useWidth(frame)
  const ordered = isOrdered(axis)
  const drawn = drawnOf(groups, { measured, measure, ...(ordered ? { axis } : { limit: mostNames }) })
  const grid = kind === 'cells' ? gridOf(groups, axis) : undefined
  const { count, isWhole } = grid ?? drawn
  const label = `${title}. ${t('draw.table.is')}`
  const Plot = kind === 'lines' ? Lines : ordered ? Columns : Rows
  const drawing = () => frame.current?.querySelector<SVGSVGElement>('svg.plot') ?? undefined
  const saving = (as: 'SVG' | 'PNG') => {
    const svg = drawing()
    if (!svg) return
    if (as === 'SVG') saveSvg(svg, title)
    else
      savePng(svg, title).catch(error => toast(error instanceof Error ? error.message : t('failed'), 'bad'))
  }
  return (
    <figure class="drawing">
      <div class="row spread">
        <figcaption>
          {title}
          {count < total && ` (${t('draw.cut', { n: count, all: formatNumber(total) })})`}
          {ordered && !isWhole && ` (${t('draw.gaps')})`}
        </figcaption>
        <div class="row">
          {(['SVG', 'PNG'] as const).map(as => (
            <button key={as} type="button" class="button quiet" onClick={() => saving(as)}>
              <Icon of={Download} />
              {as}
            </button>
          ))}
        </div>
      </div>
      {!grid && drawn.series.length > 1 && (
        <ul class="legend">
          {drawn.series.map(({ name }, at) => (
            <li key={name}>
              <svg width="12" height="12" aria-hidden="true">
                <rect width="12" height="12" rx="2" fill={colour(at, name)} />
              </svg>
              <bdi>{name}</bdi>
            </li>
          ))}
        </ul>
      )}
      <div class="frame" ref={frame}>
        {width > 0 &&
          (grid ? (
            <Cells groups={groups} grid={grid} width={width} label={label} />
          ) : (
            <Plot drawn={drawn} width={width} label={label} />
          ))}
      </div>
      <details>
        <summary>{t('draw.table')}</summary>
        <Table
          label={title}
          rows={groups}
          idOf={one => `${one.name} ${one.within}`}
          columns={[
            { id: 'name', label: by, cell: one => <bdi>{nameOf(one.name)}</bdi> },
            ...(within
              ? [
                  {
                    id: 'then',
                    label: within,
                    cell: (one: Groups['groups'][number]) => <bdi>{nameOf(one.within)}</bdi>,
                  },
                ]
              : []),
            { id: 'value', label: measured, numeric: true, cell: one => written(one.value) },
          ]}
        />
      </details>
    </figure>
  )
}

/** Measures the available width, so that letters have the same size on every screen. */
function useWidth(frame: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const element = frame.current
    if (!element) return
    // A drawing is laid out with 16 px per rem, and the page scales it to its own rem.
    const observer = new ResizeObserver(() => {
      const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
      setWidth(Math.max(320, Math.min(1_600, (element.clientWidth * 16) / rem)))
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return width
}
