import type { Entity, Field, Relation, WriteRule } from './entities.ts'

/** Which entities belong together, and by which fields (docs/decisions/0037). */

/** A field of one entity, and the field of the other one that it is compared with. */
export type Pair = readonly [string, string]

/** PuppetDB's entities belong together by it, and facts of a node to other facts of it. */
const certname = 'certname'

/**
 * The pairs of fields that join two entities, whichever of them declares the relation.
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

/** No built-in entity has one. */
const hasCertname = ({ fields }: Entity) => fields.some(({ name }) => name === certname)

const pairs = (fields: readonly string[], others: readonly string[]): readonly Pair[] =>
  fields.flatMap((field, at) => {
    const other = others[at]
    return other === undefined ? [] : [[field, other] as const]
  })

/** All relations of an entity to others, as seen from it, by their names. */
export function relationsOf(entity: Entity, entities: ReadonlyMap<string, Entity>): readonly Relation[] {
  return [...entities.keys()].toSorted().flatMap(other => {
    const found = other === entity.name ? undefined : relationsBetween(entities, entity.name, other)
    if (!found) return []
    const [fields, theirs] = [found.map(([field]) => field), found.map(([, field]) => field)]
    return [{ fields, to: { entity: other, fields: theirs } }]
  })
}

/** Whether values of the fields can be equal: an integer and a number, and JSON and what JSON can hold. */
export function areComparable(one: Pick<Field, 'type'>, other: Pick<Field, 'type'>): boolean {
  const kinds = [one, other].map(({ type }) => (type === 'integer' ? 'number' : type))
  return kinds[0] === kinds[1] || (kinds.includes('json') && !kinds.includes('date-time'))
}

/** What an operator declares of an entity, besides its records. Importing and exposing again keep it. */
export type Description = Pick<Entity, 'relations' | 'defaultCondition' | 'description' | 'write'>

export type DescriptionChange =
  /** Replaces the one to the same entity. */
  | { readonly relate: Relation }
  /** The other entity. */
  | { readonly unrelate: string }
  /** null: none. */
  | { readonly defaultCondition: string | null }
  /** null: no single records are written. */
  | { readonly write: WriteRule | null }

/** Without the members that say nothing. */
export const descriptionOf = ({
  relations,
  defaultCondition,
  description,
  write,
}: Partial<Description>): Description => ({
  ...(relations !== undefined && relations.length > 0 && { relations }),
  ...(defaultCondition !== undefined && { defaultCondition }),
  ...(description !== undefined && { description }),
  ...(write !== undefined && { write }),
})

/** The description after a change. Engines call it in the transaction that stores it, so that no other change is lost. */
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
  const other = 'relate' in change ? change.relate.to.entity : change.unrelate
  const others = (before.relations ?? []).filter(({ to }) => to.entity !== other)
  return descriptionOf({ ...before, relations: 'relate' in change ? [...others, change.relate] : others })
}
