import type { ReaderRule, Readers } from '../model/readers.ts'
import { BadItem } from './item.ts'

/**
 * Who may read an item or a file, as a line of text: `anonymous`, `eperson`, `admin` or `group:<name>`, then, behind a
 * space or a tab, `from:YYYY-MM-DD` and `until:YYYY-MM-DD` if wanted. Whatever is not understood makes the item bad:
 * nothing is ever open to other people than it was meant to be.
 */
export type KnownGroups = ReadonlySet<string>

/**
 * @param lines one rule each
 * @returns no rule at all where only administrators may read
 * @throws BadItem
 */
export const parseReaders = (lines: readonly string[], groups: KnownGroups): Readers =>
  lines.flatMap(line => parseRule(line, groups))

/** Characters: more than any group's name and two days. What is longer costs the square of its length to look through. */
export const maxRuleLength = 1_000

function parseRule(line: string, groups: KnownGroups): Readers {
  if (line.length > maxRuleLength) throw new BadItem(`a rule is longer than ${maxRuleLength} characters`)
  let rest = line.trim()
  const days: { from?: string; until?: string } = {}
  for (;;) {
    const [whole, before = '', word, day = ''] = /^(.*?)\s+(from|until):(\S*)$/.exec(rest) ?? []
    if (whole === undefined) break
    const name = word === 'from' ? 'from' : 'until'
    if (days[name] !== undefined) throw new BadItem(`${JSON.stringify(line)} says ${name}: twice`)
    days[name] = parseDay(day)
    rest = before
  }
  if (days.from !== undefined && days.until !== undefined && days.from > days.until)
    throw new BadItem(`${JSON.stringify(line)} ends before it begins`)
  const reader = parseReader(rest, groups)
  if (reader !== 'admin') return [{ reader, ...days }]
  if (days.from !== undefined || days.until !== undefined)
    throw new BadItem('administrators may always read: admin takes no days')
  return []
}

function parseReader(text: string, groups: KnownGroups): ReaderRule['reader'] | 'admin' {
  if (text === 'anonymous' || text === 'eperson' || text === 'admin') return text
  const group = /^group:\s*(.+)$/.exec(text)?.[1]
  if (group === undefined)
    throw new BadItem(
      `${JSON.stringify(text)} is no rule: write anonymous, eperson, admin or group:<name> in lower case, ` +
        'then from:YYYY-MM-DD and until:YYYY-MM-DD (without a blank in them) if wanted',
    )
  return groupReader(group, groups)
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

const shellWord = (text: string) => (/^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** @throws BadItem when it is none, such as 30 February */
export function parseDay(text: string): string {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  // Date moves days that a month has not into the next one.
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== text)
    throw new BadItem(`${JSON.stringify(text)} is no day; write YYYY-MM-DD`)
  return text
}
