import { randomUUID } from 'node:crypto'
import { type Group, nameKey } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Changed, GroupUse } from '../accounts.ts'
import { useOf } from '../shared/account-rules.ts'
import type { Database } from './driver.ts'
import { now, recordEvent } from './events.ts'
import { find } from './rows.ts'

/** The changes of groups and memberships. */
export function addGroup(db: Database, name: string, event: AuditEvent): Group | 'exists' {
  if (groupNamed(db, name)) return 'exists'
  const group = { uuid: randomUUID(), name }
  db.run(
    'INSERT INTO epersongroup (uuid, name, name_key, created) VALUES (?, ?, ?, ?)',
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
    const known = groupNamed(db, name)
    if (known) return { uuid: known.uuid, name }
    const added = addGroup(db, name, event)
    if (added === 'exists') throw new Error('a group came into being twice')
    return added
  })
}

export function join(db: Database, group: string, email: string, event: AuditEvent): Changed | 'no-group' {
  return changeMembership(
    db,
    'INSERT OR IGNORE INTO membership (epersongroup, eperson) VALUES (?, ?)',
    group,
    email,
    event,
  )
}

export function leave(db: Database, group: string, email: string, event: AuditEvent): Changed | 'no-group' {
  return changeMembership(
    db,
    'DELETE FROM membership WHERE epersongroup = ? AND eperson = ?',
    group,
    email,
    event,
  )
}

export function deleteGroup(
  db: Database,
  name: string,
  event: AuditEvent,
): 'changed' | 'no-group' | GroupUse {
  const group = groupNamed(db, name)
  if (!group) return 'no-group'
  const use = useOf(name, {
    entities: db.all<{ name: string; read: string; write: string | null }>(
      'SELECT name, read, write FROM entity ORDER BY name',
    ),
    audiences: db.all<{ readers: string; items: number; bitstreams: number }>(
      'SELECT readers, items, bitstreams FROM audience WHERE items > 0 OR bitstreams > 0',
    ),
  })
  if (use) return use
  db.run('DELETE FROM epersongroup WHERE uuid = ?', group.uuid)
  // A token may name the group as a special group (G2), and nobody knows whose: everyone is looked up again.
  newStamp(db)
  recordEvent(db, { ...event, object: name })
  return 'changed'
}

const groupNamed = (db: Database, name: string) =>
  db.get<{ uuid: string }>('SELECT uuid FROM epersongroup WHERE name = ?', name)

/** Of one eperson, or of all. */
function newStamp(db: Database, uuid?: string): void {
  db.run('UPDATE state SET stamp = stamp + 1')
  const stamped = 'UPDATE eperson SET stamp = (SELECT stamp FROM state) WHERE uuid = coalesce(?, uuid)'
  db.run(stamped, uuid ?? null)
}

function changeMembership(db: Database, sql: string, group: string, email: string, event: AuditEvent) {
  const known = groupNamed(db, group)
  if (!known) return 'no-group'
  const eperson = find(db, email)
  if (!eperson) return 'no-eperson'
  if (db.run(sql, known.uuid, eperson.uuid) === 0) return 'unchanged'
  newStamp(db, eperson.uuid)
  recordEvent(db, { ...event, eperson: eperson.uuid, object: group })
  return 'changed'
}
