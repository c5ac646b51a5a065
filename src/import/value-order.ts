import type { Field } from '../model/entities.ts'
import { languageCompare } from './collation.ts'
import { binaryText, markedNumber, markedText, oddKey } from './sort-keys.ts'
import { instant, textForm } from './types.ts'

/** How the values of a field compare, one by one: the same order as that of its ranks. */
export interface ValueOrder {
  /** @param value not null, and of the type of the field */
  key(value: unknown): string
  compare(one: string, other: string): number
}

const byCharacter = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)

export function orderOf({ type, collation }: Pick<Field, 'type' | 'collation'>): ValueOrder {
  if (collation !== undefined) {
    const compare = languageCompare(collation)
    return {
      key: textForm,
      compare: (one, other) => compare(one, other) || byCharacter(binaryText(one), binaryText(other)),
    }
  }
  return { key: keyOf[type] ?? anyKey, compare: byCharacter }
}

const anyKey = (value: unknown): string => {
  if (typeof value === 'number') return markedNumber(value)
  return typeof value === 'string' ? markedText(binaryText(value)) : oddKey(value)
}

const keyOf: Partial<Record<Field['type'], (value: unknown) => string>> = {
  text: value => binaryText(textForm(value)),
  'date-time': value => instant(String(value)),
}
