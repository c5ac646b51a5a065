import type { administration, everybody } from './languages/en.ts'
import type { Text } from './text.ts'

/** What a language has to say: a key that is missing, or one too many, is an error of the compiler. */
export type Key = keyof typeof everybody
export type Everybody = Readonly<Record<Key, Text>>
export type AdminKey = keyof typeof administration
export type Administration = Readonly<Record<AdminKey, Text>>
