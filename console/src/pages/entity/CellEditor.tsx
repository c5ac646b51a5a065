import type { JSX, RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { EntityField, Json } from '../../entities.ts'
import { t } from '../../i18n/i18n.ts'
import type { ComboboxInput } from '../../parts/Combobox.tsx'
import { RecordPicker, referencedBy } from '../../records/RecordPicker.tsx'
import {
  choicesOf,
  fitsPicker,
  fromPicker,
  jsonOf,
  type Kind,
  kindOf,
  nameFor,
  type Typed,
  toPicker,
  typedOf,
} from '../../records/values.ts'

interface Parts {
  readonly field: EntityField
  readonly value: Json | undefined
  /** Text typed or pasted on the cell, which replaces its value. */
  readonly first: Typed | undefined
  /** @returns false if the editor has to stay open */
  readonly save: (json: string, typed: Typed) => Promise<boolean>
  /** @param step where to go on: to the next cell, to the one before, or nowhere */
  readonly onDone: (step: 1 | -1 | 0) => void
  readonly onLeave: () => void
}

/** The control in a cell of a table: Enter saves, Escape leaves it, Tab saves and goes on. */
export function CellEditor({ field, value, first, save, onDone, onLeave }: Parts): JSX.Element {
  const kind = kindOf(field, value)
  const before = typedOf(value, kind)
  const choices = choicesOf(field, before)
  const other = choices ? undefined : referencedBy(field)
  const takesKeys = !choices && kind !== 'boolean' && kind !== 'date-time'
  const isTaken = (text: string) =>
    takesKeys || (choices ? choices.includes(text) : typeof jsonOf(text, kind) === 'string')
  const [typed, setTyped] = useState<Typed>(typeof first === 'string' && isTaken(first) ? first : before)
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const control = useRef<HTMLInputElement & HTMLSelectElement>(null)
  const isOver = useRef(false)
  // Before the next key, which would go to the cell.
  useLayoutEffect(() => {
    control.current?.focus()
    if (first === undefined && takesKeys) control.current?.select()
  }, [])

  const json = typed === before ? '' : jsonOf(typed, kind)
  const fault = typeof json === 'string' ? problem : t(json.key, json.values)

  async function finish(done: () => void): Promise<void> {
    if (busy || isOver.current) return
    if (typeof json !== 'string') return
    if (json !== '') {
      setBusy(true)
      try {
        await save(json, typed)
      } catch (error) {
        setBusy(false)
        setProblem(error instanceof Error ? error.message : t('failed'))
        control.current?.focus()
        return
      }
    }
    isOver.current = true
    done()
  }

  const onKeyDown = (event: KeyboardEvent) => {
    const { key } = event
    if (!['Enter', 'Escape', 'Tab'].includes(key) || event.isComposing) return
    event.preventDefault()
    event.stopPropagation()
    if (key === 'Escape') {
      isOver.current = true
      onDone(0)
    } else void finish(() => onDone(key === 'Enter' ? 0 : event.shiftKey ? -1 : 1))
  }
  const named: Named = {
    'aria-label': nameFor(field),
    'aria-invalid': fault === undefined ? undefined : 'true',
    'aria-busy': busy,
    title: fault,
    onKeyDown,
    // A click elsewhere saves; what is no value is left.
    onBlur: () => {
      if (typeof json === 'string' && problem === undefined) void finish(onLeave)
    },
  }
  return (
    <span class="cell-editor">
      <Control
        kind={kind}
        choices={choices}
        other={other}
        named={named}
        control={control}
        typed={typed}
        onTyped={setTyped}
        onText={text => {
          setProblem(undefined)
          setTyped(text)
        }}
      />
      {fault !== undefined && (
        <span class="cell-fault" role="alert">
          {fault}
        </span>
      )}
    </span>
  )
}

type Named = Pick<
  ComboboxInput,
  'aria-label' | 'aria-invalid' | 'aria-busy' | 'title' | 'onKeyDown' | 'onBlur'
>

/** The control for the type of a field. */
function Control({
  kind,
  choices,
  other,
  named,
  control,
  typed,
  onTyped,
  onText,
}: {
  readonly kind: Kind
  readonly choices: readonly string[] | undefined
  readonly other: ReturnType<typeof referencedBy>
  readonly named: Named
  readonly control: RefObject<(HTMLInputElement & HTMLSelectElement) | null>
  readonly typed: Typed
  /** Called with a value that was chosen. */
  readonly onTyped: (typed: Typed) => void
  /** Called with a text, which may need many keys. */
  readonly onText: (typed: Typed) => void
}): JSX.Element {
  const common = { ...named, ref: control } as object
  const value = typed ?? ''
  const placeholder = typed === null ? t('edit.null') : ''
  if (choices || kind === 'boolean')
    return (
      <select {...common} value={value} onChange={event => onTyped(event.currentTarget.value || null)}>
        <option value="">{t('edit.null')}</option>
        {(choices ?? ['true', 'false']).map(one => (
          <option key={one} value={one}>
            {kind === 'boolean' ? t(one === 'true' ? 'yes' : 'no') : one}
          </option>
        ))}
      </select>
    )
  if (kind === 'date-time' && fitsPicker(typed))
    return (
      <input
        {...common}
        type="datetime-local"
        step={1}
        max="9999-12-31T23:59:59"
        value={toPicker(typed)}
        onInput={event => onTyped(fromPicker(event.currentTarget.value))}
      />
    )
  if (other)
    return (
      <RecordPicker
        {...named}
        of={other}
        inputRef={control}
        placeholder={placeholder}
        text={value}
        onText={text => onText(text === '' ? null : text)}
      />
    )
  return (
    <input
      {...common}
      type="text"
      autoComplete="off"
      placeholder={placeholder}
      value={value}
      onInput={event => onText(event.currentTarget.value)}
    />
  )
}
