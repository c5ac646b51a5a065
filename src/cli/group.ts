import { Command } from 'commander'
import { type Config, specialGroupNames } from '../config/config.ts'
import { administratorGroup } from '../model/accounts.ts'
import { placesOf } from '../people/change-groups.ts'
import { maxLevels } from '../storage/people.ts'
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
      await withStoreOrNew(async ({ people }) => {
        const added = await people.addGroup(name, commandEvent('group.add'))
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
      withStore(async ({ people }, config) => {
        if (name === administratorGroup) throw new Failure(`the group ${name} can't be deleted`)
        if (specialGroupNames(config).has(name))
          throw new Failure(
            `special groups in the configuration file name ${name}, and every start would add it again; change them first`,
          )
        const deleted = await people.deleteGroup(name, commandEvent('group.delete'))
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
      withStore(async ({ people }) => {
        const members = await people.groupMembers(name)
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
        withStore(async ({ people }, config) => {
          if (verb === 'join') refuseSpecial(config, group)
          const changed = await people[verb](group, email, commandEvent(`group.${verb}`))
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

  for (const [verb, isIncluded] of [
    ['add-group', true],
    ['remove-group', false],
  ] as const)
    command
      .command(`${verb} <group> <subgroup>`)
      .description(
        isIncluded
          ? 'Put a group into another: its members are members of that, too.'
          : 'Take a group out of another.',
      )
      .option(...jsonOption)
      .action((group: string, subgroup: string, { json }: Json) =>
        withStore(async ({ people }, config) => {
          if (isIncluded) refuseSpecial(config, group)
          const known = await people.listGroups()
          const uuidOf = (name: string) => {
            const found = known.find(one => one.name === name)
            if (!found) throw noGroup(name)
            return found.uuid
          }
          const event = commandEvent(isIncluded ? 'group.include' : 'group.exclude')
          const changed = await people.setSubgroup(isIncluded, uuidOf(group), uuidOf(subgroup), event)
          if (changed in refusals) throw new Failure(refusals[changed as keyof typeof refusals])
          sayResult(
            json,
            { group, subgroup, member: isIncluded, changed: changed === 'changed' },
            changed === 'changed'
              ? `The group ${subgroup} is ${isIncluded ? 'now' : 'no longer'} in ${group}.`
              : `The group ${subgroup} ${isIncluded ? 'is already' : 'was not'} in ${group}.`,
          )
        }),
      )

  command
    .command('list')
    .description('List all groups.')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withStore(async ({ people }) => {
        const groups = await people.listGroups()
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

const refusals = {
  'no-group': 'one of the groups was deleted meanwhile',
  'no-subgroup': 'one of the groups was deleted meanwhile',
  circle: 'a group can’t be in itself, not even through others',
  'too-deep': `groups can be in groups through at most ${maxLevels} levels`,
  'last-administrator': 'no administrator who may log in would be left; add one first',
}

function refuseSpecial(config: Config, group: string): void {
  if (specialGroupNames(config).has(group))
    throw new Failure(
      `${group} is a special group: the configuration file says who is in it, and nobody can be added by hand`,
    )
}

const noGroup = (name: string) => new Failure(`there is no group ${name}; \`carrel group list\` shows all`)
