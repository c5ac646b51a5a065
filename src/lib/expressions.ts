import { RE2JS } from 're2js'

/** A client's expression is longer than that only by mistake, or by malice. */
const maxLength = 1_000

/** @returns why the expression is refused; undefined if it can be used (docs/decisions/0036) */
export function checkExpression(text: string): string | undefined {
  if (text.length > maxLength) return `it is longer than ${maxLength.toLocaleString('en')} characters`
  try {
    RE2JS.compile(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : 'it is malformed'
  }
}
