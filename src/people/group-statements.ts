import { type Eperson, type Group, type GroupDetails, nameKey } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import {
  type Changed,
  type GroupChange,
  type GroupUse,
  type ListedGroup,
  type Memberships,
  maxInclusions,
  maxLevels,
  type NewGroup,
  type OneRefused,
} from '../model/people.ts'
import * as tables from '../storage/schema/people.ts'
import { keepList } from '../storage/statements/entity-rows.ts'
import {
  above,
  below,
  groupsByUuid,
  hasAdministrator,
  keepingAdministrator,
  levels,
  lockGroups,
  mine,
  oneGroup,
  stampAll,
  stampBelow,
} from '../storage/statements/group-tree.ts'
import {
  changeMembership,
  type EpersonRow,
  epersonColumns,
  groupEvent,
  groupNamed,
  groupWith,
  insertGroup,
  isSame,
  keepGroup,
  lockEperson,
  lockEpersonAt,
  subgroupEvent,
  toEperson,
  useOfGroup,
} from '../storage/statements/people-rows.ts'
import type { Change, Read } from '../storage/statements/statements.ts'
import * as db from '../storage/statements/statements.ts'

/** Groups with their members and subgroups: commands name them by name, requests over HTTP by uuid. */
export const groups = {
  reads: {
    group: groupWith,
    /** The groups with these ids, and everything that they are in. */
    groupsByUuid,
    /** The groups with these names that exist, in any order. */
    groupsByName: (names: readonly string[]) =>
      db.rows<Group>('SELECT uuid, name FROM epersongroup WHERE name = ANY($1)', names),
    listGroups: () => db.rows<ListedGroup>('SELECT uuid, name, members FROM groups ORDER BY name'),
    /** @returns undefined when there is no such group */
    *groupMembers(name: string): Read<readonly Eperson[] | undefined> {
      const known = yield* db.value<string>('SELECT uuid FROM epersongroup WHERE name = $1', name)
      if (known === undefined) return undefined
      const members = yield* db.rows<EpersonRow>(
        `SELECT ${epersonColumns} FROM membership JOIN eperson ON uuid = eperson
         WHERE epersongroup = $1 ORDER BY email_key`,
        known,
      )
      return members.map(toEperson)
    },
    /** The groups that an eperson is in, through any number of levels, by name; also of a disabled one. */
    groupsOf: (eperson: string) =>
      db.rows<GroupDetails>(
        `${mine('$1')} SELECT g.uuid, g.name, g.description FROM mine
           JOIN epersongroup g ON g.uuid = mine.id ORDER BY g.name`,
        eperson,
      ),
    /**
     * Explains an eperson's groups: those that they are directly in, and the inclusions among these, `more` and
     * all groups above them, at most `maxInclusions`.
     * @param eperson null: none
     * @param more uuids of groups
     */
    *membershipsOf(eperson: string | null, more: readonly string[]): Read<Memberships> {
      const direct = yield* db.column<string>(
        'SELECT epersongroup FROM membership WHERE eperson = $1',
        eperson,
      )
      const groups = `SELECT epersongroup FROM membership WHERE eperson = $1
        UNION SELECT uuid FROM epersongroup WHERE uuid = ANY($2)`
      const inclusions = yield* db.rows<{ child: string; parent: string }>(
        `${above(groups)} SELECT s.child, s.parent FROM above JOIN subgroup s ON s.child = above.id
         ORDER BY s.child, s.parent LIMIT $3`,
        eperson,
        more,
        maxInclusions,
      )
      return { direct, inclusions }
    },
    /** True if `removeGroup` would remove it. */
    *canRemoveGroup(uuid: string): Read<boolean> {
      const group = yield* groupWith(uuid)
      return group !== undefined && !(yield* useOfGroup(group.name)) && (yield* hasAdministrator(uuid))
    },
  },
  changes: {
    addGroup,
    *createGroup(group: NewGroup, event: AuditEvent): Change<GroupDetails | 'exists'> {
      yield* lockGroups()
      yield* db.rights(event, 'shared')
      const added = yield* insertGroup(group)
      if (!added) return 'exists'
      yield* db.record(groupEvent(event, null, added))
      return added
    },
    /** The groups with these names, in the order given. Missing ones are created. */
    *ensureGroups(names: readonly string[]): Change<readonly Group[]> {
      const groups: Group[] = []
      for (const name of names) {
        yield* addGroup(name, configuredGroupEvent)
        const known = yield* groupNamed(name)
        if (!known) continue
        yield* db.run('UPDATE epersongroup SET special = 1 WHERE uuid = $1 AND special = 0', known.uuid)
        groups.push({ uuid: known.uuid, name })
      }
      return groups
    },
    /** @returns the rules that name the old name, if these prevent the change */
    *changeGroup(
      uuid: string,
      change: GroupChange,
      event: AuditEvent,
    ): Change<GroupDetails | 'no-group' | 'exists' | GroupUse> {
      yield* lockGroups()
      yield* db.rights(event, 'own')
      const before = yield* groupWith(uuid)
      if (!before) return 'no-group'
      const after = { ...before, ...change }
      if (isSame(before, after)) return after
      const { name, description } = after
      const isRenamed = name !== before.name
      if (isRenamed) {
        if (yield* groupNamed(name)) return 'exists'
        const use = yield* useOfGroup(before.name)
        if (use) return use
      }
      yield* db.update(tables.epersongroup, { name, name_key: nameKey(name), description }, { uuid })
      // Cached sessions hold the names of their groups.
      if (isRenamed) yield* stampBelow(uuid)
      yield* db.record(groupEvent(event, before, after))
      return after
    },
    /**
     * Memberships, also as a special group, end at once on every node.
     * @returns the rules that name it, if any
     */
    *deleteGroup(name: string, event: AuditEvent): Change<'changed' | 'no-group' | GroupUse> {
      const sql = 'SELECT uuid, name FROM epersongroup WHERE name = $1 FOR UPDATE'
      return yield* drop(yield* db.row<Group>(sql, name), { ...event, object: name })
    },
    removeGroup: (uuid: string, event: AuditEvent) =>
      keepingAdministrator(true, event, removeOne(uuid, event)),
    join: (group: string, email: string, event: AuditEvent): Change<Changed | 'no-group'> =>
      joinOrLeave('join', group, email, event),
    leave: (group: string, email: string, event: AuditEvent): Change<Changed | 'no-group'> =>
      joinOrLeave('leave', group, email, event),
    /** Adds an eperson to a group, or removes them. */
    setMember: (isMember: boolean, group: string, eperson: string, event: AuditEvent) =>
      keepingAdministrator(!isMember, event, changeMember(isMember, group, eperson, event)),
    /**
     * Adds all of these to a group, in one change: all or none. Epersons are locked in one order everywhere, so that
     * two changes don't deadlock.
     */
    addMembers: (group: string, epersons: readonly string[], event: AuditEvent) =>
      allOrNone(false, event, epersons.toSorted(), uuid => changeMember(true, group, uuid, event)),
    /** Adds a group to another, or removes it. Every eperson below it gets a new stamp. */
    setSubgroup: (isIncluded: boolean, parent: string, child: string, event: AuditEvent) =>
      keepingAdministrator(true, event, changeSubgroup(isIncluded, parent, child, event)),
    addSubgroups: (parent: string, children: readonly string[], event: AuditEvent) =>
      allOrNone(true, event, children, uuid => changeSubgroup(true, parent, uuid, event)),
  },
}

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

function* addGroup(name: string, event: AuditEvent): Change<Group | 'exists'> {
  const added = yield* insertGroup({ name, description: null })
  if (!added) return 'exists'
  yield* db.record({ ...event, object: name })
  return { uuid: added.uuid, name }
}

function* removeOne(uuid: string, event: AuditEvent) {
  const before = yield* groupWith(uuid)
  return yield* drop(before, groupEvent(event, before ?? null, null))
}

function* drop(group: Group | undefined, event: AuditEvent): Change<'changed' | 'no-group' | GroupUse> {
  if (!group) return 'no-group'
  yield* keepList()
  const use = yield* useOfGroup(group.name)
  if (use) return use
  yield* db.run('DELETE FROM epersongroup WHERE uuid = $1', group.uuid)
  yield* stampAll()
  yield* db.record(event)
  return 'changed'
}

function* joinOrLeave(way: 'join' | 'leave', group: string, email: string, event: AuditEvent) {
  const known = yield* groupNamed(group)
  if (!known) return 'no-group' as const
  const eperson = yield* lockEpersonAt(email)
  return eperson ? yield* changeMembership(way, known, eperson.uuid, event) : ('no-eperson' as const)
}

function* changeMember(isMember: boolean, group: string, eperson: string, event: AuditEvent) {
  const known = yield* keepGroup(group)
  if (!known) return 'no-group' as const
  if (!(yield* lockEperson(eperson))) return 'no-eperson' as const
  return yield* changeMembership(isMember ? 'join' : 'leave', known, eperson, event)
}

function* changeSubgroup(isIncluded: boolean, parent: string, child: string, event: AuditEvent) {
  const outer = yield* groupWith(parent)
  if (!outer) return 'no-group' as const
  const inner = yield* groupWith(child)
  if (!inner) return 'no-subgroup' as const
  const edge = [parent, child] as const
  const known = yield* db.row('SELECT 1 AS one FROM subgroup WHERE parent = $1 AND child = $2', ...edge)
  if ((known !== undefined) === isIncluded) return 'unchanged' as const
  if (isIncluded) {
    if (yield* db.row(`${below(oneGroup)} SELECT 1 AS one FROM below WHERE id = $2`, child, parent))
      return 'circle' as const
    if ((yield* levels(parent, 'above', maxLevels)) + (yield* levels(child, 'below', maxLevels)) > maxLevels)
      return 'too-deep' as const
  }
  yield* db.run(
    isIncluded
      ? 'INSERT INTO subgroup (parent, child) VALUES ($1, $2)'
      : 'DELETE FROM subgroup WHERE parent = $1 AND child = $2',
    ...edge,
  )
  yield* stampBelow(child)
  yield* db.record(subgroupEvent(event, outer.name, inner.name))
  return 'changed' as const
}

/** Makes all changes, or takes all back if one of them can't be made. */
function allOrNone<R extends string>(
  mayEnd: boolean,
  event: AuditEvent,
  uuids: readonly string[],
  change: (uuid: string) => Change<R>,
): Change<'changed' | 'no-group' | OneRefused<Refusal<R> | 'last-administrator'>> {
  const last: OneRefused<'last-administrator'> = { why: 'last-administrator', uuid: uuids[0] ?? '' }
  return keepingAdministrator(mayEnd, event, changeAll(uuids, change), last)
}

type Refusal<R> = Exclude<R, 'changed' | 'unchanged' | 'no-group'>

function* changeAll<R extends string>(
  uuids: readonly string[],
  change: (uuid: string) => Change<R>,
): Change<'changed' | 'no-group' | OneRefused<Refusal<R>>> {
  for (const uuid of uuids) {
    const done: string = yield* change(uuid)
    if (done === 'no-group') return done
    if (done !== 'changed' && done !== 'unchanged') throw new db.TakenBack({ why: done, uuid })
  }
  return 'changed'
}
