/** Collations of text, as in Node's ICU (docs/decisions/0015). */

/** Replaces `und`, because ECMA-402 has no name for the root collation. English doesn't differ from it. */
const asLanguage = (tag: string) => tag.replace(/^und(?=-|$)/, 'en')

/**
 * Returns a collation's tag in canonical form.
 * @param tag BCP 47, such as `sv`, `de-u-co-phonebk`, or `und` for no particular language
 * @returns undefined if ICU has no such collation
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
  // A collator replaces an unknown language with that of the machine, and the order
  // would depend on the machine.
  if (Intl.Collator.supportedLocalesOf(language).length === 0) return undefined
  const asked = new Intl.Locale(language).collation
  const { collation } = new Intl.Collator(language).resolvedOptions()
  return asked === undefined || asked === collation ? canonical : undefined
}

export const languageCompare = (collation: string): ((one: string, other: string) => number) =>
  new Intl.Collator(asLanguage(collation)).compare
