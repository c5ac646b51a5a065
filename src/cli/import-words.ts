import { nameOf } from '../import/delimiters.ts'
import type { Findings } from '../import/field-list.ts'
import type { Looks } from '../import/local-forms.ts'
import type { HowRead } from '../import/reading-options.ts'
import type { Field, FieldType } from '../model/entities.ts'
import { printable } from './output.ts'

/** Explains why a field is JSON, because a few values may change how a whole field sorts. */
export const reasonForJson = ({ name, mix }: Field & Findings): string[] =>
  mix === undefined
    ? []
    : [
        `${printable(name)} is json, because line ${mix.line} has ${words[mix.kind]} and line ${mix.earlier.line} ${words[mix.earlier.kind]}; \`--type ${printable(name)}=text\` would make it text.`,
      ]

/** Warns of numbers that may be meant as text, such as those of objects. */
export const reasonForText = ({ name, digits }: Field & Findings): string[] =>
  digits === undefined
    ? []
    : [
        `${printable(name)}: line ${digits.earlier.line} has ${digits.earlier.text} and line ${digits.line} ${digits.text}, which are equal numbers; \`--type ${printable(name)}=text\` would tell them apart.`,
      ]

/** Maximum number of fields that a message names. */
const maxFields = 10

export const looksOf = (fields: readonly (Field & Findings)[]): string[] =>
  (['decimal-comma', 'day-first'] as const).flatMap(looks => {
    const names = fields.filter(field => field.looks === looks).map(({ name }) => printable(name))
    const [what, become] = looksInWords[looks]
    const more = names.length - maxFields
    const named = `${names.slice(0, maxFields).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
    return names.length === 0
      ? []
      : [`${named}: text that looks like ${what}; \`--${looks}\` would make it ${become}.`]
  })

const looksInWords: Readonly<Record<Looks, readonly [what: string, become: string]>> = {
  'decimal-comma': ['numbers with decimal commas', 'numbers'],
  'day-first': ['dates with the day first', 'dates such as 2024-12-31'],
}

/** Returns the delimiter and the encoding of a file, except a comma and UTF-8. */
export const wayOf = ({ delimiter, encoding }: HowRead) => ({
  ...(delimiter !== null && delimiter !== ',' && { delimiter: nameOf(delimiter) }),
  ...(encoding !== 'utf-8' && { encoding }),
})

export const wayInWords = ({ delimiter, encoding }: HowRead): string[] => [
  ...(delimiter !== null && delimiter !== ','
    ? [`Cells are separated by a ${nameOf(delimiter)}; \`--delimiter comma\` would read another table.`]
    : []),
  ...(encoding === 'utf-8' ? [] : [`The file is ${encoding}.`]),
]

const words: Readonly<Record<FieldType, string>> = {
  integer: 'an integer',
  number: 'a number',
  boolean: 'a boolean',
  'date-time': 'a date-time',
  text: 'text',
  json: 'an array or object',
}
