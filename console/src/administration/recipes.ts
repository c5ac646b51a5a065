import type { Schemas } from '@carrel/client'
import { a } from '../i18n/admin.ts'
import { tOf } from '../i18n/i18n.ts'

export const types = ['text', 'integer', 'number', 'boolean', 'date-time', 'json'] as const

export type Recipe = Schemas['Recipe']
export type FieldRecipe = Schemas['FieldRecipe']

/** Ways to read a field: as a type, or as texts that become one. */
export const ways = [...types, 'decimal-comma', 'decimal-point', 'day-first', 'list'] as const
export type Way = (typeof ways)[number]

export const wayInWords = (way: Way): string =>
  way === 'decimal-comma' || way === 'decimal-point' || way === 'day-first' || way === 'list'
    ? a(`import.way.${way}`)
    : tOf('type', way)

export const keyOf = ({ key = [] }: Recipe): readonly string[] => [key].flat()

/** Returns the recipe of a field, by its name in the file. */
export const fieldOf = (recipe: Recipe, name: string): FieldRecipe => recipe.fields?.[name] ?? {}

/** Returns the recipe with another one for a field. A key field that gets another name stays one. */
export function withField(recipe: Recipe, name: string, field: FieldRecipe): Recipe {
  const { [name]: before = {}, ...others } = recipe.fields ?? {}
  const said = Object.fromEntries(
    Object.entries(field).filter(([, value]) => value !== undefined && value !== false),
  ) as FieldRecipe
  const fields = Object.keys(said).length === 0 ? others : { ...others, [name]: said }
  const [was, is] = [before.rename ?? name, field.rename ?? name]
  const { fields: _, ...rest } = recipe
  const key = keyOf(recipe).map(one => (one === was ? is : one))
  return {
    ...rest,
    ...(key.length > 0 && { key }),
    ...(Object.keys(fields).length > 0 && { fields }),
  }
}

/** Returns the recipe with another way to read a field. @param way the empty string: as it looks */
export function withWay(recipe: Recipe, name: string, way: Way | ''): Recipe {
  const { read: _, separator, collation: __, ...field } = fieldOf(recipe, name)
  return withField(recipe, name, {
    ...field,
    ...(way !== '' && { read: way }),
    ...(way === 'list' && { separator: separator ?? ';' }),
  })
}

/** Returns the recipe with an offer of the preview. Texts that mean empty are added to those that do. */
export function withOffer(recipe: Recipe, name: string, offer: FieldRecipe): Recipe {
  const { empty = [], ...field } = fieldOf(recipe, name)
  const all = [...new Set([...empty, ...(offer.empty ?? [])])]
  return withField(recipe, name, { ...field, ...offer, ...(all.length > 0 && { empty: all }) })
}

/** Delimiters of CSV files, with their names in the query parameters of the API. */
export const delimiterWords = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'pipe' } as const
