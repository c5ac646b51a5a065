import type { JSX } from 'preact'
import type { EntityField } from '../entities.ts'
import { t, tOf, zone } from '../i18n/i18n.ts'
import { Button, Input, Select } from '../parts/controls.tsx'
import { Field } from '../parts/Field.tsx'
import { RecordPicker, ReferencedRecord, referencedBy } from './RecordPicker.tsx'
import {
  choicesOf,
  type Fault,
  fitsPicker,
  fromPicker,
  type Kind,
  markedLine,
  nameFor,
  type Typed,
  toPicker,
} from './values.ts'

interface Parts {
  readonly field: EntityField
  readonly kind: Kind
  readonly typed: Typed
  /** True for a field of the key, which needs a value. */
  readonly isKey: boolean
  /** True if the value can't be changed: the key of a record that is there. */
  readonly isFixed: boolean
  readonly fault: Fault | string | undefined
  readonly onTyped: (typed: Typed) => void
  /** Called when the control is left. */
  readonly onLeave: () => void
}

/** One field of a record: its name, a control for its type, and what is wrong with the value. */
export function FieldInput(parts: Parts): JSX.Element {
  const { field, kind, typed, isKey, isFixed, fault, onTyped, onLeave } = parts
  const other = isFixed || field.oneOf || kind === 'long' || kind === 'json' ? undefined : referencedBy(field)
  const said = fault === undefined || typeof fault === 'string' ? fault : t(fault.key, fault.values)
  const place = typeof fault === 'object' && fault.at !== undefined && typed !== null && (
    <pre class="marked">{markedLine(typed, fault.at)}</pre>
  )
  return (
    <div class="edited-field" data-field={field.name} onFocusOut={onLeave}>
      <Field
        label={kind === 'date-time' ? `${nameFor(field)} (${zone})` : nameFor(field)}
        hint={
          isFixed ? (
            t('edit.key.fixed')
          ) : (
            <>
              {other && <ReferencedRecord of={other} text={typed ?? ''} />}
              <Hint kind={kind} typed={typed} field={field} isKey={isKey} onTyped={onTyped} />
            </>
          )
        }
        fault={said}
      >
        {other ? (
          <RecordPicker
            of={other}
            text={typed ?? ''}
            placeholder={typed === null ? t('edit.null') : ''}
            onText={text => onTyped(text === '' ? null : text)}
          />
        ) : (
          controlFor(kind, typed, isFixed, onTyped, choicesOf(field, typed))
        )}
      </Field>
      {place}
    </div>
  )
}

function controlFor(
  kind: Kind,
  typed: Typed,
  isFixed: boolean,
  onTyped: (typed: Typed) => void,
  choices: readonly string[] | undefined,
): JSX.Element {
  const value = typed ?? ''
  const common = {
    autoComplete: 'off',
    readOnly: isFixed,
    placeholder: typed === null ? t('edit.null') : '',
    spellcheck: false,
  }
  const onInput = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
    onTyped(currentTarget.value)
  const offered = choices ?? (kind === 'boolean' ? ['true', 'false'] : undefined)
  if (offered)
    return (
      <Select
        value={value}
        disabled={isFixed}
        onChoose={chosen => onTyped(chosen || null)}
        none={t('edit.null')}
        options={offered.map(one => [one, kind === 'boolean' ? t(one === 'true' ? 'yes' : 'no') : one])}
      />
    )
  switch (kind) {
    case 'long':
    case 'list':
      return (
        <textarea
          {...common}
          spellcheck={kind === 'long'}
          rows={Math.min(16, Math.max(3, value.split('\n').length + Math.floor(value.length / 90)))}
          value={value}
          onInput={onInput}
        />
      )
    case 'json':
      return (
        <textarea
          {...common}
          class="code-input"
          rows={Math.min(20, Math.max(3, value.split('\n').length))}
          value={value}
          onInput={onInput}
        />
      )
    case 'date-time':
      return fitsPicker(typed) ? (
        <Input
          type="datetime-local"
          step={1}
          max="9999-12-31T23:59:59"
          readOnly={isFixed}
          value={toPicker(typed)}
          onText={text => onTyped(fromPicker(text))}
        />
      ) : (
        <input type="text" {...common} value={value} onInput={onInput} />
      )
    default:
      return (
        <input
          type="text"
          {...common}
          inputMode={kind === 'integer' ? 'numeric' : kind === 'number' ? 'decimal' : undefined}
          spellcheck={kind === 'text'}
          value={value}
          onInput={onInput}
        />
      )
  }
}

/** Says what the value is if that can't be seen, and offers to take a text away. */
function Hint({
  field,
  kind,
  typed,
  isKey,
  onTyped,
}: Pick<Parts, 'field' | 'kind' | 'typed' | 'isKey' | 'onTyped'>): JSX.Element {
  const isText = !field.oneOf && (kind === 'text' || kind === 'long' || kind === 'list')
  const how = kind === 'list' ? t('edit.list.hint') : kind === 'json' ? t('edit.json.hint') : undefined
  return (
    <>
      {field.help !== undefined && <bdi>{field.help}</bdi>}
      <span>{isKey ? t('edit.key.hint') : (how ?? tOf('type', field.type))}</span>
      {field.required && <span>{t('edit.required')}</span>}
      {isText && typed === '' && <span>{t(kind === 'list' ? 'edit.list.empty' : 'edit.text.empty')}</span>}
      {isText && typed !== null && !isKey && (
        <Button
          look="link"
          label={t('edit.null.do')}
          aria-label={t('edit.null.of', { name: nameFor(field) })}
          onClick={() => onTyped(null)}
        />
      )}
    </>
  )
}
