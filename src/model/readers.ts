/**
 * Who may read an item or a bitstream (Q11, docs/decisions/0011). These pure functions are the only place that evaluates
 * the groups and dates of readers, for lists and single rows alike.
 */
export interface ReaderRule {
  /** `eperson`: any of them; `eperson:<uuid>`: that one. */
  readonly reader: 'anonymous' | 'eperson' | `eperson:${string}` | `group:${string}`
  /** The first day (UTC, YYYY-MM-DD) on which it applies, such as the end of an embargo; absent: no start. */
  readonly from?: string
  /** The last day on which it applies; absent: no end. */
  readonly until?: string
  /** They may change the item, too. Only groups and single epersons may, and files have it from their item (docs/decisions/0043). */
  readonly right?: 'write'
  /**
   * What the item's state takes from the rule. `unlisted`: what it lets somebody read by its address is in no list and no
   * query for them. `withdrawn`: it lets nobody read.
   */
  readonly hidden?: 'unlisted' | 'withdrawn'
}

/** One rule that applies is enough. Without rules, only administrators may read. */
export type Readers = readonly ReaderRule[]

/** The person whose row visibility is asked about. */
export type Viewer =
  | { readonly kind: 'administrator' }
  | {
      readonly kind: 'reader'
      /** The eperson's uuid; null: anonymous. */
      readonly eperson: string | null
      /** Names, including those of special groups. */
      readonly groups: ReadonlySet<string>
    }

/** The day (UTC, YYYY-MM-DD) for which rules are evaluated. */
export const today = (): string => new Date().toISOString().slice(0, 10)

/** Whether these readers let the viewer read it by its address. @param day as `today` gives it */
export const admits = (readers: Readers, viewer: Viewer, day: string): boolean =>
  viewer.kind === 'administrator' ||
  readers.some(rule => rule.hidden !== 'withdrawn' && appliesTo(rule, viewer, day))

/** Whether lists and queries show it to the viewer. */
export const lists = (readers: Readers, viewer: Viewer, day: string): boolean =>
  viewer.kind === 'administrator' ||
  readers.some(rule => rule.hidden === undefined && appliesTo(rule, viewer, day))

/** Whether the viewer may change it. */
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

/** The uuid of the one eperson that a rule is for. */
export const epersonOf = (reader: ReaderRule['reader']): string | undefined =>
  reader.startsWith('eperson:') ? reader.slice('eperson:'.length) : undefined

/** The one eperson of each rule that is for one. */
export const epersonsIn = (readers: Readers): ReadonlySet<string> =>
  new Set(readers.flatMap(({ reader }) => epersonOf(reader) ?? []))

/** The rules that only let read, as they were given. */
export const readRules = (readers: Readers): Readers =>
  readers.filter(({ right }) => right === undefined).map(({ hidden: _, ...rule }) => rule)

/** The rules that let change the item. */
export const writeRules = (readers: Readers): Readers => readers.filter(({ right }) => right === 'write')

/** What of an item decides about its readers besides their rules. */
export interface Visibility {
  readonly withdrawn: boolean
  readonly discoverable: boolean
}

/** The readers of an item, or of a file in it. @param rules read rules of its own @param writers of the item */
export function readersWith(
  rules: Readers,
  writers: Readers,
  { withdrawn, discoverable }: Visibility,
): Readers {
  const hidden = withdrawn ? 'withdrawn' : discoverable ? undefined : 'unlisted'
  const own = readRules(rules)
  return [...(hidden === undefined ? own : own.map(rule => ({ ...rule, hidden }) as const)), ...writers]
}

/** As a person writes rules, such as `eperson | anonymous from:2027-01-01`. */
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

/** The canonical text of the rules, whatever their order. It identifies an audience, and is what `readers` shows. */
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
