import type { Entity, Field, Relation, WriteRule } from './entities.ts'
import type { Recipe } from './recipes.ts'

/** Relations between entities, and the fields that join them (docs/decisions/0037). */

/** A field of one entity, and the field of the other entity that it is compared with. */
export type Pair = readonly [string, string]

/** The field that joins PuppetDB's entities, and that joins facts of a node to its other facts. */
const certname = 'certname'

/**
 * Returns the pairs of fields that join two entities, whichever of them declares the relation.
 * @returns undefined if they aren't related
 */
export function relationsBetween(
  entities: ReadonlyMap<string, Entity>,
  one: string,
  other: string,
): readonly Pair[] | undefined {
  const [from, to] = [entities.get(one), entities.get(other)]
  if (!from || !to) return undefined
  const declared = from.relations?.find(relation => relation.to.entity === other)
  if (declared) return pairs(declared.fields, declared.to.fields)
  const reverse = to.relations?.find(relation => relation.to.entity === one)
  if (reverse) return pairs(reverse.to.fields, reverse.fields)
  return hasCertname(from) && hasCertname(to) ? [[certname, certname]] : undefined
}

/** True if the entity has the field `certname`. No built-in entity has it. */
const hasCertname = ({ fields }: Entity) => fields.some(({ name }) => name === certname)

const pairs = (fields: readonly string[], others: readonly string[]): readonly Pair[] =>
  fields.flatMap((field, at) => {
    const other = others[at]
    return other === undefined ? [] : [[field, other] as const]
  })

/** Returns all relations of an entity to others, as seen from this entity, sorted by the others' names. */
export function relationsOf(entity: Entity, entities: ReadonlyMap<string, Entity>): readonly Relation[] {
  return [...entities.keys()].toSorted().flatMap(other => {
    const found = other === entity.name ? undefined : relationsBetween(entities, entity.name, other)
    if (!found) return []
    const [fields, theirs] = [found.map(([field]) => field), found.map(([, field]) => field)]
    return [{ fields, to: { entity: other, fields: theirs } }]
  })
}

/**
 * True if values of the two fields can be equal. An integer can equal a number, and JSON can equal any
 * value except an instant.
 */
export function areComparable(one: Pick<Field, 'type'>, other: Pick<Field, 'type'>): boolean {
  const kinds = [one, other].map(({ type }) => (type === 'integer' ? 'number' : type))
  return kinds[0] === kinds[1] || (kinds.includes('json') && !kinds.includes('date-time'))
}

/**
 * The parts of an entity that an operator declares, besides its records. Importing or
 * exposing it again keeps them.
 */
export type Description = Pick<
  Entity,
  'relations' | 'defaultCondition' | 'description' | 'write' | 'recipe' | 'declaredFields'
>

export type DescriptionChange =
  /** Replaces the relation to the same entity. */
  | { readonly relate: Relation }
  /** Name of the entity whose relation is removed. */
  | { readonly unrelate: string }
  /** The new default condition; null removes it. */
  | { readonly defaultCondition: string | null }
  /** The new write rule; null: single records can't be written. */
  | { readonly write: WriteRule | null }
  /** The recipe for the next import; null removes it. */
  | { readonly recipe: Recipe | null }

/** Returns the description without empty members. */
export const descriptionOf = ({
  relations,
  defaultCondition,
  description,
  write,
  recipe,
  declaredFields,
}: Partial<Description>): Description => ({
  ...(relations !== undefined && relations.length > 0 && { relations }),
  ...(defaultCondition !== undefined && { defaultCondition }),
  ...(description !== undefined && { description }),
  ...(write !== undefined && { write }),
  ...(recipe !== undefined && { recipe }),
  ...(declaredFields !== undefined && declaredFields.length > 0 && { declaredFields }),
})

/**
 * Returns the description after a change. Engines call it in the transaction that stores the result, so that
 * no concurrent change is lost.
 */
export function changedDescription(before: Description, change: DescriptionChange): Description {
  if ('defaultCondition' in change) {
    const { defaultCondition: _, ...others } = before
    return descriptionOf({
      ...others,
      ...(change.defaultCondition !== null && { defaultCondition: change.defaultCondition }),
    })
  }
  if ('write' in change) {
    const { write: _, ...rest } = before
    return descriptionOf({ ...rest, ...(change.write !== null && { write: change.write }) })
  }
  if ('recipe' in change) {
    const { recipe: _, ...rest } = before
    return descriptionOf({ ...rest, ...(change.recipe !== null && { recipe: change.recipe }) })
  }
  const other = 'relate' in change ? change.relate.to.entity : change.unrelate
  const others = (before.relations ?? []).filter(({ to }) => to.entity !== other)
  return descriptionOf({ ...before, relations: 'relate' in change ? [...others, change.relate] : others })
}
