import type { Entity } from '../../model/entities.ts'
import { type FieldRef, isWholeField } from '../../model/plan.ts'
import { nameOf } from '../columns/columns.ts'
import type { RecordEntity } from '../entities.ts'

/** The facts that a condition or a row needs about a field. */
export interface Need {
  readonly ref: FieldRef
  /** True if all its distinct values are needed. */
  readonly values: boolean
  /** Number of values to be looked up among them. */
  readonly lookups: number
  /** True if a few records may be selected, which postings find without a scan. */
  readonly postings: boolean
}

/** The need of a sort, which reads no values. */
export const onlyRanks = { values: false, lookups: 0, postings: false } as const

/** The need of what compares or shows each value. */
export const allValues = { values: true, lookups: 0, postings: false } as const

/** The facts needed about the fields of an entity, each field once. */
export class Needs {
  readonly #entity: RecordEntity
  readonly #places = new Map<string, number>()
  readonly #needs: Need[] = []

  constructor(entity: RecordEntity) {
    this.#entity = entity
  }

  get all(): readonly Need[] {
    return this.#needs
  }

  /** @returns the position of the field's facts in `all` */
  add(ref: FieldRef, need: Partial<Need> = {}): number {
    const name = nameOf(this.#entity, ref)
    const at = this.#places.get(name) ?? this.#needs.length
    this.#places.set(name, at)
    const { values, lookups, postings } = this.#needs[at] ?? { values: false, lookups: 0, postings: false }
    this.#needs[at] = {
      ref,
      values: values || (need.values ?? false),
      lookups: Math.max(lookups, need.lookups ?? 0),
      postings: postings || (need.postings ?? false),
    }
    return at
  }
}

/** True if two fields are the same and need no translation. JSON needs one: lists match by element, too. */
export const isSameColumn = (entity: Entity, field: FieldRef, other: Entity, inner: FieldRef): boolean =>
  entity.source.kind === 'records' &&
  other.source.kind === 'records' &&
  entity.source.version === other.source.version &&
  field.type !== 'json' &&
  field.name === inner.name &&
  isWholeField(inner) &&
  isWholeField(field)
