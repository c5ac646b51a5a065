import { Command } from 'commander'
import { Failure } from './failures.ts'
import { say, sayList, table } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel entity …`: what there is to query. */
export function entityCommand(): Command {
  const command = new Command('entity').description('List and drop entities.')

  command
    .command('list')
    .description('List all entities: built in, imported and exposed.')
    .option('--json', 'print JSON, with the fields')
    .action(({ json }: { json?: boolean }) =>
      withStore(async ({ entities }) => {
        const list = [...(await entities.all()).values()].map(({ name, key, fields, read, source }) => ({
          name,
          key,
          read,
          records: source.kind === 'records' ? source.count : null,
          table: source.kind === 'exposed' ? `${source.schema}.${source.table}` : null,
          fields,
        }))
        sayList(json, list, () =>
          table(
            ['ENTITY', 'KEY', 'READ', 'FIELDS', 'RECORDS'],
            list.map(one => [
              one.name,
              [one.key].flat().join(', '),
              one.read,
              one.fields.length,
              one.records ?? one.table ?? '(built in)',
            ]),
          ),
        )
      }),
    )

  command
    .command('drop <name>')
    .description('Drop an imported entity with its records, or cease to expose a table.')
    .action((name: string) =>
      withStore(async ({ entities }) => {
        if (!(await entities.drop(name, commandEvent('entity.drop'))))
          throw new Failure(`there is no imported or exposed entity ${name}; «carrel entity list» shows all`)
        say(`Dropped ${name}.`)
      }),
    )
  return command
}
