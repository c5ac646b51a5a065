import { Command } from 'commander'
import {
  type End,
  lookAtValues,
  pairsOf,
  RelationRefused,
  sideNamed,
} from '../entities/routes/relation-sides.ts'
import { commaList, quote, suggestion } from '../http/parameters.ts'
import { reservedEntities } from '../model/built-in-entities.ts'
import type { Entity, Relation } from '../model/entities.ts'
import { relationsBetween } from '../model/relations.ts'
import type { Entities } from '../storage/entities.ts'
import { Failure, Misuse } from './failures.ts'
import { type Json, jsonOption, sayResult } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel entity relate` and `carrel entity unrelate` (docs/decisions/0037). */

type Known = ReadonlyMap<string, Entity>

export const relateCommand = (): Command =>
  new Command('relate')
    .argument(
      '<fields>',
      'an entity and its field, a path into JSON, or several: artworks.artist_id, artworks.contributors[*].id, parts.set,number',
    )
    .argument('<others>', 'the other entity and as many of its fields: artists.id')
    .description('Declare that records of two entities belong together where these values are equal.')
    .option(...jsonOption)
    .action((one: string, other: string, { json }: Json) =>
      withStore(async ({ entities }) => {
        const all = await entities.all()
        const { ends, relation } = await asFailure(() => {
          const ends = [endOf(one, all), endOf(other, all)] as const
          return { ends, relation: relationOf(...ends, all) }
        })
        const { entity, fields, to } = relation
        const warning = relation.isNew ? await asFailure(() => lookAtValues(entities, ...ends)) : undefined
        const changed = await addRelation(entities, relation)
        const said = `${entity} and ${to.entity} are ${changed ? 'now related' : 'related already'}: ${described(relation)}.`
        sayResult(
          json,
          { entity, fields, to, changed, ...(warning !== undefined && { warning }) },
          warning === undefined ? said : `${said}\n${warning}`,
        )
      }),
    )

export const unrelateCommand = (): Command =>
  new Command('unrelate')
    .argument('<entity>')
    .argument('<other>')
    .description('Take back what `carrel entity relate` declared between two entities.')
    .option(...jsonOption)
    .action((one: string, other: string, { json }: Json) =>
      withStore(async ({ entities }) => {
        const all = await entities.all()
        // The other entity may have been dropped since.
        const ends = [
          [one, other],
          [other, one],
        ] as const
        const declared = ends.filter(
          ([from, to]) => !reservedEntities.has(from) && declaredTo(all.get(from), to),
        )
        if (declared.length === 0) throw nothingDeclared(one, other, all)
        for (const [from, to] of declared)
          await entities.describe(from, { unrelate: to }, commandEvent('entity.unrelate'))
        sayResult(
          json,
          { entities: [one, other], unrelated: true },
          `${one} and ${other} are no longer related by their fields.`,
        )
      }),
    )

const declaredTo = (entity: Entity | undefined, other: string) =>
  entity?.relations?.some(({ to }) => to.entity === other) ?? false

function nothingDeclared(one: string, other: string, all: Known): Failure {
  const found = relationsBetween(all, one, other)
  if (!found) return new Failure(`${one} and ${other} are not related`)
  const why = reservedEntities.has(one) ? 'built in' : 'there because both have these fields'
  return new Failure(`the relation between ${one} and ${other} is ${why}; there is nothing to take back`)
}

/** A relation with the entity that keeps it. */
interface Declaration extends Relation {
  readonly entity: string
}

/** `artworks.artist_id = artists.id`, for each pair of fields. */
export const described = ({ entity, fields, to }: Declaration): string =>
  fields.map((field, at) => `${entity}.${field} = ${to.entity}.${to.fields[at]}`).join(', ')

/** Declares a relation. @returns false if there is one already */
export async function addRelation(
  entities: Pick<Entities, 'describe'>,
  { entity, fields, to, isNew }: Declaration & { readonly isNew: boolean },
): Promise<boolean> {
  if (!isNew) return false
  if (!(await entities.describe(entity, { relate: { fields, to } }, commandEvent('entity.relate'))))
    throw new Failure(`${entity} was dropped in the meantime`)
  return true
}

type CommandEnd = End & { readonly entity: Entity }

/** @throws Failure in place of RelationRefused */
async function asFailure<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RelationRefused) throw new Failure(error.message, { cause: error })
    throw error
  }
}

/**
 * Reads `artworks.artist_id`, `artworks.contributors[*].id`, or `parts.set,number`. A field with a comma in its name can be
 * named alone, and a part of a path with one is written in quotes.
 */
function endOf(text: string, all: Known): CommandEnd {
  const point = text.indexOf('.')
  if (point < 1 || point === text.length - 1)
    throw new Misuse(
      `${JSON.stringify(text)} is not an entity and a field of it; write artworks.artist_id, or parts.set,number`,
    )
  const entity = entityNamed(text.slice(0, point), all)
  const written = text.slice(point + 1)
  const names = entity.fields.map(({ name }) => name)
  const fields = names.includes(written) ? [written] : written.split(comma).map(one => one.trim())
  const unknown = fields.find(field => !sideNamed(field, { entity }, null))
  if (unknown !== undefined) {
    const { hint } = suggestion(unknown, names)
    throw new Failure(
      `${entity.name} has no field ${quote(unknown)}.${hint} Its fields are ${commaList(names)}`,
    )
  }
  const twice = fields.find((field, at) => fields.indexOf(field) !== at)
  if (twice !== undefined) throw new Misuse(`${entity.name}.${twice} is named twice`)
  return { entity, fields }
}

/** A comma that isn't in quotes. */
const comma = /,(?=(?:[^"]*"[^"]*")*[^"]*$)/

function entityNamed(name: string, all: Known): Entity {
  const entity = all.get(name)
  if (entity) return entity
  const names = [...all.keys()]
  throw new Failure(
    `there is no entity ${quote(name)}.${suggestion(name, names).hint} There are ${commaList(names)}`,
  )
}

/**
 * Makes a relation between these fields, kept by one of the entities that isn't built in.
 * @throws Failure if there can't be one
 */
function relationOf(
  one: CommandEnd,
  other: CommandEnd,
  all: Known,
): Declaration & { readonly isNew: boolean } {
  const names = [one.entity.name, other.entity.name] as const
  if (names[0] === names[1])
    throw new Failure(`${names[0]} can't be related to itself; queries compare its fields with "in"`)
  if (names.every(name => reservedEntities.has(name)))
    throw new Failure(`${names[0]} and ${names[1]} are built in, and so are their relations`)
  pairsOf(one, other)
  const [from, to] = reservedEntities.has(names[0]) ? [other, one] : [one, other]
  const declaration = {
    entity: from.entity.name,
    fields: from.fields,
    to: { entity: to.entity.name, fields: to.fields },
  }
  const isDeclared = declaredTo(one.entity, names[1]) || declaredTo(other.entity, names[0])
  const before = isDeclared ? relationsBetween(all, declaration.entity, to.entity.name) : undefined
  if (!before) return { ...declaration, isNew: true }
  const there = before.map(pair => JSON.stringify(pair)).toSorted()
  const asked = from.fields.map((field, at) => JSON.stringify([field, to.fields[at]])).toSorted()
  if (JSON.stringify(there) === JSON.stringify(asked)) return { ...declaration, isNew: false }
  const now = described({
    entity: from.entity.name,
    fields: before.map(([field]) => field),
    to: { entity: to.entity.name, fields: before.map(([, field]) => field) },
  })
  throw new Failure(
    `${names[0]} and ${names[1]} are related already: ${now}; there is one relation between two entities, and \`carrel entity unrelate ${names[0]} ${names[1]}\` takes it back`,
  )
}
