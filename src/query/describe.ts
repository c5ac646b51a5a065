import type { Addresses } from '../http/addresses.ts'
import type { Caller } from '../model/caller.ts'
import type { Entity } from '../model/entities.ts'
import { relationsOf } from '../model/relations.ts'
import { mayReadEntity, mayWriteEntity } from './readable.ts'

/** The entities that the caller may read, with what can be asked of them (Q12). */
export function describeEntities(
  all: ReadonlyMap<string, Entity>,
  caller: Caller,
  { query }: Pick<Addresses, 'query'>,
) {
  const readable = new Map([...all].filter(([, entity]) => mayReadEntity(caller, entity)))
  return [...readable.values()].map(entity => {
    const { name, description, key, fields } = entity
    // A relation to an entity that the caller may not read is as unknown as the entity.
    const relations = relationsOf(entity, readable)
    return {
      name,
      ...(description !== undefined && { description }),
      ...{ key, fields },
      ...(relations.length > 0 && { relations }),
      ...(mayWriteEntity(caller, entity) && { writable: true }),
      href: `${query}/${name}`,
    }
  })
}
