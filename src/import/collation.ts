import { ImportError } from './import-error.ts'

/** Collations of text: those of Node's ICU (docs/decisions/0015). */

/** ECMA-402 has no name for the root collation. English changes nothing in it. */
const asLanguage = (tag: string) => tag.replace(/^und(?=-|$)/, 'en')

/**
 * @param tag BCP 47, such as `sv`, `de-u-co-phonebk`, or `und` for no language in particular
 * @returns the tag in its canonical form; undefined where ICU has no such collation
 */
export function canonicalCollation(tag: string): string | undefined {
  let canonical: string | undefined
  try {
    canonical = Intl.getCanonicalLocales(tag)[0]
  } catch {
    return undefined
  }
  if (canonical === undefined) return undefined
  const language = asLanguage(canonical)
  // A collator replaces an unknown language with that of the machine, and the order would depend on it.
  if (Intl.Collator.supportedLocalesOf(language).length === 0) return undefined
  const asked = new Intl.Locale(language).collation
  const { collation } = new Intl.Collator(language).resolvedOptions()
  return asked === undefined || asked === collation ? canonical : undefined
}

export const languageCompare = (collation: string): ((one: string, other: string) => number) =>
  new Intl.Collator(asLanguage(collation)).compare

/** Limits of what is held in memory to sort the distinct values of a field. */
const maxDistinct = 5_000_000
const maxCharacters = 256 * 1024 * 1024

/** The distinct texts of a field, to be sorted by a collation. */
export interface CollatedTexts {
  /**
   * Takes a text that comes after those before it by code point.
   * @throws ImportError if there are too many
   */
  add(text: string): void
  /**
   * @returns the place of each text. Those that the collation treats as equal keep the order of their code points, so that
   *   each distinct text has a place of its own, as without a collation (Q6).
   */
  places(): Uint32Array
}

/** @param name of the field */
export function collatedTexts(name: string, collation: string): CollatedTexts {
  const texts: string[] = []
  let characters = 0
  return {
    add: text => {
      characters += text.length
      if (texts.length === maxDistinct || characters > maxCharacters)
        throw new ImportError(
          `the field ${JSON.stringify(name)} is too large for a collation: its distinct values are more than ${maxDistinct.toLocaleString('en')}, or longer than 256 million characters together; import it without --collation`,
        )
      texts.push(text)
    },
    places: () => {
      const compare = languageCompare(collation)
      const sorted = Uint32Array.from(texts.keys()).sort(
        (one, other) => compare(texts[one] as string, texts[other] as string) || one - other,
      )
      const places = new Uint32Array(texts.length)
      for (const [place, text] of sorted.entries()) places[text] = place
      return places
    },
  }
}
