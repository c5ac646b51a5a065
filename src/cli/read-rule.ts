import type { ReadRule } from '../model/entities.ts'
import { groupOf, readRuleIn } from '../model/readers.ts'
import type { People } from '../storage/people.ts'
import { Failure, Misuse } from './failures.ts'

/** The option `--read` of commands that make something readable (Q11). */
const readOption = [
  '--read <who>',
  'who may read it: anonymous, eperson, admin or group:<name>',
  'admin',
] as const

/** The option `--read` for entities, an existing one of which keeps its rule (D7). */
export const entityReadOption = [
  readOption[0],
  `${readOption[1]} (default: the rule that the entity has; admin for a new one)`,
] as const

/**
 * Reads a rule as it was typed, before any store is opened.
 * @param where the option or argument that holds the text, for messages
 * @throws Misuse if it is no read rule
 */
export function parseReadRule(text: string, where = readOption[0].replace(/ .*/, '')): ReadRule {
  if (/\s(from|until):/.test(text))
    throw new Misuse(`${where} takes who may read; put days into --from and --until`)
  const rule = readRuleIn(text)
  if (rule === undefined)
    throw new Misuse(`${where} takes anonymous, eperson, admin or group:<name>, not ${JSON.stringify(text)}`)
  return rule
}

/** @throws Misuse if it is no rule; Failure if it names a group that doesn't exist */
export async function readRule(text: string, people: Pick<People, 'listGroups'>): Promise<ReadRule> {
  const rule = parseReadRule(text)
  const group = groupOf(rule)
  if (group === undefined) return rule
  const known = await people.listGroups()
  if (!known.some(one => one.name === group))
    throw new Failure(`there is no group ${group}; add it with \`carrel group add ${group}\``)
  return rule
}

/** Reads the rule of an entity; null if none was given, so that an existing entity keeps its rule. */
export const entityRule = async (
  text: string | undefined,
  people: Pick<People, 'listGroups'>,
): Promise<ReadRule | null> => (text === undefined ? null : readRule(text, people))
