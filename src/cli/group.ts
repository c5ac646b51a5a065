import { Command } from 'commander'
import { specialGroupNames } from '../config/special-groups.ts'
import { placesOf } from '../dspace/group-use.ts'
import { administratorGroup } from '../model/accounts.ts'
import { Failure, Misuse } from './failures.ts'
import { type Json, jsonOption, sayList, sayResult, table } from './output.ts'
import { commandEvent, withStore, withStoreOrNew } from './store.ts'

/** `carrel group …`: groups and their members. */
export function groupCommand(): Command {
  const command = new Command('group').description('Manage groups and their members.')

  command
    .command('add <name>')
    .description('Add a group.')
    .option(...jsonOption)
    .action(async (name: string, { json }: Json) => {
      if (name.trim() !== name || name === '')
        throw new Misuse('the name of a group must not be empty, nor begin or end with spaces')
      await withStoreOrNew(async ({ accounts }) => {
        const added = await accounts.addGroup(name, commandEvent('group.add'))
        if (added === 'exists') throw new Failure(`a group ${name} already exists`)
        sayResult(json, added, `Added group ${name} (${added.uuid}).`)
      })
    })

  command
    .command('delete <name>')
    .description(
      'Delete a group that no access rule and no special group names. Its memberships end at once.',
    )
    .option(...jsonOption)
    .action((name: string, { json }: Json) =>
      withStore(async ({ accounts }, config) => {
        if (name === administratorGroup) throw new Failure(`the group ${name} can't be deleted`)
        if (specialGroupNames(config).has(name))
          throw new Failure(
            `special groups in the configuration file name ${name}, and every start would add it again; change them first`,
          )
        const deleted = await accounts.deleteGroup(name, commandEvent('group.delete'))
        if (deleted === 'no-group') throw noGroup(name)
        if (deleted !== 'changed')
          throw new Failure(
            `${name} is in use: ${placesOf(deleted)} can be read by group:${name}; change their access first`,
          )
        sayResult(json, { name, deleted: true }, `Deleted group ${name}.`)
      }),
    )

  command
    .command('members <name>')
    .description('List the members of a group, without those who have it as a special group.')
    .option('--json', 'print JSON')
    .action((name: string, { json }: { json?: boolean }) =>
      withStore(async ({ accounts }) => {
        const members = await accounts.groupMembers(name)
        if (!members) throw noGroup(name)
        sayList(json, members, () =>
          table(
            ['EMAIL', 'NAME', 'ENABLED', 'UUID'],
            members.map(one => [
              one.email,
              [one.firstName, one.lastName].filter(Boolean).join(' '),
              one.enabled ? 'yes' : 'no',
              one.uuid,
            ]),
          ),
        )
      }),
    )

  for (const verb of ['join', 'leave'] as const)
    command
      .command(`${verb} <group> <email>`)
      .description(verb === 'join' ? 'Add an eperson to a group.' : 'Remove an eperson from a group.')
      .option(...jsonOption)
      .action((group: string, email: string, { json }: Json) =>
        withStore(async ({ accounts }) => {
          const changed = await accounts[verb](group, email, commandEvent(`group.${verb}`))
          if (changed === 'no-group') throw noGroup(group)
          if (changed === 'no-eperson')
            throw new Failure(`there is no eperson ${email}; \`carrel eperson list\` shows all`)
          const member = verb === 'join'
          sayResult(
            json,
            { group, email, member, changed: changed === 'changed' },
            changed === 'changed'
              ? `${email} is ${member ? 'now' : 'no longer'} in ${group}.`
              : `${email} ${member ? 'is already' : 'was not'} in ${group}.`,
          )
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

const noGroup = (name: string) => new Failure(`there is no group ${name}; \`carrel group list\` shows all`)
