import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { formatNumber, t, tOf } from '../../i18n/i18n.ts'
import { Check } from '../../parts/Check.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { Field } from '../../parts/Field.tsx'
import { fieldOf, keyOf, type PreviewField, type Recipe, type Way, ways, withField } from './imports.ts'

/** A field of the file: one that will be imported, or one that the recipe leaves out. */
export type Row = { readonly source: string; readonly field: PreviewField | undefined }

export const wayInWords = (way: Way): string =>
  way === 'decimal-comma' || way === 'decimal-point' || way === 'day-first' || way === 'list'
    ? a(`import.way.${way}`)
    : tOf('type', way)

/** Everything that can be changed of a field. */
export function ChangeField({
  row: { source, field },
  recipe,
  onChange,
  onClose,
}: {
  readonly row: Row
  readonly recipe: Recipe
  readonly onChange: (recipe: Recipe) => void
  readonly onClose: () => void
}): JSX.Element {
  const before = fieldOf(recipe, source)
  const [name, setName] = useState(before.rename ?? source)
  const [way, setWay] = useState<Way | ''>((before.read ?? '') as Way | '')
  const [separator, setSeparator] = useState(before.separator ?? ';')
  const [empty, setEmpty] = useState((before.empty ?? []).join('\n'))
  const [leaveOut, setLeaveOut] = useState(before.leaveOut ?? false)
  const [isKey, setIsKey] = useState(keyOf(recipe).includes(before.rename ?? source))
  const texts = [...new Set(empty.split('\n').filter(text => text !== ''))]
  const apply = () => {
    const { collation } = before
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
    onChange({ ...rest, ...(key.length > 0 && { key: [...key] }) })
    onClose()
  }
  const offered = (field?.texts ?? []).filter(({ text }) => !texts.includes(text))
  return (
    <Dialog
      title={a('import.change.of', { name: source })}
      onClose={onClose}
      onSubmit={apply}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>
            {t('cancel')}
          </button>
          <button type="submit" class="button primary">
            {a('import.change.do')}
          </button>
        </>
      }
    >
      <div class="stack">
        <Field label={a('import.rename')} hint={a('import.rename.hint', { name: source })}>
          <input
            spellcheck={false}
            autoComplete="off"
            value={name}
            onInput={event => setName(event.currentTarget.value)}
          />
        </Field>
        <Field label={a('import.readAs')}>
          <select value={way} onChange={event => setWay(event.currentTarget.value as Way | '')}>
            <option value="">{a('import.type.auto')}</option>
            {ways.map(one => (
              <option key={one} value={one}>
                {wayInWords(one)}
              </option>
            ))}
          </select>
        </Field>
        {way === 'list' && (
          <Field label={a('import.separator')}>
            <input
              maxLength={10}
              autoComplete="off"
              value={separator}
              onInput={event => setSeparator(event.currentTarget.value)}
            />
          </Field>
        )}
        <Field label={a('import.empty')}>
          <textarea
            rows={3}
            spellcheck={false}
            value={empty}
            onInput={event => setEmpty(event.currentTarget.value)}
          />
        </Field>
        {offered.length > 0 && (
          <div class="row">
            {offered.slice(0, 10).map(({ text, count }) => (
              <button
                key={text}
                type="button"
                class="button"
                onClick={() => setEmpty([...texts, text].join('\n'))}
              >
                {a('import.empty.add', { text, n: formatNumber(count) })}
              </button>
            ))}
          </div>
        )}
        <div>
          <Check checked={isKey} onChange={setIsKey}>
            {a('import.isKey')}
          </Check>
          <Check checked={leaveOut} onChange={setLeaveOut}>
            {a('import.leaveOut')}
          </Check>
        </div>
      </div>
    </Dialog>
  )
}
