import { badParameter, type Query, quote, singleParameters } from '../../http/parameters.ts'
import type { Format } from '../../import/source.ts'
import type { FieldType, ReadRule } from '../../model/entities.ts'
import { readRuleForms, readRuleIn, ruleForms } from '../../model/readers.ts'
import type { Recipe } from '../../model/recipes.ts'
import {
  addCollation,
  addKey,
  addType,
  bothDecimals,
  OptionFault,
  readDelimiter,
  readEncoding,
  readQuote,
} from '../import-options.ts'
import { parseRecipe, type ReadingFlags } from '../recipe.ts'

/** The parameters of an import: the options of `carrel import`, and those that only the address has. */
export interface ImportQuery {
  readonly mode: Mode
  readonly preview: boolean
  readonly format: Format | null
  readonly upload: string | null
  readonly key: readonly string[] | null
  readonly read: ReadRule | null
  /** True if the import may remove any number of records and fields (docs/decisions/0058). */
  readonly replace: boolean
  readonly recipe: Recipe | null
  /** Options beside the recipe that say how the file is read. */
  readonly flags: ReadingFlags
}

const modes = ['replace', 'update', 'delete'] as const
type Mode = (typeof modes)[number]
const formats = ['csv', 'ndjson', 'json'] as const

/** Maximum number of values of a parameter, which is the maximum number of fields. */
const maxRepeated = 1_900

/** Parameters that say how the file is read. */
const ofReading = [
  ...(['delimiter', 'quote', 'short-rows', 'encoding'] as const),
  ...(['decimal-comma', 'decimal-point', 'day-first'] as const),
] as const
const single = ['mode', 'preview', 'format', 'upload', 'read', 'replace', 'recipe', ...ofReading] as const
const repeated = ['key', 'type', 'collation'] as const
/** Parameters that a resumed import has again. */
export const repeatable = [
  ...(['mode', 'format', 'read', 'replace', 'recipe'] as const),
  ...ofReading,
  ...repeated,
] as const

/** Reads the parameters of an import. @throws Problem 400 naming the wrong parameter */
export function importQuery(query: Query): ImportQuery {
  // Parameters that may be repeated count as given once here.
  const values = new Map(
    [...query.values].map(([name, all]) => [name, isRepeated(name) ? all.slice(0, 1) : all] as const),
  )
  const given = singleParameters({ ...query, values }, [...single, ...repeated])
  const mode = oneOf('mode', given.mode, modes) ?? 'replace'
  const types = all(query, 'type', addType) ?? new Map<string, FieldType>()
  const collations = all(query, 'collation', addCollation) ?? new Map<string, string>()
  for (const [name, option] of [
    ['type', types],
    ['collation', collations],
  ] as const)
    if (mode !== 'replace' && option.size > 0)
      throw badParameter(
        name,
        query.values.get(name)?.[0] ?? '',
        `The parameter ${name} is for importing all records: mode=${mode} keeps the types and collations that there are.`,
      )
  const replace = oneOf('replace', given.replace, ['true', 'false']) === 'true'
  if (replace && mode !== 'replace')
    throw badParameter(
      'replace',
      'true',
      `The parameter replace is for importing all records: mode=${mode} changes those that the file names, and no others.`,
    )
  const file = {
    delimiter: all(query, 'delimiter', readDelimiter),
    quote: all(query, 'quote', readQuote),
    shortRows: flag('short-rows', given['short-rows']),
    encoding: all(query, 'encoding', readEncoding),
    decimalComma: flag('decimal-comma', given['decimal-comma']),
    decimalPoint: flag('decimal-point', given['decimal-point']),
    dayFirst: flag('day-first', given['day-first']),
  }
  if (file.decimalComma && file.decimalPoint)
    throw badParameter('decimal-point', 'true', `The parameter decimal-point is wrong: ${bothDecimals}.`)
  return {
    mode,
    preview: isTrue('preview', given.preview),
    format: oneOf('format', given.format, formats) ?? null,
    upload: given.upload ?? null,
    key: all(query, 'key', addKey) ?? null,
    read: given.read === undefined ? null : ruleIn(given.read),
    replace,
    recipe: all(query, 'recipe', parseRecipe) ?? null,
    flags: { types, collations, file },
  }
}

const flag = (name: string, text: string | undefined): boolean | undefined =>
  text === undefined ? undefined : isTrue(name, text)

const isTrue = (name: string, text: string | undefined): boolean =>
  oneOf(name, text, ['true', 'false']) === 'true'

const isRepeated = (name: string) => repeated.some(one => one === name)

function oneOf<const T extends string>(
  name: string,
  text: string | undefined,
  legal: readonly T[],
): T | undefined {
  const found = legal.find(one => one === text)
  if (text !== undefined && found === undefined)
    throw badParameter(name, text, `The parameter ${name} takes ${legal.join(', ')}, not ${quote(text)}.`, {
      legal,
    })
  return found
}

function all<T>(query: Query, name: string, add: (text: string, known?: T) => T): T | undefined {
  const texts = query.values.get(name) ?? []
  if (texts.length > maxRepeated)
    throw badParameter(
      name,
      texts[0] ?? '',
      `The parameter ${name} is given ${texts.length} times; an entity has at most ${maxRepeated} fields.`,
    )
  let found: T | undefined
  for (const text of texts)
    try {
      found = add(text, found)
    } catch (error) {
      if (error instanceof OptionFault)
        throw badParameter(name, text, `The parameter ${name} is wrong. ${error.message}`)
      throw error
    }
  return found
}

function ruleIn(text: string): ReadRule {
  const rule = readRuleIn(text)
  if (rule !== undefined) return rule
  throw badParameter('read', text, `The parameter read takes ${ruleForms}, not ${quote(text)}.`, {
    legal: readRuleForms,
  })
}
