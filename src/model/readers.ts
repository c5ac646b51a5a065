/**
 * Who may read an item or a bitstream (Q11, docs/decisions/0011). Pure: the one place where groups and days of readers are
 * looked at, for lists and for single rows alike.
 */
export interface ReaderRule {
  readonly reader: 'anonymous' | 'eperson' | `group:${string}`
  /** The first day (UTC, YYYY-MM-DD) that it holds, such as the end of an embargo; absent: since ever. */
  readonly from?: string
  /** The last day; absent: for ever. */
  readonly until?: string
}

/** One rule that holds is enough. No rule: administrators only. */
export type Readers = readonly ReaderRule[]

/** Who looks at rows. */
export type Viewer =
  | { readonly kind: 'administrator' }
  | {
      readonly kind: 'reader'
      /** uuid; null: anonymous. */
      readonly eperson: string | null
      /** Names, special groups among them. */
      readonly groups: ReadonlySet<string>
    }

/** The day that rules are held against. */
export const today = (): string => new Date().toISOString().slice(0, 10)

/** @param day as `today` gives it */
export const admits = (readers: Readers, viewer: Viewer, day: string): boolean =>
  viewer.kind === 'administrator' ||
  readers.some(({ reader, from, until }) => {
    if ((from !== undefined && day < from) || (until !== undefined && day > until)) return false
    if (reader === 'anonymous') return true
    return reader === 'eperson' ? viewer.eperson !== null : viewer.groups.has(reader.slice('group:'.length))
  })

/** The same rules, the same text, in whatever order they were given: what tells audiences apart, and what `readers` shows. */
export function readersText(readers: Readers): string {
  const texts = readers.map(({ reader, from, until }) =>
    JSON.stringify({
      reader,
      ...(from === undefined ? {} : { from }),
      ...(until === undefined ? {} : { until }),
    }),
  )
  return `[${[...new Set(texts)].sort().join()}]`
}

export const readReaders = (text: string): Readers => JSON.parse(text) as Readers
