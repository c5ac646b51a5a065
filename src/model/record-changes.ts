import { createHash } from 'node:crypto'
import type { Entity } from './entities.ts'
import { orderOf } from './value-order.ts'

/** A single record that was written, and is not in the version of its entity yet (docs/decisions/0041). */
export interface RecordChange {
  /** Grows with every change of any entity. */
  readonly seq: number
  /** Names the record, as `recordKey` does. */
  readonly key: string
  /** What it has in the fields of the key. */
  readonly values: readonly unknown[]
  /** null: it was deleted. */
  readonly json: string | null
  /** How many records there are more since. */
  readonly added: -1 | 0 | 1
}

/** The sort keys of values of the key of an entity: equal keys are those of the same record. */
export const sortKeys = (
  { key, fields }: Pick<Entity, 'key' | 'fields'>,
  values: readonly unknown[],
): readonly string[] =>
  [key].flat().map((name, at) => {
    const field = fields.find(one => one.name === name)
    if (!field) throw new Error(`there is no field ${name}`)
    return orderOf(field).key(values[at])
  })

/** Names a record among those of all entities. It has a fixed length, and no character that a database can't hold. */
export const recordKey = (
  entity: Pick<Entity, 'name' | 'key' | 'fields'>,
  values: readonly unknown[],
): string =>
  createHash('sha256')
    .update(JSON.stringify([entity.name, ...sortKeys(entity, values)]))
    .digest('base64url')

/** What a record has in the fields of the key; null where it lacks one. */
export const keyValues = (
  { key }: Pick<Entity, 'key'>,
  record: Readonly<Record<string, unknown>>,
): readonly unknown[] =>
  [key].flat().map(name => (Object.hasOwn(record, name) ? (record[name] ?? null) : null))
