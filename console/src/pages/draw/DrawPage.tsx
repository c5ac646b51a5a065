import type { JSX } from 'preact'
import { type Entity, type EntityField, entityPath, keyOf, labelOf, writes } from '../../entities.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { MessageCircleQuestionMark, Table2 } from '../../icons.ts'
import { LinkButton } from '../../parts/controls.tsx'
import { useLoad } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { Empty, Pending, Progress } from '../../parts/states.tsx'
import { cut } from '../../parts/Value.tsx'
import { AsRequest } from '../../query/AsRequest.tsx'
import { FilterPanel } from '../../query/FilterPanel.tsx'
import { isAggregate, type Unit, units } from '../../query/operators.ts'
import { QueryFault } from '../../query/QueryFault.tsx'
import { Refused } from '../../query/refused.ts'
import { showCondition, useEntity } from '../../records/view.ts'
import { href, type Parameters, query, withQuery } from '../../router.ts'
import { who } from '../../session.ts'
import { DrawForm, groupable } from './DrawForm.tsx'
import { Figure, type Kind } from './Figure.tsx'
import { type Axis, isOrdered, loadGroups, type Measure, queryOf, requestOf } from './groups.ts'
import { loadWidths } from './widths.ts'
import './draw.css'

/**
 * Draws records counted by a field, by time, or by two of them. The address holds all settings of the
 * drawing.
 */
export default function DrawPage({ parameters }: { readonly parameters: Parameters }): JSX.Element {
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
        <LinkButton icon={Table2} label={t('draw.records')} to={withQuery(entityPath(name), kept())} />
      }
    >
      {problem || !entity ? <Pending problem={problem} retry={reload} /> : <Drawing entity={entity} />}
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

function measureIn(entity: Entity): Measure {
  const [kind = '', name = ''] = (query.value.get('of') ?? '').split(':')
  const field = entity.fields.find(one => one.name === name)
  return field && isAggregate(kind) ? { kind, field } : { kind: 'count' }
}
function Drawing({ entity }: { readonly entity: Entity }): JSX.Element {
  const condition = query.value.get('q') ?? ''
  const field = fieldIn(entity, 'by') ?? guess(entity)
  const second = fieldIn(entity, 'and')
  const measure = measureIn(entity)
  const wanted = query.value.get('as')
  const widths = useLoad(
    signal => loadWidths(entity, condition, [field, second], signal),
    [entity.name, condition, field?.name, second?.name, who.value, writes.value],
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
    [text, isReady, who.value, writes.value],
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
      : t('draw.measured', { what: t(`draw.${measure.kind}`), field: labelOf(measure.field) })
  const nameOf = ({ field: one, unit }: Axis) => {
    const name = labelOf(one)
    return unit ? `${name} (${t(`unit.${unit}`)})` : one.unit ? `${name} (${one.unit})` : name
  }
  const title = asked.within
    ? t('draw.caption.two', { what: measured, by: nameOf(asked.by), within: nameOf(asked.within) })
    : t('draw.caption', { what: measured, by: nameOf(asked.by) })
  return (
    <section class="stack">
      <Progress busy={loading && value !== undefined} />
      <DrawForm
        entity={entity}
        by={asked.by}
        within={asked.within}
        measure={measure}
        kind={kind}
        isLog={isLog}
        widths={known}
        isReady={!widths.loading}
      />
      <details open={problem instanceof Refused}>
        <summary>
          {t('filter')}
          {condition !== '' && (
            <>
              : <code>{cut(condition, 200)}</code>
            </>
          )}
        </summary>
        <FilterPanel entity={entity} condition={condition} problem={problem} onApply={showCondition} />
      </details>
      {problem instanceof Refused ? (
        <QueryFault fault={problem.fault} />
      ) : problem || !value ? (
        <Pending problem={problem} retry={reload} />
      ) : value.groups.length === 0 ? (
        <Empty title={t('entity.none.filtered')} help={t('entity.none.filtered.help')} />
      ) : (
        <div class="stale" aria-busy={loading}>
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
        <LinkButton
          icon={MessageCircleQuestionMark}
          label={t('questions.as')}
          to={withQuery('questions', { q: text })}
        />
      </div>
    </section>
  )
}
