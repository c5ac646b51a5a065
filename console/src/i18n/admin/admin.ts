import { effect, signal } from '@preact/signals'
import { type Language, language, say, type Text, type Values } from '../i18n.ts'
import { en } from './en.ts'

/** The texts of the administrators' pages: nobody else loads them. */
export type AdminKey = keyof typeof en
export type AdminDictionary = Readonly<Record<AdminKey, Text>>

const languages: Readonly<Record<Language, () => Promise<AdminDictionary>>> = {
  en: async () => en,
  de: async () => (await import('./de.ts')).de,
}

const texts = signal<AdminDictionary>(en)

/** Before the first of these pages is shown. */
export async function beginAdminTexts(): Promise<void> {
  const code = language.peek()
  const found = await languages[code]()
  if (language.peek() === code) texts.value = found
}

effect(() => {
  const code = language.value
  languages[code]().then(
    found => {
      if (language.peek() === code) texts.value = found
    },
    () => {},
  )
})

/** @param values `n` chooses the plural form */
export const a = (key: AdminKey, values: Values = {}): string => say(texts.value[key], values)

/** The text of a word that the service uses; the word itself, if there is none. */
export const aOf = (prefix: string, word: string): string => {
  const key = `${prefix}.${word}`
  return key in texts.value ? a(key as AdminKey) : word
}
