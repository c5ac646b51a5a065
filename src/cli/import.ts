import { Command } from 'commander'
import { type ImportReport, importFile } from '../import/import-entity.ts'
import { givenPath } from './given-path.ts'
import { say, table } from './output.ts'
import { showProgress } from './progress.ts'
import { entityReadOption, parseReadRule, readRule } from './read-rule.ts'
import { commandEvent, withStoreOrNew } from './store.ts'

/** `carrel import`: makes a file's records an entity's (D2). */
export function importCommand(): Command {
  return new Command('import')
    .argument('<file>', 'NDJSON, a JSON array or CSV, gzip or not; - for standard input')
    .description("Replace an entity's records with those of a file, whole or not at all.")
    .requiredOption('--entity <name>', 'the entity: a-z, 0-9, _ and -')
    .requiredOption('--key <field>', 'the field that tells records apart')
    .option(...entityReadOption)
    .option('--json', 'print the report as JSON')
    .action(async (file: string, options: { entity: string; key: string; read?: string; json?: boolean }) => {
      if (options.read !== undefined) parseReadRule(options.read)
      await withStoreOrNew(async ({ accounts, entities }) => {
        const read = options.read === undefined ? null : await readRule(options.read, accounts)
        const progress = showProgress()
        try {
          const report = await importFile(
            file === '-' ? file : givenPath(file),
            entities,
            { name: options.entity, key: options.key, read, event: commandEvent('entity.import') },
            progress.update,
          )
          progress.stop()
          say(options.json ? JSON.stringify(report, null, 2) : describe(report))
        } finally {
          progress.stop()
        }
      })
    })
}

function describe({ entity, read, records, fields, milliseconds }: ImportReport): string {
  return [
    table(
      ['FIELD', 'TYPE', 'NULLS'],
      fields.map(field => [field.name, field.type, field.nulls]),
    ),
    '',
    `Imported ${records.toLocaleString('en')} records into ${entity} in ${(milliseconds / 1000).toFixed(1)} s.`,
    `It can be read by ${read}; \`carrel entity access ${entity} <rule>\` changes that.`,
  ].join('\n')
}
