import { Command } from 'commander'
import { type Config, specialGroupNames } from '../config/config.ts'
import { administratorGroup } from '../model/accounts.ts'
import { maxLevels } from '../model/people.ts'
import { placesOf } from '../people/change-groups.ts'
import { epersonColumns } from './eperson.ts'
import { Failure, Misuse, noEperson } from './failures.ts'
import { type Json, jsonOption, sayResult, sayTable } from './output.ts'
import { commandEvent, withStore, withStoreOrNew } from './store.ts'

/** `carrel group …`: groups and their members. */
export function groupCommand(): Command {
  const command = new Command('group').description('Manage groups and their members.')

  command
    .command('add <name>')
    .description('Add a group.')
    .option(...jsonOption)
    .action(add)

  command
    .command('delete <name>')
    .description(
      'Delete a group that no access rule and no special group names. Its memberships end at once.',
    )
    .option(...jsonOption)
    .action(remove)

  command
    .command('members <name>')
    .description('List the members of a group, without those who have it as a special group.')
    .option('--json', 'print JSON')
    .action(listMembers)

  command
    .command('join <group> <email>')
    .description('Add an eperson to a group.')
    .option(...jsonOption)
    .action((group: string, email: string, { json }: Json) => setMember('join', group, email, json))

  command
    .command('leave <group> <email>')
    .description('Remove an eperson from a group.')
    .option(...jsonOption)
    .action((group: string, email: string, { json }: Json) => setMember('leave', group, email, json))

  command
    .command('add-group <group> <subgroup>')
    .description('Put a group into another: its members are members of that, too.')
    .option(...jsonOption)
    .action((group: string, subgroup: string, { json }: Json) => setSubgroup(true, group, subgroup, json))

  command
    .command('remove-group <group> <subgroup>')
    .description('Take a group out of another.')
    .option(...jsonOption)
    .action((group: string, subgroup: string, { json }: Json) => setSubgroup(false, group, subgroup, json))

  command.command('list').description('List all groups.').option('--json', 'print JSON').action(list)
  return command
}

async function add(name: string, { json }: Json): Promise<void> {
  if (name.trim() !== name || name === '')
    throw new Misuse('the name of a group must not be empty, nor begin or end with spaces')
  await withStoreOrNew(async ({ people }) => {
    const added = await people.addGroup(name, commandEvent('group.add'))
    if (added === 'exists') throw new Failure(`a group ${name} already exists`)
    sayResult(json, added, `Added group ${name} (${added.uuid}).`)
  })
}

const remove = (name: string, { json }: Json): Promise<void> =>
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
  })

const listMembers = (name: string, { json }: Json): Promise<void> =>
  withStore(async ({ people }) => {
    const members = await people.groupMembers(name)
    if (!members) throw noGroup(name)
    sayTable(json, members, { ...epersonColumns, UUID: one => one.uuid })
  })

const setMember = (
  verb: 'join' | 'leave',
  group: string,
  email: string,
  json: boolean | undefined,
): Promise<void> =>
  withStore(async ({ people }, config) => {
    if (verb === 'join') refuseSpecial(config, group)
    const outcome = await people[verb](group, email, commandEvent(`group.${verb}`))
    if (outcome === 'no-group') throw noGroup(group)
    if (outcome === 'no-eperson') throw noEperson(email)
    const [member, changed] = [verb === 'join', outcome === 'changed']
    sayResult(json, { group, email, member, changed }, `${email} ${inWords(member, changed)} in ${group}.`)
  })

const setSubgroup = (
  member: boolean,
  group: string,
  subgroup: string,
  json: boolean | undefined,
): Promise<void> =>
  withStore(async ({ people }, config) => {
    if (member) refuseSpecial(config, group)
    const known = await people.listGroups()
    const uuidOf = (name: string) => {
      const found = known.find(one => one.name === name)
      if (!found) throw noGroup(name)
      return found.uuid
    }
    const event = commandEvent(member ? 'group.include' : 'group.exclude')
    const outcome = await people.setSubgroup(member, uuidOf(group), uuidOf(subgroup), event)
    if (outcome in refusals) throw new Failure(refusals[outcome as keyof typeof refusals])
    const changed = outcome === 'changed'
    sayResult(
      json,
      { group, subgroup, member, changed },
      `The group ${subgroup} ${inWords(member, changed)} in ${group}.`,
    )
  })

const inWords = (member: boolean, changed: boolean) =>
  changed ? `is ${member ? 'now' : 'no longer'}` : member ? 'is already' : 'was not'

const list = ({ json }: Json): Promise<void> =>
  withStore(async ({ people }) =>
    sayTable(json, await people.listGroups(), {
      GROUP: one => one.name,
      MEMBERS: one => one.members,
      UUID: one => one.uuid,
    }),
  )

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
