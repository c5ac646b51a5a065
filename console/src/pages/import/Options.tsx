import type { JSX } from 'preact'
import { a } from '../../i18n/admin.ts'
import { Check } from '../../parts/Check.tsx'
import { Field } from '../../parts/Field.tsx'
import type { Declared } from '../entities-admin/declared.ts'
import { RuleField, readChoices } from '../entities-admin/RuleField.tsx'
import { delimiterWords, encodings, keyOf, type Mode, modes, type Recipe, type Wanted } from './imports.ts'

interface Parts {
  readonly wanted: Wanted
  /** The entity, if it exists already. */
  readonly known: Declared | undefined
  readonly fixed: boolean
  readonly fields: readonly string[]
  /** The fault of the name. */
  readonly fault: string | undefined
  readonly onChange: (wanted: Wanted) => void
}

/** Options of an import: the entity, the mode, the key and the readers, and how the file is read. */
export function Options({ wanted, known, fixed, fields, fault, onChange }: Parts): JSX.Element {
  const set = (change: Partial<Wanted>) => onChange({ ...wanted, ...change })
  const { entity, mode, read, recipe } = wanted
  const setRecipe = (change: { readonly [M in keyof Recipe]?: Recipe[M] | undefined }) =>
    set({
      recipe: Object.fromEntries(
        Object.entries({ ...recipe, ...change }).filter(([, value]) => value !== undefined),
      ),
    })
  return (
    <section class="section">
      <h2>{a('import.options')}</h2>
      <fieldset class="modes">
        <legend>{a('import.mode')}</legend>
        {modes.map(one => (
          <label key={one} class="check">
            <input
              type="radio"
              name="mode"
              checked={mode === one}
              disabled={one !== 'replace' && !known}
              onChange={() => set({ mode: one as Mode })}
            />
            <span>
              <strong>{a(`import.mode.${one}`)}</strong>{' '}
              <span class="soft small">{a(`import.mode.${one}.help`)}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <div class="fields">
        <Field
          label={a('import.entity')}
          fault={fault}
          hint={known ? a('import.entity.known', { n: known.records ?? 0 }) : a('import.entity.new')}
        >
          <input
            required
            readOnly={fixed}
            spellcheck={false}
            autoComplete="off"
            value={entity}
            onInput={event => set({ entity: event.currentTarget.value.trim() })}
          />
        </Field>
        {mode === 'replace' && (
          <Field label={a('import.key')} hint={a('import.key.hint')}>
            <input
              spellcheck={false}
              autoComplete="off"
              list="import-fields"
              value={keyOf(recipe).join(', ')}
              onChange={event => {
                const key = event.currentTarget.value
                  .split(',')
                  .map(one => one.trim())
                  .filter(Boolean)
                setRecipe({ key: key.length > 0 ? [...new Set(key)] : undefined })
              }}
            />
          </Field>
        )}
        {mode === 'replace' && (
          <RuleField
            label={a('declare.read')}
            value={read}
            choices={[['', known ? a('import.read.same') : a('import.read.new')], ...readChoices()]}
            onChange={next => set({ read: next })}
          />
        )}
      </div>
      <details>
        <summary>{a('import.reading')}</summary>
        <div class="fields">
          <Field label={a('import.delimiter')}>
            <select
              value={recipe.delimiter ?? ''}
              onChange={event => setRecipe({ delimiter: event.currentTarget.value || undefined })}
            >
              <option value="">{a('import.asItLooks')}</option>
              {Object.values(delimiterWords).map(word => (
                <option key={word} value={word}>
                  {a(`import.delimiter.${word}`)}
                </option>
              ))}
            </select>
          </Field>
          <Field label={a('import.quote')}>
            <select
              value={recipe.quote ?? ''}
              onChange={event =>
                setRecipe({ quote: (event.currentTarget.value || undefined) as Recipe['quote'] })
              }
            >
              <option value="">{a('import.asItLooks')}</option>
              {(['double', 'none'] as const).map(one => (
                <option key={one} value={one}>
                  {a(`import.quote.${one}`)}
                </option>
              ))}
            </select>
          </Field>
          <Field label={a('import.encoding')}>
            <select
              value={recipe.encoding ?? ''}
              onChange={event => setRecipe({ encoding: event.currentTarget.value || undefined })}
            >
              <option value="">{a('import.asItLooks')}</option>
              {encodings.map(one => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          </Field>
        </div>
        <Check
          checked={recipe.decimalComma ?? false}
          onChange={isChecked => setRecipe({ decimalComma: isChecked || undefined, decimalPoint: undefined })}
        >
          {a('import.decimalComma')}
        </Check>
        <Check
          checked={recipe.decimalPoint ?? false}
          onChange={isChecked => setRecipe({ decimalPoint: isChecked || undefined, decimalComma: undefined })}
        >
          {a('import.decimalPoint')}
        </Check>
        <Check
          checked={recipe.shortRows ?? false}
          onChange={isChecked => setRecipe({ shortRows: isChecked || undefined })}
        >
          {a('import.shortRows')}
        </Check>
        <Check
          checked={recipe.dayFirst ?? false}
          onChange={isChecked => setRecipe({ dayFirst: isChecked || undefined })}
        >
          {a('import.dayFirst')}
        </Check>
      </details>
      <datalist id="import-fields">
        {[...new Set([...fields, '_row'])].map(name => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </section>
  )
}
