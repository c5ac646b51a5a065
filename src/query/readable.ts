import type { FastifyRequest } from 'fastify'
import { commaList, quote, suggestion } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { type Awaitable, andThen } from '../lib/awaitable.ts'
import { memo } from '../lib/memo.ts'
import { type Caller, isAdministrator, isMember, mayUseEntity } from '../model/caller.ts'
import type { Entity, ReadRule } from '../model/entities.ts'
import { epersonOf, groupOf } from '../model/readers.ts'
import type { Entities, RecordEntity } from '../storage/entities.ts'
import { fieldsInAddress } from './keys.ts'
import type { Known, KnownEntity } from './plan.ts'

/**
 * True if the caller may read the records of an entity (Q11). Administrators may read everything. An access
 * token limits its caller to the entities that it is for (K2).
 */
export function mayReadEntity(caller: Caller, { name, read: rule }: Pick<Entity, 'name' | 'read'>): boolean {
  return mayUseEntity(caller, name) && isAdmitted(caller, rule)
}

function isAdmitted(caller: Caller, rule: ReadRule): boolean {
  if (rule === 'anonymous' || isAdministrator(caller)) return true
  if (rule === 'eperson') return caller.kind !== 'anonymous'
  const [group, eperson] = [groupOf(rule), epersonOf(rule)]
  if (group !== undefined) return isMember(caller, group)
  return eperson !== undefined && caller.kind !== 'anonymous' && caller.session.eperson.uuid === eperson
}

/**
 * True if the caller may write single records of an entity (R2). Administrators may if the entity can be
 * written at all.
 */
export function mayWriteEntity(caller: Caller, entity: Pick<Entity, 'name' | 'read' | 'write'>): boolean {
  if (entity.write === undefined || caller.kind === 'anonymous') return false
  return mayReadEntity(caller, entity) && isAdmitted(caller, entity.write)
}

/**
 * @returns the entity, if the caller may read it
 * @throws Problem 404 for an unknown entity; 401 or 403 for one that the caller may not read
 */
export function readable(entities: ReadonlyMap<string, Entity>, name: string, caller: Caller): Entity {
  const entity = named(entities, name)
  if (!entity) {
    const legal = [...entities.values()].filter(one => mayReadEntity(caller, one)).map(one => one.name)
    const { hint, members } = suggestion(name, legal)
    const readable = legal.length === 0 ? 'You may read no entity.' : `You may read ${commaList(legal)}.`
    throw new Problem('unknown-entity', `There is no entity ${quote(name)}.${hint} ${readable}`, { members })
  }
  if (mayReadEntity(caller, entity)) return entity
  if (caller.kind === 'anonymous') throw new Problem('authentication-required', `Log in to read ${name}.`)
  throw new Problem('access-denied', `You may not read ${name}.`)
}

/**
 * Finds an entity. Hyphens and underscores are the same in an address, as PuppetDB's clients expect (Q24).
 */
function named(entities: ReadonlyMap<string, Entity>, name: string): Entity | undefined {
  const other = name.includes('_') ? name.replaceAll('_', '-') : name.replaceAll('-', '_')
  return entities.get(name) ?? entities.get(other)
}

/**
 * Finds an entity, and everything else that a query about it may use.
 * @param name null at the query base, where the query names the entity
 * @throws Problem 404, 401 or 403 for an entity that the caller can't read
 */
export function knownTo(entities: Entities, request: Asking, name: string): Awaitable<KnownEntity>
export function knownTo(entities: Entities, request: Asking, name: string | null): Awaitable<Known>
export function knownTo(entities: Entities, { caller }: Asking, name: string | null): Awaitable<Known> {
  const known = (all: Known['entities']) => ({
    entities: all,
    entity: name === null ? null : readable(all, name, caller),
    mayRead: readableTo(caller),
  })
  return andThen(entities.all(), known)
}

/** Remembers the function of each caller, because `planBefore` keeps what it has worked out with it. */
const readableTo = memo(
  (caller: Caller): Known['mayRead'] =>
    entity =>
      mayReadEntity(caller, entity),
)

type Asking = Pick<FastifyRequest, 'caller'>

/**
 * @returns the entity, if the caller may write its records (R2)
 * @throws Problem 403
 */
export function writable(entity: Entity, caller: Caller): RecordEntity {
  const { name, source } = entity
  if (source.kind === 'table') throw notWritable(`${name} is built in; its rows have addresses of their own.`)
  if (source.kind === 'exposed')
    throw notWritable(`${name} shows a table of the database; write to it there.`)
  if (entity.write === undefined)
    throw notWritable(
      `${name} is not open for writing; an administrator opens it with \`carrel entity writers\`.`,
    )
  if (fieldsInAddress(entity))
    throw notWritable(`An address below ${name} lists records (Q24), so that none is written there.`)
  if (!mayWriteEntity(caller, entity)) throw notWritable(`You may not write records of ${name}.`)
  return entity as RecordEntity
}

/** An entity whose records the caller may write, and what a query about it may use. */
export type KnownToWrite = KnownEntity & { readonly entity: RecordEntity }

const notWritable = (detail: string) => new Problem('not-writable', detail)
