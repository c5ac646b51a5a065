import type { Addresses } from '../http/addresses.ts'
import { parseExact } from '../lib/json.ts'
import type { Entity } from '../model/entities.ts'
import { relationsOf } from '../model/relations.ts'

const sources = { records: 'imported', exposed: 'exposed', table: 'built-in' } as const

export const entityAddress = ({ api }: Addresses, name: string): string => `${api}/admin/entities/${name}`

/** An entity with everything that an administrator wants to know of it. */
export function entityBody(entity: Entity, all: ReadonlyMap<string, Entity>, addresses: Addresses) {
  const {
    name,
    key,
    fields,
    read,
    relations = [],
    defaultCondition,
    description = null,
    source,
    write = null,
  } = entity
  const self = entityAddress(addresses, name)
  return {
    name,
    source: sources[source.kind],
    description,
    read,
    write,
    key,
    fields,
    records: source.kind === 'records' ? source.count : null,
    bytes: source.kind === 'records' ? source.bytes : null,
    imported: source.kind === 'records' ? (source.imported ?? null) : null,
    table: source.kind === 'exposed' ? { schema: source.schema, name: source.table } : null,
    /** Those that were declared with this entity. */
    relations,
    /** All there are, whichever entity declares them. */
    related: relationsOf(entity, all),
    defaultCondition: defaultCondition === undefined ? null : parseExact(defaultCondition),
    _links: {
      self: { href: self },
      records: { href: `${addresses.query}/${name}` },
      ...(source.kind !== 'table' && { import: { href: `${self}/import` } }),
    },
  }
}
