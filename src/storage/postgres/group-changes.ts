import { randomUUID } from 'node:crypto'
import { emailKey, type Group, nameKey } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Changed, GroupUse } from '../accounts.ts'
import { useOf } from '../statements/account-rules.ts'
import { type EntityRow, toEntity } from '../statements/entity-rows.ts'
import { type EpersonRow, epersonColumns } from '../statements/people-rows.ts'
import type { Connection, Pool, Queries } from './driver.ts'
import { now, recordEvent } from './events.ts'

/** The changes of groups and memberships. */
export const addGroup = (pool: Pool, name: string, event: AuditEvent): Promise<Group | 'exists'> =>
  pool.transaction(db => insertGroup(db, name, event))

export async function insertGroup(
  db: Connection,
  name: string,
  event: AuditEvent,
  uuid: string = randomUUID(),
): Promise<Group | 'exists'> {
  const group = { uuid, name }
  const sql = `INSERT INTO epersongroup (uuid, name, created, name_key, special) VALUES ($1, $2, $3, $4, 0)
    ON CONFLICT (name) DO NOTHING`
  if ((await db.run(sql, group.uuid, name, now(), nameKey(name))) === 0) return 'exists'
  await recordEvent(db, { ...event, object: name })
  return group
}

export const ensureGroups = (pool: Pool, names: readonly string[], event: AuditEvent): Promise<Group[]> =>
  pool.transaction(async db => {
    const groups: Group[] = []
    for (const name of names) {
      await insertGroup(db, name, event)
      const known = await groupNamed(db, name)
      if (!known) continue
      await db.run('UPDATE epersongroup SET special = 1 WHERE uuid = $1 AND special = 0', known.uuid)
      groups.push({ uuid: known.uuid, name })
    }
    return groups
  })

export const deleteGroup = (
  pool: Pool,
  name: string,
  event: AuditEvent,
): Promise<'changed' | 'no-group' | GroupUse> => pool.transaction(db => dropGroup(db, name, event))

export async function dropGroup(
  db: Connection,
  name: string,
  event: AuditEvent,
): Promise<'changed' | 'no-group' | GroupUse> {
  const deleted = 'SELECT uuid FROM epersongroup WHERE name = $1 FOR UPDATE'
  const [group] = await db.rows<{ uuid: string }>(deleted, name)
  if (!group) return 'no-group'
  const use = await useOfGroup(db, name)
  if (use) return use
  await db.run('DELETE FROM epersongroup WHERE uuid = $1', group.uuid)
  // A token may name the group as a special group (G2), and nobody knows whose: everyone is looked up again.
  await db.run("UPDATE eperson SET stamp = nextval('stamp')")
  await db.run('UPDATE state SET groups = groups + 1')
  await recordEvent(db, { ...event, object: name })
  return 'changed'
}

/** Where rules name the group. */
export async function useOfGroup(db: Queries, name: string): Promise<GroupUse | undefined> {
  const entities = await db.rows<EntityRow>('SELECT name, definition FROM entity ORDER BY name')
  return useOf(name, {
    entities: entities.map(toEntity),
    audiences: await db.rows<{ readers: string; items: number; bitstreams: number }>(
      'SELECT readers, items, bitstreams FROM audience WHERE items > 0 OR bitstreams > 0',
    ),
  })
}

export const joinOrLeave = (
  pool: Pool,
  way: 'join' | 'leave',
  group: string,
  email: string,
  event: AuditEvent,
): Promise<Changed | 'no-group'> => pool.transaction(db => changeMembership(db, way, group, email, event))

const membershipChanges = {
  join: 'INSERT INTO membership (epersongroup, eperson) VALUES ($1, $2) ON CONFLICT DO NOTHING',
  leave: 'DELETE FROM membership WHERE epersongroup = $1 AND eperson = $2',
}

export async function changeMembership(
  db: Connection,
  way: 'join' | 'leave',
  group: string,
  email: string,
  event: AuditEvent,
): Promise<Changed | 'no-group'> {
  const known = await groupNamed(db, group)
  if (!known) return 'no-group'
  const eperson = await lockEperson(db, email)
  if (!eperson) return 'no-eperson'
  if ((await db.run(membershipChanges[way], known.uuid, eperson.uuid)) === 0) return 'unchanged'
  await db.run("UPDATE eperson SET stamp = nextval('stamp') WHERE uuid = $1", eperson.uuid)
  await recordEvent(db, { ...event, eperson: eperson.uuid, object: group })
  return 'changed'
}

/** Locks the group until the transaction ends: a deletion waits. */
export const groupNamed = async (db: Queries, name: string) =>
  (await db.rows<{ uuid: string }>('SELECT uuid FROM epersongroup WHERE name = $1 FOR KEY SHARE', name))[0]

export const lockEperson = async (db: Queries, email: string) =>
  (
    await db.rows<EpersonRow>(
      `SELECT ${epersonColumns} FROM eperson WHERE email_key = $1 FOR UPDATE`,
      emailKey(email),
    )
  )[0]
