import type { Schemas } from '@carrel/client'
import type { JSX } from 'preact'
import { a, aOf } from '../../i18n/admin.ts'
import { tOf } from '../../i18n/i18n.ts'
import { ownEntities } from '../../in-order.ts'
import { Check, Input, Select, TextArea } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'

type Declared = Schemas['Field']

/** Types that a field can have. */
export const types = ['text', 'integer', 'number', 'boolean', 'date-time', 'json'] as const

/** A declaration as it is typed: every value is a text. */
export interface TypedField {
  readonly label: string
  readonly help: string
  readonly unit: string
  readonly format: string
  readonly required: boolean
  readonly default: string
  readonly unique: boolean
  /** One value a line. */
  readonly oneOf: string
  readonly references: string
}

export const typedOf = (field: Partial<Declared>): TypedField => ({
  label: field.label ?? '',
  help: field.help ?? '',
  unit: field.unit ?? '',
  format: field.format ?? '',
  required: field.required ?? false,
  default: field.default === undefined ? '' : String(field.default),
  unique: field.unique ?? false,
  oneOf: field.oneOf?.map(String).join('\n') ?? '',
  references: field.references ?? '',
})

/** Returns what is declared, with null for what isn't. */
export function declaredOf(
  typed: TypedField,
  type: Declared['type'],
): Readonly<Record<keyof TypedField, unknown>> {
  const values = typed.oneOf.split('\n').filter(line => line.trim() !== '')
  return {
    label: typed.label.trim() || null,
    help: typed.help.trim() || null,
    unit: typed.unit.trim() || null,
    format: typed.format || null,
    required: typed.required || null,
    default: typed.default === '' ? null : valueIn(typed.default, type),
    unique: typed.unique || null,
    oneOf: values.length === 0 ? null : values.map(line => valueIn(line, type)),
    references: typed.references || null,
  }
}

/** Reads a value as its field has them. What isn't of that type stays a text, which the service refuses. */
export function valueIn(text: string, type: Declared['type']): unknown {
  const trimmed = text.trim()
  if ((type === 'integer' || type === 'number') && trimmed !== '' && Number.isFinite(Number(trimmed)))
    return Number(trimmed)
  if (type === 'boolean' && /^(true|false)$/.test(trimmed)) return trimmed === 'true'
  return type === 'text' ? text : trimmed
}

const formats: Readonly<Record<Declared['type'], readonly NonNullable<Declared['format']>[]>> = {
  text: ['link', 'image', 'e-mail', 'paragraphs', 'json'],
  integer: ['year', 'identifier'],
  number: ['year', 'identifier'],
  json: ['link', 'image', 'e-mail', 'year', 'identifier', 'json'],
  boolean: [],
  'date-time': [],
}

/** The controls for what is declared of a field. */
export function FieldForm({
  entity,
  type,
  typed,
  onChange,
  faultAt = () => undefined,
  isImported = true,
}: {
  readonly entity: string
  readonly type: Declared['type']
  readonly typed: TypedField
  readonly onChange: (typed: TypedField) => void
  readonly faultAt?: (member: keyof TypedField) => string | undefined
  /** True if constraints can be declared. */
  readonly isImported?: boolean
}): JSX.Element {
  const set = (change: Partial<TypedField>) => onChange({ ...typed, ...change })
  const text = (member: 'label' | 'help' | 'unit' | 'default', max: number, hint?: string) => (
    <Field label={a(`field.${member}`)} fault={faultAt(member)} hint={hint}>
      <Input
        autoComplete="off"
        maxLength={max}
        value={typed[member]}
        onText={text => set({ [member]: text })}
      />
    </Field>
  )
  const check = (member: 'required' | 'unique') => (
    <Check checked={typed[member]} onChange={isChecked => set({ [member]: isChecked })}>
      {a(`field.${member}`)}
      {faultAt(member) && <span class="fault"> {faultAt(member)}</span>}
    </Check>
  )
  const others = [...new Set([...ownEntities.value.map(({ name }) => name), entity])].filter(Boolean)
  return (
    <div class="stack">
      {text('label', 200)}
      {text('help', 2_000)}
      <div class="fields">
        {formats[type].length > 0 && (
          <Field label={a('field.format')} fault={faultAt('format')}>
            <Select
              value={typed.format}
              onChoose={format => set({ format })}
              none={a('field.format.none')}
              options={formats[type].map(format => [format, aOf('format', format)])}
            />
          </Field>
        )}
        {(type === 'integer' || type === 'number') && text('unit', 40)}
      </div>
      {isImported && (
        <>
          {check('required')}
          {type !== 'json' && check('unique')}
          {type !== 'json' && text('default', 1_000, a('field.default.hint'))}
          {type !== 'json' && (
            <Field label={a('field.oneOf')} hint={a('field.oneOf.hint')} fault={faultAt('oneOf')}>
              <TextArea rows={3} value={typed.oneOf} onText={oneOf => set({ oneOf })} />
            </Field>
          )}
          {type !== 'json' && (
            <Field label={a('field.references')} fault={faultAt('references')}>
              <Select
                value={typed.references}
                onChoose={references => set({ references })}
                none={a('field.references.none')}
                options={others.map(name => [name, tOf('entity', name)])}
              />
            </Field>
          )}
        </>
      )}
    </div>
  )
}
