import type { TextQuery } from './plan.ts'

/** What a client wrote to search for: words, `prefix*`, and `"phrases in quotes"`. Empty: it has no words. */
export function readTextQuery(text: string): TextQuery {
  return text
    .split('"')
    .flatMap((part, at) => (at % 2 === 1 ? [phraseOf(part)] : part.split(/\s+/).map(phraseOf)))
    .filter(({ words }) => words.length > 0)
}

function phraseOf(text: string) {
  const words = folded(text).match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  return { words, prefix: text.endsWith('*') }
}

/** Without case and accents. */
const folded = (text: string) => text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
