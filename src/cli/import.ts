import { Command } from 'commander'
import type { Findings } from '../import/field-list.ts'
import { type ImportReport, importFile } from '../import/import-entity.ts'
import type { Field, FieldType } from '../model/entities.ts'
import { Failure } from './failures.ts'
import { givenPath } from './given-path.ts'
import { addCollation, addKey, addType } from './import-options.ts'
import { printable, say, table } from './output.ts'
import { showProgress } from './progress.ts'
import { entityReadOption, entityRule, parseReadRule } from './read-rule.ts'
import { commandEvent, withStoreOrNew } from './store.ts'

interface Options {
  readonly entity: string
  readonly key: readonly string[]
  readonly read?: string
  readonly type?: ReadonlyMap<string, FieldType>
  readonly collation?: ReadonlyMap<string, string>
  readonly json?: boolean
}

/** `carrel import`: replaces the records of an entity with those of a file (D2). */
export function importCommand(): Command {
  return new Command('import')
    .argument('<file>', 'NDJSON, a JSON array or CSV, gzip or not; - for standard input')
    .description("Replace an entity's records with those of a file, whole or not at all.")
    .requiredOption('--entity <name>', 'the entity: a-z, 0-9, _ and -')
    .requiredOption(
      '--key <fields>',
      'the field that identifies a record, or several, separated by commas',
      addKey,
    )
    .option(
      '--type <field=type>',
      'the type of a field: text, integer, number, boolean, date-time or json; can be repeated (default: found from its values)',
      addType,
    )
    .option(
      '--collation <field=language>',
      'sort the text of a field as this language does (und: none in particular); can be repeated (default: by code point)',
      addCollation,
    )
    .option(...entityReadOption)
    .option('--json', 'print the report as JSON')
    .action((file: string, options: Options) => {
      if (options.read !== undefined) parseReadRule(options.read)
      return run(file, options)
    })
}

const run = (file: string, options: Options): Promise<void> =>
  withStoreOrNew(async ({ accounts, entities }) => {
    const interruption = new AbortController()
    const interrupt = () => interruption.abort(new Failure('interrupted; nothing was imported'))
    // Only the first signal: a second one ends the process at once.
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
    const read = await entityRule(options.read, accounts)
    const progress = showProgress()
    try {
      const [first, ...more] = options.key
      const report = await importFile(
        file === '-' ? file : givenPath(file),
        entities,
        {
          name: options.entity,
          key: first !== undefined && more.length === 0 ? first : options.key,
          read,
          ...(options.type && { types: options.type }),
          ...(options.collation && { collations: options.collation }),
          event: commandEvent('entity.import'),
          signal: interruption.signal,
        },
        progress.update,
      )
      progress.stop()
      say(options.json ? JSON.stringify(report, null, 2) : describe(report))
    } finally {
      progress.stop()
      process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
    }
  })

function describe({ entity, read, records, fields, milliseconds }: ImportReport): string {
  return [
    table(
      ['FIELD', 'TYPE', 'NULLS'],
      fields.map(field => [
        field.name,
        field.collation === undefined ? field.type : `${field.type} (${field.collation})`,
        field.nulls,
      ]),
    ),
    '',
    ...fields.flatMap(reasonForJson),
    `Imported ${records.toLocaleString('en')} records into ${entity} in ${(milliseconds / 1000).toFixed(1)} s.`,
    `It can be read by ${read}; \`carrel entity access ${entity} <rule>\` changes that.`,
  ].join('\n')
}

/** Few values may change how a whole field sorts. */
const reasonForJson = ({ name, mix }: Field & Findings): string[] =>
  mix === undefined
    ? []
    : [
        `${printable(name)} is json, because line ${mix.line} has ${words[mix.kind]} and line ${mix.earlier.line} ${words[mix.earlier.kind]}; \`--type ${printable(name)}=text\` would make it text.`,
      ]

const words: Readonly<Record<FieldType, string>> = {
  integer: 'an integer',
  number: 'a number',
  boolean: 'a boolean',
  'date-time': 'a date-time',
  text: 'text',
  json: 'an array or object',
}
