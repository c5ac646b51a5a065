import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Recipe } from '../../administration/recipes.ts'
import { a } from '../../i18n/admin.ts'
import { Button } from '../../parts/controls.tsx'
import { Section } from '../../parts/Page.tsx'
import { save } from '../../parts/save.ts'
import { ProblemNotice } from '../../parts/states.tsx'
import type { Wanted } from './imports.ts'

interface Parts {
  readonly wanted: Wanted
  /** True if the entity has a recipe, which was taken as the beginning. */
  readonly isKept: boolean
  readonly onChange: (recipe: Recipe) => void
}

/** Shows the recipe of the present choices, which can be saved as a file, loaded from one, and reset. */
export function KeptRecipe({ wanted, isKept, onChange }: Parts): JSX.Element {
  const { recipe, entity } = wanted
  const [problem, setProblem] = useState<unknown>()
  const json = JSON.stringify(recipe, null, 2)
  const take = async (file: File) => {
    setProblem(undefined)
    try {
      onChange(JSON.parse(await file.text()) as Recipe)
    } catch {
      setProblem(new Error(a('import.recipe.bad')))
    }
  }
  const anew = () => {
    const { key } = recipe
    onChange(key === undefined ? {} : { key })
  }
  return (
    <Section
      title={a('import.recipe')}
      help={isKept ? a('import.recipe.kept', { name: entity }) : a('import.recipe.lead')}
    >
      <details>
        <summary>{a('import.recipe.show')}</summary>
        <pre class="recipe">{json}</pre>
      </details>
      <div class="row">
        <Button
          label={a('import.recipe.save')}
          onClick={() => save(new Blob([`${json}\n`], { type: 'application/json' }), `${entity}.recipe.json`)}
        />
        <Button label={a('import.recipe.take')} onClick={() => chooseFile(take)} />
        <Button label={a('import.recipe.anew')} onClick={anew} />
      </div>
      <ProblemNotice problem={problem} />
    </Section>
  )
}

/** Opens the browser's file dialog. */
function chooseFile(onChosen: (file: File) => Promise<void>): void {
  const input = document.createElement('input')
  input.type = 'file'
  input.accept = '.json,application/json'
  input.onchange = () => {
    const [file] = input.files ?? []
    if (file) void onChosen(file)
  }
  input.click()
}
