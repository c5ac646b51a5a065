import type { Addresses } from '../../http/addresses.ts'
import { parseExact } from '../../lib/json.ts'
import { describedFields } from '../../model/declared-fields.ts'
import type { Entity } from '../../model/entities.ts'
import { relationsOf } from '../../model/relations.ts'

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
