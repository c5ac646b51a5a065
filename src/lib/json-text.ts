import { plainNumber } from './decimals.ts'
import { exactText, numberText } from './json.ts'

/**
 * True if two values are numbers with different texts, at least one of which JavaScript
 * would print differently.
 */
export const haveOtherDigits = (one: unknown, other: unknown): boolean =>
  (exactText(one) !== undefined || exactText(other) !== undefined) && numberText(one) !== numberText(other)

/**
 * Returns the text of a value that regular expressions are matched with (Q20). Texts stay as they are,
 * numbers have all their digits and no exponent, and structures are written as PostgreSQL writes `jsonb`.
 * @param value a JSON value other than null
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

/** Compares keys by their length in UTF-8, and then by their bytes. */
function compareKeys(one: string, other: string): number {
  const [first, second] = [Buffer.from(one), Buffer.from(other)]
  return first.length - second.length || Buffer.compare(first, second)
}
