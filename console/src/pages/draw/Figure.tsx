import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { entityPath, labelOf } from '../../entities.ts'
import { formatNumber, t } from '../../i18n/i18n.ts'
import { Download } from '../../icons.ts'
import { Button } from '../../parts/controls.tsx'
import { Table } from '../../parts/Table.tsx'
import { toast } from '../../parts/toast.tsx'
import { narrowed } from '../../query/requirements.ts'
import { href, withQuery } from '../../router.ts'
import { Cells, gridOf } from './Cells.tsx'
import { type Asked, conditionOf, type Groups, othersOf, type Place } from './groups.ts'
import { savePng, saveSvg } from './picture.ts'
import { Rows, Upright } from './plots.tsx'
import { drawnOf, type Series, written } from './series.ts'
import { nearOf, stepsOf } from './steps.ts'

export type Kind = 'bars' | 'lines' | 'cells'

interface Parts {
  readonly asked: Asked
  readonly groups: Groups
  readonly kind: Kind
  readonly isLog: boolean
  /** Titles of the axes and of the measured value. */
  readonly by: string
  readonly within: string | undefined
  readonly measured: string
  readonly title: string
}

const mostNames = 40

/** A drawing with its legend, the same values as a table, and downloads. */
export function Figure({
  asked,
  groups: loaded,
  kind,
  isLog,
  by,
  within,
  measured,
  title,
}: Parts): JSX.Element {
  const { groups, total } = loaded
  const frame = useRef<HTMLDivElement>(null)
  const width = useWidth(frame)
  const { kind: measure } = asked.measure
  const all = stepsOf(asked.by, groups)
  const [steps, far] = all ? nearOf(all, groups) : [undefined, 0]
  // Zero and what is below it have no place on a logarithmic scale.
  const canLog = groups.every(({ value }) => Number(value ?? 1) >= 0)
  const asLog = isLog && canLog
  const drawn = drawnOf(groups, {
    measured,
    measure,
    steps,
    isApart: asLog,
    ...(steps ? {} : { limit: mostNames }),
  })
  const grid = kind === 'cells' ? gridOf(groups, steps) : undefined
  const { count, unplaced } = grid ?? drawn
  const missing = groups.reduce((sum, one) => sum + (steps && one.by.value === null ? one.records : 0), 0)
  const notes = [
    count < total && t('draw.cut', { n: count, all: formatNumber(total) }),
    missing > 0 && t('draw.missing', { n: missing, field: labelOf(asked.by.field) }),
    far > 0 && t('draw.far', { n: far }),
    unplaced > missing + far && t('draw.unplaced', { n: unplaced - missing - far }),
    isLog && !canLog && t('draw.log.not'),
  ].filter(one => typeof one === 'string')
  const label = `${title}. ${t('draw.keys')}`
  const recordsOf = (conditions: readonly (string | undefined)[]) => {
    const q = narrowed(asked.condition, conditions)
    return q === undefined ? undefined : withQuery(entityPath(asked.entity.name), { q })
  }
  const pathOf = (place: Place, one?: Series) =>
    recordsOf([conditionOf(asked.by, place.value), ...(one ? conditionsOf(one, asked, drawn.series) : [])])
  const pathOfPair = (place: Place, then: Place | undefined) =>
    recordsOf([
      conditionOf(asked.by, place.value),
      ...(asked.within && then ? [conditionOf(asked.within, then.value)] : []),
    ])
  const saving = (as: 'SVG' | 'PNG') => {
    const svg = frame.current?.querySelector<SVGSVGElement>('svg.plot')
    if (!svg) return
    if (as === 'SVG') saveSvg(svg, { title, notes })
    else
      savePng(svg, { title, notes }).catch(error =>
        toast(error instanceof Error ? error.message : t('failed'), 'bad'),
      )
  }
  const values = asLog ? `${measured} (${t('draw.scale.log')})` : measured
  const plot = { drawn, width, label, by, measured: values, isLog: asLog, pathOf }
  return (
    <figure class="drawing">
      <div class="row spread">
        <figcaption>
          <span>{title}</span>
          {notes.length > 0 && (
            <span class="soft small">
              {notes.map(note => (
                <span key={note}>{note}</span>
              ))}
            </span>
          )}
        </figcaption>
        <div class="row">
          {(['SVG', 'PNG'] as const).map(as => (
            <Button look="quiet" key={as} icon={Download} label={as} onClick={() => saving(as)} />
          ))}
        </div>
      </div>
      <div class="frame" ref={frame}>
        {width === 0 ? null : grid ? (
          <Cells
            grid={grid}
            width={width}
            label={label}
            by={by}
            within={within ?? ''}
            measure={measure}
            isLog={asLog}
            pathOf={one => pathOfPair(one.by, one.within)}
          />
        ) : steps ? (
          <Upright {...plot} steps={steps} isLines={kind === 'lines'} />
        ) : (
          <Rows {...plot} />
        )}
      </div>
      <details>
        <summary>{t('draw.table')}</summary>
        <Table
          label={title}
          rows={groups}
          idOf={one => `${one.by.key} ${one.within?.key}`}
          columns={[
            {
              id: 'name',
              label: by,
              cell: one => {
                const to = pathOfPair(one.by, one.within)
                const shown = <bdi>{one.by.text}</bdi>
                return to === undefined ? shown : <a href={href(to)}>{shown}</a>
              },
            },
            ...(within
              ? [
                  {
                    id: 'then',
                    label: within,
                    cell: (one: Groups['groups'][number]) => <bdi>{one.within?.text}</bdi>,
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

/** Returns the condition of a series: its value or, of all others put together, none of those that are drawn. */
function conditionsOf({ place }: Series, { within }: Asked, all: readonly Series[]) {
  if (!within) return []
  const own = all.flatMap(one => (one.place ? [one.place.value] : []))
  return [place ? conditionOf(within, place.value) : othersOf(within, own)]
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
