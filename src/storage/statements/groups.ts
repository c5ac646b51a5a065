import { type Group, nameKey } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { type GroupUse, maxInclusions, maxLevels, type OneRefused, type People } from '../people.ts'
import * as tables from '../schema/people.ts'
import { keepList } from './entity-rows.ts'
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
  withParents,
} from './group-tree.ts'
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
} from './people-rows.ts'
import type { Change, SomeOf } from './statements.ts'
import * as db from './statements.ts'

/** Groups with their members and subgroups: commands name them by name, requests over HTTP by uuid. */
export const groups = {
  reads: {
    group: groupWith,
    groupsByUuid,
    groupsByName: names => db.rows('SELECT uuid, name FROM epersongroup WHERE name = ANY($1)', names),
    listGroups: () => db.rows('SELECT uuid, name, members FROM groups ORDER BY name'),
    *groupMembers(name) {
      const known = yield* db.value<string>('SELECT uuid FROM epersongroup WHERE name = $1', name)
      if (known === undefined) return undefined
      const members = yield* db.rows<EpersonRow>(
        `SELECT ${epersonColumns} FROM membership JOIN eperson ON uuid = eperson
         WHERE epersongroup = $1 ORDER BY email_key`,
        known,
      )
      return members.map(toEperson)
    },
    withParents,
    groupsOf: eperson =>
      db.rows(
        `${mine('$1')} SELECT g.uuid, g.name, g.description FROM mine
           JOIN epersongroup g ON g.uuid = mine.id ORDER BY g.name`,
        eperson,
      ),
    *membershipsOf(eperson, more) {
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
    *canRemoveGroup(uuid) {
      const group = yield* groupWith(uuid)
      return group !== undefined && !(yield* useOfGroup(group.name)) && (yield* hasAdministrator(uuid))
    },
  },
  changes: {
    addGroup,
    *createGroup(group, event) {
      yield* lockGroups()
      yield* db.rights(event, 'shared')
      const added = yield* insertGroup(group)
      if (!added) return 'exists'
      yield* db.record(groupEvent(event, null, added))
      return added
    },
    *ensureGroups(names) {
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
    *changeGroup(uuid, change, event) {
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
    *deleteGroup(name, event) {
      const sql = 'SELECT uuid, name FROM epersongroup WHERE name = $1 FOR UPDATE'
      return yield* drop(yield* db.row<Group>(sql, name), { ...event, object: name })
    },
    removeGroup: (uuid, event) => keepingAdministrator(true, event, removeOne(uuid, event)),
    join: (group, email, event) => joinOrLeave('join', group, email, event),
    leave: (group, email, event) => joinOrLeave('leave', group, email, event),
    setMember: (isMember, group, eperson, event) =>
      keepingAdministrator(!isMember, event, changeMember(isMember, group, eperson, event)),
    // Epersons are locked in one order everywhere, so that two changes don't deadlock.
    addMembers: (group, epersons, event) =>
      allOrNone(false, event, epersons.toSorted(), uuid => changeMember(true, group, uuid, event)),
    setSubgroup: (isIncluded, parent, child, event) =>
      keepingAdministrator(true, event, changeSubgroup(isIncluded, parent, child, event)),
    addSubgroups: (parent, children, event) =>
      allOrNone(true, event, children, uuid => changeSubgroup(true, parent, uuid, event)),
  },
} satisfies SomeOf<People>

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
