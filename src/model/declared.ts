import { createHash } from 'node:crypto'
import { differences } from '../lib/differences.ts'
import type { Changes } from './audit-events.ts'
import type { DeclaredField } from './declared-fields.ts'
import type { Entity } from './entities.ts'
import type { Recipe } from './recipes.ts'
import { type Description, descriptionOf } from './relations.ts'

/**
 * The parts of an entity that an administrator declares, besides its records or its
 * table (docs/decisions/0044).
 */
export type Declared = Pick<Entity, 'read'> & Description

export const declaredOf = (entity: Entity): Declared => ({ read: entity.read, ...descriptionOf(entity) })

/** Returns the declarations that name fields, as text. */
export const fieldUses = ({ declaredFields, relations, defaultCondition }: Description): string =>
  JSON.stringify([declaredFields, relations, defaultCondition])

/** Returns the entity with all its declared parts replaced. */
export function withDeclared<E extends Entity>(entity: E, { read, ...description }: Declared): E {
  const {
    relations: _,
    defaultCondition: __,
    description: ___,
    write: ____,
    recipe: _____,
    declaredFields: ______,
    ...rest
  } = entity
  return { ...rest, read, ...descriptionOf(description) } as E
}

/**
 * Returns an entity tag for the description of an entity. Changes of records, and of the nulls among
 * them, don't change it, so that a client that reads and changes a description isn't refused because
 * records are written meanwhile.
 */
export function entityTag(entity: Entity): string {
  const { key, fields, source } = entity
  const {
    read,
    relations = [],
    defaultCondition = null,
    description = null,
    write = null,
    recipe,
    declaredFields,
  } = declaredOf(entity)
  const text = JSON.stringify([
    key,
    fields.map(({ name, type, collation = null, list }) => [
      name,
      type,
      collation,
      ...(list ? ['list'] : []),
    ]),
    source.kind === 'exposed' ? [source.schema, source.table] : source.kind,
    read,
    relations.map(({ fields: own, to }) => [own, to.entity, to.fields]),
    defaultCondition,
    description,
    write,
    // The tags of entities without these stay as they were.
    ...(recipe ? [recipe] : []),
    ...(declaredFields ? [declaredFields] : []),
  ])
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
}

/**
 * Returns the change of an entity for the audit trail.
 * @param before undefined if it did not exist
 * @param after undefined if it no longer exists
 */
export function entityChanges(before: Entity | undefined, after: Entity | undefined): Changes {
  const fields = changedDeclarations(before, after)
  const [was, is] = [before && membersOf(before, fields), after && membersOf(after, fields)]
  return differences(was ?? null, is ?? null, (one, other) => JSON.stringify(one) === JSON.stringify(other))
}

/** Maximum number of field names that an event lists. */
const maxNames = 50
/** Maximum number of fields with changed declarations that an event shows, of values of a list, and of characters. */
const maxDeclared = 20
const maxValues = 20
const maxText = 300

/** The first fields whose declarations differ. */
function changedDeclarations(before: Entity | undefined, after: Entity | undefined): readonly string[] {
  const [was, is] = [before, after].map(
    entity => new Map((entity?.declaredFields ?? []).map(one => [one.name, JSON.stringify(one)])),
  )
  const names = new Set([...(was?.keys() ?? []), ...(is?.keys() ?? [])])
  return [...names].filter(name => was?.get(name) !== is?.get(name)).slice(0, maxDeclared)
}

function shortened({ name: _, oneOf, ...declared }: DeclaredField): object {
  const cut = (value: unknown) =>
    typeof value === 'string' && value.length > maxText ? `${value.slice(0, maxText)}…` : value
  return {
    ...Object.fromEntries(Object.entries(declared).map(([member, value]) => [member, cut(value)])),
    ...(oneOf && {
      oneOf: [
        ...oneOf.slice(0, maxValues).map(cut),
        ...(oneOf.length > maxValues ? [`and ${oneOf.length - maxValues} more`] : []),
      ],
    }),
  }
}

/** @param of fields whose declarations are shown */
function membersOf(entity: Entity, of: readonly string[]): Readonly<Record<string, unknown>> {
  const { key, fields, source } = entity
  const {
    read,
    relations = [],
    defaultCondition = null,
    description = null,
    write = null,
    recipe,
    declaredFields = [],
  } = declaredOf(entity)
  const names = fields.slice(0, maxNames).map(({ name }) => name)
  return {
    read,
    key,
    fields: fields.length > maxNames ? [...names, `and ${fields.length - maxNames} more`] : names,
    records: source.kind === 'records' ? source.count : null,
    table: source.kind === 'exposed' ? `${source.schema}.${source.table}` : null,
    collations: Object.fromEntries(
      fields.flatMap(({ name, collation }) => (collation === undefined ? [] : [[name, collation]])),
    ),
    relations,
    defaultCondition,
    description,
    write,
    ...(recipe && { recipe: JSON.stringify(recipe).length > maxRecipe ? recipeInShort(recipe) : recipe }),
    ...(of.length > 0 && {
      declarations: Object.fromEntries(
        declaredFields.filter(({ name }) => of.includes(name)).map(field => [field.name, shortened(field)]),
      ),
    }),
  }
}

/** Maximum characters of a recipe that an event has. */
const maxRecipe = 4_000

const recipeInShort = ({ fields = {}, ...rest }: Recipe) => ({
  ...rest,
  empty: rest.empty?.length ?? 0,
  fields: Object.keys(fields).length,
})
