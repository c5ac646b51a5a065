import type { FieldType } from '../../model/entities.ts'
import type { FieldRef, Scalar } from '../../model/plan.ts'
import type { RecordEntity } from '../entities.ts'

/** What has a column: a field, a member inside it, or, with a mask, its text by `to_string`. */
export type ColumnRef = FieldRef & { readonly mask?: string }

/** @throws Error for relevance, which is made of several fields; what is highlighted counts without its marks */
export function columnOf(scalar: Scalar): ColumnRef {
  switch (scalar.kind) {
    case 'field':
      return scalar.field
    case 'to_string':
      return { ...scalar.field, mask: scalar.mask }
    case 'highlight':
      return scalar.field
    default:
      throw new Error(`${scalar.kind} is known only of whole records`)
  }
}

/** The index of the field among those of the entity. */
export const indexOf = ({ fields }: RecordEntity, { name }: ColumnRef): number =>
  fields.findIndex(field => field.name === name)

export const isDerived = ({ path, mask }: ColumnRef): boolean => path.length > 0 || mask !== undefined

/** Of a column among those of its entity. */
export function nameOf(entity: RecordEntity, ref: ColumnRef): string {
  const at = `${indexOf(entity, ref)}`
  return isDerived(ref) ? `${at} ${JSON.stringify([ref.path, ref.mask])}` : at
}

interface ColumnType {
  readonly type: FieldType
  readonly collation: string | undefined
}

/** How the values of a column compare. */
export function typeOf(entity: RecordEntity, ref: ColumnRef): ColumnType {
  if (ref.mask !== undefined) return { type: 'text', collation: undefined }
  if (ref.path.length > 0) return { type: 'json', collation: undefined }
  const field = entity.fields[indexOf(entity, ref)]
  return { type: field?.type ?? ref.type, collation: field?.collation }
}
