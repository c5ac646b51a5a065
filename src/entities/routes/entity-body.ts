import type { Addresses } from '../../http/addresses.ts'
import { parseExact } from '../../lib/json.ts'
import { entityTag } from '../../model/declared.ts'
import { describedFields } from '../../model/declared-fields.ts'
import type { Entity } from '../../model/entities.ts'
import { areComparable, relationsBetween, relationsOf } from '../../model/relations.ts'
import type { Entities } from '../../storage/entities.ts'
import type { ForeignKey } from '../../storage/exposing.ts'
import { known } from './declarations.ts'

const sources = { records: 'imported', exposed: 'exposed', table: 'built-in' } as const

export const entityAddress = ({ api }: Addresses, name: string): string => `${api}/admin/entities/${name}`

/** The description of an entity for administrators. */
export function entityBody(entity: Entity, all: ReadonlyMap<string, Entity>, addresses: Addresses) {
  const {
    name,
    key,
    read,
    relations = [],
    defaultCondition,
    description = null,
    source,
    write = null,
    recipe,
  } = entity
  const self = entityAddress(addresses, name)
  return {
    name,
    source: sources[source.kind],
    description,
    read,
    write,
    key,
    fields: describedFields(entity),
    records: source.kind === 'records' ? source.count : null,
    bytes: source.kind === 'records' ? source.bytes : null,
    imported: source.kind === 'records' ? (source.imported ?? null) : null,
    table: source.kind === 'exposed' ? { schema: source.schema, name: source.table } : null,
    /** Relations declared with this entity. */
    relations,
    /** All relations, whichever entity declares them. */
    related: relationsOf(entity, all),
    defaultCondition: defaultCondition === undefined ? null : parseExact(defaultCondition),
    ...(recipe && { recipe }),
    _links: {
      self: { href: self },
      records: { href: `${addresses.query}/${name}` },
      ...(source.kind !== 'table' && { import: { href: `${self}/import` } }),
      ...(source.kind === 'records' && { versions: { href: `${self}/versions` } }),
    },
  }
}

/** The current description of an entity, with suggested relations, and its entity tag. */
export async function describedEntity(
  { addresses, entities }: { readonly addresses: Addresses; readonly entities: Entities },
  name: string,
) {
  const all = await entities.all()
  const entity = known(all, name)
  const suggested = entity.source.kind === 'exposed' ? await suggestedRelations(entities, name) : []
  return { tag: entityTag(entity), body: { ...entityBody(entity, all, addresses), suggested } }
}

/** The relations that the foreign keys of an exposed table suggest, to entities that it isn't related to yet. */
export async function suggestedRelations(
  entities: Pick<Entities, 'all' | 'foreignKeys'>,
  name: string,
): Promise<readonly ForeignKey[]> {
  const all = await entities.all()
  const keys = (await entities.foreignKeys?.(name)) ?? []
  return keys.filter(key => {
    const [from, to] = [all.get(key.entity), all.get(key.to.entity)]
    const typeOf = (entity: typeof from, field: string | undefined) =>
      entity?.fields.find(one => one.name === field)
    return (
      from &&
      to &&
      !relationsBetween(all, from.name, to.name) &&
      key.fields.every((field, at) => {
        const [one, other] = [typeOf(from, field), typeOf(to, key.to.fields[at])]
        return one && other && areComparable(one, other)
      })
    )
  })
}
