import type { ReadRule } from './entities.ts'
import type { ReaderRule } from './readers.ts'

/** Forms of a read rule, for messages. */
export const readRuleForms = ['anonymous', 'eperson', 'admin', 'group:<name>'] as const

/** @returns undefined if the text is not a read rule (Q11) */
export function readRuleIn(text: string): ReadRule | undefined {
  if (text === 'anonymous' || text === 'eperson' || text === 'admin') return text
  const group = /^group:(.+)/.exec(text)?.[1]?.trim()
  return group === undefined || group === '' ? undefined : `group:${group}`
}

/** Returns the name of the group that a rule names. */
export const groupOf = (rule: ReadRule | ReaderRule['reader']): string | undefined =>
  rule.startsWith('group:') ? rule.slice('group:'.length) : undefined
