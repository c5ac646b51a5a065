import type { JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { type Entity, type Json, labelOf, writes } from '../../entities.ts'
import { printExactly } from '../../exact.ts'
import { formatNumber, t } from '../../i18n/i18n.ts'
import { X } from '../../icons.ts'
import { shareOf } from '../../parts/Bars.tsx'
import { Button, Select } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { useLoad } from '../../parts/load.ts'
import { SearchBox } from '../../parts/SearchBox.tsx'
import { Loading } from '../../parts/states.tsx'
import { FieldName, Value } from '../../parts/Value.tsx'
import {
  type Value as Choice,
  chosenIn,
  joined,
  type Requirements,
  withChoice,
  withoutField,
} from '../../query/requirements.ts'
import { scaleOf } from '../../records/scale.ts'
import { printNames, showCondition } from '../../records/view.ts'
import { query, setQuery } from '../../router.ts'
import { who } from '../../session.ts'
import {
  type Facet,
  facetsShown,
  loadBulk,
  loadCounts,
  loadFacets,
  mostFacets,
  mostFields,
  notShown,
  rememberFacets,
} from './facets.ts'
import { Histogram } from './Histogram.tsx'
import './facets.css'

interface FacetsParts {
  readonly entity: Entity
  /** The requirements of the condition of the view. */
  readonly all: Requirements
}

/** Fields beside a table: a click on a value, or a range of a histogram, narrows the records down. */
export function Facets({ entity, all, isBeside }: FacetsParts & { readonly isBeside: boolean }): JSX.Element {
  const { value: facets } = useLoad(
    signal => loadFacets(entity, signal),
    [entity.name, who.value, writes.value],
  )
  const inAddress = query.value.get('facets')
  const shown = facets ? facetsShown(entity, facets, inAddress) : []
  const names = printNames(shown.map(({ field }) => field.name))
  // The address is what is shown; over the page, facets are only a way to choose.
  useEffect(() => {
    if (isBeside && inAddress === null && names !== '') setQuery({ facets: names }, { replace: true })
  }, [isBeside, inAddress, names])
  if (!facets) return <Loading lines={6} />
  const show = (list: readonly Facet[]) => {
    const next = printNames(list.map(({ field }) => field.name))
    rememberFacets(entity, next)
    setQuery({ facets: next }, { replace: true })
  }
  const unknown = notShown(facets, inAddress)
  const others = facets.filter(one => !shown.includes(one))
  return (
    <div class="facets">
      {unknown.length > 0 && (
        <p class="soft small" role="status">
          {t('facets.cannot', { names: unknown.join(', '), n: mostFields })}
        </p>
      )}
      {shown.length === 0 && <p class="soft small">{t('facets.none')}</p>}
      {shown.map(facet => (
        <fieldset key={facet.field.name} class="facet">
          <legend>
            <FieldName field={facet.field} />
          </legend>
          <Button
            icon={X}
            size={14}
            class="button quiet icon facet-close"
            aria-label={t('facets.hide', { name: labelOf(facet.field) })}
            title={t('facets.hide', { name: labelOf(facet.field) })}
            onClick={() => show(shown.filter(one => one !== facet))}
          />
          <Choices entity={entity} facet={facet} all={all} />
        </fieldset>
      ))}
      {others.length > 0 && shown.length < mostFacets && (
        <Field label={t('facets.add')}>
          <Select
            value=""
            onChoose={name => {
              const facet = others.find(({ field }) => field.name === name)
              if (facet) show([...shown, facet])
            }}
            none={t('facets.choose')}
            options={others.map(({ field }) => [field.name, labelOf(field)])}
          />
        </Field>
      )}
    </div>
  )
}

function Choices(parts: FacetsParts & { readonly facet: Facet }): JSX.Element {
  const { entity, facet } = parts
  const { value: bulk, loading } = useLoad(
    signal => loadBulk(entity, facet, signal),
    [entity.name, facet.field.name, facet.kind, facet.min, facet.max],
  )
  const scale = useMemo(
    () => (facet.kind === 'range' ? scaleOf({ ...facet, bulk }) : undefined),
    [facet.field.name, facet.kind, facet.min, facet.max, bulk],
  )
  if (facet.kind === 'range' && loading) return <Loading lines={2} />
  return scale ? <Histogram {...parts} scale={scale} /> : <ValueFacet {...parts} />
}

/** Numbers of values shown at first, and after a click. */
const [atFirst, atMost] = [8, 100]

/** The most frequent values of a field among the records that meet the other requirements. */
function ValueFacet({
  entity,
  facet: { field, distinct = 0 },
  all,
}: FacetsParts & { readonly facet: Facet }): JSX.Element {
  const [most, setMost] = useState(atFirst)
  const [part, setPart] = useState('')
  const chosen = chosenIn(all, field.name)
  const condition = joined({ list: withoutField(all, field.name).list, clauses: '' })
  const { value, problem, loading } = useLoad(
    signal => loadCounts({ entity, field, condition, most, part }, chosen, signal),
    [entity.name, field.name, condition, most, part, chosen.join(), who.value, writes.value],
  )
  if (problem) return <p class="soft small">{t('facets.failed')}</p>
  if (!value) return <Loading lines={3} />
  const choose = (one: Choice, on: boolean) =>
    showCondition(
      joined(withChoice(all, field.name, on ? [...chosen, one] : chosen.filter(other => other !== one))),
    )
  return (
    <>
      {field.type === 'text' && (distinct > atMost || part !== '') && (
        <SearchBox label={t('facets.find', { name: labelOf(field) })} value={part} onSearch={setPart} />
      )}
      <ul class={loading ? 'shares stale' : 'shares'}>
        {value.counts.map(({ value: one, shown, count }) => (
          <li key={String(one)} ref={shareOf(count, value.counts)}>
            <label class="check">
              <input
                type="checkbox"
                checked={chosen.includes(one)}
                onChange={event => choose(one, event.currentTarget.checked)}
              />
              <span class="facet-value">
                {one === null ? (
                  <span class="soft">{t('null')}</span>
                ) : (
                  <Value
                    value={field.type === 'json' && !field.list ? asWritten(shown) : shown}
                    field={field}
                    plain
                  />
                )}
              </span>
              <span class="number soft">{formatNumber(count)}</span>
            </label>
          </li>
        ))}
      </ul>
      {value.hasNested && <p class="soft small">{t('facets.nested')}</p>}
      {value.counts.length === 0 && <p class="soft small">{t('facets.empty')}</p>}
      {value.total > value.counts.length && (
        <p class="small">
          {most < atMost ? (
            <Button
              look="link"
              label={t('facets.more', { n: value.total - value.counts.length })}
              onClick={() => setMost(atMost)}
            />
          ) : (
            <span class="soft">{t('facets.rest', { n: value.total - value.counts.length })}</span>
          )}
        </p>
      )}
    </>
  )
}

/** Writes a text in quotation marks if it looks like a value of another type. */
const asWritten = (shown: Json): Json =>
  typeof shown === 'string' && /^(-?\d.*|true|false|null)$/.test(shown) ? printExactly(shown) : shown
