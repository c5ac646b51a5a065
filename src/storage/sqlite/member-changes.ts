import type { AuditEvent } from '../../model/audit-events.ts'
import { maxLevels } from '../people.ts'
import { subgroupEvent } from '../statements/people-rules.ts'
import type { Database } from './driver.ts'
import { forgetEnd, recordEvent } from './events.ts'
import { changeMembership } from './group-changes.ts'
import { below, levels, stampBelow } from './group-tree.ts'
import { epersonWith, groupWith, keepingAdministrator } from './people-changes.ts'

/** Who and what is in a group. The single writer runs each function inside its transaction. */

export function setMember(
  db: Database,
  isMember: boolean,
  group: string,
  eperson: string,
  event: AuditEvent,
) {
  const known = groupWith(db, group)
  if (!known) return 'no-group' as const
  const member = epersonWith(db, eperson)
  if (!member) return 'no-eperson' as const
  return keepingAdministrator(db, () =>
    changeMembership(db, isMember ? 'join' : 'leave', known.name, member.email, event),
  )
}

export function setSubgroup(
  db: Database,
  isIncluded: boolean,
  parent: string,
  child: string,
  event: AuditEvent,
) {
  const outer = groupWith(db, parent)
  if (!outer) return 'no-group' as const
  const inner = groupWith(db, child)
  if (!inner) return 'no-subgroup' as const
  const isThere = db.get('SELECT 1 FROM subgroup WHERE parent = ? AND child = ?', parent, child) !== undefined
  if (isThere === isIncluded) return 'unchanged' as const
  if (isIncluded) {
    if (db.get(`${below('SELECT ?')} SELECT 1 FROM below WHERE id = ?`, child, parent))
      return 'circle' as const
    if (levels(db, parent, 'above', maxLevels) + levels(db, child, 'below', maxLevels) > maxLevels)
      return 'too-deep' as const
  }
  return keepingAdministrator(db, () => {
    db.run(
      isIncluded
        ? 'INSERT INTO subgroup (parent, child) VALUES (?, ?)'
        : 'DELETE FROM subgroup WHERE parent = ? AND child = ?',
      parent,
      child,
    )
    stampBelow(db, child)
    recordEvent(db, subgroupEvent(event, outer.name, inner.name))
    return 'changed' as const
  })
}

export function addMembers(db: Database, group: string, epersons: readonly string[], event: AuditEvent) {
  if (!groupWith(db, group)) return 'no-group' as const
  return allOrNone(db, epersons, uuid => setMember(db, true, group, uuid, event))
}

export function addSubgroups(db: Database, parent: string, children: readonly string[], event: AuditEvent) {
  if (!groupWith(db, parent)) return 'no-group' as const
  return allOrNone(db, children, uuid => setSubgroup(db, true, parent, uuid, event))
}

/** Takes everything back if one of the changes can't be made. */
function allOrNone<R extends string>(db: Database, uuids: readonly string[], change: (uuid: string) => R) {
  type Why = Exclude<R, 'changed' | 'unchanged' | 'no-group'>
  db.exec('SAVEPOINT together')
  for (const uuid of uuids) {
    const done = change(uuid)
    if (done === 'changed' || done === 'unchanged') continue
    db.exec('ROLLBACK TO together')
    forgetEnd(db)
    db.exec('RELEASE together')
    return { why: done as unknown as Why, uuid }
  }
  db.exec('RELEASE together')
  return 'changed' as const
}
