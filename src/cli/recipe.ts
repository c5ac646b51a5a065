import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { OptionFault } from '../entities/import-options.ts'
import { parseRecipe } from '../entities/recipe.ts'
import { systemReason } from '../lib/system-errors.ts'
import type { Recipe } from '../model/recipes.ts'
import { Failure } from './failures.ts'
import { givenPath } from './given-path.ts'
import { say } from './output.ts'
import { withStore } from './store.ts'

/** @throws Failure for a file that is not a recipe */
export function recipeOfFile(path: string): Recipe {
  let text: string
  try {
    text = readFileSync(givenPath(path), 'utf8')
  } catch (error) {
    throw new Failure(`${path} can't be read (${systemReason(error) ?? error})`, { cause: error })
  }
  try {
    return parseRecipe(text)
  } catch (error) {
    if (error instanceof OptionFault)
      throw new Failure(`${path} is not a recipe. ${error.message.replace(/\.$/, '')}`, { cause: error })
    throw error
  }
}

/** `carrel entity recipe`: how the next file of an entity is read (D16). */
export const recipeCommand = (): Command =>
  new Command('recipe')
    .argument('<name>', 'an imported entity')
    .description('Print the recipe by which the next file of an entity is read.')
    .action((name: string) =>
      withStore(async ({ entities }) => {
        const entity = (await entities.all()).get(name)
        if (entity?.source.kind !== 'records')
          throw new Failure(`there is no imported entity ${name}; \`carrel entity list\` shows all entities`)
        if (!entity.recipe)
          throw new Failure(`${name} has no recipe; \`carrel import --recipe <file>\` keeps one`)
        say(JSON.stringify(entity.recipe, null, 2))
      }),
    )
