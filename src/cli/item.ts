import { Command } from 'commander'
import { Failure } from './failures.ts'
import { say } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel item …`: what is done to a single item. */
export function itemCommand(): Command {
  const command = new Command('item').description('Delete items.')

  command
    .command('delete <identifier>')
    .description('Delete an item with its bitstreams; their files are cleared away later.')
    .action((identifier: string) =>
      withStore(async ({ repository }) => {
        if (!(await repository.deleteItem(identifier, commandEvent('item.delete'))))
          throw new Failure(`there is no item ${identifier}`)
        say(`Deleted ${identifier}.`)
      }),
    )
  return command
}
