import type { JSX } from 'preact'
import type { Declared } from '../../administration/declared.ts'
import { delimiterWords, keyOf, type Recipe } from '../../administration/recipes.ts'
import { a } from '../../i18n/admin.ts'
import { Check, Input, Select } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { Section } from '../../parts/Page.tsx'
import { RuleField, readChoices } from '../../people/RuleField.tsx'
import { encodings, type Mode, modes, type Wanted } from './imports.ts'

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

/** Members of a recipe that get another value, or none. */
type RecipeChange = { readonly [M in keyof Recipe]?: Recipe[M] | undefined }

/** Options of an import: the entity, the mode, the key and the readers, and how the file is read. */
export function Options({ wanted, known, fixed, fields, fault, onChange }: Parts): JSX.Element {
  const set = (change: Partial<Wanted>) => onChange({ ...wanted, ...change })
  const { entity, mode, read, recipe } = wanted
  const setRecipe = (change: RecipeChange) =>
    set({
      recipe: Object.fromEntries(
        Object.entries({ ...recipe, ...change }).filter(([, value]) => value !== undefined),
      ),
    })
  return (
    <Section title={a('import.options')}>
      <Modes chosen={mode} isNew={!known} onChoose={one => set({ mode: one })} />
      <div class="fields">
        <Field
          label={a('import.entity')}
          fault={fault}
          hint={known ? a('import.entity.known', { n: known.records ?? 0 }) : a('import.entity.new')}
        >
          <Input
            required
            readOnly={fixed}
            spellcheck={false}
            autoComplete="off"
            value={entity}
            onText={text => set({ entity: text.trim() })}
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
      <Reading recipe={recipe} onChange={setRecipe} />
      <datalist id="import-fields">
        {[...new Set([...fields, '_row'])].map(name => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </Section>
  )
}

interface ModesParts {
  readonly chosen: Mode
  /** True if there is no entity yet, which could be changed. */
  readonly isNew: boolean
  readonly onChoose: (mode: Mode) => void
}

const Modes = ({ chosen, isNew, onChoose }: ModesParts): JSX.Element => (
  <fieldset class="modes">
    <legend>{a('import.mode')}</legend>
    {modes.map(one => (
      <label key={one} class="check">
        <input
          type="radio"
          name="mode"
          checked={chosen === one}
          disabled={one !== 'replace' && isNew}
          onChange={() => onChoose(one)}
        />
        <span>
          <strong>{a(`import.mode.${one}`)}</strong>{' '}
          <span class="soft small">{a(`import.mode.${one}.help`)}</span>
        </span>
      </label>
    ))}
  </fieldset>
)

interface ReadingParts {
  readonly recipe: Recipe
  readonly onChange: (change: RecipeChange) => void
}

/** The way the file is read. */
function Reading({ recipe, onChange }: ReadingParts): JSX.Element {
  const choice = <Name extends 'delimiter' | 'encoding' | 'quote'>(
    name: Name,
    options: readonly (readonly [NonNullable<Recipe[Name]>, string])[],
  ) => (
    <Field label={a(`import.${name}`)}>
      <Select
        value={recipe[name] ?? ''}
        onChoose={chosen => onChange({ [name]: chosen || undefined })}
        none={a('import.asItLooks')}
        options={options}
      />
    </Field>
  )
  const check = (
    name: 'dayFirst' | 'decimalComma' | 'decimalPoint' | 'shortRows',
    others: RecipeChange = {},
  ) => (
    <Check
      label={a(`import.${name}`)}
      checked={recipe[name] ?? false}
      onChange={isChecked => onChange({ ...others, [name]: isChecked || undefined })}
    />
  )
  return (
    <details>
      <summary>{a('import.reading')}</summary>
      <div class="fields">
        {choice(
          'delimiter',
          Object.values(delimiterWords).map(word => [word, a(`import.delimiter.${word}`)]),
        )}
        {choice(
          'quote',
          (['double', 'none'] as const).map(one => [one, a(`import.quote.${one}`)]),
        )}
        {choice(
          'encoding',
          encodings.map(one => [one, one]),
        )}
      </div>
      {check('decimalComma', { decimalPoint: undefined })}
      {check('decimalPoint', { decimalComma: undefined })}
      {check('shortRows')}
      {check('dayFirst')}
    </details>
  )
}
