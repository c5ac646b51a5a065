import { isJsonNumber } from '../lib/json-numbers.ts'
import { instantForms } from '../lib/read-instant.ts'
import type { FieldType } from '../model/entities.ts'
import { localNumber } from './local-forms.ts'

/** Says what would make a value one of the type, in the imperative. */
export function adviceFor(value: unknown, type: FieldType): string {
  if (type === 'date-time') return `write ${instantForms}`
  if ((type !== 'number' && type !== 'integer') || typeof value !== 'string' || isJsonNumber(value))
    return 'correct the value'
  const { comma, point, isPlain } = localNumber(value)
  const way = (name: string) => (isPlain ? `--${name}` : `"read": "${name}" for the field in a recipe`)
  const ways = [
    ...(comma === undefined || comma === point ? [] : [`${way('decimal-comma')} to read ${comma}`]),
    ...(point === undefined ? [] : [`${way('decimal-point')} to read ${point}`]),
  ]
  return ways.length === 0 ? 'correct the value' : `use ${ways.join(', or ')}`
}
