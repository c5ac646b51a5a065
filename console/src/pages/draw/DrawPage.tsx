import type { JSX } from 'preact'
import { type Entity, type EntityField, entityPath, keyOf } from '../../entities.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Table2 } from '../../icons.ts'
import { AsRequest } from '../../parts/AsRequest.tsx'
import { Field } from '../../parts/Field.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { Empty, Loading, ProblemView, Progress } from '../../parts/states.tsx'
import { cut } from '../../parts/Value.tsx'
import { href, type Parameters, query, setQuery, withQuery } from '../../router.ts'
import { who } from '../../session.ts'
import { useEntity } from '../entity/EntityPage.tsx'
import { FilterPanel } from '../entity/FilterPanel.tsx'
import { QueryFault } from '../entity/QueryFault.tsx'
import { RefusedCondition } from '../entity/refused.ts'
import { Figure, type Kind } from './Figure.tsx'
import {
  type Axis,
  functions,
  isOrdered,
  loadGroups,
  type Measure,
  queryOf,
  requestOf,
  type Unit,
  units,
} from './groups.ts'
import { loadWidths, widthsAround } from './widths.ts'
import '../entity/entity.css'
import './draw.css'

/**
 * Draws records counted by a field, by time, or by two of them. The address holds all settings of the
 * drawing.
 */
function DrawPage({ parameters }: { readonly parameters: Parameters }): JSX.Element {
  const name = parameters.entity ?? ''
  const { value: entity, problem, reload } = useEntity(name)
  return (
    <Page
      title={t('draw.title', { name: tOf('entity', name) })}
      crumbs={[
        [t('nav.home'), href('')],
        [tOf('entity', name), href(entityPath(name))],
      ]}
      actions={
        <a class="button" href={href(withQuery(entityPath(name), kept()))}>
          <Icon of={Table2} />
          {t('draw.records')}
        </a>
      }
    >
      {problem ? (
        <ProblemView problem={problem} retry={reload} />
      ) : entity ? (
        <Drawing entity={entity} />
      ) : (
        <Loading />
      )}
    </Page>
  )
}

/** The parameters of this page, which the table keeps for the way back; it shows other records from the first. */
const kept = () => Object.fromEntries([...query.value].filter(([name]) => name !== 'page'))

/** The label of a field or, where none is declared, its name. */
const wordsFor = ({ label, name }: EntityField): string => label ?? name

const fieldIn = (entity: Entity, parameter: string) =>
  entity.fields.find(({ name }) => name === query.value.get(parameter))

const unitIn = (parameter: string): Unit => {
  const unit = query.value.get(parameter) ?? 'year'
  return Object.hasOwn(units, unit) ? (unit as Unit) : 'year'
}

/** @param at empty for the first axis, or 2 for the axis of the groups within them */
function axis(field: EntityField, at: '' | '2', widths: ReadonlyMap<string, number>): Axis {
  if (field.type === 'date-time') return { field, unit: unitIn(`unit${at}`) }
  if (field.type !== 'integer' && field.type !== 'number') return { field }
  const step = query.value.get(`step${at}`) ?? ''
  if (step === 'each') return { field }
  return { field, width: Number(step) > 0 && Number(step) < 1e15 ? Number(step) : widths.get(field.name) }
}

/**
 * Guesses the field to draw first: preferably a place or a kind, not a text that is different in each record.
 */
function guess(entity: Entity): EntityField | undefined {
  const fields = groupable(entity)
  return (
    fields.find(({ name }) =>
      /^(place|type|kind|category|class(ification)?|genre|gender|status|state|role|outcome|event|language|country|city|mime_type)$/i.test(
        name,
      ),
    ) ??
    fields.find(({ type }) => type === 'boolean') ??
    // A key is different in each record, too.
    fields.find(({ name, type }) => !keyOf(entity).includes(name) && type !== 'json') ??
    fields[0]
  )
}

const groupable = ({ fields }: Entity) => fields.filter(({ sortable }) => sortable !== false)

function measureIn(entity: Entity): Measure {
  const [kind = '', name = ''] = (query.value.get('of') ?? '').split(':')
  const field = entity.fields.find(one => one.name === name)
  return field && isMeasure(kind) ? { kind, field } : { kind: 'count' }
}
const isMeasure = (kind: string): kind is (typeof functions)[number] =>
  (functions as readonly string[]).includes(kind)

/** The fields that a function can be asked of. */
const fieldsFor = (kind: (typeof functions)[number], fields: readonly EntityField[]) =>
  fields.filter(({ type }) =>
    kind === 'count_distinct' ? type !== 'json' : type === 'integer' || type === 'number',
  )

function Drawing({ entity }: { readonly entity: Entity }): JSX.Element {
  const condition = query.value.get('q') ?? ''
  const field = fieldIn(entity, 'by') ?? guess(entity)
  const second = fieldIn(entity, 'and')
  const measure = measureIn(entity)
  const wanted = query.value.get('as')
  const widths = useLoad(
    signal => loadWidths(entity, condition, [field, second], signal),
    [entity.name, condition, field?.name, second?.name, who.value],
  )
  const known = widths.value ?? new Map<string, number>()
  const asked = field && {
    entity,
    condition,
    by: axis(field, '', known),
    within: second && axis(second, '2', known),
    measure,
  }
  const text = asked && queryOf(asked)
  const isReady = !widths.loading && !widths.problem
  const groups = useLoad(
    async signal => (asked && isReady ? loadGroups(asked, signal) : undefined),
    [text, isReady, who.value],
  )
  const { value, loading } = groups
  const problem = widths.problem ?? groups.problem
  const reload = widths.problem ? widths.reload : groups.reload
  if (!asked) return <Empty title={t('entity.none')} />
  const isLog = query.value.get('scale') === 'log'
  const ordered = isOrdered(asked.by)
  const kind: Kind = second && wanted === 'cells' ? 'cells' : wanted === 'lines' && ordered ? 'lines' : 'bars'
  const measured =
    measure.kind === 'count'
      ? t('draw.count')
      : t('draw.measured', { what: t(`draw.${measure.kind}`), field: wordsFor(measure.field) })
  const nameOf = ({ field: one, unit }: Axis) => {
    const name = wordsFor(one)
    return unit ? `${name} (${t(`unit.${unit}`)})` : one.unit ? `${name} (${one.unit})` : name
  }
  const title = asked.within
    ? t('draw.caption.two', { what: measured, by: nameOf(asked.by), within: nameOf(asked.within) })
    : t('draw.caption', { what: measured, by: nameOf(asked.by) })
  return (
    <section class="stack">
      <Progress busy={loading && value !== undefined} />
      <Form
        entity={entity}
        by={asked.by}
        within={asked.within}
        measure={measure}
        kind={kind}
        isLog={isLog}
        widths={known}
      />
      <details open={problem instanceof RefusedCondition}>
        <summary>
          {t('filter')}
          {condition !== '' && (
            <>
              : <code>{cut(condition, 200)}</code>
            </>
          )}
        </summary>
        <FilterPanel entity={entity} condition={condition} problem={problem} />
      </details>
      {problem instanceof RefusedCondition ? (
        <QueryFault fault={problem.fault} />
      ) : problem ? (
        <ProblemView problem={problem} retry={reload} />
      ) : !value ? (
        <Loading />
      ) : value.groups.length === 0 ? (
        <Empty title={t('entity.none.filtered')} help={t('entity.none.filtered.help')} />
      ) : (
        <div class={loading ? 'stale' : ''}>
          <Figure
            asked={asked}
            groups={value}
            kind={kind}
            isLog={isLog}
            by={nameOf(asked.by)}
            within={asked.within && nameOf(asked.within)}
            measured={measured}
            title={title}
          />
        </div>
      )}
      <div class="row">
        <AsRequest requested={() => requestOf(asked)} />
        <a class="button" href={href(withQuery('questions', { q: text }))}>
          {t('questions.as')}
        </a>
      </div>
    </section>
  )
}

/** Settings that are about the field before, and go with it. */
const forgotten: Readonly<Record<string, Readonly<Record<string, null>>>> = {
  by: { step: null },
  and: { step2: null },
}

interface FormParts {
  readonly entity: Entity
  readonly by: Axis
  readonly within: Axis | undefined
  readonly measure: Measure
  readonly kind: Kind
  readonly isLog: boolean
  /** Widths of ranges that fit best, by field. */
  readonly widths: ReadonlyMap<string, number>
}

function Form({ entity, by, within, measure, kind, isLog, widths }: FormParts): JSX.Element {
  const fields = groupable(entity)
  const set = (changes: Record<string, string | null>) => setQuery(changes)
  const select = (
    label: string,
    value: string,
    parameter: string,
    options: readonly (readonly [string, string])[],
    chosen = (one: string) => one,
  ) => (
    <Field label={label}>
      <select
        value={value}
        onChange={event => set({ ...forgotten[parameter], [parameter]: chosen(event.currentTarget.value) })}
      >
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  )
  const steps = ({ field, width }: Axis, at: '' | '2') => {
    if (field.type !== 'integer' && field.type !== 'number') return null
    const best = widths.get(field.name)
    const all = widthsAround(best ?? 10).filter(one => field.type === 'number' || Number.isInteger(one))
    const chosen = query.value.get(`step${at}`) ?? ''
    return select(
      t('draw.step'),
      chosen === '' || chosen === 'each' ? chosen : String(width ?? ''),
      `step${at}`,
      [
        ['', best === undefined ? t('draw.step.each') : t('draw.step.best', { width: String(best) })],
        ...(best === undefined ? [] : [['each', t('draw.step.each')] as const]),
        ...new Map(
          [...all, ...(chosen !== '' && width !== undefined ? [width] : [])]
            .toSorted((a, b) => a - b)
            .map(one => [String(one), String(one)]),
        ),
      ],
    )
  }
  const names = fields.map(one => [one.name, wordsFor(one)] as const)
  const unitNames = Object.keys(units).map(one => [one, t(`unit.${one as Unit}`)] as const)
  const ordered = isOrdered(by)
  const kindsOfMeasure = [
    ['', t('draw.count')] as const,
    ...functions.flatMap(one =>
      fieldsFor(one, fields).length > 0 ? [[one, t(`draw.${one}`)] as const] : [],
    ),
  ]
  const kinds = [
    ['bars', t('draw.bars')] as const,
    ...(ordered ? [['lines', t('draw.lines')] as const] : []),
    ...(within ? [['cells', t('draw.cells')] as const] : []),
  ]
  return (
    <form class="draw-form" onSubmit={event => event.preventDefault()}>
      {select(t('draw.by'), by.field.name, 'by', names)}
      {by.unit && select(t('draw.unit'), by.unit, 'unit', unitNames)}
      {steps(by, '')}
      {select(t('draw.then'), within?.field.name ?? '', 'and', [['', t('none')], ...names])}
      {within?.unit && select(t('draw.unit'), within.unit, 'unit2', unitNames)}
      {within && steps(within, '2')}
      {select(t('draw.of'), measure.kind === 'count' ? '' : measure.kind, 'of', kindsOfMeasure, one => {
        const fits = isMeasure(one) ? fieldsFor(one, fields) : []
        const same = fits.find(({ name }) => measure.kind !== 'count' && name === measure.field.name)
        // A key's values are rarely worth adding up.
        const first = fits.find(({ name }) => !keyOf(entity).includes(name)) ?? fits[0]
        return first ? `${one}:${(same ?? first).name}` : ''
      })}
      {measure.kind !== 'count' &&
        select(
          t('draw.of.field'),
          measure.field.name,
          'of',
          fieldsFor(measure.kind, fields).map(one => [one.name, wordsFor(one)] as const),
          one => `${measure.kind}:${one}`,
        )}
      {select(t('draw.as'), kind, 'as', kinds)}
      {select(t('draw.scale'), isLog ? 'log' : '', 'scale', [
        ['', t('draw.scale.even')],
        ['log', t('draw.scale.log')],
      ])}
    </form>
  )
}

export default DrawPage
