import { hash } from 'node:crypto'
import type { Entity, Field } from './entities.ts'
import { orderOf } from './value-order.ts'

/** A change of a single record that is not yet part of its entity's version (docs/decisions/0041). */
export interface RecordChange {
  /** Sequence number, which grows with every change of any entity. */
  readonly seq: number
  /** The record's name, made by `recordKey`. */
  readonly key: string
  /** The record's values in the key fields. */
  readonly values: readonly unknown[]
  /** The record as JSON; null if it was deleted. */
  readonly json: string | null
  /** The change in the number of records. */
  readonly added: -1 | 0 | 1
}

/**
 * Returns the sort keys of the values of an entity's key. Two records with equal sort
 * keys are the same record.
 */
export const sortKeys = (
  { key, fields }: Pick<Entity, 'key' | 'fields'>,
  values: readonly unknown[],
): readonly string[] =>
  [key].flat().map((name, at) => {
    const field = fields.find(one => one.name === name)
    if (!field) throw new Error(`there is no field ${name}`)
    return orderOf(field).key(values[at])
  })

/**
 * Returns a name for a record that is unique among all entities. It has a fixed length, and only characters
 * that every database can hold.
 */
export const recordKey = (
  entity: Pick<Entity, 'name' | 'key' | 'fields'>,
  values: readonly unknown[],
): string => hash('sha256', JSON.stringify([entity.name, ...sortKeys(entity, values)]), 'base64url')

/** Returns a record's values in the key fields, with null for a missing one. */
export const keyValues = (
  { key }: Pick<Entity, 'key'>,
  record: Readonly<Record<string, unknown>>,
): readonly unknown[] =>
  [key].flat().map(name => (Object.hasOwn(record, name) ? (record[name] ?? null) : null))

type Keyed = Pick<Entity, 'key' | 'fields'>

const keyFields = ({ key, fields }: Keyed): readonly (Field | undefined)[] =>
  [key].flat().map(name => fields.find(field => field.name === name))

/** Returns a function that compares the keys of two records by their sort keys. */
export function compareKeys(entity: Keyed) {
  const orders = keyFields(entity).map(field => {
    if (!field) throw new Error('there is no such field')
    return orderOf(field)
  })
  return (one: readonly string[], other: readonly string[]): number => {
    for (const [at, { compare }] of orders.entries()) {
      const compared = compare(one[at] as string, other[at] as string)
      if (compared !== 0) return compared
    }
    return 0
  }
}

/** True if the records of both are sorted alike by their keys. */
export function haveSameOrder(one: Keyed, other: Keyed): boolean {
  if (JSON.stringify([one.key].flat()) !== JSON.stringify([other.key].flat())) return false
  const others = keyFields(other)
  return keyFields(one).every((field, at) => {
    const found = others[at]
    return field && found && orderName(field) === orderName(found)
  })
}

const orderName = ({ type, collation = '' }: Field): string =>
  `${type === 'integer' ? 'number' : type} ${collation}`
