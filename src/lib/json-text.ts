import { plainNumber } from './decimals.ts'
import { exactText } from './json.ts'

/** The text of a number as JSON writes it; undefined for other values. */
export const numberText = (value: unknown): string | undefined =>
  typeof value === 'number' ? String(value) : exactText(value)

/** True if two values are numbers with different texts: JavaScript would print at least one of them otherwise. */
export const haveOtherDigits = (one: unknown, other: unknown): boolean =>
  (exactText(one) !== undefined || exactText(other) !== undefined) && numberText(one) !== numberText(other)

/**
 * The text that regular expressions see of a value (Q20). Texts stand for themselves, numbers have all their digits and no
 * exponent, and structures are written as PostgreSQL writes `jsonb`.
 * @param value of JSON, but not null
 */
export const matchedText = (value: unknown): string => (typeof value === 'string' ? value : printed(value))

function printed(value: unknown): string {
  const number = numberText(value)
  if (number !== undefined)
    return typeof value === 'number' && !number.includes('e') ? number : plainNumber(number)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(printed).join(', ')}]`
  const members = Object.entries(value).toSorted(([one], [other]) => compareKeys(one, other))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}: ${printed(member)}`).join(', ')}}`
}

/** Shorter keys come first, in bytes of UTF-8. */
function compareKeys(one: string, other: string): number {
  const [first, second] = [Buffer.from(one), Buffer.from(other)]
  return first.length - second.length || Buffer.compare(first, second)
}
