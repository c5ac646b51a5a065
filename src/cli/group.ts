import { Command } from 'commander'
import { Failure, Misuse } from './failures.ts'
import { say, sayList, table } from './output.ts'
import { commandEvent, withStore, withStoreOrNew } from './store.ts'

/** `carrel group …`: groups and who is in them. */
export function groupCommand(): Command {
  const command = new Command('group').description('Manage groups and their members.')

  command
    .command('add <name>')
    .description('Add a group.')
    .action(async (name: string) => {
      if (name.trim() !== name || name === '')
        throw new Misuse('a group needs a name without spaces around it')
      await withStoreOrNew(async ({ accounts }) => {
        const added = await accounts.addGroup(name, commandEvent('group.add'))
        if (added === 'exists') throw new Failure(`there is a group ${name} already`)
        say(`Added group ${name} (${added.uuid}).`)
      })
    })

  for (const verb of ['join', 'leave'] as const)
    command
      .command(`${verb} <group> <email>`)
      .description(verb === 'join' ? 'Make an eperson a member of a group.' : 'End a membership.')
      .action((group: string, email: string) =>
        withStore(async ({ accounts }) => {
          const changed = await accounts[verb](group, email, commandEvent(`group.${verb}`))
          if (changed === 'no-group')
            throw new Failure(`there is no group ${group}; «carrel group list» shows all`)
          if (changed === 'no-eperson')
            throw new Failure(`there is no eperson ${email}; «carrel eperson list» shows all`)
          const already = changed === 'unchanged' ? ' already' : ''
          say(`${email} is ${verb === 'join' ? '' : 'not '}in ${group}${already}.`)
        }),
      )

  command
    .command('list')
    .description('List all groups.')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withStore(async ({ accounts }) => {
        const groups = await accounts.listGroups()
        sayList(json, groups, () =>
          table(
            ['GROUP', 'MEMBERS', 'UUID'],
            groups.map(one => [one.name, one.members, one.uuid]),
          ),
        )
      }),
    )
  return command
}
