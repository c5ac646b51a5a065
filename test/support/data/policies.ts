import { createHash } from 'node:crypto'
import fc from 'fast-check'

/**
 * A policy. The rules for reading are written here a second time in the simplest way; nothing comes from
 * src/.
 */
export interface Rule {
  readonly reader: string
  readonly from?: string
  readonly until?: string
}

/** The rights of a viewer, known because the test gave them. */
export interface Someone {
  readonly administrator: boolean
  readonly loggedIn: boolean
  readonly groups: readonly string[]
  /** The name used in `eperson:<name>` of a plan, if rules may name this viewer. */
  readonly name?: string
}

export const dayIn = (days: number): string =>
  new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

export function mayReadBy(rules: readonly Rule[], who: Someone): boolean {
  if (who.administrator) return true
  const now = Date.parse(`${dayIn(0)}T12:00:00Z`)
  for (const rule of rules) {
    if (rule.from !== undefined && now < Date.parse(`${rule.from}T00:00:00Z`)) continue
    if (rule.until !== undefined && now > Date.parse(`${rule.until}T23:59:59Z`)) continue
    if (rule.reader === 'anonymous') return true
    if (rule.reader === 'eperson' && who.loggedIn) return true
    if (who.name !== undefined && rule.reader === `eperson:${who.name}`) return true
    for (const group of who.groups) if (rule.reader === `group:${group}`) return true
  }
  return false
}

const groups = ['A', 'B', 'C', 'Campus', 'Local']
/** Names of viewers from `someViewers`; an administrator acts on behalf of the last one. */
const names = ['a', 'none', 'b']

export const rules: fc.Arbitrary<readonly Rule[]> = fc.array(
  fc
    .record(
      {
        reader: fc.constantFrom(
          ...['anonymous', 'eperson', ...groups.map(group => `group:${group}`)],
          ...names.map(name => `eperson:${name}`),
        ),
        from: fc.integer({ min: -2, max: 2 }),
        until: fc.integer({ min: -2, max: 2 }),
      },
      { requiredKeys: ['reader'] },
    )
    .map(({ reader, from, until }) => ({
      reader,
      ...(from === undefined ? {} : { from: dayIn(from) }),
      ...(until === undefined ? {} : { until: dayIn(until) }),
    })),
  { maxLength: 3 },
)

export interface PlannedItem {
  readonly identifier: string
  readonly title: string | null
  readonly issued: string | null
  readonly readers: readonly Rule[]
  readonly bitstreams: readonly { readonly name: string; readonly readers: readonly Rule[] | null }[]
}

/** @param least number of items @param most number of items */
export const plannedItems = (least: number, most: number): fc.Arbitrary<readonly PlannedItem[]> =>
  fc.uniqueArray(
    fc.record({
      identifier: fc.integer({ min: 1, max: most * 2 }).map(number => `test/${number}`),
      title: fc.option(fc.constantFrom('Zebra', 'apple', 'Äpfel', '\u{1f600}', '\uffff', '')),
      issued: fc.option(fc.constantFrom('1999', '2001-05', '2026')),
      readers: rules,
      bitstreams: fc.uniqueArray(
        fc.record({ name: fc.constantFrom('a.pdf', 'b.txt', 'c.html'), readers: fc.option(rules) }),
        { maxLength: 3, selector: one => one.name },
      ),
    }),
    { minLength: least, maxLength: most, selector: one => one.identifier },
  )

/** The UUIDs of epersons by their names in plans. */
export type Uuids = ReadonlyMap<string, string>

/** Replaces names in rules by UUIDs, as the store expects. */
const named = (rules: readonly Rule[], uuids: Uuids): readonly Rule[] =>
  rules.map(rule => ({
    ...rule,
    reader: rule.reader.replace(/(?<=^eperson:).+/, name => uuids.get(name) ?? name),
  }))

/** Returns an item in the form that the store expects. */
export const asNewItem = (
  { identifier, title, issued, readers, bitstreams }: PlannedItem,
  uuids: Uuids = new Map(),
) => ({
  identifier,
  metadata: {
    ...(title === null ? {} : { 'dc.title': [{ value: title, language: null }] }),
    ...(issued === null ? {} : { 'dc.date.issued': [{ value: issued, language: 'en' }] }),
  },
  collections: [],
  readers: named(readers, uuids) as never,
  fingerprint: JSON.stringify([title, issued, readers, bitstreams]),
  bitstreams: bitstreams.map(one => ({
    name: one.name,
    bundle: 'ORIGINAL',
    description: null,
    mimeType: 'text/plain',
    size: 3,
    sha256: createHash('sha256').update(one.name).digest('hex'),
    readers: (one.readers && named(one.readers, uuids)) as never,
  })),
})
