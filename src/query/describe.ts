import type { Addresses } from '../http/addresses.ts'
import type { Caller } from '../model/caller.ts'
import type { Entity } from '../model/entities.ts'
import { mayReadEntity } from './readable.ts'

/** The entities that the caller may read, with what can be asked of them (Q12). */
export const describeEntities = (
  all: ReadonlyMap<string, Entity>,
  caller: Caller,
  { query }: Pick<Addresses, 'query'>,
) =>
  [...all.values()]
    .filter(entity => mayReadEntity(caller, entity.read))
    .map(({ name, key, fields }) => ({ name, key, fields, href: `${query}/${name}` }))
