import type { FastifyRequest } from 'fastify'
import type { Entity } from '../model/entities.ts'
import type { Entities } from '../storage/entities.ts'
import type { Known } from './plan.ts'
import { mayReadEntity, readable } from './readable.ts'

/**
 * Finds an entity, and everything else that a query about it may use.
 * @throws Problem 404, 401 or 403 for an entity that the caller can't read
 */
export async function knownTo(
  entities: Entities,
  { caller }: Pick<FastifyRequest, 'caller'>,
  name: string,
): Promise<Known & { readonly entity: Entity }> {
  const all = await entities.all()
  return {
    entities: all,
    entity: readable(all, name, caller),
    mayRead: one => mayReadEntity(caller, one),
  }
}
