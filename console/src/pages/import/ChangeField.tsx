import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import {
  fieldOf,
  keyOf,
  type Recipe,
  type Way,
  wayInWords,
  ways,
  withField,
} from '../../administration/recipes.ts'
import { a } from '../../i18n/admin.ts'
import { formatNumber } from '../../i18n/i18n.ts'
import { Button, Check, Input, Select, TextArea } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { FormDialog } from '../../parts/forms.tsx'
import type { PreviewField } from './imports.ts'

/** A field of the file: one that will be imported, or one that the recipe leaves out. */
export type Row = { readonly source: string; readonly field: PreviewField | undefined }

/** The reading of a field as it is typed. */
interface TypedField {
  readonly name: string
  /** The empty string: as it looks. */
  readonly way: Way | ''
  readonly separator: string
  /** Texts that mean that there is no value, one a line. */
  readonly empty: string
  readonly leaveOut: boolean
  readonly isKey: boolean
}

function typedOf(recipe: Recipe, source: string): TypedField {
  const {
    rename = source,
    read = '',
    separator = ';',
    empty = [],
    leaveOut = false,
  } = fieldOf(recipe, source)
  const isKey = keyOf(recipe).includes(rename)
  return { name: rename, way: read as Way | '', separator, empty: empty.join('\n'), leaveOut, isKey }
}

const textsIn = ({ empty }: TypedField) => [...new Set(empty.split('\n').filter(text => text !== ''))]

/** Returns the recipe with what was typed for a field. */
function withTyped(recipe: Recipe, source: string, typed: TypedField): Recipe {
  const { name, way, separator, leaveOut, isKey } = typed
  const { collation } = fieldOf(recipe, source)
  const texts = textsIn(typed)
  const next = withField(recipe, source, {
    ...(way !== '' && { read: way }),
    ...(way === 'list' && { separator: separator || ';' }),
    ...(collation !== undefined && (way === '' || way === 'text') && { collation }),
    ...(texts.length > 0 && { empty: texts }),
    ...(name.trim() !== '' && name !== source && { rename: name }),
    leaveOut,
  })
  const own = name.trim() === '' ? source : name
  const others = keyOf(next).filter(one => one !== own)
  const { key: _, ...rest } = next
  const key = isKey && !leaveOut ? (keyOf(next).includes(own) ? keyOf(next) : [...others, own]) : others
  return { ...rest, ...(key.length > 0 && { key: [...key] }) }
}

interface Parts {
  readonly row: Row
  readonly recipe: Recipe
  readonly onChange: (recipe: Recipe) => void
  readonly onClose: () => void
}

/** Everything that can be changed of a field. */
export function ChangeField({ row: { source, field }, recipe, onChange, onClose }: Parts): JSX.Element {
  const [typed, setTyped] = useState(() => typedOf(recipe, source))
  const set = (change: Partial<TypedField>) => setTyped({ ...typed, ...change })
  const texts = textsIn(typed)
  const apply = () => {
    onChange(withTyped(recipe, source, typed))
    onClose()
  }
  const offered = (field?.texts ?? []).filter(({ text }) => !texts.includes(text))
  return (
    <FormDialog
      title={a('import.change.of', { name: source })}
      onClose={onClose}
      onSubmit={apply}
      act={a('import.change.do')}
    >
      <div class="stack">
        <Field label={a('import.rename')} hint={a('import.rename.hint', { name: source })}>
          <Input spellcheck={false} autoComplete="off" value={typed.name} onText={name => set({ name })} />
        </Field>
        <Field label={a('import.readAs')}>
          <Select
            value={typed.way}
            onChoose={way => set({ way })}
            none={a('import.type.auto')}
            options={ways.map(one => [one, wayInWords(one)])}
          />
        </Field>
        {typed.way === 'list' && (
          <Field label={a('import.separator')}>
            <Input
              maxLength={10}
              autoComplete="off"
              value={typed.separator}
              onText={separator => set({ separator })}
            />
          </Field>
        )}
        <Field label={a('import.empty')}>
          <TextArea rows={3} spellcheck={false} value={typed.empty} onText={empty => set({ empty })} />
        </Field>
        {offered.length > 0 && (
          <div class="row">
            {offered.slice(0, 10).map(({ text, count }) => (
              <Button
                key={text}
                label={a('import.empty.add', { text, n: formatNumber(count) })}
                onClick={() => set({ empty: [...texts, text].join('\n') })}
              />
            ))}
          </div>
        )}
        <div>
          <Check label={a('import.isKey')} checked={typed.isKey} onChange={isKey => set({ isKey })} />
          <Check
            label={a('import.leaveOut')}
            checked={typed.leaveOut}
            onChange={leaveOut => set({ leaveOut })}
          />
        </div>
      </div>
    </FormDialog>
  )
}
