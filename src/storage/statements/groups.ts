import { type Eperson, type Group, type GroupDetails, nameKey } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import {
  type Changed,
  type GroupChange,
  type GroupUse,
  type ListedGroup,
  type Memberships,
  maxInclusions,
  type NewGroup,
} from '../people.ts'
import { changeMembership, groupNamed, groupWith, insertGroup, useOfGroup } from './group-rows.ts'
import { above, keepingAdministrator, lockGroups, mine, stampAll, stampBelow } from './group-tree.ts'
import {
  type EpersonRow,
  epersonColumns,
  groupEvent,
  isSame,
  lockEpersonAt,
  toEperson,
} from './people-rows.ts'
import { type Change, type Read, record, rights, row, rows, run } from './statements.ts'

/** Groups: by command, where names name them, and over HTTP. */

/** Recorded for each group that the configuration names and the start creates. */
const configuredGroupEvent: AuditEvent = {
  event: 'group.add',
  outcome: 'success',
  eperson: null,
  actor: null,
  clientIp: null,
  method: null,
  object: null,
  reason: null,
}

export function* addGroup(name: string, event: AuditEvent): Change<Group | 'exists'> {
  const added = yield* insertGroup({ name, description: null })
  if (!added) return 'exists'
  yield* record({ ...event, object: name })
  return { uuid: added.uuid, name }
}

export function* createGroup(group: NewGroup, event: AuditEvent): Change<GroupDetails | 'exists'> {
  yield* lockGroups()
  yield* rights(event, 'shared')
  const added = yield* insertGroup(group)
  if (!added) return 'exists'
  yield* record(groupEvent(event, null, added))
  return added
}

export function* ensureGroups(names: readonly string[]): Change<Group[]> {
  const groups: Group[] = []
  for (const name of names) {
    yield* addGroup(name, configuredGroupEvent)
    const known = yield* groupNamed(name)
    if (!known) continue
    yield* run('UPDATE epersongroup SET special = 1 WHERE uuid = $1 AND special = 0', known.uuid)
    groups.push({ uuid: known.uuid, name })
  }
  return groups
}

export function* changeGroup(
  uuid: string,
  change: GroupChange,
  event: AuditEvent,
): Change<GroupDetails | 'no-group' | 'exists' | GroupUse> {
  yield* lockGroups()
  yield* rights(event, 'own')
  const before = yield* groupWith(uuid)
  if (!before) return 'no-group'
  const after = { ...before, ...change }
  if (isSame(before, after)) return after
  const isRenamed = after.name !== before.name
  if (isRenamed) {
    if (yield* groupNamed(after.name)) return 'exists'
    const use = yield* useOfGroup(before.name)
    if (use) return use
  }
  yield* run(
    'UPDATE epersongroup SET name = $1, name_key = $2, description = $3 WHERE uuid = $4',
    after.name,
    nameKey(after.name),
    after.description,
    uuid,
  )
  // Sessions have the names of their groups.
  if (isRenamed) yield* stampBelow(uuid)
  yield* record(groupEvent(event, before, after))
  return after
}

export function* deleteGroup(name: string, event: AuditEvent): Change<'changed' | 'no-group' | GroupUse> {
  return yield* drop(
    yield* row<Group>('SELECT uuid, name FROM epersongroup WHERE name = $1 FOR UPDATE', name),
    { ...event, object: name },
  )
}

export const removeGroup = (uuid: string, event: AuditEvent) =>
  keepingAdministrator(true, event, 'last-administrator' as const, removeOne(uuid, event))

function* removeOne(uuid: string, event: AuditEvent): Change<'changed' | 'no-group' | GroupUse> {
  const before = yield* groupWith(uuid)
  return yield* drop(before, groupEvent(event, before ?? null, null))
}

function* drop(group: Group | undefined, event: AuditEvent): Change<'changed' | 'no-group' | GroupUse> {
  if (!group) return 'no-group'
  const use = yield* useOfGroup(group.name)
  if (use) return use
  yield* run('DELETE FROM epersongroup WHERE uuid = $1', group.uuid)
  yield* stampAll()
  yield* record(event)
  return 'changed'
}

export function* joinOrLeave(
  way: 'join' | 'leave',
  group: string,
  email: string,
  event: AuditEvent,
): Change<Changed | 'no-group'> {
  const known = yield* groupNamed(group)
  if (!known) return 'no-group'
  const eperson = yield* lockEpersonAt(email)
  return eperson ? yield* changeMembership(way, known, eperson.uuid, event) : 'no-eperson'
}

/** Those of these groups that there are. */
export const groupsByName = (names: readonly string[]): Read<readonly Group[]> =>
  rows('SELECT uuid, name FROM epersongroup WHERE name = ANY($1)', names)

export const listGroups = (): Read<readonly ListedGroup[]> =>
  rows('SELECT uuid, name, members FROM groups ORDER BY name')

export function* groupMembers(name: string): Read<readonly Eperson[] | undefined> {
  const known = yield* row<{ uuid: string }>('SELECT uuid FROM epersongroup WHERE name = $1', name)
  if (!known) return undefined
  const members = yield* rows<EpersonRow>(
    `SELECT ${epersonColumns} FROM membership JOIN eperson ON uuid = eperson
     WHERE epersongroup = $1 ORDER BY email_key`,
    known.uuid,
  )
  return members.map(toEperson)
}

export const groupsOf = (eperson: string): Read<readonly GroupDetails[]> =>
  rows(
    `${mine('$1')} SELECT g.uuid, g.name, g.description FROM mine
       JOIN epersongroup g ON g.uuid = mine.id ORDER BY g.name`,
    eperson,
  )

export function* membershipsOf(eperson: string | null, more: readonly string[]): Read<Memberships> {
  const direct = yield* rows<{ id: string }>(
    'SELECT epersongroup AS id FROM membership WHERE eperson = $1',
    eperson,
  )
  const groups = `SELECT epersongroup FROM membership WHERE eperson = $1
    UNION SELECT uuid FROM epersongroup WHERE uuid = ANY($2)`
  const inclusions = yield* rows<{ child: string; parent: string }>(
    `${above(groups)} SELECT s.child, s.parent FROM above JOIN subgroup s ON s.child = above.id
     ORDER BY s.child, s.parent LIMIT $3`,
    eperson,
    more,
    maxInclusions,
  )
  return { direct: direct.map(({ id }) => id), inclusions }
}
