import { randomUUID } from 'node:crypto'
import { type Group, nameKey } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Changed, GroupUse } from '../accounts.ts'
import { useOf } from '../statements/account-rules.ts'
import { type EntityRow, toEntity } from '../statements/entity-rows.ts'
import type { Database } from './driver.ts'
import { now, recordEvent } from './events.ts'
import { find } from './rows.ts'
import { nextStamp } from './stamps.ts'

/** The changes of groups and memberships. */
export function addGroup(
  db: Database,
  name: string,
  event: AuditEvent,
  uuid: string = randomUUID(),
): Group | 'exists' {
  if (groupNamed(db, name)) return 'exists'
  const group = { uuid, name }
  db.run(
    'INSERT INTO epersongroup (uuid, name, name_key, created, special) VALUES (?, ?, ?, ?, 0)',
    group.uuid,
    name,
    nameKey(name),
    now(),
  )
  recordEvent(db, { ...event, object: name })
  return group
}

export function ensureGroups(db: Database, names: readonly string[], event: AuditEvent): Group[] {
  return names.map(name => {
    const known = groupNamed(db, name) ?? addGroup(db, name, event)
    if (known === 'exists') throw new Error('a group came into being twice')
    db.run('UPDATE epersongroup SET special = 1 WHERE uuid = ? AND special = 0', known.uuid)
    return { uuid: known.uuid, name }
  })
}

export function join(db: Database, group: string, email: string, event: AuditEvent): Changed | 'no-group' {
  return changeMembership(db, 'join', group, email, event)
}

export function leave(db: Database, group: string, email: string, event: AuditEvent): Changed | 'no-group' {
  return changeMembership(db, 'leave', group, email, event)
}

export function deleteGroup(
  db: Database,
  name: string,
  event: AuditEvent,
): 'changed' | 'no-group' | GroupUse {
  const group = groupNamed(db, name)
  if (!group) return 'no-group'
  const use = useOfGroup(db, name)
  if (use) return use
  db.run('DELETE FROM epersongroup WHERE uuid = ?', group.uuid)
  // A token may name the group as a special group (G2), and nobody knows whose: everyone is looked up again.
  newStamp(db)
  recordEvent(db, { ...event, object: name })
  return 'changed'
}

/** Where rules name the group. */
export const useOfGroup = (db: Database, name: string): GroupUse | undefined =>
  useOf(name, {
    entities: db.all<EntityRow>('SELECT name, definition FROM entity ORDER BY name').map(toEntity),
    audiences: db.all<{ readers: string; items: number; bitstreams: number }>(
      'SELECT readers, items, bitstreams FROM audience WHERE items > 0 OR bitstreams > 0',
    ),
  })

export const groupNamed = (db: Database, name: string) =>
  db.get<{ uuid: string }>('SELECT uuid FROM epersongroup WHERE name = ?', name)

/** Of one eperson, or of all. */
function newStamp(db: Database, uuid?: string): void {
  db.run('UPDATE eperson SET stamp = ?1 WHERE uuid = coalesce(?2, uuid)', nextStamp(db), uuid ?? null)
}

const membershipChanges = {
  join: 'INSERT OR IGNORE INTO membership (epersongroup, eperson) VALUES (?, ?)',
  leave: 'DELETE FROM membership WHERE epersongroup = ? AND eperson = ?',
}

export function changeMembership(
  db: Database,
  way: 'join' | 'leave',
  group: string,
  email: string,
  event: AuditEvent,
): Changed | 'no-group' {
  const known = groupNamed(db, group)
  if (!known) return 'no-group'
  const eperson = find(db, email)
  if (!eperson) return 'no-eperson'
  if (db.run(membershipChanges[way], known.uuid, eperson.uuid) === 0) return 'unchanged'
  newStamp(db, eperson.uuid)
  recordEvent(db, { ...event, eperson: eperson.uuid, object: group })
  return 'changed'
}
