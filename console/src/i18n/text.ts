/**
 * A text, or one text for each plural form of the language. `{name}` is replaced by the value of that name.
 */
export type Text =
  | string
  | (Partial<Readonly<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string })
