import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { CarrelProblem, service } from '../../api.ts'
import { a } from '../../i18n/admin.ts'
import { language, t, tOf } from '../../i18n/i18n.ts'
import { Plus, X } from '../../icons.ts'
import { Button, Form, Input, Select, Submit, TextArea } from '../../parts/controls.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Notice, ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { useTyped } from '../../parts/typed.ts'
import { type Metadata, type Tagged, writeItem } from './items.ts'
import './items-admin.css'

interface Line {
  readonly id: number
  readonly field: string
  readonly value: string
  readonly language: string
}

let count = 0

const linesOf = (metadata: Metadata): readonly Line[] =>
  Object.entries(metadata).flatMap(([field, values]) =>
    values.map(({ value, language }) => ({ id: ++count, field, value, language: language ?? '' })),
  )

/** Groups the lines by field, in their order. */
function metadataOf(lines: readonly Line[]): Metadata {
  const filled = lines.filter(({ field, value }) => field.trim() !== '' && value.trim() !== '')
  const fields = Map.groupBy(filled, ({ field }) => field.trim())
  return Object.fromEntries(
    [...fields].map(([field, values]) => [
      field,
      values.map(({ value, language }) => ({ value, language: language.trim() || null })),
    ]),
  )
}

const plain = (metadata: Metadata) =>
  JSON.stringify(
    Object.entries(metadata).map(([field, values]) => [
      field,
      values.map(({ value, language }) => [value, language]),
    ]),
  )

/** A field of the metadata registry. */
interface RegisteredField {
  readonly element: string
  readonly qualifier: string | null
  readonly _embedded: { readonly schema: { readonly prefix: string } }
}

const nameOf = ({ element, qualifier, _embedded: { schema } }: RegisteredField) =>
  [schema.prefix, element, ...(qualifier === null ? [] : [qualifier])].join('.')

/** The value of the choice that lets one type a field. No field has this name. */
const other = '*'

const focus = (element: HTMLElement | null) => element?.focus()

interface Parts {
  readonly label: string
  readonly field: string
  readonly known: readonly string[]
  readonly onChoose: (field: string) => void
}

/** A choice among the registered fields by their readable names, with the technical name below. */
function FieldChoice({ label, field, known, onChoose }: Parts): JSX.Element {
  const [isTyped, setTyped] = useState(false)
  if (isTyped)
    return (
      <input
        aria-label={label}
        ref={focus}
        spellcheck={false}
        value={field}
        onInput={event => onChoose(event.currentTarget.value)}
      />
    )
  const choices = new Set([field, ...known])
  const sameName = Map.groupBy(choices, name => tOf('metadata', name))
  const labelOf = (name: string) => {
    const words = tOf('metadata', name)
    return (sameName.get(words)?.length ?? 0) > 1 ? `${words} (${name})` : words
  }
  const isNamed = (name: string) => Number(tOf('metadata', name) !== name)
  const sorted = [...choices].toSorted(
    (one, two) =>
      isNamed(two) - isNamed(one) ||
      tOf('metadata', one).localeCompare(tOf('metadata', two), language.value) ||
      one.localeCompare(two),
  )
  return (
    <div class="field-choice">
      <Select
        aria-label={label}
        value={field}
        onChoose={chosen => (chosen === other ? setTyped(true) : onChoose(chosen))}
        options={[
          ...sorted.map(name => [name, name === '' ? a('metadata.field.choose') : labelOf(name)] as const),
          [other, a('metadata.field.other')],
        ]}
      />
      {isNamed(field) === 1 && <code class="soft small">{field}</code>}
    </div>
  )
}

interface MetadataEditorParts {
  readonly tagged: Tagged
  readonly onChange: () => void
}

/** An editor with one line for each metadata value of an item. */
export function MetadataEditor({ tagged, onChange }: MetadataEditorParts): JSX.Element {
  const { item, tag } = tagged
  const start = useMemo(() => linesOf(item.metadata), [plain(item.metadata)])
  const [lines, setLines] = useTyped(start)
  const known = useLoad(async signal => {
    const list = service.value.list<RegisteredField>('/api/core/metadatafields')
    return (await list.page(0, 500, signal)).items.map(nameOf)
  }, [])
  const isSame = plain(metadataOf(lines)) === plain(item.metadata)
  const work = useWork(async () => {
    const { withdrawn, discoverable } = item
    await writeItem(item.uuid, { metadata: metadataOf(lines), withdrawn, discoverable }, tag)
    toast(a('saved'))
    onChange()
  })
  const set = (id: number, change: Partial<Line>) =>
    setLines(lines.map(line => (line.id === id ? { ...line, ...change } : line)))
  const isStale = work.problem instanceof CarrelProblem && work.problem.status === 412
  return (
    <Form class="stack" onSubmit={() => !isSame && work.run()}>
      <div class="metadata-head" aria-hidden="true">
        <span>{a('field.name')}</span>
        <span>{a('metadata.value.head')}</span>
        <span>{a('metadata.language.head')}</span>
      </div>
      <ul class="metadata">
        {lines.map(({ id, field, value, language }, at) => (
          <li key={id}>
            <FieldChoice
              label={a('metadata.field', { n: at + 1 })}
              field={field}
              known={known.value ?? []}
              onChoose={next => set(id, { field: next })}
            />
            <TextArea
              aria-label={a('metadata.value', { n: at + 1 })}
              rows={value.length > 80 || value.includes('\n') ? 3 : 1}
              dir="auto"
              value={value}
              onText={text => set(id, { value: text })}
            />
            <Input
              class="language"
              aria-label={a('metadata.language', { n: at + 1 })}
              spellcheck={false}
              value={language}
              onText={text => set(id, { language: text })}
            />
            <Button
              look="icon"
              icon={X}
              size={16}
              aria-label={a('metadata.remove', { n: at + 1 })}
              title={t('remove')}
              onClick={() => setLines(lines.filter(line => line.id !== id))}
            />
          </li>
        ))}
      </ul>
      {isStale ? <Notice tone="warn">{a('declare.stale')}</Notice> : <ProblemNotice problem={work.problem} />}
      <div class="row">
        <Button
          icon={Plus}
          label={a('metadata.add')}
          onClick={() => setLines([...lines, { id: ++count, field: '', value: '', language: '' }])}
        />
        <Submit label={t('save')} aria-disabled={isSame} busy={work.busy} />
        {!isSame && <Button look="quiet" label={t('cancel')} onClick={() => setLines(start)} />}
      </div>
    </Form>
  )
}
