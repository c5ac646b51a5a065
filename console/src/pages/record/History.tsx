import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type DataRecord, type Entity, keyText, writes } from '../../entities.ts'
import { formatMoment, t } from '../../i18n/i18n.ts'
import { Button } from '../../parts/controls.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Section } from '../../parts/Page.tsx'
import { Loading, ProblemNotice } from '../../parts/states.tsx'
import { FieldName, Value } from '../../parts/Value.tsx'
import { isSame } from '../../records/values.ts'
import { conflicts, loadHistory, type Past } from '../../records/writing.ts'

/** Number of changes that an answer has at most. */
const page = 20

interface Parts {
  readonly entity: Entity
  readonly record: DataRecord
}

/** The changes of a record and their authors, for those who may write it. */
export function History({ entity, record }: Parts): JSX.Element {
  const key = keyText(entity, record)
  const first = useLoad(
    signal => loadHistory(entity, key, undefined, signal),
    [entity, key, writes.value, conflicts.value],
  )
  const [more, setMore] = useState<{ readonly after: readonly Past[]; readonly list: readonly Past[] }>()
  const shown = [...(first.value ?? []), ...(more && more.after === first.value ? more.list : [])]
  const loading = useWork(async () => {
    const next = await loadHistory(entity, key, shown.at(-1)?.id)
    setMore({ after: first.value ?? [], list: [...shown.slice(first.value?.length), ...next] })
  })
  return (
    <Section title={t('history')}>
      <ProblemNotice problem={first.problem} />
      {!first.value && first.loading && <Loading lines={3} />}
      {first.value && shown.length === 0 && <p class="soft">{t('history.none')}</p>}
      <ol class="history">
        {shown.map(past => (
          <li key={past.id}>
            <p>
              <strong>{t(whatOf(past))}</strong>{' '}
              {past.by === null ? t('history.nobody') : <bdi>{past.by}</bdi>}{' '}
              <time class="soft small" dateTime={past.time}>
                {formatMoment(past.time)}
              </time>
            </p>
            {whatOf(past) === 'history.change' && <Differences of={past} entity={entity} />}
          </li>
        ))}
      </ol>
      {shown.length > 0 && shown.length % page === 0 && more?.list.length !== 0 && (
        <Button label={t('more')} aria-busy={loading.busy} onClick={loading.run} />
      )}
      <ProblemNotice problem={loading.problem} />
    </Section>
  )
}

const whatOf = ({ event, changes }: Past) =>
  event === 'record.delete'
    ? ('history.delete' as const)
    : changes?.before === null
      ? ('history.add' as const)
      : ('history.change' as const)

function Differences({ of, entity }: { readonly of: Past; readonly entity: Entity }): JSX.Element {
  const { before, after } = of.changes ?? { before: null, after: null }
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  return (
    <dl class="differences">
      {names
        .filter(name => !isSame(before?.[name], after?.[name]))
        .map(name => {
          const field = entity.fields.find(one => one.name === name)
          return (
            <>
              <dt key={`${name}-name`}>{field ? <FieldName field={field} /> : <bdi>{name}</bdi>}</dt>
              <dd key={name}>
                <del>
                  <Value value={before?.[name]} field={field} plain />
                </del>{' '}
                <span aria-hidden="true">→</span>{' '}
                <ins>
                  <Value value={after?.[name]} field={field} plain />
                </ins>
              </dd>
            </>
          )
        })}
    </dl>
  )
}
