import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type Entity, type EntityField, keyOf, labelIn } from '../../entities.ts'
import { t } from '../../i18n/i18n.ts'
import { Button, Select, Submit } from '../../parts/controls.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { Field } from '../../parts/Field.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Loading, Notice, ProblemNotice } from '../../parts/states.tsx'
import { Table } from '../../parts/Table.tsx'
import { toast } from '../../parts/toast.tsx'
import { Value } from '../../parts/Value.tsx'
import { FieldInput } from '../../records/FieldInput.tsx'
import { changed } from '../../records/undo.ts'
import { jsonOf, kindOf, nameFor, type Typed } from '../../records/values.ts'
import { nameField } from '../../records/view.ts'
import { type Changed, changeSeveral, type Several, undoSeveral } from '../../records/writing.ts'

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
  const { field, json } = valueIn(fields, name, typed)
  const isReady = what === 'delete' || asked !== undefined
  const tried = useLoad(
    () => (isReady ? changeSeveral(entity, several, asked, undefined) : Promise.resolve(undefined)),
    [asked, isReady],
  )
  const found = tried.loading ? 0 : (tried.value?.changed ?? 0)
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
    else if (found > 0) doing.run()
  }
  return (
    <Dialog
      wide
      title={t(what === 'delete' ? 'several.delete' : 'several.change')}
      onClose={() => onClose(false)}
      onSubmit={submit}
      footer={
        <>
          <Button label={t('cancel')} onClick={() => onClose(false)} />
          {!isReady ? (
            <Submit label={t('several.try')} aria-disabled={!field || typeof json !== 'string'} />
          ) : (
            found > 0 && (
              <Submit
                look={what === 'delete' ? 'danger' : 'primary'}
                label={t(what === 'delete' ? 'several.delete.do' : 'several.change.do', { n: found })}
                busy={doing.busy}
              />
            )
          )}
        </>
      }
    >
      {what === 'change' && (
        <NewValue
          fields={fields}
          name={name}
          typed={typed}
          onChange={(nextName, nextTyped) => {
            setName(nextName)
            setTyped(nextTyped)
            setAsked(undefined)
          }}
        />
      )}
      {isReady && (
        <>
          <ProblemNotice problem={tried.problem} />
          {tried.loading && !tried.value && <Loading lines={3} />}
          {tried.value && <Preview entity={entity} what={what} name={name} tried={tried.value} />}
        </>
      )}
      <ProblemNotice problem={doing.problem} />
    </Dialog>
  )
}

/** Returns the field of a name, and the value typed for it as JSON, or the fault in it. */
function valueIn(fields: readonly EntityField[], name: string, typed: Typed) {
  const field = fields.find(one => one.name === name)
  const kind = field && kindOf(field, field.type === 'text' ? typed : null)
  return { field, kind, json: field && kind ? jsonOf(typed, kind) : '' }
}

interface NewValueParts {
  readonly fields: readonly EntityField[]
  readonly name: string
  readonly typed: Typed
  readonly onChange: (name: string, typed: Typed) => void
}

/** Chooses a field, and the value that it gets. */
function NewValue({ fields, name, typed, onChange }: NewValueParts): JSX.Element {
  const { field, kind, json } = valueIn(fields, name, typed)
  return (
    <div class="stack edit-form">
      <Field label={t('several.field')}>
        <Select
          value={name}
          onChoose={chosen => onChange(chosen, null)}
          none={t('several.field.none')}
          options={fields.map(one => [one.name, nameFor(one)])}
        />
      </Field>
      {field && kind && (
        <FieldInput
          field={field}
          kind={kind}
          typed={typed}
          isKey={false}
          isFixed={false}
          fault={typeof json === 'string' ? undefined : json}
          onTyped={next => onChange(name, next)}
          onLeave={() => {}}
        />
      )}
    </div>
  )
}

async function takeBack(entity: Entity, undo: string): Promise<boolean> {
  const stay = await undoSeveral(entity, undo)
  if (stay > 0) toast(t('several.stay', { n: stay }), 'bad')
  return stay === 0
}

type Row = Changed['records'][number]

interface PreviewParts {
  readonly entity: Entity
  readonly what: Parts['what']
  readonly name: string
  readonly tried: Changed
}

/** A dry run: the number of records that would change, and the first of them. */
function Preview({ entity, what, name, tried }: PreviewParts): JSX.Element {
  const { count, changed: n, records } = tried
  const shown = what === 'delete' ? (nameField(entity)?.name ?? '') : name
  const field = entity.fields.find(one => one.name === shown)
  const shownIn = (record: Row['before']) => <Value value={record?.[shown]} field={field} plain />
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
              cell: ({ before }) => shownIn(before),
            },
            ...(what === 'delete'
              ? []
              : [{ id: 'after', label: t('several.after'), cell: ({ after }: Row) => shownIn(after) }]),
          ]}
        />
      )}
      {n > records.length && <p class="soft small">{t('value.more', { n: n - records.length })}</p>}
    </>
  )
}
