import type { Entity } from './entities.ts'

/** A field of one entity, and the field of the other one that it is compared with. */
export type Pair = readonly [string, string]

/** PuppetDB's entities belong together by it (docs/decisions/0037). */
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
  const hasCertname = (entity: Entity) => entity.fields.some(({ name }) => name === certname)
  return hasCertname(from) && hasCertname(to) ? [[certname, certname]] : undefined
}

const pairs = (fields: readonly string[], others: readonly string[]): readonly Pair[] =>
  fields.flatMap((field, at) => {
    const other = others[at]
    return other === undefined ? [] : [[field, other] as const]
  })
