import type { FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { eventOf } from '../../http/audit.ts'
import { badParameter, type Query } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { ImportError } from '../../import/import-error.ts'
import { detached } from '../../model/audit-events.ts'
import type { Entity, ReadRule } from '../../model/entities.ts'
import type { Process } from '../../model/processes.ts'
import type { Recipe } from '../../model/recipes.ts'
import { checkName } from '../import-entity.ts'
import { chooseRecipe } from '../recipe.ts'
import { known, requireOwn } from './declarations.ts'
import type { Input } from './import-input.ts'
import type { ImportWork, Job } from './import-job.ts'
import { type ImportQuery, repeatable } from './import-query.ts'
import { refused } from './refused.ts'

/** The work of an import, made from its parameters, and the parameters that its process keeps. */

/**
 * @throws Problem 409 for a name of another kind of entity, 404 for changes of a missing entity, 400 for a
 *   missing or wrong key
 */
export function workOf(name: string, asked: ImportQuery, all: ReadonlyMap<string, Entity>): ImportWork {
  requireOwn(name)
  const { mode, key: named, read, replace, recipe, flags, preview } = asked
  const kind = mode === 'replace' ? 'import' : mode
  const before = kind === 'import' ? all.get(name) : known(all, name)
  if (before && before.source.kind !== 'records')
    throw new Problem(
      'entity-conflict',
      `${name} shows a table; its rows are not imported. Delete the entity first, or choose another name.`,
    )
  try {
    checkName(name)
  } catch (error) {
    if (error instanceof ImportError) throw refused('', `${error.message}.`)
    throw error
  }
  const chosen = chooseRecipe(recipe ?? undefined, flags, before?.recipe)
  const key = named ?? (kind === 'import' || recipe ? chosen.recipe.key : undefined) ?? null
  const own = before && [before.key].flat()
  if (kind !== 'import' && key && JSON.stringify(key) !== JSON.stringify(own))
    throw badParameter(
      'key',
      key.join(),
      `The key of ${name} is ${own?.join(', ')}; leave the parameter key out.`,
    )
  const wanted = key ?? own
  if (!wanted)
    throw badParameter(
      'key',
      '',
      'The parameter key is missing: it names the field that identifies a record, or several.',
    )
  const [first, ...more] = wanted
  return {
    kind,
    preview,
    name,
    read,
    replace,
    chosen,
    key: first !== undefined && more.length === 0 ? first : wanted,
  }
}

export const jobOf = (config: Config, request: FastifyRequest, input: Input, work: ImportWork): Job => ({
  config,
  file: input.name,
  format: input.format,
  work,
  event: detached(
    eventOf(request.caller, request, {
      event: work.kind === 'import' ? 'entity.import' : 'entity.update',
      outcome: 'success',
      object: work.name,
    }),
  ),
})

/** The parameters that the process shows. With `upload` and `query`, it can be resumed. */
export function parametersOf(query: Query, asked: ImportQuery, input: Input): Process['parameters'] {
  const { key, read, replace, recipe, mode, upload } = asked
  return {
    mode,
    file: input.name,
    bytes: String(input.bytes),
    ...(key && { key: key.join(', ') }),
    ...(read && { read }),
    ...(replace && { replace: 'true' }),
    ...(recipe && { recipe: recipeInWords(recipe) }),
    ...(upload !== null && { upload, query: textOf(query, read) }),
  }
}

/** Maximum characters of a recipe in the list of processes. */
const maxRecipe = 1_000

function recipeInWords(recipe: Recipe): string {
  const json = JSON.stringify(recipe)
  return json.length > maxRecipe ? `${json.slice(0, maxRecipe)}…` : json
}

/**
 * The parameters that are needed to resume, and no others: a token may be among them. The rule names an eperson by their UUID,
 * because an address may belong to someone else by then.
 */
const textOf = ({ values }: Query, read: ReadRule | null) =>
  new URLSearchParams(
    repeatable.flatMap(name =>
      (values.get(name) ?? []).map((value): [string, string] => [
        name,
        name === 'read' && read ? read : value,
      ]),
    ),
  ).toString()
