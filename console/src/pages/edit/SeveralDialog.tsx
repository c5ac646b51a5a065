import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type Entity, keyOf, labelIn } from '../../entities.ts'
import { t } from '../../i18n/i18n.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { Field } from '../../parts/Field.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Loading, Notice, ProblemNotice } from '../../parts/states.tsx'
import { Table } from '../../parts/Table.tsx'
import { toast } from '../../parts/toast.tsx'
import { Value } from '../../parts/Value.tsx'
import { nameField } from '../entity/view.ts'
import { FieldInput } from './FieldInput.tsx'
import { changed } from './undo.ts'
import { jsonOf, kindOf, nameFor, type Typed } from './values.ts'
import { type Changed, changeSeveral, type Several, undoSeveral } from './writing.ts'

interface Parts {
  readonly entity: Entity
  readonly several: Several
  readonly what: 'change' | 'delete'
  readonly onClose: (isDone: boolean) => void
}

/** Changes or deletes several records: what would happen is shown before it does. */
export function SeveralDialog({ entity, several, what, onClose }: Parts): JSX.Element {
  const fields = entity.fields.filter(({ name }) => !keyOf(entity).includes(name))
  const [name, setName] = useState('')
  const [typed, setTyped] = useState<Typed>(null)
  const [asked, setAsked] = useState<readonly [string, string]>()
  const field = fields.find(one => one.name === name)
  const kind = field && kindOf(field, field.type === 'text' ? typed : null)
  const json = field && kind ? jsonOf(typed, kind) : ''
  const isReady = what === 'delete' || asked !== undefined
  const tried = useLoad(
    () => (isReady ? changeSeveral(entity, several, asked, undefined) : Promise.resolve(undefined)),
    [asked, isReady],
  )
  const doing = useWork(async () => {
    if (!tried.value) return
    const done = await changeSeveral(entity, several, asked, tried.value.count)
    const text = t(what === 'delete' ? 'several.deleted' : 'several.changed', { n: done.changed })
    if (done.undo === undefined) toast(text)
    else changed(text, () => takeBack(entity, done.undo ?? ''))
    onClose(true)
  })
  const submit = () => {
    if (!isReady && typeof json === 'string' && field) setAsked([name, json])
    else if (tried.value && tried.value.changed > 0) doing.run()
  }
  return (
    <Dialog
      wide
      title={t(what === 'delete' ? 'several.delete' : 'several.change')}
      onClose={() => onClose(false)}
      onSubmit={submit}
      footer={
        <>
          <button type="button" class="button" onClick={() => onClose(false)}>
            {t('cancel')}
          </button>
          {!isReady ? (
            <button type="submit" class="button primary" aria-disabled={!field || typeof json !== 'string'}>
              {t('several.try')}
            </button>
          ) : (
            tried.value &&
            tried.value.changed > 0 && (
              <button
                type="submit"
                class={`button ${what === 'delete' ? 'danger' : 'primary'}`}
                aria-busy={doing.busy}
              >
                {t(what === 'delete' ? 'several.delete.do' : 'several.change.do', { n: tried.value.changed })}
              </button>
            )
          )}
        </>
      }
    >
      {what === 'change' && (
        <div class="stack edit-form">
          <Field label={t('several.field')}>
            <select
              value={name}
              onChange={event => {
                setName(event.currentTarget.value)
                setTyped(null)
                setAsked(undefined)
              }}
            >
              <option value="">{t('several.field.none')}</option>
              {fields.map(one => (
                <option key={one.name} value={one.name}>
                  {nameFor(one)}
                </option>
              ))}
            </select>
          </Field>
          {field && kind && (
            <FieldInput
              {...{ field, kind, typed }}
              isKey={false}
              isFixed={false}
              fault={typeof json === 'string' ? undefined : json}
              onTyped={next => {
                setTyped(next)
                setAsked(undefined)
              }}
              onLeave={() => {}}
            />
          )}
        </div>
      )}
      {isReady && (
        <>
          <ProblemNotice problem={tried.problem} />
          {tried.loading && !tried.value && <Loading lines={3} />}
          {tried.value && <Preview {...{ entity, what, name }} tried={tried.value} />}
        </>
      )}
      <ProblemNotice problem={doing.problem} />
    </Dialog>
  )
}

async function takeBack(entity: Entity, undo: string): Promise<boolean> {
  const stay = await undoSeveral(entity, undo)
  if (stay > 0) toast(t('several.stay', { n: stay }), 'bad')
  return stay === 0
}

type Row = Changed['records'][number]

/** A dry run: the number of records that would change, and the first of them. */
function Preview({
  entity,
  what,
  name,
  tried,
}: {
  readonly entity: Entity
  readonly what: Parts['what']
  readonly name: string
  readonly tried: Changed
}): JSX.Element {
  const { count, changed: n, records } = tried
  const shown = what === 'delete' ? (nameField(entity)?.name ?? '') : name
  const field = entity.fields.find(one => one.name === shown)
  const valueIn = (record: Row['before']) => <Value value={record?.[shown]} field={field} plain />
  return (
    <>
      <Notice tone={n === 0 ? 'good' : 'warn'}>
        {n === 0
          ? t('several.nothing')
          : t(what === 'delete' ? 'several.delete.count' : 'several.change.count', { n, count })}
      </Notice>
      {records.length > 0 && (
        <Table<Row>
          whole
          label={t('several.first')}
          rows={records}
          idOf={({ key }) => key}
          columns={[
            {
              id: 'key',
              label: keyOf(entity)
                .map(one => labelIn(entity, one))
                .join(', '),
              cell: ({ key }) => <bdi>{key}</bdi>,
            },
            {
              id: 'before',
              label: what === 'delete' ? <bdi>{labelIn(entity, shown)}</bdi> : t('conflict.was'),
              cell: ({ before }) => valueIn(before),
            },
            ...(what === 'delete'
              ? []
              : [{ id: 'after', label: t('several.after'), cell: ({ after }: Row) => valueIn(after) }]),
          ]}
        />
      )}
      {n > records.length && <p class="soft small">{t('value.more', { n: n - records.length })}</p>}
    </>
  )
}
