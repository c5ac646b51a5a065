import type { ReadRule } from '../model/entities.ts'
import { epersonOf, groupOf, knownRule, type Names, readRuleIn, ruleForms } from '../model/readers.ts'
import { Failure, Misuse } from './failures.ts'
import { printable } from './output.ts'

/** The option `--read` for entities (Q11), an existing one of which keeps its rule (D7). */
export const entityReadOption = [
  '--read <who>',
  `who may read it: ${ruleForms} (default: the rule that the entity has; admin for a new one)`,
] as const

/**
 * Reads a rule as it was typed, before any store is opened.
 * @param where the option or argument that holds the text, for messages
 * @param forms those that are allowed, for messages
 * @throws Misuse if it is no read rule
 */
export function parseReadRule(text: string, where = '--read', forms = ruleForms): ReadRule {
  if (/\s(from|until):/.test(text)) throw new Misuse(`${where} takes who may read, without days`)
  const rule = readRuleIn(text)
  if (rule === undefined) throw new Misuse(`${where} takes ${forms}, not ${JSON.stringify(text)}`)
  return rule
}

/** @throws Misuse if it is no rule; Failure if it names a group or an eperson that doesn't exist */
export async function readRule(text: string, people: Names): Promise<ReadRule> {
  const rule = parseReadRule(text)
  const known = await knownRule(rule, people)
  if (known !== undefined) return known
  const [group, eperson] = [groupOf(rule), epersonOf(rule)]
  throw eperson === undefined
    ? new Failure(`there is no group ${group}; add it with \`carrel group add ${group}\``)
    : new Failure(`there is no eperson ${printable(eperson)}; \`carrel eperson list\` lists them`)
}

/** Reads the rule of an entity; null if none was given, so that an existing entity keeps its rule. */
export const entityRule = async (text: string | undefined, people: Names): Promise<ReadRule | null> =>
  text === undefined ? null : readRule(text, people)
