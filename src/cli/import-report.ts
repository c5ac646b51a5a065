import type { Differences } from '../entities/differences.ts'
import type { ImportReport } from '../entities/import-entity.ts'
import type { Preview, PreviewField } from '../entities/preview.ts'
import type { ReviseReport } from '../entities/revision.ts'
import { nameOf } from '../import/delimiters.ts'
import type { ValueKind } from '../import/evidence.ts'
import type { Findings } from '../import/field-list.ts'
import { type Looks, localFormats } from '../import/local-forms.ts'
import { noteInWords } from '../import/notes.ts'
import type { HowRead } from '../import/reading-options.ts'
import type { Field, FieldType } from '../model/entities.ts'
import { printable, table } from './output.ts'

/** The reports of `carrel import` in words. */

export function describe(report: ImportReport & HowRead): string {
  const { entity, read, records, fields, milliseconds } = report
  return [
    tableOf(fields),
    '',
    ...fields.flatMap(reasonForJson),
    ...fields.flatMap(reasonForText),
    ...looksOf(fields),
    ...wayInWords(report),
    ...(report.notes ?? []).map(noteInWords),
    `Imported ${records.toLocaleString('en')} records into ${entity} in ${(milliseconds / 1000).toFixed(1)} s.`,
    ...differencesInWords(report.differences),
    `It can be read by ${read}; \`carrel entity access ${entity} <rule>\` changes that.`,
  ].join('\n')
}

const tableOf = (fields: readonly (Field & Partial<Findings>)[]): string =>
  table(
    ['FIELD', 'TYPE', 'NULLS'],
    fields.map(field => [
      field.name,
      field.collation === undefined ? field.type : `${field.type} (${field.collation})`,
      field.nulls ?? '',
    ]),
  )

/** Describes what an import would do. */
export function describePreview(preview: Preview): string {
  const { entity, records, fields, differences } = preview
  const found = `${records.toLocaleString('en')} ${records === 1 ? 'record' : 'records'}`
  return [
    tableOf(fields),
    '',
    ...fields.flatMap(evidenceInWords),
    ...fields.flatMap(field => (field.kinds ? [] : reasonForJson(field))),
    ...fields.flatMap(reasonForText),
    ...(preview.encoding === null
      ? []
      : wayInWords({ encoding: preview.encoding, delimiter: preview.delimiter })),
    ...preview.notes.map(({ message }) => message),
    `The file has ${found} for ${entity}. Nothing was imported.`,
    ...differencesInWords(differences),
  ].join('\n')
}

/** Says which lines make a field what it is, and what would repair it. */
function evidenceInWords({
  name,
  from = name,
  type,
  kinds,
  texts = [],
  moreTexts = 0,
  offers = [],
  currency,
}: PreviewField) {
  if (!kinds) return []
  const found = kinds.map(({ kind, count, line, example, quoted }, at) => {
    const asTexts =
      quoted &&
      `, ${quoted.count.toLocaleString('en')} of them in quotation marks (first on line ${quoted.line}: ${printable(quoted.example)})`
    const counted = `${kindsInWords[kind]}: ${count.toLocaleString('en')}${asTexts ?? ''}`
    const more = kind === 'text' ? texts.length - 1 + moreTexts : 0
    return at === 0 && kind !== 'text'
      ? counted
      : `${counted} (first on line ${line}: ${printable(example)}${more > 0 ? `, and ${more} others` : ''})`
  })
  const repairs = offers.map(
    offer =>
      ` The recipe ${JSON.stringify({ fields: { [from]: offer } })} would read it otherwise${currency === undefined ? '' : `, without the sign ${currency}`}.`,
  )
  return [`${printable(name)} is ${type}; ${found.join('; ')}.${repairs.join('')}`]
}

const kindsInWords: Readonly<Record<ValueKind, string>> = {
  integer: 'integers',
  number: 'numbers with a decimal point',
  boolean: 'booleans',
  'date-time': 'date-times',
  json: 'arrays or objects',
  date: 'dates',
  'decimal-comma': 'numbers with a decimal comma',
  'decimal-point': 'numbers such as 1,234.5 or $5.00',
  'decimal-comma-or-point': 'numbers such as 1,234, with a decimal comma or with commas between thousands',
  grouped: 'numbers such as 1 234 or (5)',
  'day-first': 'dates with the day first',
  text: 'other texts',
}

/** Says how many records and which fields an import changes. */
function differencesInWords(differences: Differences | undefined): string[] {
  if (!differences) return []
  const { counts, first, fields } = differences
  const parts = (
    [
      ['added', counts.inserted, first.inserted],
      ['changed', counts.replaced, first.replaced],
      ['deleted', counts.deleted, first.deleted],
    ] as const
  ).flatMap(([word, count, all]) => {
    const keys = all.slice(0, maxKeys).map(({ key }) => printable(key.join(', ')))
    const more = count > keys.length ? ', …' : ''
    return count === 0 ? [] : [`${count.toLocaleString('en')} ${word} (${keys.join(', ')}${more})`]
  })
  const names = (what: string, all: readonly string[]) =>
    all.length === 0
      ? []
      : [
          `${what}: ${all.slice(0, maxFields).map(printable).join(', ')}${all.length > maxFields ? ', …' : ''}.`,
        ]
  return [
    `Records: ${[...parts, `${counts.unchanged.toLocaleString('en')} as before`].join('; ')}.`,
    ...first.replaced.slice(0, maxChanged).map(({ key, fields: changed }) => {
      const values = changed
        .slice(0, maxFields)
        .map(({ name, before, after }) => `${printable(name)} ${printable(before)} → ${printable(after)}`)
      return `  ${printable(key.join(', '))}: ${values.join('; ')}`
    }),
    ...names(
      'New fields',
      fields.inserted.map(({ name, type }) => `${name} (${type})`),
    ),
    ...names('Fields that go', fields.deleted),
    ...names(
      'Fields of another type',
      fields.retyped.map(({ name, before, after }) => `${name} (${before} → ${after})`),
    ),
  ]
}

/** Maximum number of keys, and of changed records with their values, that are printed. */
const maxKeys = 5
const maxChanged = 3

export function describeChanges({ entity, read, milliseconds, ...report }: ReviseReport): string {
  const counted = (['inserted', 'replaced', 'deleted'] as const)
    .filter(what => report[what] > 0)
    .map(what => `${report[what].toLocaleString('en')} ${what}`)
  const unchanged = report.unchanged > 0 ? `, ${report.unchanged.toLocaleString('en')} without a change` : ''
  return [
    ...(report.notes ?? []).map(noteInWords),
    `${entity}: ${counted.join(', ') || 'nothing changed'}${unchanged}, in ${(milliseconds / 1000).toFixed(1)} s. It has ${report.records.toLocaleString('en')} records.`,
    `It can be read by ${read}; \`carrel entity access ${entity} <rule>\` changes that.`,
  ].join('\n')
}

/** Explains why a field is JSON, because a few values may change how a whole field sorts. */
const reasonForJson = ({ name, mix }: Field & Partial<Findings>): string[] =>
  mix === undefined
    ? []
    : [
        `${printable(name)} is json, because line ${mix.line} has ${words[mix.kind]} and line ${mix.earlier.line} ${words[mix.earlier.kind]}; \`--type ${printable(name)}=text\` would make it text.`,
      ]

/** Warns of numbers that may be meant as text, such as those of objects. */
const reasonForText = ({ name, digits }: Field & Partial<Findings>): string[] =>
  digits === undefined
    ? []
    : [
        `${printable(name)}: line ${digits.earlier.line} has ${digits.earlier.text} and line ${digits.line} ${digits.text}, which are equal numbers; \`--type ${printable(name)}=text\` would tell them apart.`,
      ]

/** Maximum number of fields that a message names. */
const maxFields = 10

const looksOf = (fields: readonly (Field & Findings)[]): string[] =>
  localFormats.flatMap(looks => {
    const names = fields.filter(field => field.looks === looks).map(({ name }) => printable(name))
    const [what, become] = looksInWords[looks]
    const more = names.length - maxFields
    const named = `${names.slice(0, maxFields).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
    return names.length === 0 ? [] : [`${named}: text that looks like ${what}; ${become}.`]
  })

/** The option of a whole file reads digits, points and commas. */
const named = ', and `--type <field>=number` beside it those with spaces, apostrophes, parentheses or signs'

const looksInWords: Readonly<Record<Looks, readonly [what: string, become: string]>> = {
  'decimal-comma': ['numbers with decimal commas', `\`--decimal-comma\` would make it numbers${named}`],
  'decimal-point': [
    'numbers such as 1,234.5, 1 234, $5.00 or (5)',
    `\`--decimal-point\` would make it numbers${named}, (5) negative and without the sign of a currency`,
  ],
  'decimal-comma-or-point': [
    'numbers with decimal commas or with commas between thousands',
    '`--decimal-comma` would read 1,234 as 1.234, and `--decimal-point` as 1234',
  ],
  'day-first': ['dates with the day first', '`--day-first` would make it dates such as 2024-12-31'],
}

/** Returns the delimiter and the encoding of a file, except a comma and UTF-8. */
export const wayOf = ({ delimiter, encoding }: HowRead) => ({
  ...(delimiter !== null && delimiter !== ',' && { delimiter: nameOf(delimiter) }),
  ...(encoding !== 'utf-8' && { encoding }),
})

const wayInWords = ({ delimiter, encoding }: HowRead): string[] => [
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
