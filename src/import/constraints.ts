import type { DescribedField, FieldDeclaration } from '../model/declared-fields.ts'
import { describedFields } from '../model/declared-fields.ts'
import type { Entity } from '../model/entities.ts'
import { orderOf } from '../model/value-order.ts'
import { shown } from './import-error.ts'

/**
 * Declared constraints that a single record shows: required, default and one of a list (docs/decisions/0076). It is plain
 * data, which threads are given.
 */
export type Constraint = Pick<DescribedField, 'name' | 'type' | 'collation'> &
  Pick<FieldDeclaration, 'required' | 'default' | 'oneOf'>

/** A field whose value a record can't have. */
interface Misfit {
  readonly field: string
  /** Words that follow the place, such as the line. */
  readonly message: string
  readonly legal?: readonly string[]
}

/** Maximum number of legal values that a message names. */
const maxLegal = 20

type Fields = Pick<Entity, 'fields' | 'declaredFields'>

export const constraintsOf = (entity: Fields): readonly Constraint[] =>
  describedFields(entity).flatMap(({ name, type, collation, required, default: value, oneOf }) =>
    required === undefined && value === undefined && oneOf === undefined
      ? []
      : [
          {
            name,
            type,
            ...(collation !== undefined && { collation }),
            ...(required && { required }),
            ...(value !== undefined && { default: value }),
            ...(oneOf && { oneOf }),
          },
        ],
  )

/**
 * Returns a function that gives a new record the defaults of fields that it doesn't have. A field with null is
 * there (RFC 7396 §1 tells the two apart, and so does SQL), so that a copy of a record is like the record.
 * @returns a function that returns the record itself, or a copy with more fields
 */
export function completerOf(
  constraints: readonly Constraint[],
): <R extends Readonly<Record<string, unknown>>>(record: R) => R {
  const standard = constraints.filter(one => one.default !== undefined)
  return record => {
    const missing = standard.filter(({ name }) => !Object.hasOwn(record, name))
    if (missing.length === 0) return record
    const complete = { ...record }
    for (const { name, default: value } of missing) setMember(complete, name, value)
    return complete
  }
}

/** Returns a function that reports what is wrong with a record. */
export function checkerOf(
  constraints: readonly Constraint[],
): (record: Readonly<Record<string, unknown>>, refuse: (misfit: Misfit) => void) => void {
  const checks = constraints.map(constraint => {
    const { oneOf } = constraint
    const { key } = orderOf(constraint)
    const keys = oneOf && new Set(oneOf.map(key))
    return { constraint, isListed: (value: unknown) => keys === undefined || keys.has(key(value)) }
  })
  return (record, refuse) => {
    for (const { constraint, isListed } of checks) {
      const { name, required, oneOf = [] } = constraint
      const value = Object.hasOwn(record, name) ? record[name] : null
      if (value === null || value === undefined) {
        if (required) refuse({ field: name, message: `the field ${shown(name)} needs a value, and has none` })
      } else if (!isListed(value)) {
        const legal = oneOf.slice(0, maxLegal).map(one => shown(one))
        const more = oneOf.length - legal.length
        refuse({
          field: name,
          message: `the field ${shown(name)} has the value ${shown(value)}, which is none of those that it may have: ${legal.join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
          legal: oneOf.slice(0, 100).map(String),
        })
      }
    }
  }
}

/**
 * Adds or replaces a member, whatever it is called: assigning `__proto__` would change what the object
 * inherits.
 */
export function setMember(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}
