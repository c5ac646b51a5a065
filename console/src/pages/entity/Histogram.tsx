import type { JSX, TargetedPointerEvent } from 'preact'
import { useRef } from 'preact/hooks'
import { type Entity, labelOf, writes } from '../../entities.ts'
import { t } from '../../i18n/i18n.ts'
import { Bars } from '../../parts/Bars.tsx'
import { Button } from '../../parts/controls.tsx'
import { useLoad } from '../../parts/load.ts'
import { Loading } from '../../parts/states.tsx'
import { useTyped } from '../../parts/typed.ts'
import { boundsIn, joined, type Requirements, withoutField, withRange } from '../../query/requirements.ts'
import { barsOf, farBounds, type Range, type Scale } from '../../records/scale.ts'
import { showCondition } from '../../records/view.ts'
import { who } from '../../session.ts'
import type { Facet } from './facets.ts'
import { loadSteps } from './steps.ts'

interface HistogramParts {
  readonly entity: Entity
  readonly facet: Facet
  readonly scale: Scale
  readonly all: Requirements
}

/**
 * The records that meet the other requirements, counted along a scale. A range is brushed with the mouse, set
 * with two sliders, or typed.
 */
export function Histogram({ entity, facet: { field }, scale, all }: HistogramParts): JSX.Element {
  const { name } = field
  const label = labelOf(field)
  const condition = joined({ list: withoutField(all, name).list, clauses: '' })
  const { value, problem, loading } = useLoad(
    signal => loadSteps({ entity, field, scale, condition }, signal),
    [entity.name, scale.column, scale.edges.length, condition, who.value, writes.value],
  )
  const chosen = scale.read(boundsIn(all, name))
  const last = scale.edges.length - 1
  const placed = [edgeAt(scale, chosen[0], 0), edgeAt(scale, chosen[1], last)] as const
  // Each handle has the room up to the middle between them, so that neither covers the other.
  const middle = Math.max(1, Math.min(last - 1, Math.floor((placed[0] + placed[1]) / 2)))
  // While a handle moves, the range follows; the records are asked for when it is let go.
  const [moved, setMoved] = useTyped<readonly [number, number]>(placed)
  const start = useRef<number | undefined>(undefined)

  const apply = ([from, to]: Range) => showCondition(joined(withRange(all, name, scale.boundsOf(from, to))))
  const applySteps = ([from, to]: readonly [number, number]) => {
    const [a, b] = [Math.min(from, to), Math.max(from, to)]
    if (a === b) return setMoved(placed)
    apply([a === 0 ? undefined : scale.edges[a], b === last ? undefined : scale.edges[b]])
  }
  const stepAt = (event: TargetedPointerEvent<HTMLUListElement>) => {
    const { left, width: whole } = event.currentTarget.getBoundingClientRect()
    return Math.max(0, Math.min(last - 1, Math.floor(((event.clientX - left) / whole) * last)))
  }
  /** Returns the steps from where the pointer went down to where it is. */
  const brushed = (
    event: TargetedPointerEvent<HTMLUListElement>,
    from: number,
  ): readonly [number, number] => {
    const to = stepAt(event)
    return [Math.min(from, to), Math.max(from, to) + 1]
  }
  const slider = (at: 0 | 1) => {
    const movedTo = ({ valueAsNumber: next }: HTMLInputElement): readonly [number, number] =>
      at === 0 ? [Math.min(next, moved[1] - 1), moved[1]] : [moved[0], Math.max(next, moved[0] + 1)]
    return (
      <input
        type="range"
        min={at === 0 ? 0 : middle}
        max={at === 0 ? middle : last}
        step={1}
        value={moved[at]}
        aria-label={t(at === 0 ? 'facets.from' : 'facets.to', { name: label })}
        aria-valuetext={scale.print(scale.edges[moved[at]] ?? 0, at === 1)}
        onInput={event => setMoved(movedTo(event.currentTarget))}
        onChange={event => applySteps(movedTo(event.currentTarget))}
      />
    )
  }
  if (problem) return <p class="soft small">{t('facets.failed')}</p>
  if (!value) return <Loading lines={2} />
  return (
    <div class="range-plot stale" aria-busy={loading}>
      <Bars
        bars={barsOf(scale, value.steps)}
        isInside={at => at >= moved[0] && at < moved[1]}
        aria-hidden="true"
        onPointerDown={event => {
          event.currentTarget.setPointerCapture(event.pointerId)
          start.current = stepAt(event)
          setMoved(brushed(event, start.current))
        }}
        onPointerMove={event => start.current !== undefined && setMoved(brushed(event, start.current))}
        onPointerUp={event => {
          if (start.current !== undefined) applySteps(brushed(event, start.current))
          start.current = undefined
        }}
        onPointerCancel={() => {
          start.current = undefined
          setMoved(placed)
        }}
      />
      {last > 1 && (
        <div
          class="sliders"
          style={{
            gridTemplateColumns: `minmax(1.5rem, ${middle}fr) minmax(1.5rem, ${last - middle}fr)`,
          }}
        >
          {slider(0)}
          {slider(1)}
        </div>
      )}
      <div class="range">
        <End scale={scale} at={0} name={label} range={chosen} steps={moved} onRange={apply} />
        <span aria-hidden="true">–</span>
        <End scale={scale} at={1} name={label} range={chosen} steps={moved} onRange={apply} />
      </div>
      {([0, 1] as const).map(side => {
        const n = value.steps[side === 0 ? 0 : last - 1] ?? 0
        const edge = scale.print(scale.edges[side === 0 ? 1 : last - 1] ?? 0, side === 1)
        return scale.isOpen[side] && n > 0 ? (
          <p key={side} class="small">
            <Button
              look="link"
              label={t(side === 0 ? 'facets.below' : 'facets.above', { n, edge })}
              onClick={() => showCondition(joined(withRange(all, name, farBounds(scale, side))))}
            />
          </p>
        ) : null
      })}
      {value.others > 0 && <p class="soft small">{t('facets.others', { n: value.others })}</p>}
      {value.without > 0 && <p class="soft small">{t('facets.without', { n: value.without })}</p>}
    </div>
  )
}

/** Returns the edge that is nearest to a place. */
function edgeAt({ edges }: Scale, place: number | undefined, fallback: number): number {
  if (place === undefined) return fallback
  const distances = edges.map(edge => Math.abs(edge - place))
  return distances.indexOf(Math.min(...distances))
}

interface EndParts {
  readonly scale: Scale
  readonly at: 0 | 1
  readonly name: string
  readonly range: Range
  readonly steps: readonly [number, number]
  readonly onRange: (range: Range) => void
}

/** One end of the range as it is typed. */
function End({ scale, at, name, range, steps, onRange }: EndParts): JSX.Element {
  const place = range[at]
  const edge = scale.edges[steps[at]] ?? 0
  const isMoved = steps[at] !== edgeAt(scale, place, at === 0 ? 0 : scale.edges.length - 1)
  const [typed, setTyped] = useTyped(scale.print(isMoved || place === undefined ? edge : place, at === 1))
  const parsed = scale.parse(typed, at === 1)
  const apply = () => {
    if (typed.trim() !== '' && parsed === undefined) return
    const next = typed.trim() === '' ? undefined : parsed
    if (next !== place && scale.print(edge, at === 1) !== typed)
      onRange(at === 0 ? [next, range[1]] : [range[0], next])
  }
  return (
    <input
      type="text"
      inputMode="numeric"
      aria-label={t(at === 0 ? 'facets.from.typed' : 'facets.to.typed', { name })}
      {...(typed.trim() !== '' && parsed === undefined ? { 'aria-invalid': 'true' } : {})}
      value={typed}
      onInput={event => setTyped(event.currentTarget.value)}
      onBlur={apply}
      onKeyDown={event => event.key === 'Enter' && apply()}
    />
  )
}
