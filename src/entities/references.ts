import { type Client, nobody } from '../lib/fair-queue.ts'
import { parseExact } from '../lib/json.ts'
import { describedFields } from '../model/declared-fields.ts'
import type { Entity, Field } from '../model/entities.ts'
import type { FieldRef, Plan } from '../model/plan.ts'
import { rowsPlan } from '../model/plan-fields.ts'
import { orderOf } from '../model/value-order.ts'
import type { Entities, RecordEntity } from '../storage/entities.ts'

/**
 * Constraints between records (docs/decisions/0076): values that must be unique, and values that are keys of another
 * entity's records.
 */

type Known = ReadonlyMap<string, Entity>

/** A field of an imported entity whose values are keys of another imported entity. */
export interface Reference {
  readonly from: RecordEntity
  readonly field: Field
  readonly to: RecordEntity
  /** The key of the other entity. */
  readonly key: Field
}

const isImported = (entity: Entity | undefined): entity is RecordEntity => entity?.source.kind === 'records'

/** The references of an entity that hold at the moment: their entities are there, with a key of one field. */
export function referencesOf(entity: Entity, all: Known): readonly Reference[] {
  if (!isImported(entity)) return []
  return describedFields(entity).flatMap(({ references, name }) => {
    const to = references === entity.name ? entity : all.get(references ?? '')
    const field = entity.fields.find(one => one.name === name)
    if (references === undefined || !field || !isImported(to)) return []
    const [only, ...more] = [to.key].flat()
    const key = to.fields.find(one => one.name === only)
    return key && more.length === 0 ? [{ from: entity, field, to, key }] : []
  })
}

/** The references to an entity, its own included. */
export const referencesTo = (entity: Entity, all: Known): readonly Reference[] =>
  [...all.values()].flatMap(one => referencesOf(one, all).filter(({ to }) => to.name === entity.name))

/** The fields of an entity whose values must be unique. A key of one field is so anyway. */
export const uniqueFields = (entity: Pick<Entity, 'key' | 'fields' | 'declaredFields'>): readonly Field[] => {
  const [only, ...more] = [entity.key].flat()
  return describedFields(entity).filter(({ unique, name }) => unique && !(more.length === 0 && name === only))
}

export const refOf = ({ name, type }: Field): FieldRef => ({ name, path: [], type })

/** A plan for the values of some fields, as rows, of all records. */
export function valuesPlan(
  { defaultCondition: _, ...entity }: Entity,
  fields: readonly Field[],
  listed?: Parameters<typeof rowsPlan>[2],
): Plan {
  const columns = fields.map(field => [field.name, refOf(field)] as const)
  return rowsPlan(entity, columns, listed)
}

/** Reads the rows of a plan, one by one. */
export async function* rowsOf(
  entities: Pick<Entities, 'list'>,
  plan: Plan,
  client: Client = nobody,
): AsyncIterable<Readonly<Record<string, unknown>>> {
  const { body } = await entities.list(plan, { kind: 'administrator' }, 'ndjson', client)
  // A piece is of whole rows, without a line break at its end.
  for await (const piece of body instanceof Uint8Array ? [body] : body)
    for (const line of Buffer.from(piece).toString().split('\n'))
      if (line !== '') yield parseExact(line) as Readonly<Record<string, unknown>>
}

/** Returns the name under which equal values of a field are the same. */
export const keyOf = (field: Pick<Field, 'type' | 'collation'>) => orderOf(field).key
