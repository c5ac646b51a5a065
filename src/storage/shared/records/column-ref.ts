import type { FieldRef, Scalar } from '../../../model/plan.ts'

/** What has a column: a field, a member inside it, or, with a mask, its text by `to_string`. */
export type ColumnRef = FieldRef & { readonly mask?: string }

/** @throws Error for what has none: it depends on the words of a `match` */
export function columnOf(scalar: Scalar): ColumnRef {
  switch (scalar.kind) {
    case 'field':
      return scalar.field
    case 'to_string':
      return { ...scalar.field, mask: scalar.mask }
    default:
      throw new Error(`${scalar.kind} is known only of whole records`)
  }
}
