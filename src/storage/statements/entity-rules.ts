import type { Declared } from '../../model/declared.ts'
import { type Entity, newEntityRule } from '../../model/entities.ts'
import { epersonOf, groupOf } from '../../model/readers.ts'
import { UnknownReader } from '../single-records.ts'
import { type EntityRow, lockList, putEntity, toEntity } from './entity-rows.ts'
import { epersonWith } from './people-rows.ts'
import type { Change, Read } from './statements.ts'
import * as db from './statements.ts'

/** Who may read and write entities, when what the rules name is deleted (docs/decisions/0065). */

/**
 * Looks for the group and the eperson that new rules of an entity name. The caller has locked the list, and a deletion keeps
 * it before it looks for rules, so that it sees these or is seen.
 * @throws UnknownReader if one isn't there
 */
export function* requireReaders(
  before: Entity | undefined,
  { read, write }: Pick<Declared, 'read' | 'write'>,
): Read<void> {
  for (const rule of [read, write]) {
    if (rule === undefined || rule === before?.read || rule === before?.write) continue
    const [group, eperson] = [groupOf(rule), epersonOf(rule)]
    if (group !== undefined && !(yield* db.row('SELECT uuid FROM epersongroup WHERE name = $1', group)))
      throw new UnknownReader(`there is no group ${group}`)
    if (eperson !== undefined && !(yield* epersonWith(eperson)))
      throw new UnknownReader(`there is no eperson ${eperson}`)
  }
}

/**
 * Removes the rules for an eperson: administrators read what they could read, and nobody writes it. The caller has locked the
 * row of the store's state and then the eperson's, to delete it.
 * @returns the names of the entities
 */
export function* closeFor(eperson: string): Change<readonly string[]> {
  const rule = `eperson:${eperson}`
  const naming = yield* db.rows<EntityRow>(
    'SELECT name, definition FROM entity WHERE definition LIKE $1 ORDER BY name',
    `%"${rule}"%`,
  )
  const open = naming.map(toEntity).filter(({ read, write }) => read === rule || write === rule)
  if (open.length > 0) yield* lockList()
  for (const { write, ...entity } of open)
    yield* putEntity({
      ...entity,
      read: entity.read === rule ? newEntityRule : entity.read,
      ...(write !== undefined && write !== rule && { write }),
    })
  return open.map(({ name }) => name)
}
