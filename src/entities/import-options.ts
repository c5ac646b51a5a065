import { type Delimiter, delimiterIn, delimiters, delimiterWords } from '../import/delimiters.ts'
import { type Encoding, encodingIn, encodings } from '../import/encodings.ts'
import { fieldTypes } from '../import/types.ts'
import { canonicalCollation } from '../lib/collation.ts'
import type { FieldType } from '../model/entities.ts'
import { type Quoting, quotings } from '../model/recipes.ts'

/**
 * Parses the options of an import that name fields, from the command line and from the parameters of an
 * address. Each option can be repeated: the functions take the values read so far.
 */

/** A fault in an option. Its message consists of sentences, in which "It" is the option. */
export class OptionFault extends Error {}

/**
 * Parses names as in the header of a CSV file (RFC 4180): separated by commas, and in double quotes if
 * a name contains a comma.
 * @throws OptionFault for a name that is empty, repeated, or badly quoted
 */
export function addKey(text: string, known: readonly string[] = []): readonly string[] {
  if (!/^("(""|[^"])*"|[^",][^,]*)(,("(""|[^"])*"|[^",][^,]*))*$/.test(text))
    throw new OptionFault(
      'It takes names of fields, separated by commas; write a name that has a comma or begins with a double quote as in a CSV header: "a, b".',
    )
  const names = (text.match(/"(""|[^"])*"|[^,]+/g) ?? []).map(name =>
    name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name,
  )
  const all = [...known, ...names]
  const twice = all.find((name, at) => all.indexOf(name) !== at)
  if (twice !== undefined) throw new OptionFault(`It names the field ${JSON.stringify(twice)} twice.`)
  return all
}

export function addType(
  text: string,
  known: ReadonlyMap<string, FieldType> = new Map(),
): ReadonlyMap<string, FieldType> {
  const [field, word] = assignment(text, known, `<field>=${fieldTypes.join('|')}`)
  const type = fieldTypes.find(one => one === word)
  if (type === undefined)
    throw new OptionFault(`${JSON.stringify(word)} is not a type; the types are ${fieldTypes.join(', ')}.`)
  return new Map([...known, [field, type]])
}

export function addCollation(
  text: string,
  known: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const [field, tag] = assignment(text, known, '<field>=<language tag>')
  return new Map([...known, [field, readCollation(tag)]])
}

export function readCollation(tag: string): string {
  const collation = canonicalCollation(tag)
  if (collation !== undefined) return collation
  throw new OptionFault(
    `There is no collation for ${JSON.stringify(tag)}; it takes a language tag such as en, sv or de-u-co-phonebk, or und for no language in particular.`,
  )
}

/**
 * Reads a delimiter or a word for one. Words are accepted because some delimiters have a meaning
 * in shells and addresses.
 */
export function readDelimiter(text: string): Delimiter {
  const found = delimiterIn(text)
  if (found === undefined)
    throw new OptionFault(
      `It takes ${delimiterWords.join(', ')}, or one of ${delimiters.map(one => JSON.stringify(one)).join(' ')}.`,
    )
  return found
}

export function readQuote(text: string): Quoting {
  const found = quotings.find(one => one === text)
  if (found === undefined)
    throw new OptionFault('It takes double, for cells in double quotes, or none, where quotes are text.')
  return found
}

/** Refuses decimal commas and decimal points for the same file. */
export const bothDecimals =
  'decimal commas and decimal points exclude each other, because 1,234 would be two numbers; take one for the file, and `read` of a recipe for fields that have the other'

export function readEncoding(text: string): Encoding {
  const found = encodingIn(text)
  if (found === undefined)
    throw new OptionFault(
      `${JSON.stringify(text)} is not an encoding that is read; the encodings are ${encodings.join(', ')}.`,
    )
  return found
}

/** Splits an assignment at its last `=`: names of fields may contain one, but types and language tags can't. */
function assignment(
  text: string,
  known: ReadonlyMap<string, unknown>,
  takes: string,
): readonly [field: string, value: string] {
  const at = text.lastIndexOf('=')
  if (at < 0) throw new OptionFault(`It takes ${takes}.`)
  const field = text.slice(0, at)
  if (known.has(field)) throw new OptionFault(`It names the field ${JSON.stringify(field)} twice.`)
  return [field, text.slice(at + 1)]
}
