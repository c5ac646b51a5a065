import type { administration, everybody } from './languages/en.ts'
import type { Text } from './text.ts'

/** Keys of the English texts. The compiler rejects a language with a missing or an unknown key. */
export type Key = keyof typeof everybody
export type Everybody = Readonly<Record<Key, Text>>
export type AdminKey = keyof typeof administration
export type Administration = Readonly<Record<AdminKey, Text>>
