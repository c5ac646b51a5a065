import type { WordsByTerm } from './terms.ts'

interface Pattern {
  readonly expression: RegExp
  readonly words: WordsByTerm[string]
}

/** The patterns of each table, which are made once. Those with the most text of their own come first. */
const known = new WeakMap<WordsByTerm, readonly Pattern[]>()

function patternsOf(table: WordsByTerm): readonly Pattern[] {
  const found =
    known.get(table) ??
    Object.values(table)
      .toSorted((one, other) => ownText(other.en) - ownText(one.en))
      .map(words => ({
        words,
        expression: new RegExp(
          `^${words.en.replaceAll(/[\\^$.*+?()[\]|]/g, '\\$&').replaceAll(/\{\d\}/g, '(.+?)')}$`,
          's',
        ),
      }))
  known.set(table, found)
  return found
}

const ownText = (sentence: string) => sentence.replaceAll(/\{\d\}/g, '').length

/** Maximum length of a sentence that is looked at, and depth of sentences in sentences. */
const [longest, deepest] = [2_000, 3]

/**
 * Says a sentence of the service in another language. The table has the sentences with numbered places, such
 * as `{0}`, whose values may be sentences of the table, too.
 * @returns undefined if the table doesn't have it
 */
export function sentenceIn(
  text: string,
  table: WordsByTerm,
  language: string,
  depth = deepest,
): string | undefined {
  if (depth === 0 || text.length > longest) return undefined
  for (const { expression, words } of patternsOf(table)) {
    const found = expression.exec(text)
    const said = found && words[language as keyof typeof words]
    if (!said) continue
    return said.replaceAll(/\{(\d)\}/g, (_, at: string) => {
      const value = found[Number(at) + 1] ?? ''
      return sentenceIn(value, table, language, depth - 1) ?? inNumbers(value, language)
    })
  }
  return undefined
}

/** Writes large numbers in a value as the language does. */
const inNumbers = (value: string, language: string): string =>
  value.replaceAll(/(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,.])/g, number =>
    new Intl.NumberFormat(language).format(Number(number.replaceAll(',', ''))),
  )
