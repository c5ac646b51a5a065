import type { Administration, Everybody } from './dictionary.ts'
import { everybody } from './languages/en.ts'

/**
 * Each language is one file of `languages/`, and nothing else names it. A file has two parts. The one
 * imported with `?administration` is loaded with the first page for administrators (vite.config.ts). English
 * is always loaded.
 */
const forEverybody = import.meta.glob<Everybody>(['./languages/*.ts', '!./languages/en.ts'], {
  query: '?everybody',
  import: 'everybody',
})
const forAdministrators = import.meta.glob<Administration>('./languages/*.ts', {
  query: '?administration',
  import: 'administration',
})

const fileOf = (code: string) => `./languages/${code}.ts`

/** Codes of the languages. */
export const languages: readonly string[] = Object.keys(forAdministrators).map(file =>
  file.replace(/^.*\/|\.ts$/g, ''),
)

export const english: Everybody = everybody

export const textsOf = async (code: string): Promise<Everybody> =>
  (await forEverybody[fileOf(code)]?.()) ?? english

export const adminTextsOf = async (code: string): Promise<Administration | undefined> =>
  forAdministrators[fileOf(code)]?.()

/** Returns the name of a language in that language. */
export function nameOf(code: string): string {
  const name = new Intl.DisplayNames([code], { type: 'language' }).of(code) ?? code
  return name.slice(0, 1).toLocaleUpperCase(code) + name.slice(1)
}
