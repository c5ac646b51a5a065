import { randomUUID } from 'node:crypto'
import { type Group, type GroupDetails, nameKey } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { readReaders } from '../../model/readers.ts'
import type { GroupUse, NewGroup } from '../people.ts'
import { type EntityRow, toEntity } from './entity-rows.ts'
import { changeStamp } from './people-rows.ts'
import { type Change, insert, now, type Read, record, row, rows, run } from './statements.ts'

/** Rows of groups and memberships. */

export const groupWith = (uuid: string): Read<GroupDetails | undefined> =>
  row('SELECT uuid, name, description FROM epersongroup WHERE uuid = $1', uuid)

/** Finds a group, and locks its row until the change ends, so that a deletion waits. */
export const keepGroup = (uuid: string): Change<Group | undefined> =>
  row<Group>('SELECT uuid, name FROM epersongroup WHERE uuid = $1 FOR KEY SHARE', uuid)

/** Finds a group by its name, and locks its row in the same way. */
export const groupNamed = (name: string): Change<Group | undefined> =>
  row<Group>('SELECT uuid, name FROM epersongroup WHERE name = $1 FOR KEY SHARE', name)

/** Adds a group, and records nothing. @returns undefined if another has the name */
export function* insertGroup({ name, description }: NewGroup): Change<GroupDetails | undefined> {
  const group = { uuid: randomUUID(), name, description }
  const columns = { ...group, name_key: nameKey(name), special: 0, created: now() }
  return (yield* insert('epersongroup', columns, '(name) DO NOTHING')) === 0 ? undefined : group
}

const membershipChanges = {
  join: 'INSERT INTO membership (epersongroup, eperson) VALUES ($1, $2) ON CONFLICT DO NOTHING',
  leave: 'DELETE FROM membership WHERE epersongroup = $1 AND eperson = $2',
}

/** Adds an eperson to a group or removes them. The caller has locked both rows. */
export function* changeMembership(
  way: 'join' | 'leave',
  group: Group,
  eperson: string,
  event: AuditEvent,
): Change<'changed' | 'unchanged'> {
  if ((yield* run(membershipChanges[way], group.uuid, eperson)) === 0) return 'unchanged'
  yield* changeStamp(eperson)
  yield* record({ ...event, eperson, object: group.name })
  return 'changed'
}

interface Rules {
  readonly entities: readonly {
    readonly name: string
    readonly read: string
    readonly write?: string | null
  }[]
  /** Audiences that items or bitstreams have. */
  readonly audiences: readonly {
    readonly readers: string
    readonly items: number
    readonly bitstreams: number
  }[]
}

/** @returns the rules that name the group; undefined if none does */
export function* useOfGroup(group: string): Read<GroupUse | undefined> {
  const entities = yield* rows<EntityRow>('SELECT name, definition FROM entity ORDER BY name')
  const audiences = yield* rows<Rules['audiences'][number]>(
    'SELECT readers, items, bitstreams FROM audience WHERE items > 0 OR bitstreams > 0',
  )
  return useOf(group, { entities: entities.map(toEntity), audiences })
}

export function useOf(group: string, rules: Rules): GroupUse | undefined {
  const rule = `group:${group}`
  const entities = rules.entities
    .filter(({ read, write }) => read === rule || write === rule)
    .map(({ name }) => name)
  const naming = rules.audiences.filter(({ readers }) =>
    readReaders(readers).some(({ reader }) => reader === rule),
  )
  const items = naming.reduce((sum, one) => sum + one.items, 0)
  const bitstreams = naming.reduce((sum, one) => sum + one.bitstreams, 0)
  return entities.length + items + bitstreams === 0 ? undefined : { entities, items, bitstreams }
}
