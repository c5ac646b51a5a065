import type { Process } from '@carrel/client/processes'
import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { changeFields, type Declared, type Misfit, misfitsIn } from '../../administration/declared.ts'
import { Follow } from '../../administration/Follow.tsx'
import { Misfits } from '../../administration/Misfits.tsx'
import { loadEntities } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Plus, X } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button, Form, IconButton, Input, Select, Submit } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { useWork } from '../../parts/load.ts'
import { Notice } from '../../parts/states.tsx'
import { StaleOr } from './Declarations.tsx'
import { types } from './FieldForm.tsx'
import { changesIn, fieldsChange, newRow, type Row, rowOf } from './field-changes.ts'
import { FieldsChanged } from './Versions.tsx'

interface Parts {
  readonly entity: Declared
  readonly tag: string | null
  readonly onChange: () => void
  readonly onClose: () => void
}

/** The fields of an entity with what was changed of them, and new ones. */
function useRows(entity: Declared) {
  const [edits, setEdits] = useState<Readonly<Record<string, Partial<Row>>>>({})
  const [added, setAdded] = useState<readonly Row[]>([])
  const counter = useRef(0)
  return {
    rows: [
      ...entity.fields.map(was => ({ ...rowOf(was), ...edits[`field ${was.name}`] })),
      ...added.map(row => ({ ...row, ...edits[row.id] })),
    ],
    edit: (id: string, change: Partial<Row>) => setEdits({ ...edits, [id]: { ...edits[id], ...change } }),
    add: () => {
      counter.current++
      setAdded([...added, { ...newRow, id: `new ${counter.current}` }])
    },
    drop: (id: string) => setAdded(added.filter(one => one.id !== id)),
    clear: () => {
      setEdits({})
      setAdded([])
    },
  }
}

/**
 * Changes of fields, collected and made together (EA13). Values that can't have their new type are shown before.
 * To remove a field, one types the name of the collection.
 */
export function ChangeFields({ entity, tag, onChange, onClose }: Parts): JSX.Element {
  const { name } = entity
  const { rows, edit, add, drop, clear } = useRows(entity)
  const [following, setFollowing] = useState<{ readonly id: string; readonly text: string | undefined }>()
  const [checked, setChecked] = useState<{ readonly text: string; readonly misfits: readonly Misfit[] }>()
  const [isAsking, setAsking] = useState(false)
  const [done, setDone] = useState<number>()
  const set = (id: string, change: Partial<Row>) => {
    setDone(undefined)
    edit(id, change)
  }
  const changes = rows.flatMap(changesIn)
  const change = fieldsChange(rows)
  const text = JSON.stringify(change)
  const isChecked = change.types === undefined || (checked?.text === text && checked.misfits.length === 0)
  const misfits = checked?.text === text ? checked.misfits : []
  const begin = async (isPreview: boolean) => {
    setDone(undefined)
    const { processId } = await changeFields(name, change, tag, isPreview)
    setFollowing({ id: processId, text: isPreview ? text : undefined })
  }
  const checking = useWork(() => begin(true))
  const making = useWork(() => begin(false))
  const onEnd = ({ state, result }: Process) => {
    if (state !== 'completed') return
    setFollowing(undefined)
    if (following?.text !== undefined) return setChecked({ text: following.text, misfits: misfitsIn(result) })
    clear()
    setChecked(undefined)
    setDone(Number((result as { readonly records?: unknown } | null)?.records ?? 0))
    void loadEntities().catch(() => {})
    onChange()
  }
  const problem = checking.problem ?? making.problem
  const isReady = changes.length > 0
  const remove = change.remove ?? []
  const submit = () => {
    if (!isReady || checking.busy || making.busy) return
    if (!isChecked) checking.run()
    else if (remove.length > 0) setAsking(true)
    else making.run()
  }
  return (
    <Form class="change-fields" onSubmit={submit}>
      <p class="soft">{a('fields.lead')}</p>
      <ul class="field-rows">
        {rows.map(row => (
          <FieldRow
            key={row.id}
            row={row}
            isKey={row.was !== undefined && [entity.key].flat().includes(row.was.name)}
            onChange={next => set(row.id, next)}
            onForget={() => drop(row.id)}
          />
        ))}
      </ul>
      <div>
        <Button icon={Plus} label={a('new-entity.add')} onClick={add} />
      </div>
      <Changes of={changes} onTakeBack={({ id, back }) => (back ? set(id, back) : drop(id))} />
      {misfits.length > 0 && (
        <Notice tone="bad">
          <p>{a('fields.misfits')}</p>
          <Misfits entity={name} misfits={misfits} />
        </Notice>
      )}
      {isReady && change.types !== undefined && isChecked && <Notice tone="good">{a('fields.fit')}</Notice>}
      {done !== undefined && <FieldsChanged name={name} records={done} onRestore={onChange} />}
      <StaleOr problem={problem} onReload={onChange} />
      {following && <Follow key={following.id} id={following.id} onEnd={onEnd} />}
      <div class="row">
        <Submit
          label={
            isChecked
              ? a('fields.do', { n: changes.length })
              : a(misfits.length > 0 ? 'fields.check.again' : 'fields.check')
          }
          aria-disabled={!isReady}
          aria-busy={checking.busy || making.busy}
        />
        <Button label={changes.length > 0 ? t('cancel') : t('close')} onClick={onClose} />
      </div>
      {isAsking && (
        <Confirm
          title={a('fields.confirm', { name })}
          act={a('fields.do', { n: changes.length })}
          typed={{ label: a('confirm.typed', { word: name }), word: name }}
          onClose={() => setAsking(false)}
          work={() => begin(false)}
        >
          <p>
            {a('fields.confirm.help', { n: remove.length })} <bdi>{remove.join(', ')}</bdi>
          </p>
        </Confirm>
      )}
    </Form>
  )
}

type FieldChange = ReturnType<typeof changesIn>[number]

interface ChangesParts {
  readonly of: readonly FieldChange[]
  readonly onTakeBack: (change: FieldChange) => void
}

/** The changes in words, each of which can be taken back. */
const Changes = ({ of, onTakeBack }: ChangesParts): JSX.Element | null =>
  of.length === 0 ? null : (
    <>
      <h3>{a('fields.list')}</h3>
      <ul class="relations">
        {of.map(one => (
          <li key={one.words}>
            <bdi>{one.words}</bdi>
            <IconButton
              icon={X}
              size={16}
              label={a('fields.take-back', { change: one.words })}
              onClick={() => onTakeBack(one)}
            />
          </li>
        ))}
      </ul>
    </>
  )

interface FieldRowParts {
  readonly row: Row
  readonly isKey: boolean
  readonly onChange: (change: Partial<Row>) => void
  readonly onForget: () => void
}

/** One field in a row: its name, its type, and for a new one the value in the records that are there. */
function FieldRow({ row, isKey, onChange, onForget }: FieldRowParts): JSX.Element {
  const { was, type, isGone } = row
  const called = was?.name ?? (row.name.trim() || a('fields.new'))
  if (isKey || isGone)
    return (
      <li class="field-row">
        <bdi class={isGone ? 'gone' : ''}>{called}</bdi>
        <span class="soft">{tOf('type', type)}</span>
        {isKey ? (
          <span class="soft">{a('entity.key')}</span>
        ) : (
          <Button
            look="link"
            label={a('fields.keep')}
            of={called}
            onClick={() => onChange({ isGone: false })}
          />
        )}
      </li>
    )
  return (
    <li class="field-row">
      <Field hidden label={`${a('fields.name')}: ${called}`}>
        <Input
          autoComplete="off"
          spellcheck={false}
          maxLength={1_000}
          placeholder={was ? '' : a('fields.new')}
          value={row.name}
          onText={name => onChange({ name })}
        />
      </Field>
      <Field hidden label={`${a('field.type')}: ${called}`}>
        <Select
          value={type}
          onChoose={type => onChange({ type })}
          options={types.map(one => [one, tOf('type', one)])}
        />
      </Field>
      <IconButton
        icon={X}
        size={16}
        label={`${t('remove')}: ${called}`}
        onClick={() => (was ? onChange({ isGone: true }) : onForget())}
      />
      {!was && type !== 'json' && (
        <Field class="filled" label={`${a('fields.default')}: ${called}`} hint={a('fields.default.hint')}>
          <Input
            autoComplete="off"
            maxLength={1_000}
            value={row.default}
            onText={given => onChange({ default: given })}
          />
        </Field>
      )}
    </li>
  )
}
