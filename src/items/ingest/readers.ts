import {
  epersonOf,
  groupOf,
  groupRuleForms,
  type ReaderRule,
  type Readers,
  readRuleIn,
  ruleForms,
} from '../../model/readers.ts'
import { BadItem } from './item.ts'

/**
 * Names of the groups that rules may refer to. A rule is a line of text that says who may read an item or a file, in
 * one of `readRuleForms`, optionally followed by a space or tab and `from:YYYY-MM-DD` or `until:YYYY-MM-DD`. Anything
 * else makes the item bad, so that it can't become readable by people it wasn't meant for.
 */
export type KnownGroups = ReadonlySet<string>

/**
 * @param lines one rule each
 * @param isForEpersons true if rules for one eperson are allowed, which the caller looks up (`knownRule`). In a source they
 * aren't: it is from elsewhere, and may be ingested again after that eperson is gone.
 * @returns an empty list if only administrators may read
 * @throws BadItem
 */
export const parseReaders = (lines: readonly string[], groups: KnownGroups, isForEpersons = false): Readers =>
  lines.flatMap(line => parseRule(line, groups, isForEpersons))

/**
 * Maximum characters of a rule, which exceeds the longest group name and two days. It is bounded because
 * matching takes quadratic time.
 */
export const maxRuleLength = 1_000

function parseRule(line: string, groups: KnownGroups, isForEpersons: boolean): Readers {
  if (line.length > maxRuleLength) throw new BadItem(`a rule is longer than ${maxRuleLength} characters`)
  let rest = line.trim()
  const days: { from?: string; until?: string } = {}
  for (;;) {
    const [whole, before = '', word, day = ''] = /^(.*?)\s+(from|until):(\S*)$/.exec(rest) ?? []
    if (whole === undefined) break
    const name = word === 'from' ? 'from' : 'until'
    if (days[name] !== undefined) throw new BadItem(`${JSON.stringify(line)} has ${name}: twice`)
    days[name] = parseDay(day)
    rest = before
  }
  if (days.from !== undefined && days.until !== undefined && days.from > days.until)
    throw new BadItem(`${JSON.stringify(line)} ends before it begins; from: must not be after until:`)
  const reader = parseReader(rest, groups, isForEpersons)
  if (reader !== 'admin') return [{ reader, ...days }]
  if (days.from !== undefined || days.until !== undefined)
    throw new BadItem('admin takes no from: or until:; administrators may always read')
  return []
}

function parseReader(
  text: string,
  groups: KnownGroups,
  isForEpersons: boolean,
): ReaderRule['reader'] | 'admin' {
  const rule = readRuleIn(text)
  if (rule === undefined)
    throw new BadItem(
      `${JSON.stringify(text)} is not a rule; write ${isForEpersons ? ruleForms : groupRuleForms} in lower case, ` +
        'optionally followed by from:YYYY-MM-DD and until:YYYY-MM-DD (no space after the colon)',
    )
  if (epersonOf(rule) !== undefined && !isForEpersons)
    throw new BadItem(
      `${JSON.stringify(text)} is for one eperson, and what is ingested takes rules for groups only; let them read the ` +
        'item when it is there, with `carrel item access`',
    )
  const group = groupOf(rule)
  return group === undefined ? rule : groupReader(group, groups)
}

/** A rule that is well-formed and names a group that doesn't exist. */
export class UnknownGroup extends BadItem {}

/** @throws UnknownGroup */
export function groupReader(group: string, groups: KnownGroups): `group:${string}` {
  if (!groups.has(group))
    throw new UnknownGroup(
      `there is no group ${JSON.stringify(group)}; add it with \`carrel group add ${shellWord(group)}\``,
    )
  return `group:${group}`
}

/** Writes a text as a word of a shell, in quotes if it needs them. */
export const shellWord = (text: string) => (/^[\w.-]+$/.test(text) ? text : shellQuoted(text))

export const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** @throws BadItem for a day that doesn't exist, such as 30 February */
export function parseDay(text: string): string {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  // `Date` turns 30 February into 1 or 2 March.
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== text)
    throw new BadItem(`${JSON.stringify(text)} is not a date; write YYYY-MM-DD`)
  return text
}
