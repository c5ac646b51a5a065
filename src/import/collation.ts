import { languageCompare } from '../lib/collation.ts'
import { ImportError } from './import-error.ts'
import { shown } from './shown.ts'

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
          `the field ${shown(name)} is too large for a collation: its distinct values are more than ${maxDistinct.toLocaleString('en')}, or longer than 256 million characters together; import it without --collation`,
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
