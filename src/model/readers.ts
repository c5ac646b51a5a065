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

/** All audiences of a store, in memory. */
export interface Audiences {
  add(id: number, readers: Readers): void
  /** The highest that is known, 0 for none: audiences are numbered in the order they come, and never change. */
  readonly last: number
  /** @returns the audiences that admit the viewer, ascending; the same object for as long as nothing changes */
  of(viewer: Viewer): readonly number[]
}

/** Sets that are remembered: one for each combination of groups that somebody is in. */
const mostSets = 1_000

export function createAudiences(): Audiences {
  const known: (readonly [id: number, readers: Readers])[] = []
  const sets = new Map<string, readonly number[]>()
  let setsOf = ''
  const last = () => known.at(-1)?.[0] ?? 0
  return {
    add: (id, readers) => {
      known.push([id, readers])
    },
    get last() {
      return last()
    },
    of: viewer => {
      const day = today()
      if (setsOf !== `${day} ${last()}` || sets.size >= mostSets) sets.clear()
      setsOf = `${day} ${last()}`
      // Who somebody is makes no difference, only what they are in.
      const key =
        viewer.kind === 'administrator'
          ? ''
          : JSON.stringify([viewer.eperson !== null, ...[...viewer.groups].sort()])
      const ids =
        sets.get(key) ?? known.filter(([, readers]) => admits(readers, viewer, day)).map(([id]) => id)
      sets.set(key, ids)
      return ids
    },
  }
}
