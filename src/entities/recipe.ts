import { delimiterIn, delimiters, delimiterWords } from '../import/delimiters.ts'
import { encodingIn } from '../import/encodings.ts'
import { maxFields } from '../import/field-list.ts'
import { shown } from '../import/import-error.ts'
import type { ReadingOptions } from '../import/reading-options.ts'
import { isObject } from '../lib/json.ts'
import { pointer } from '../lib/json-pointer.ts'
import type { FieldType } from '../model/entities.ts'
import { type FieldRecipe, type FileReading, type Recipe, typeOfWay, ways } from '../model/recipes.ts'
import { bothDecimals, OptionFault, readCollation, readEncoding, readQuote } from './import-options.ts'

/**
 * Reads recipes, and turns them into the options of the pipeline. All options that say how a file is read
 * become parts of a recipe first, wherever they were given (docs/decisions/0075).
 */

/** A fault in a recipe. Its message is a sentence that begins with the place. */
export class RecipeFault extends OptionFault {
  /** JSON pointer to the faulty member. */
  readonly member: string

  constructor(member: string, message: string) {
    super(`${member === '' ? 'The recipe' : member} ${message}`)
    this.member = member
  }
}

/** Maximum number of texts that mean empty, in one place. */
export const maxEmpty = 100
/** Maximum characters of a name, and of a text that means empty. */
export const maxText = 1_000
/** Maximum characters of a separator. */
export const maxSeparator = 10
/** Maximum characters of the JSON of a recipe. */
const maxRecipe = 256 * 1024

/** @throws RecipeFault for a text that is not a recipe */
export function parseRecipe(json: string): Recipe {
  if (json.length > maxRecipe)
    throw new RecipeFault(
      '',
      `has ${json.length.toLocaleString('en')} characters; at most 262,144 are taken.`,
    )
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw new RecipeFault('', `is not valid JSON: ${error instanceof Error ? error.message : error}.`)
  }
  return readRecipe(value)
}

/** @throws RecipeFault naming the first member that is wrong */
export function readRecipe(value: unknown): Recipe {
  const given = members('', value, recipeReaders)
  if (given.decimalComma && given.decimalPoint)
    throw new RecipeFault('/decimalPoint', `is wrong: ${bothDecimals}.`)
  const { fields = {} } = given
  const renamed = new Set<string>()
  for (const [name, { rename, leaveOut }] of Object.entries(fields)) {
    if (rename === undefined || leaveOut) continue
    if (renamed.has(rename))
      throw new RecipeFault(
        pointer('fields', name, 'rename'),
        `is ${shown(rename)} a second time; fields need different names.`,
      )
    renamed.add(rename)
  }
  return given
}

type Readers<T> = { readonly [M in keyof T]-?: (value: unknown, place: string) => Exclude<T[M], undefined> }

const recipeReaders: Readers<Recipe> = {
  delimiter: (value, place) => {
    const found = typeof value === 'string' ? delimiterIn(value) : undefined
    if (found === undefined) throw new RecipeFault(place, `takes ${delimiterWords.join(', ')}.`)
    return delimiterWords[delimiters.indexOf(found)] as string
  },
  quote: (value, place) => within(place, () => readQuote(textIn(value, place))),
  shortRows: flagIn,
  encoding: (value, place) => within(place, () => readEncoding(textIn(value, place))),
  decimalComma: flagIn,
  decimalPoint: flagIn,
  dayFirst: flagIn,
  empty: emptyIn,
  key: (value, place) => {
    const names = typeof value === 'string' ? [value] : value
    if (!Array.isArray(names) || names.length === 0 || names.length > maxFields)
      throw new RecipeFault(place, 'takes the name of a field, or a list of such names.')
    const read = names.map((name, at) => nameIn(name, `${place}/${at}`))
    const twice = read.findIndex((name, at) => read.indexOf(name) !== at)
    if (twice >= 0) throw new RecipeFault(`${place}/${twice}`, `is ${shown(read[twice])} a second time.`)
    return read
  },
  fields: (value, place) => {
    if (!isObject(value)) throw new RecipeFault(place, 'takes an object with the names of fields as members.')
    const all = Object.entries(value)
    if (all.length > maxFields)
      throw new RecipeFault(place, `has ${all.length} fields; at most ${maxFields} are taken.`)
    return Object.fromEntries(all.map(([name, one]) => [name, fieldIn(one, pointer('fields', name))]))
  },
}

const fieldReaders: Readers<FieldRecipe> = {
  read: (value, place) => {
    const way = ways.find(one => one === value)
    if (way === undefined) throw new RecipeFault(place, `takes ${ways.join(', ')}; not ${shown(value)}.`)
    return way
  },
  separator: (value, place) => {
    const text = textIn(value, place)
    if (text === '' || text.length > maxSeparator)
      throw new RecipeFault(place, `takes 1 to ${maxSeparator} characters.`)
    return text
  },
  collation: (value, place) => within(place, () => readCollation(textIn(value, place))),
  empty: emptyIn,
  rename: nameIn,
  leaveOut: flagIn,
}

function fieldIn(value: unknown, place: string): FieldRecipe {
  const field = members(place, value, fieldReaders)
  const { read, separator, collation } = field
  if (read === 'list' && separator === undefined)
    throw new RecipeFault(place, 'lacks `separator`: the text between the elements of the list, such as ";".')
  if (read !== 'list' && separator !== undefined)
    throw new RecipeFault(`${place}/separator`, 'is for lists: set `read` to list, or leave it out.')
  if (collation !== undefined && typeOfWay(read) !== undefined && typeOfWay(read) !== 'text')
    throw new RecipeFault(`${place}/collation`, 'is for text; leave it out.')
  return field
}

function members<T>(place: string, value: unknown, readers: Readers<T>): T {
  if (!isObject(value)) throw new RecipeFault(place, 'must be an object.')
  const legal = Object.keys(readers)
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      if (!legal.includes(name))
        throw new RecipeFault(place, `has no member ${shown(name)}; there are ${legal.join(', ')}.`)
      return [name, readers[name as keyof T](one, place + pointer(name))]
    }),
  ) as T
}

function textIn(value: unknown, place: string): string {
  if (typeof value !== 'string' || value.length > maxText || !value.isWellFormed())
    throw new RecipeFault(place, `takes a text of at most ${maxText.toLocaleString('en')} characters.`)
  return value
}

function nameIn(value: unknown, place: string): string {
  const name = textIn(value, place)
  if (name === '') throw new RecipeFault(place, 'takes the name of a field.')
  return name
}

function flagIn(value: unknown, place: string): boolean {
  if (typeof value !== 'boolean') throw new RecipeFault(place, 'takes true or false.')
  return value
}

function emptyIn(value: unknown, place: string): readonly string[] {
  if (!Array.isArray(value) || value.length > maxEmpty)
    throw new RecipeFault(place, `takes a list of at most ${maxEmpty} texts.`)
  return value.map((one, at) => textIn(one, `${place}/${at}`))
}

function within<T>(place: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof OptionFault) || error instanceof RecipeFault) throw error
    throw new RecipeFault(place, `is wrong: ${error.message}`)
  }
}

/** Options that say how a file is read, as they are given beside a recipe. */
export interface ReadingFlags {
  readonly types?: ReadonlyMap<string, FieldType> | undefined
  readonly collations?: ReadonlyMap<string, string> | undefined
  /** Options that are members of the recipe. */
  readonly file?: { readonly [M in keyof FileFlags]?: FileFlags[M] | undefined }
}

type FileFlags = Pick<Recipe, keyof FileReading | 'delimiter' | 'encoding'>

/** The recipe by which a file is read. */
export interface ChosenRecipe {
  readonly recipe: Recipe
  /** True if it is to be kept with the entity. */
  readonly isGiven: boolean
  /** True if it was kept with the entity before. */
  readonly isKept: boolean
}

/**
 * Chooses the recipe: the given one with these options, the options alone, or, without either, the one kept
 * with the entity.
 */
export function chooseRecipe(
  given: Recipe | undefined,
  flags: ReadingFlags,
  kept: Recipe | undefined,
): ChosenRecipe {
  const { types, collations, file = {} } = flags
  const options = Object.entries(file).filter(([, value]) => value !== undefined)
  const isPlain = options.length === 0 && !types?.size && !collations?.size
  if (given === undefined && isPlain && kept !== undefined)
    return { recipe: kept, isGiven: false, isKept: true }
  const fields = new Map(Object.entries(given?.fields ?? {}))
  for (const [name, read] of types ?? []) {
    const { separator: _, ...field } = fields.get(name) ?? {}
    fields.set(name, { ...field, read })
  }
  for (const [name, collation] of collations ?? []) fields.set(name, { ...fields.get(name), collation })
  const { delimiter, decimalComma, decimalPoint } = file
  const recipe: Recipe = {
    ...given,
    // The option for one of them takes the place of the other in the recipe.
    ...(decimalComma && { decimalPoint: false }),
    ...(decimalPoint && { decimalComma: false }),
    ...Object.fromEntries(options),
    ...(delimiter !== undefined && { delimiter: recipeReaders.delimiter(delimiter, '/delimiter') }),
    ...(fields.size > 0 && { fields: Object.fromEntries(fields) }),
  }
  return { recipe, isGiven: given !== undefined, isKept: false }
}

/** True if a recipe changes nothing, so that there is nothing to keep. */
const isBlank = (recipe: Recipe): boolean =>
  Object.entries(recipe).every(
    ([name, value]) =>
      name === 'key' || value === false || (typeof value === 'object' && Object.keys(value).length === 0),
  )

/** Returns what an import keeps with its entity: a given recipe, or nothing instead of a blank one. */
export const keptBy = ({ recipe, isGiven }: ChosenRecipe): { readonly recipe?: Recipe | null } =>
  isGiven ? { recipe: isBlank(recipe) ? null : recipe } : {}

/** The options of the pipeline. */
interface RecipeOptions {
  /** Declared types and collations, by the names of fields in the entity. */
  readonly types: ReadonlyMap<string, FieldType>
  readonly collations: ReadonlyMap<string, string>
  readonly reading: ReadingOptions
}

/**
 * Returns the options of the pipeline that a recipe stands for. Options that are given alone name fields of this
 * file; a recipe is for many files, which may lack some.
 */
export function optionsOf({ recipe, isGiven, isKept }: ChosenRecipe): RecipeOptions {
  const { delimiter, encoding, empty, fields = {}, key: _, ...file } = recipe
  const types = new Map<string, FieldType>()
  const collations = new Map<string, string>()
  const all = Object.entries(fields)
  for (const [name, { read, collation, rename = name, leaveOut }] of all) {
    const type = typeOfWay(read)
    if (leaveOut) continue
    if (type !== undefined) types.set(rename, type)
    if (collation !== undefined) collations.set(rename, collation)
  }
  const separates = delimiter === undefined ? undefined : delimiterIn(delimiter)
  const isIn = encoding === undefined ? undefined : encodingIn(encoding)
  return {
    types,
    collations,
    reading: {
      ...((isGiven || isKept) && { mayLack: true }),
      ...(separates && { delimiter: separates }),
      ...(isIn && { encoding: isIn }),
      ...file,
      ...(empty && empty.length > 0 && { empty }),
      ...(all.some(([, field]) => Object.keys(field).length > 0) && { fields: new Map(all) }),
    },
  }
}
