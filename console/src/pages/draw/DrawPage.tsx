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

const fieldIn = (entity: Entity, parameter: string) =>
  entity.fields.find(({ name }) => name === query.value.get(parameter))

const unitIn = (parameter: string): Unit => {
  const unit = query.value.get(parameter) ?? 'year'
  return Object.hasOwn(units, unit) ? (unit as Unit) : 'year'
}

const axis = (field: EntityField, parameter: string): Axis =>
  field.type === 'date-time' ? { field, unit: unitIn(parameter) } : { field }

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
  const asked = field && {
    entity,
    condition,
    by: axis(field, 'unit'),
    within: second && axis(second, 'unit2'),
    measure,
  }
  const text = asked && queryOf(asked)
  const { value, problem, loading, reload } = useLoad(
    async signal => asked && loadGroups(asked, signal),
    [text, who.value],
  )
  if (!asked) return <Empty title={t('entity.none')} />
  const isLog = query.value.get('scale') === 'log'
  const ordered = isOrdered(asked.by)
  const kind: Kind = second && wanted === 'cells' ? 'cells' : wanted === 'lines' && ordered ? 'lines' : 'bars'
  const measured =
    measure.kind === 'count'
      ? t('draw.count')
      : t('draw.measured', { what: t(`draw.${measure.kind}`), field: measure.field.name })
  const nameOf = (one: Axis) => (one.unit ? `${one.field.name} (${t(`unit.${one.unit}`)})` : one.field.name)
  const title = asked.within
    ? t('draw.caption.two', { what: measured, by: nameOf(asked.by), within: nameOf(asked.within) })
    : t('draw.caption', { what: measured, by: nameOf(asked.by) })
  return (
    <section class="stack">
      <Progress busy={loading && value !== undefined} />
      <Form entity={entity} by={asked.by} within={asked.within} measure={measure} kind={kind} isLog={isLog} />
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

interface FormParts {
  readonly entity: Entity
  readonly by: Axis
  readonly within: Axis | undefined
  readonly measure: Measure
  readonly kind: Kind
  readonly isLog: boolean
}

function Form({ entity, by, within, measure, kind, isLog }: FormParts): JSX.Element {
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
      <select value={value} onChange={event => set({ [parameter]: chosen(event.currentTarget.value) })}>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  )
  const names = fields.map(({ name }) => [name, name] as const)
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
      {select(t('draw.then'), within?.field.name ?? '', 'and', [['', t('none')], ...names])}
      {within?.unit && select(t('draw.unit'), within.unit, 'unit2', unitNames)}
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
          fieldsFor(measure.kind, fields).map(({ name }) => [name, name] as const),
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
