import type { AuditEvent } from '../../model/audit-events.ts'
import { maxLevels, type OneRefused } from '../people.ts'
import { changeMembership, groupWith, keepGroup } from './group-rows.ts'
import { below, keepingAdministrator, levels, oneGroup, stampBelow } from './group-tree.ts'
import { lockEperson, subgroupEvent } from './people-rows.ts'
import { type Change, record, row, run, TakenBack } from './statements.ts'

/** Who and what is in a group, by uuid. */

export const setMember = (isMember: boolean, group: string, eperson: string, event: AuditEvent) =>
  keepingAdministrator(
    !isMember,
    event,
    'last-administrator' as const,
    changeMember(isMember, group, eperson, event),
  )

export const addMembers = (group: string, epersons: readonly string[], event: AuditEvent) =>
  // In one order everywhere, so that no two changes wait for each other.
  allOrNone(false, event, epersons.toSorted(), uuid => changeMember(true, group, uuid, event))

function* changeMember(isMember: boolean, group: string, eperson: string, event: AuditEvent) {
  const known = yield* keepGroup(group)
  if (!known) return 'no-group' as const
  if (!(yield* lockEperson(eperson))) return 'no-eperson' as const
  return yield* changeMembership(isMember ? 'join' : 'leave', known, eperson, event)
}

export const setSubgroup = (isIncluded: boolean, parent: string, child: string, event: AuditEvent) =>
  keepingAdministrator(
    true,
    event,
    'last-administrator' as const,
    changeSubgroup(isIncluded, parent, child, event),
  )

export const addSubgroups = (parent: string, children: readonly string[], event: AuditEvent) =>
  allOrNone(true, event, children, uuid => changeSubgroup(true, parent, uuid, event))

function* changeSubgroup(isIncluded: boolean, parent: string, child: string, event: AuditEvent) {
  const outer = yield* groupWith(parent)
  if (!outer) return 'no-group' as const
  const inner = yield* groupWith(child)
  if (!inner) return 'no-subgroup' as const
  const edge = [parent, child] as const
  const known = yield* row('SELECT 1 AS one FROM subgroup WHERE parent = $1 AND child = $2', ...edge)
  if ((known !== undefined) === isIncluded) return 'unchanged' as const
  if (isIncluded) {
    if (yield* row(`${below(oneGroup)} SELECT 1 AS one FROM below WHERE id = $2`, child, parent))
      return 'circle' as const
    if ((yield* levels(parent, 'above', maxLevels)) + (yield* levels(child, 'below', maxLevels)) > maxLevels)
      return 'too-deep' as const
  }
  yield* run(
    isIncluded
      ? 'INSERT INTO subgroup (parent, child) VALUES ($1, $2)'
      : 'DELETE FROM subgroup WHERE parent = $1 AND child = $2',
    ...edge,
  )
  yield* stampBelow(child)
  yield* record(subgroupEvent(event, outer.name, inner.name))
  return 'changed' as const
}

/** Takes everything back if one of the changes can't be made. */
function allOrNone<R extends string>(
  mayEnd: boolean,
  event: AuditEvent,
  uuids: readonly string[],
  change: (uuid: string) => Change<R>,
): Change<'changed' | 'no-group' | OneRefused<Refusal<R> | 'last-administrator'>> {
  const last: OneRefused<'last-administrator'> = { why: 'last-administrator', uuid: uuids[0] ?? '' }
  return keepingAdministrator(mayEnd, event, last, changeAll(uuids, change))
}

type Refusal<R> = Exclude<R, 'changed' | 'unchanged' | 'no-group'>

function* changeAll<R extends string>(
  uuids: readonly string[],
  change: (uuid: string) => Change<R>,
): Change<'changed' | 'no-group' | OneRefused<Refusal<R>>> {
  for (const uuid of uuids) {
    const done: string = yield* change(uuid)
    if (done === 'no-group') return done
    if (done !== 'changed' && done !== 'unchanged') throw new TakenBack({ why: done, uuid })
  }
  return 'changed'
}
