import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { CarrelProblem } from '../api.ts'
import { type DataRecord, type Entity, keyOf, keyText, recordPath } from '../entities.ts'
import { readExactly } from '../exact.ts'
import { t } from '../i18n/i18n.ts'
import { Button, Submit } from '../parts/controls.tsx'
import { useDraft } from '../parts/draft.ts'
import { useWork } from '../parts/load.ts'
import { Notice, ProblemNotice } from '../parts/states.tsx'
import { href } from '../router.ts'
import { Conflict } from './Conflict.tsx'
import { FieldInput } from './FieldInput.tsx'
import { changed } from './undo.ts'
import { type Edits, type Fault, isSame, jsonOf, type Kind, kindOf, type Typed, typedOf } from './values.ts'
import {
  add,
  change,
  loadAgain,
  type NewValues,
  remove,
  type Stored,
  withValues,
  writeAgain,
  writtenIn,
} from './writing.ts'
import './edit.css'

interface Parts {
  readonly entity: Entity
  /** The record to change; undefined for a new one. */
  readonly stored?: Stored | undefined
  /** The record that a new one begins with, but for its key. */
  readonly copied?: Stored | undefined
  /** Values typed in another place, over a record that others have changed since. */
  readonly lost?: { readonly edits: Edits; readonly now: Stored | undefined } | undefined
  /** The field that gets the focus. */
  readonly focus?: string | undefined
  /** @param saved undefined: nothing was changed */
  readonly onClose: (saved: Stored | undefined) => void
}

/** Unsaved input, kept so that it survives a reload and a new login. */
interface Draft {
  /** The record that it is typed over. */
  readonly over: Base
  readonly edits: Edits
}

/** Keeps what is typed over a record, or for a new one, until it is saved. */
function useEdits({ entity, stored, copied, lost }: Parts) {
  const keys = keyOf(entity)
  const of = stored
    ? keyText(entity, stored.record)
    : copied
      ? `copy ${keyText(entity, copied.record)}`
      : 'new'
  const draft = useDraft(`record.${entity.name}.${of}${lost ? ' lost' : ''}`, '')
  const [isDraft] = useState(draft.value !== '')
  const start: Draft = {
    over: stored,
    edits: lost?.edits ?? (copied ? editsOf(entity, copied) : stored ? {} : defaultsOf(entity)),
  }
  const { over, edits } = readDraft(draft.value) ?? start
  const before = useMemo(
    () => (over ? writtenIn(over.text) : copied ? writtenIn(copied.text) : {}),
    [over?.text, copied?.text],
  )
  const kinds = useMemo(
    () => new Map(entity.fields.map(field => [field.name, kindOf(field, before[field.name])] as const)),
    [entity, before],
  )
  const keep = (next: Draft) => draft.set(JSON.stringify(next))
  const typedIn = (name: string, kind: Kind): Typed =>
    Object.hasOwn(edits, name) ? (edits[name] ?? null) : typedOf(over ? before[name] : null, kind)
  const faultOf = (name: string, kind: Kind): Fault | undefined => {
    const typed = typedIn(name, kind)
    if (!over && keys.includes(name) && (typed ?? '').trim() === '') return { key: 'edit.fault.key' }
    const isRequired = entity.fields.some(field => field.name === name && field.required)
    if (isRequired && (typed ?? '').trim() === '' && (!over || Object.hasOwn(edits, name)))
      return { key: 'edit.fault.required' }
    const json = Object.hasOwn(edits, name) ? jsonOf(typed, kind) : ''
    return typeof json === 'string' ? undefined : json
  }
  return { draft, isDraft, start, over, edits, kinds, keys, keep, typedIn, faultOf }
}

/** The record that is changed; undefined for a new one. */
type Base = Pick<Stored, 'text' | 'tag'> | undefined

/** The places where a refusal is shown. */
interface Refusals {
  /** The service refuses the value of a field. */
  readonly refuse: (name: string, detail: string) => void
  /** A new record has the key of one that is there. */
  readonly take: (record: DataRecord) => void
  /** Others have changed the record, or removed it. */
  readonly conflict: (now: Stored | undefined) => void
}

/** Returns the function that saves what was typed. */
function saverOf(
  entity: Entity,
  kinds: ReadonlyMap<string, Kind>,
  finish: (saved: Stored | undefined) => void,
  on: Refusals,
) {
  async function save(chosen: Edits, base: Base, isNew = !base): Promise<void> {
    const values = newValues(chosen, kinds, isNew ? undefined : base)
    try {
      if (isNew) {
        const added = await add(entity, withValues(entity, base?.text, values))
        changed(t('edit.added', { name: keyText(entity, added.record) }), () => remove(entity, added))
        return finish(added)
      }
      if (!base || Object.keys(values).length === 0) return finish(undefined)
      const earlier = { ...base, record: readExactly(base.text) as DataRecord }
      const now = await change(entity, earlier, values)
      changed(t('edit.saved', { name: keyText(entity, now.record) }), () => writeAgain(entity, earlier, now))
      finish(now)
    } catch (error) {
      await understand(error, chosen, base, isNew)
    }
  }

  /** Shows a refusal where it belongs: at its field, or beside what others have written. */
  async function understand(error: unknown, chosen: Edits, base: Base, isNew: boolean): Promise<void> {
    if (!(error instanceof CarrelProblem)) throw error
    const pointer = error.members.pointer
    const name = typeof pointer === 'string' ? fieldIn(pointer) : undefined
    if (error.code === 'record-refused' && name !== undefined && kinds.has(name)) {
      on.refuse(name, error.detail)
    } else if (error.status === 412 && isNew) {
      on.take(readExactly(withValues(entity, base?.text, newValues(chosen, kinds, undefined))) as DataRecord)
    } else if ((error.status === 412 || error.status === 404) && base)
      on.conflict(await loadAgain(entity, readExactly(base.text) as DataRecord))
    else throw error
  }
  return save
}

/** A form with all fields of a record: one that is there, or a new one. */
export function RecordForm(parts: Parts): JSX.Element {
  const { entity, lost, focus, onClose } = parts
  const edited = useEdits(parts)
  const { draft, start, over, edits, kinds, keys, keep, typedIn, faultOf } = edited
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const [refused, setRefused] = useState<Readonly<Record<string, string>>>({})
  const [others, setOthers] = useState<{ readonly now: Stored | undefined } | undefined>(lost)
  const [taken, setTaken] = useState<DataRecord>()
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (focus === undefined) return
    const control = controlOf(form.current, focus)
    control?.focus()
    control?.scrollIntoView({ block: 'center' })
  }, [focus])

  const finish = (saved: Stored | undefined) => {
    draft.done()
    onClose(saved)
  }
  const save = saverOf(entity, kinds, finish, {
    refuse: (name, detail) => {
      setOthers(undefined)
      setRefused({ [name]: detail })
      controlOf(form.current, name)?.focus()
    },
    take: record => {
      setOthers(undefined)
      setTaken(record)
    },
    conflict: now => setOthers({ now }),
  })
  const saving = useWork(() => save(edits, over))
  const submit = () => {
    const faulty = entity.fields.find(({ name }) => faultOf(name, kinds.get(name) ?? 'text') !== undefined)
    setLeft(new Set(entity.fields.map(({ name }) => name)))
    if (faulty) controlOf(form.current, faulty.name)?.focus()
    else saving.run()
  }

  if (others && over)
    return (
      <Conflict
        entity={entity}
        edits={edits}
        kinds={kinds}
        now={others.now}
        before={readExactly(over.text) as DataRecord}
        save={async chosen => {
          keep({ over: others.now ?? over, edits: chosen })
          await save(chosen, others.now ?? over, others.now === undefined)
        }}
        onCancel={() => finish(undefined)}
      />
    )
  return (
    <form
      class="stack edit-form"
      ref={form}
      onSubmit={event => {
        event.preventDefault()
        submit()
      }}
    >
      {edited.isDraft && draft.kept && (
        <Notice>
          {t('edit.draft')} <Button look="link" label={t('edit.draft.forget')} onClick={() => keep(start)} />
        </Notice>
      )}
      {entity.fields.map(field => {
        const kind = kinds.get(field.name) ?? 'text'
        const fault = left.has(field.name) ? faultOf(field.name, kind) : undefined
        return (
          <FieldInput
            key={field.name}
            field={field}
            kind={kind}
            typed={typedIn(field.name, kind)}
            isKey={keys.includes(field.name)}
            isFixed={over !== undefined && keys.includes(field.name)}
            fault={refused[field.name] ?? fault}
            onTyped={typed => {
              setRefused({})
              setTaken(undefined)
              keep({
                over: over && { text: over.text, tag: over.tag },
                edits: { ...edits, [field.name]: typed },
              })
            }}
            onLeave={() => Object.hasOwn(edits, field.name) && setLeft(new Set([...left, field.name]))}
          />
        )
      })}
      {taken && (
        <Notice tone="bad">
          {t('edit.taken')} <a href={href(recordPath(entity, taken))}>{t('edit.taken.open')}</a>
        </Notice>
      )}
      <ProblemNotice problem={saving.problem} />
      <div class="edit-actions">
        <Submit label={t(over ? 'save' : 'edit.add')} busy={saving.busy} />
        <Button label={t('cancel')} onClick={() => finish(undefined)} />
      </div>
    </form>
  )
}

/** Initial values of a new record. */
const defaultsOf = ({ fields }: Entity): Edits =>
  Object.fromEntries(
    fields.flatMap(field => (field.default === undefined ? [] : [[field.name, String(field.default)]])),
  )

/** Initial values of a copy: all but those of the key. */
function editsOf(entity: Entity, { text }: Stored): Edits {
  const values = writtenIn(text)
  const fields = entity.fields.filter(({ name }) => !keyOf(entity).includes(name))
  return Object.fromEntries(
    fields.map(field => [field.name, typedOf(values[field.name], kindOf(field, values[field.name]))]),
  )
}

function readDraft(text: string): Draft | undefined {
  try {
    return text === '' ? undefined : (JSON.parse(text) as Draft)
  } catch {
    return undefined
  }
}

/** The JSON of what differs from the record, which is not there yet if it is undefined. */
function newValues(
  edits: Edits,
  kinds: ReadonlyMap<string, Kind>,
  before: Pick<Stored, 'text'> | undefined,
): NewValues {
  const record = before ? (readExactly(before.text) as DataRecord) : {}
  const values: Record<string, string> = {}
  for (const [name, typed] of Object.entries(edits)) {
    const json = jsonOf(typed, kinds.get(name) ?? 'text')
    if (
      typeof json === 'string' &&
      !(before && isSame(readExactly(json) as DataRecord[string], record[name]))
    )
      values[name] = json
  }
  return values
}

const fieldIn = (pointer: string): string | undefined =>
  pointer.split('/')[1]?.replaceAll('~1', '/').replaceAll('~0', '~')

const controlOf = (form: HTMLFormElement | null, name: string): HTMLElement | null | undefined =>
  form?.querySelector<HTMLElement>(`[data-field="${CSS.escape(name)}"] :is(input, select, textarea)`)
