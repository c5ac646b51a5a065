import { languageCompare } from '../lib/collation.ts'
import { binaryText, instant, mixedKey, textForm } from '../lib/sort-keys.ts'
import type { Field } from './entities.ts'

/** A comparison of single values of a field. It gives the same order as the field's ranks. */
export interface ValueOrder {
  /** @param value not null, and of the type of the field */
  key(value: unknown): string
  compare(one: string, other: string): number
}

/** A field with an order, in which `collation` may be undefined. */
export type Ordered = Pick<Field, 'type'> & { readonly collation?: string | undefined }

const byCharacter = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)

export function orderOf({ type, collation }: Ordered): ValueOrder {
  if (collation !== undefined) {
    const compare = languageCompare(collation)
    return {
      key: textForm,
      compare: (one, other) => compare(one, other) || byCharacter(binaryText(one), binaryText(other)),
    }
  }
  return { key: keyOf[type] ?? mixedKey, compare: byCharacter }
}

const keyOf: Partial<Record<Field['type'], (value: unknown) => string>> = {
  text: value => binaryText(textForm(value)),
  'date-time': value => instant(String(value)),
}
