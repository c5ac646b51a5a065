import { Command } from 'commander'
import { Failure } from './failures.ts'
import { say, sayList, table } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel entity …`: what there is to query. */
export function entityCommand(): Command {
  const command = new Command('entity').description('List and drop entities.')

  command
    .command('list')
    .description('List all entities, built in and imported.')
    .option('--json', 'print JSON, with the fields')
    .action(({ json }: { json?: boolean }) =>
      withStore(async ({ entities }) => {
        const list = [...(await entities.all()).values()].map(({ name, key, fields, read, source }) => ({
          name,
          key,
          read,
          records: source.kind === 'records' ? source.count : null,
          fields,
        }))
        sayList(json, list, () =>
          table(
            ['ENTITY', 'KEY', 'READ', 'FIELDS', 'RECORDS'],
            list.map(one => [one.name, one.key, one.read, one.fields.length, one.records ?? '(built in)']),
          ),
        )
      }),
    )

  command
    .command('drop <name>')
    .description('Drop an imported entity with its records.')
    .action((name: string) =>
      withStore(async ({ entities }) => {
        if (!(await entities.drop(name, commandEvent('entity.drop'))))
          throw new Failure(`there is no imported entity ${name}; «carrel entity list» shows all`)
        say(`Dropped ${name}.`)
      }),
    )
  return command
}
