import { effect, signal } from '@preact/signals'
import type { Administration, AdminKey } from './dictionary.ts'
import { language, say, type Values } from './i18n.ts'
import { adminTextsOf } from './languages.ts'

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

/** Returns the text for a word that the service uses, or the word itself if there is no text. */
export const aOf = (prefix: string, word: string): string => {
  const key = `${prefix}.${word}`
  return texts.value && key in texts.value ? a(key as AdminKey) : word
}
