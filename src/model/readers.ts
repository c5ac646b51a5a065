import type { Awaitable } from '../lib/awaitable.ts'
import { msNow } from '../lib/ms-now.ts'
import { readUuid } from '../lib/uuids.ts'
import type { Group } from './accounts.ts'
import type { ReadRule } from './entities.ts'

/**
 * A rule that lets readers read an item or a bitstream (Q11, docs/decisions/0011). The pure functions of this
 * file are the only place that evaluates the groups and dates of readers, for lists and single rows alike.
 */
export interface ReaderRule {
  readonly reader: Exclude<ReadRule, 'admin'>
  /**
   * The first day (UTC, YYYY-MM-DD) on which the rule applies, such as the end of an
   * embargo; absent: no start.
   */
  readonly from?: string
  /** The last day on which the rule applies; absent: no end. */
  readonly until?: string
  /**
   * Lets the reader change the item, too. Only a group or a single eperson may have this right, and files
   * inherit it from their item (docs/decisions/0043).
   */
  readonly right?: 'write'
  /**
   * The restriction of the rule by the state of its item. `unlisted`: readers can open the object by its
   * address, but don't find it in lists and queries. `withdrawn`: the rule admits no reader.
   */
  readonly hidden?: 'unlisted' | 'withdrawn'
}

/** Rules of which one that applies is enough. Without rules, only administrators may read. */
export type Readers = readonly ReaderRule[]

/** The person for whom the visibility of rows is evaluated. */
export type Viewer =
  | { readonly kind: 'administrator' }
  | {
      readonly kind: 'reader'
      /** The eperson's uuid; null: anonymous. */
      readonly eperson: string | null
      /** Names of groups, including special groups. */
      readonly groups: ReadonlySet<string>
    }

/** Returns the day (UTC, YYYY-MM-DD) for which rules are evaluated. */
export const today = (): string => new Date(msNow()).toISOString().slice(0, 10)

/** True if the readers let the viewer read the object by its address. @param day the result of `today` */
export const admits = (readers: Readers, viewer: Viewer, day: string): boolean =>
  viewer.kind === 'administrator' ||
  readers.some(rule => rule.hidden !== 'withdrawn' && appliesTo(rule, viewer, day))

/** True if lists and queries show the object to the viewer. */
export const lists = (readers: Readers, viewer: Viewer, day: string): boolean =>
  viewer.kind === 'administrator' ||
  readers.some(rule => rule.hidden === undefined && appliesTo(rule, viewer, day))

/** True if the viewer may change the object. */
export const admitsWriter = (readers: Readers, viewer: Viewer, day: string): boolean =>
  viewer.kind === 'administrator' ||
  readers.some(rule => rule.right === 'write' && appliesTo(rule, viewer, day))

function appliesTo(
  { reader, from, until }: ReaderRule,
  viewer: Viewer & { kind: 'reader' },
  day: string,
): boolean {
  if ((from !== undefined && day < from) || (until !== undefined && day > until)) return false
  if (reader === 'anonymous') return true
  if (reader === 'eperson') return viewer.eperson !== null
  const eperson = epersonOf(reader)
  return eperson === undefined ? viewer.groups.has(reader.slice('group:'.length)) : viewer.eperson === eperson
}

/** Returns the UUID of the single eperson that a rule is for. */
export const epersonOf = (reader: ReadRule): string | undefined =>
  reader.startsWith('eperson:') ? reader.slice('eperson:'.length) : undefined

/** Returns the UUIDs of the single epersons that rules are for. */
export const epersonsIn = (readers: Readers): ReadonlySet<string> =>
  new Set(readers.flatMap(({ reader }) => epersonOf(reader) ?? []))

/** Returns the rules that only let read, without restrictions by the item's state. */
export const readRules = (readers: Readers): Readers =>
  readers.filter(({ right }) => right === undefined).map(({ hidden: _, ...rule }) => rule)

/** Returns the rules that let the reader change the item. */
export const writeRules = (readers: Readers): Readers => readers.filter(({ right }) => right === 'write')

/** The state of an item that restricts its read rules. */
export interface Visibility {
  readonly withdrawn: boolean
  readonly discoverable: boolean
}

/**
 * Returns the effective readers of an item, or of a file in it.
 * @param rules its own read rules
 * @param writers the write rules of the item
 */
export function readersWith(
  rules: Readers,
  writers: Readers,
  { withdrawn, discoverable }: Visibility,
): Readers {
  const hidden = withdrawn ? 'withdrawn' : discoverable ? undefined : 'unlisted'
  const own = readRules(rules)
  return [...(hidden === undefined ? own : own.map(rule => ({ ...rule, hidden }) as const)), ...writers]
}

/** Returns rules in the form that people write, such as `eperson | anonymous from:2027-01-01`. */
export const describeReaders = (readers: Readers): string =>
  readers
    .map(({ reader, from, until, right, hidden }) =>
      [
        reader,
        ...(right ? [right] : []),
        ...(from ? [`from:${from}`] : []),
        ...(until ? [`until:${until}`] : []),
        ...(hidden ? [`(${hidden})`] : []),
      ].join(' '),
    )
    .join(' | ') || 'admin'

/**
 * Returns the canonical text of the rules, whatever their order. It identifies an
 * audience, and `readers` shows it.
 */
export function readersText(readers: Readers): string {
  const texts = readers.map(({ reader, from, until, right, hidden }) =>
    JSON.stringify({
      reader,
      ...(from === undefined ? {} : { from }),
      ...(until === undefined ? {} : { until }),
      ...(right === undefined ? {} : { right }),
      ...(hidden === undefined ? {} : { hidden }),
    }),
  )
  return `[${[...new Set(texts)].sort().join()}]`
}

export const readReaders = (text: string): Readers => JSON.parse(text) as Readers

/** Forms of a read rule, for messages. */
export const readRuleForms = [
  'anonymous',
  'eperson',
  'admin',
  'group:<name>',
  'eperson:<e-mail address or UUID>',
] as const

const inWords = (forms: readonly string[]) => `${forms.slice(0, -1).join(', ')} or ${forms.at(-1)}`

export const ruleForms = inWords(readRuleForms)
/** The forms that name no eperson: sources of items take only these. */
export const groupRuleForms = inWords(readRuleForms.slice(0, -1))

/**
 * Reads a rule about an entity, an item or a file, without days (Q11). A rule for one eperson has what the text names them
 * by, which `knownRule` replaces by the UUID.
 * @returns undefined if the text is not a rule
 */
export function readRuleIn(text: string): ReadRule | undefined {
  if (text === 'anonymous' || text === 'eperson' || text === 'admin') return text
  const [, kind, rest = ''] = /^(group|eperson):(.*)/s.exec(text) ?? []
  const name = rest.trim()
  if (name === '') return undefined
  if (kind === 'group') return `group:${name}`
  return /\s/.test(name) ? undefined : `eperson:${name}`
}

/** Lookups of the groups and epersons that rules name. */
export interface Names {
  groupsByName(names: readonly string[]): Awaitable<readonly Group[]>
  eperson(uuid: string): Awaitable<{ readonly uuid: string } | undefined>
  credentials(email: string): Awaitable<{ readonly uuid: string } | undefined>
}

/**
 * Looks up what a rule names, and puts the UUID of an eperson into it: addresses change, and may be given to someone else.
 * @returns undefined if there is no such group or eperson
 */
export async function knownRule<R extends ReadRule>(rule: R, people: Names): Promise<R | undefined> {
  const name = epersonOf(rule)
  if (name !== undefined) {
    const uuid = readUuid(name)
    const eperson = await (uuid === undefined ? people.credentials(name) : people.eperson(uuid))
    return eperson && (`eperson:${eperson.uuid}` as R)
  }
  const group = groupOf(rule)
  return group === undefined || (await people.groupsByName([group])).length > 0 ? rule : undefined
}

/** Returns the name of the group that a rule names. */
export const groupOf = (rule: ReadRule): string | undefined =>
  rule.startsWith('group:') ? rule.slice('group:'.length) : undefined

/**
 * Readers that are not groups in Carrel but are shown to DSpace's clients as groups, because these know no
 * other kind of reader: everyone, and every logged-in user. Epersons are not added to them by hand. Their
 * UUIDs are the same in every store (RFC 9562 §5.8).
 */
const openReaders: readonly (readonly [reader: 'anonymous' | 'eperson', group: Group])[] = [
  ['anonymous', { uuid: '00000000-0000-8000-8000-000000000000', name: 'Anonymous' }],
  ['eperson', { uuid: '00000000-0000-8000-8000-000000000001', name: 'Anybody who is logged in' }],
]

export const openGroup = (uuid: string): Group | undefined =>
  openReaders.find(([, group]) => group.uuid === uuid)?.[1]

export const openReader = (uuid: string): ReaderRule['reader'] | undefined =>
  openReaders.find(([, group]) => group.uuid === uuid)?.[0]

export const groupOfOpenReader = (reader: ReaderRule['reader']): Group | undefined =>
  openReaders.find(([one]) => one === reader)?.[1]

/**
 * Appends the matching open groups to a page of groups, after all others.
 * @param text part of a name, or a whole UUID, in lower case
 */
export function withOpenGroups(
  text: string,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  { rows, total }: { readonly rows: readonly Group[]; readonly total: number },
): { readonly rows: readonly Group[]; readonly total: number } {
  const found = openReaders
    .map(([, group]) => group)
    .filter(({ uuid, name }) => uuid === text || name.toLowerCase().includes(text))
  const first = Math.max(offset - total, 0)
  const room = Math.max(limit - rows.length, 0)
  return {
    rows: offset + rows.length < total ? rows : [...rows, ...found.slice(first, first + room)],
    total: total + found.length,
  }
}
