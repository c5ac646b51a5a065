import { ImportError } from './source.ts'

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

/** Limits of what is held in memory to sort the distinct values of a field. */
const maxDistinct = 5_000_000
const maxCharacters = 256 * 1024 * 1024

/** Marks a record without a value. */
export const noPlace = 0xffff_ffff

/**
 * @param values the texts in the order of their code points, each with the position of its record; records without a text
 *   are left out
 * @param count the number of records
 * @returns for each record, the place of its text among the distinct texts. Texts that the collation treats as equal keep the
 *   order of their code points, so that each distinct text has a place of its own, as without a collation (Q6).
 */
export function collatedPlaces(
  values: Iterable<readonly [record: number, text: string]>,
  count: number,
  { name, collation }: { readonly name: string; readonly collation: string },
): Uint32Array {
  const texts: string[] = []
  const places = new Uint32Array(count).fill(noPlace)
  let characters = 0
  for (const [record, text] of values) {
    if (text !== texts.at(-1)) {
      characters += text.length
      if (texts.length === maxDistinct || characters > maxCharacters)
        throw new ImportError(
          `the field ${JSON.stringify(name)} is too large for a collation: its distinct values are more than ${maxDistinct.toLocaleString('en')}, or longer than 256 million characters together; import it without --collation`,
        )
      texts.push(text)
    }
    places[record] = texts.length - 1
  }
  const { compare } = new Intl.Collator(asLanguage(collation))
  const sorted = Uint32Array.from(texts.keys()).sort(
    (one, other) => compare(texts[one] as string, texts[other] as string) || one - other,
  )
  const placeOf = new Uint32Array(texts.length)
  for (const [place, text] of sorted.entries()) placeOf[text] = place
  return places.map(text => (text === noPlace ? noPlace : (placeOf[text] as number)))
}
