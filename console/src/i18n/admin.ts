import { effect, signal } from '@preact/signals'
import type { Administration, AdminKey } from './dictionary.ts'
import { language, say, type Values, wordsFor } from './i18n.ts'
import { adminTextsOf } from './languages.ts'
import type { administration } from './terms.ts'

export type { AdminKey }

let isBegun = false
const texts = signal<Administration | undefined>(undefined)

async function speak(code: string): Promise<void> {
  const found = await adminTextsOf(code)
  if (language.peek() === code) texts.value = found
}

/**
 * Loads the administrators' dictionary before the first of their pages is shown; English if the language
 * can't be loaded.
 */
export async function beginAdminTexts(): Promise<void> {
  isBegun = true
  if (texts.peek() !== undefined) return
  await speak(language.peek()).catch(() => {})
  texts.value ??= await adminTextsOf('en')
}

effect(() => {
  const code = language.value
  if (isBegun) speak(code).catch(() => {})
})

/** @param values replace the placeholders of the text; `n` also chooses the plural form */
export const a = (key: AdminKey, values: Values = {}): string => say(texts.value?.[key] ?? key, values)

/** Terms that only administrators see: a part of the table that the first page doesn't load. */
const [terms] = Object.values(
  import.meta.glob<typeof administration>('./terms.ts', {
    query: '?administration',
    import: 'administration',
    eager: true,
  }),
)

/** Returns the words for a term of the API, or the term itself if there are none. */
export const aOf = (kind: keyof typeof administration, term: string): string =>
  terms ? wordsFor(terms[kind], term) : term
