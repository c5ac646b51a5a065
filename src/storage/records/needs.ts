import type { Entity } from '../../model/entities.ts'
import { soughtIn } from '../../model/operators/list.ts'
import { type Condition, type FieldRef, isWholeField } from '../../model/plan.ts'
import { nameOf, typeOf } from '../columns/columns.ts'
import type { FieldsNode, TaskLeaf } from '../columns/tasks.ts'
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

export type PlanCondition = Extract<Condition, { kind: 'in plan' | 'in rows' }>
export type TextCondition = Extract<Condition, { kind: 'text' }>

/** A condition of a task whose subqueries and text searches are still to be resolved. */
export type OpenNode =
  | TaskLeaf
  | { readonly kind: 'and' | 'or'; readonly of: readonly OpenNode[] }
  | { readonly kind: 'in plan'; readonly condition: PlanCondition; readonly facts: readonly number[] }
  | { readonly kind: 'text'; readonly condition: TextCondition }
  | FieldsNode
  | { readonly kind: 'sample'; readonly condition: Extract<Condition, { kind: 'sample' }> }

/** Adds the needs of a condition. Its depth is limited by that of queries. */
export function openCondition(where: Condition, entity: RecordEntity, needs: Needs): OpenNode {
  switch (where.kind) {
    case 'and':
    case 'or':
      return { kind: where.kind, of: where.of.map(one => openCondition(one, entity, needs)) }
    case 'none':
      return { kind: 'none' }
    case 'null':
      return { kind: 'null', facts: needs.add(where.field, { postings: true }), negated: where.negated }
    case 'in plan':
      return {
        kind: 'in plan',
        condition: where,
        facts: where.fields.map((field, at) => {
          const { entity: inner, shape } = where.plan
          const column = shape.kind === 'rows' ? shape.columns[at]?.value : undefined
          const isSame = column?.kind === 'field' && isSameColumn(entity, field, inner, column.field)
          return needs.add(field, { values: !isSame, postings: true })
        }),
      }
    case 'in rows':
      return {
        kind: 'in plan',
        condition: where,
        facts: where.fields.map(field => needs.add(field, { values: true, postings: true })),
      }
    case 'text':
      return { kind: 'text', condition: where }
    case 'fields': {
      const { field, operator, other, negated } = where
      const facts = [needs.add(field, { values: true }), needs.add(other, { values: true })] as const
      return { kind: 'fields', operator, negated, facts }
    }
    case 'sample':
      return { kind: 'sample', condition: where }
    default: {
      const sought = soughtIn(where)
      const values = sought === undefined || typeOf(entity, where.field).type === 'json'
      const need = { values, lookups: sought?.length ?? 0, postings: true }
      return { kind: 'value', facts: needs.add(where.field, need), condition: where }
    }
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
