/**
 * Who may read an item or a bitstream (Q11, docs/decisions/0011). These pure functions are the only place that evaluates
 * the groups and dates of readers, for lists and single rows alike.
 */
export interface ReaderRule {
  readonly reader: 'anonymous' | 'eperson' | `group:${string}`
  /** The first day (UTC, YYYY-MM-DD) on which it applies, such as the end of an embargo; absent: no start. */
  readonly from?: string
  /** The last day on which it applies; absent: no end. */
  readonly until?: string
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

/** @param day as `today` gives it */
export const admits = (readers: Readers, viewer: Viewer, day: string): boolean =>
  viewer.kind === 'administrator' ||
  readers.some(({ reader, from, until }) => {
    if ((from !== undefined && day < from) || (until !== undefined && day > until)) return false
    if (reader === 'anonymous') return true
    return reader === 'eperson' ? viewer.eperson !== null : viewer.groups.has(reader.slice('group:'.length))
  })

/** As a person writes rules, such as `eperson | anonymous from:2027-01-01`. */
export const describeReaders = (readers: Readers): string =>
  readers
    .map(({ reader, from, until }) =>
      [reader, ...(from ? [`from:${from}`] : []), ...(until ? [`until:${until}`] : [])].join(' '),
    )
    .join(' | ') || 'admin'

/** The canonical text of the rules, whatever their order. It identifies an audience, and is what `readers` shows. */
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
