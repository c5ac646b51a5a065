import { commaList, quote, suggestion } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { pointer } from '../../lib/json-pointer.ts'
import { reservedEntities } from '../../model/built-in-entities.ts'
import type { Declared } from '../../model/declared.ts'
import type { DeclaredField } from '../../model/declared-fields.ts'
import { type Entity, newEntityRule, type ReadRule, type Relation } from '../../model/entities.ts'
import { epersonOf, groupOf, knownRule, type Names } from '../../model/readers.ts'
import { descriptionOf } from '../../model/relations.ts'
import type { People } from '../../people/statements.ts'
import { defaultConditionOf } from '../../query/check/check.ts'
import { QueryError } from '../../query/language/node.ts'
import type { Entities } from '../../storage/entities.ts'
import { DeclarationRefused, declarationsAfter } from '../declare-fields.ts'
import { refused, unknownName } from './refused.ts'
import { lookAtValues, pairsOf, RelationRefused, type SidePlace, sideNamed } from './relation-sides.ts'
import type { Wanted } from './wanted.ts'

/**
 * Turns a client's description of an entity into declarations, checked against its fields, the other entities
 * and the groups.
 */

type Known = ReadonlyMap<string, Entity>
/** An entity whose fields are known; nothing needs to be declared for it yet. */
export type Described = Omit<Entity, 'read'>

/**
 * The declarations after a PUT, which replaces everything: members that it leaves out are those of a new
 * entity. @throws Problem 422
 */
export const declaredAnew = (wanted: Wanted, entity: Described, all: Known): Declared =>
  declaredWith(
    wanted,
    // Fields that aren't named stay as they are, and so does what is declared of them.
    {
      read: newEntityRule,
      ...(!wanted.fields && entity.declaredFields && { declaredFields: entity.declaredFields }),
    },
    entity,
    all,
  )

/** The declarations after a PATCH, which changes only the members that it has. @throws Problem 422 */
export const declaredAfter = (wanted: Wanted, entity: Entity, all: Known): Declared =>
  declaredWith(wanted, { read: entity.read, ...descriptionOf(entity) }, entity, all)

function declaredWith(wanted: Wanted, before: Declared, entity: Described, all: Known): Declared {
  const { read = before.read, relations = before.relations ?? [] } = wanted
  const { description = before.description ?? null, defaultCondition = before.defaultCondition ?? null } =
    wanted
  const { write = before.write ?? null } = wanted
  if (write !== null && entity.source.kind !== 'records')
    throw refused('/write', `Only records of imported entities can be written; ${entity.name} shows a table.`)
  const { recipe = before.recipe ?? null } = wanted
  if (recipe !== null && entity.source.kind !== 'records')
    throw refused('/recipe', `Only imported entities have a recipe; ${entity.name} shows a table.`)
  if (wanted.relations) checkRelations(wanted.relations, entity, all)
  const declaredFields = declaredFieldsWith(wanted, before.declaredFields ?? [], entity, all)
  return {
    read,
    ...descriptionOf({
      relations,
      declaredFields,
      ...(description !== null && { description }),
      ...(write !== null && { write }),
      ...(recipe !== null && { recipe }),
      ...(defaultCondition !== null && {
        defaultCondition:
          defaultCondition === before.defaultCondition
            ? defaultCondition
            : checkedCondition(defaultCondition, entity),
      }),
    }),
  }
}

/**
 * The declarations of fields: a PATCH changes some, and a PUT that names fields replaces all. Without fields, both leave
 * them.
 */
function declaredFieldsWith(
  { declarations, fields }: Wanted,
  before: readonly DeclaredField[],
  entity: Described,
  all: Known,
): readonly DeclaredField[] {
  if (!declarations && !fields) return before
  const changes =
    declarations ??
    new Map((fields ?? []).flatMap(({ name, declared }) => (declared ? [[name, declared]] : [])))
  try {
    return declarationsAfter({ ...entity, declaredFields: declarations ? before : [] }, changes, all)
  } catch (error) {
    if (!(error instanceof DeclarationRefused)) throw error
    const [name = '', ...path] = error.path
    const at = declarations ? name : (fields ?? []).findIndex(field => field.name === name)
    throw refused(
      error.path.length === 0 ? '/fields' : pointer('fields', at, ...path),
      `${error.message[0]?.toUpperCase()}${error.message.slice(1)}.`,
      error.legal && { legal: error.legal.slice(0, 100) },
    )
  }
}

function checkedCondition(text: string, entity: Described): string {
  const { defaultCondition: _, ...plain } = entity
  try {
    return defaultConditionOf(text, { ...plain, read: newEntityRule })
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    const at = 'pointer' in error.at ? error.at.pointer : ''
    throw refused(
      `/defaultCondition${at}`,
      `The condition can't be that of ${entity.name}. ${error.message}`,
      { ...error.members, ...('line' in error.at && error.at) },
    )
  }
}

function checkRelations(relations: readonly Relation[], entity: Described, all: Known): void {
  const others = new Set<string>()
  for (const [at, relation] of relations.entries()) {
    const here = pointer('relations', at)
    const name = relation.to.entity
    if (name === entity.name)
      throw refused(
        `${here}/to/entity`,
        `${name} can't be related to itself; queries compare its fields with "in".`,
      )
    const other = all.get(name)
    if (!other) throw unknownName(`${here}/to/entity`, 'entity', name, [...all.keys()])
    if (others.has(name))
      throw refused(here, `A relation to ${name} is there already; there is one between two entities.`)
    others.add(name)
    if (!reservedEntities.has(name) && other.relations?.some(({ to }) => to.entity === entity.name))
      throw refused(here, `${name} declares its relation to ${entity.name} already; change it there.`)
    checkPairs(here, relation, entity, other)
  }
}

function checkPairs(here: string, { fields, to }: Relation, entity: Described, other: Entity): void {
  const ends = [
    { entity, fields },
    { entity: other, fields: to.fields },
  ] as const
  try {
    if (fields.length === to.fields.length)
      for (const [side, end] of ends.entries())
        for (const [at, name] of end.fields.entries()) {
          const place = [side === 0 ? 'fields' : 'to', at] as const
          if (!sideNamed(name, end, place)) fieldOf(end.entity, name, memberAt(here, place))
        }
    pairsOf(...ends)
  } catch (error) {
    throw inBody(error, here)
  }
}

/**
 * Looks whether records can be related, where a relation is another one than before.
 * @returns a warning for each relation by which none is at the moment
 * @throws Problem 422 for one that can never relate any
 */
export async function lookAtRelations(
  entities: Pick<Entities, 'list'>,
  entity: Described,
  relations: readonly Relation[] = [],
  before: readonly Relation[] = [],
  all: Known,
): Promise<readonly Warning[]> {
  const known = new Set(before.map(one => JSON.stringify(one)))
  const warnings: Warning[] = []
  for (const [at, relation] of relations.entries()) {
    const other = all.get(relation.to.entity)
    if (!other || known.has(JSON.stringify(relation))) continue
    const member = pointer('relations', at)
    const ends = [
      { entity, fields: relation.fields },
      { entity: other, fields: relation.to.fields },
    ] as const
    try {
      const detail = await lookAtValues(entities, ...ends)
      if (detail !== undefined) warnings.push({ member, detail })
    } catch (error) {
      throw inBody(error, member)
    }
  }
  return warnings
}

export interface Warning {
  readonly member: string
  readonly detail: string
}

const memberAt = (relation: string, place: SidePlace) =>
  place === null ? relation : `${relation}/${place[0] === 'to' ? 'to/fields' : 'fields'}/${place[1]}`

/** Returns the problem of a refused relation; any other error as it is. */
function inBody(error: unknown, relation: string): unknown {
  if (!(error instanceof RelationRefused)) return error
  const { message, place } = error
  // A sentence may begin with the name of an entity, which stays as it is.
  const sentence = message.replace(/^(no|the|a) /, word => `${word[0]?.toUpperCase()}${word.slice(1)}`)
  return refused(memberAt(relation, place), `${sentence}.`)
}

/** Finds a field. @throws Problem 422 */
export function fieldOf({ name: entity, fields }: Described, name: string, member: string) {
  const found = fields.find(field => field.name === name)
  if (found) return found
  const names = fields.map(field => field.name)
  throw unknownName(member, `field of ${entity} called`, name, names)
}

/** The part of `People` that the names in rules are looked up in. */
export type NamesInRules = Names & Pick<People, 'listGroups'>

/** @returns a rule as entities have it @throws Problem 422 if it names a group or an eperson that doesn't exist */
export async function knownReader<R extends ReadRule>(
  rule: R,
  people: NamesInRules,
  member = '/read',
): Promise<R> {
  const known = await knownRule(rule, people)
  if (known !== undefined) return known
  const eperson = epersonOf(rule)
  if (eperson !== undefined)
    throw refused(member, `There is no eperson with the e-mail address or UUID ${quote(eperson)}.`)
  const names = (await people.listGroups()).map(({ name }) => name)
  throw unknownName(member, 'group', groupOf(rule) ?? '', names)
}

/** @returns a description with its rules as entities have them @throws Problem 422 */
export async function withKnownReaders(wanted: Wanted, people: NamesInRules): Promise<Wanted> {
  const { read, write } = wanted
  return {
    ...wanted,
    ...(read && { read: await knownReader(read, people) }),
    ...(write && { write: await knownReader(write, people, '/write') }),
  }
}

/** @throws Problem 409 for a built-in entity, which can't be changed */
export function requireOwn(name: string): void {
  if (reservedEntities.has(name))
    throw new Problem(
      'entity-conflict',
      `The entity ${quote(name)} is built in; only imported and exposed entities can be changed. Built in are ${commaList([...reservedEntities])}.`,
    )
}

/** Finds an entity. @throws Problem 404 */
export function known(all: ReadonlyMap<string, Entity>, name: string): Entity {
  const entity = all.get(name)
  if (entity) return entity
  const names = [...all.keys()]
  const { hint, members } = suggestion(name, names)
  throw new Problem(
    'unknown-entity',
    `There is no entity ${quote(name)}.${hint} There are ${commaList(names)}.`,
    { members },
  )
}
