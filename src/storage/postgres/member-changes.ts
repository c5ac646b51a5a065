import type { AuditEvent } from '../../model/audit-events.ts'
import { maxLevels, type OneRefused } from '../people.ts'
import { subgroupEvent } from '../statements/people-rules.ts'
import type { Connection, Pool } from './driver.ts'
import { recordEvent } from './events.ts'
import { changeMembership } from './group-changes.ts'
import { below, levels, stampBelow } from './group-tree.ts'
import { groupWith, keepingAdministrator, lockEperson } from './people-changes.ts'

/** Who and what is in a group. */

export const setMember = (pool: Pool, isMember: boolean, group: string, eperson: string, event: AuditEvent) =>
  keepingAdministrator(pool, !isMember, event, db => changeMember(db, isMember, group, eperson, event))

export const addMembers = (pool: Pool, group: string, epersons: readonly string[], event: AuditEvent) =>
  // In one order everywhere, so that no two changes wait for each other.
  allOrNone(pool, false, event, epersons.toSorted(), (db, uuid) => changeMember(db, true, group, uuid, event))

async function changeMember(
  db: Connection,
  isMember: boolean,
  group: string,
  eperson: string,
  event: AuditEvent,
) {
  const known = await groupWith(db, group)
  if (!known) return 'no-group' as const
  const member = await lockEperson(db, eperson)
  if (!member) return 'no-eperson' as const
  return changeMembership(db, isMember ? 'join' : 'leave', known.name, member.email, event)
}

export const setSubgroup = (
  pool: Pool,
  isIncluded: boolean,
  parent: string,
  child: string,
  event: AuditEvent,
) => keepingAdministrator(pool, true, event, db => changeSubgroup(db, isIncluded, parent, child, event))

export const addSubgroups = (pool: Pool, parent: string, children: readonly string[], event: AuditEvent) =>
  allOrNone(pool, true, event, children, (db, uuid) => changeSubgroup(db, true, parent, uuid, event))

async function changeSubgroup(
  db: Connection,
  isIncluded: boolean,
  parent: string,
  child: string,
  event: AuditEvent,
) {
  const outer = await groupWith(db, parent)
  if (!outer) return 'no-group' as const
  const inner = await groupWith(db, child)
  if (!inner) return 'no-subgroup' as const
  const edge = [parent, child] as const
  const known = await db.rows('SELECT 1 AS one FROM subgroup WHERE parent = $1 AND child = $2', ...edge)
  if (known.length > 0 === isIncluded) return 'unchanged' as const
  if (isIncluded) {
    const inside = `${below('SELECT $1::text COLLATE "C"')} SELECT 1 AS one FROM below WHERE id = $2`
    if ((await db.rows(inside, child, parent)).length > 0) return 'circle' as const
    const sum = (await levels(db, parent, 'above', maxLevels)) + (await levels(db, child, 'below', maxLevels))
    if (sum > maxLevels) return 'too-deep' as const
  }
  await db.run(
    isIncluded
      ? 'INSERT INTO subgroup (parent, child) VALUES ($1, $2)'
      : 'DELETE FROM subgroup WHERE parent = $1 AND child = $2',
    ...edge,
  )
  await stampBelow(db, child)
  await recordEvent(db, subgroupEvent(event, outer.name, inner.name))
  return 'changed' as const
}

/** One of several changes can't be made: everything is rolled back. */
class Refused extends Error {
  readonly refusal: OneRefused<string>

  constructor(refusal: OneRefused<string>) {
    super()
    this.refusal = refusal
  }
}

async function allOrNone<R extends string>(
  pool: Pool,
  mayEnd: boolean,
  event: AuditEvent,
  uuids: readonly string[],
  change: (db: Connection, uuid: string) => Promise<R>,
) {
  type Why = Exclude<R, 'changed' | 'unchanged' | 'no-group'> | 'last-administrator'
  try {
    const done = await keepingAdministrator(pool, mayEnd, event, async db => {
      for (const uuid of uuids) {
        const one = await change(db, uuid)
        if (one === 'no-group') return 'no-group' as const
        if (one !== 'changed' && one !== 'unchanged') throw new Refused({ why: one, uuid })
      }
      return 'changed' as const
    })
    return done === 'last-administrator' ? { why: done as Why, uuid: uuids[0] ?? '' } : done
  } catch (error) {
    if (error instanceof Refused) return error.refusal as OneRefused<Why>
    throw error
  }
}
