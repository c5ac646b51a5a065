import {
  type AccessChange,
  type Bitstream,
  type Bundle,
  type Item,
  type KnownItem,
  type ListedItem,
  type Metadata,
  maxReadersBytes,
  type NewItem,
  summaryOf,
} from '../../model/items.ts'
import { type ReaderRule, type Readers, readersText, readReaders } from '../../model/readers.ts'
import type { CountedAudience, Site } from '../repository.ts'

/** How both engines store items and bitstreams in rows. */
export type ItemRow = {
  uuid: string
  identifier: string
  title: string | null
  authors: string
  issued: string | null
  type: string | null
  metadata: string
  collections: string
  readers: string
  created: string
  modified: string
  withdrawn: number
  discoverable: number
  revision: number
}

export const itemColumns =
  'uuid, identifier, title, authors, issued, type, metadata, collections, readers, created, modified, withdrawn, discoverable, revision'

export const toItem = (row: ItemRow): Item => ({
  ...row,
  authors: JSON.parse(row.authors) as string[],
  metadata: JSON.parse(row.metadata) as Metadata,
  collections: JSON.parse(row.collections) as string[],
  readers: readReaders(row.readers),
  withdrawn: row.withdrawn === 1,
  discoverable: row.discoverable === 1,
})

export type BundleRow = { uuid: string; item: string; name: string; primary_bitstream: string | null }

export const bundleColumns = 'uuid, item, name, primary_bitstream'

export const toBundle = ({ primary_bitstream: primary, ...row }: BundleRow): Bundle => ({ ...row, primary })

export type BitstreamRow = {
  uuid: string
  item: string
  bundle: string
  name: string
  description: string | null
  mime_type: string
  size: number
  sha256: string
  readers: string
  created: string
}

export const bitstreamColumns =
  'uuid, item, bundle, name, description, mime_type, size, sha256, readers, created'

export const toBitstream = ({ mime_type, readers, ...row }: BitstreamRow): Bitstream => ({
  ...row,
  mimeType: mime_type,
  readers: readReaders(readers),
})

export type AudienceRow = { id: number; readers: string; items: number; bitstreams: number }

/** Those that are used and really have a rule for this reader, whose name may be a part of another text. */
export const toAudiencesWith = (
  reader: ReaderRule['reader'],
  rows: readonly AudienceRow[],
): readonly CountedAudience[] =>
  rows
    .map(row => ({ ...row, readers: readReaders(row.readers) }))
    .filter(
      ({ readers, items, bitstreams }) =>
        items + bitstreams > 0 && readers.some(rule => rule.reader === reader),
    )

/** Names a bitstream that has some content, and how many of them are named at most. */
export const holderExpression = "identifier || ', ' || bundle || '/' || name"
export const maxHolders = 3

export type SiteRow = { readonly metadata: string; readonly revision: number }

export const siteColumns = 'metadata, revision'

/** @param row undefined: the site was never changed */
export const toSite = (row: SiteRow | undefined): Site => ({
  metadata: row === undefined ? {} : (JSON.parse(row.metadata) as Metadata),
  revision: row?.revision ?? 0,
})

/** The columns of an item besides its uuid, audience and times, in the order of `itemValues`. */
export const itemValueColumns = 'title, authors, issued, type, metadata, collections'

export function itemValues({
  metadata,
  collections,
}: Pick<NewItem, 'metadata' | 'collections'>): readonly (string | null)[] {
  const { title, authors, issued, type } = summaryOf(metadata)
  const plain = Object.fromEntries(
    Object.entries(metadata).map(([key, values]) => [
      key,
      values.map(({ value, language }) => ({ value, language })),
    ]),
  )
  return [title, JSON.stringify(authors), issued, type, JSON.stringify(plain), JSON.stringify(collections)]
}

/** The columns of a bitstream besides its uuid, item and creation time. `bundle` and `name` identify it within its item. */
export type BitstreamValues = Readonly<{
  bundle: string
  name: string
  place: number
  description: string | null
  mime_type: string
  size: number
  sha256: string
  audience: number
}>

/** The columns that may change while the bitstream keeps its uuid. */
const changing = ['place', 'description', 'mime_type', 'size', 'sha256', 'audience'] as const
export const changingColumns = changing.join(', ')
export const changingValues = (row: BitstreamValues): (string | number | null)[] =>
  changing.map(column => row[column])

const keyOf = ({ bundle, name }: Pick<BitstreamValues, 'bundle' | 'name'>) => JSON.stringify([bundle, name])

/**
 * The bitstreams that an item should have. A bitstream without given readers keeps its audience (D7); a new one gets the
 * item's.
 * @param given the audiences that are given for the bitstreams, in their order
 * @param audience the item's audience
 */
export function wantedBitstreams(
  { bitstreams }: NewItem,
  given: readonly (number | null)[],
  audience: number,
  before: readonly BitstreamValues[],
): BitstreamValues[] {
  const audiences = new Map(before.map(row => [keyOf(row), row.audience]))
  return bitstreams.map((one, place) => ({
    bundle: one.bundle,
    name: one.name,
    place,
    description: one.description,
    mime_type: one.mimeType,
    size: one.size,
    sha256: one.sha256,
    audience: given[place] ?? audiences.get(keyOf(one)) ?? audience,
  }))
}

export interface BitstreamChanges {
  /** uuids. */
  readonly removed: readonly string[]
  readonly changed: readonly (BitstreamValues & { readonly uuid: string })[]
  readonly added: readonly BitstreamValues[]
}

/** The changes that turn an item's bitstreams into the wanted ones. */
export function bitstreamChanges(
  before: readonly (BitstreamValues & { readonly uuid: string })[],
  wanted: readonly BitstreamValues[],
): BitstreamChanges {
  const oldRows = new Map(before.map(row => [keyOf(row), row]))
  const kept = new Set(wanted.map(keyOf))
  return {
    removed: before.filter(row => !kept.has(keyOf(row))).map(({ uuid }) => uuid),
    changed: wanted.flatMap(row => {
      const old = oldRows.get(keyOf(row))
      return old && changing.some(column => old[column] !== row[column]) ? { ...row, uuid: old.uuid } : []
    }),
    added: wanted.filter(row => !oldRows.has(keyOf(row))),
  }
}

/** The files that an ingest changes, as they were and as they are. */
export const changedFiles = (
  before: readonly (BitstreamValues & { readonly uuid: string })[],
  { removed, changed, added }: BitstreamChanges,
): readonly BitstreamValues[] => {
  const gone = new Set([...removed, ...changed.map(({ uuid }) => uuid)])
  return [...before.filter(({ uuid }) => gone.has(uuid)), ...changed, ...added]
}

/** The readers of a new item for which none are given: administrators only. */
export const defaultReaders = readersText([])

/** @returns the canonical text of the readers @throws RangeError if it is longer than every engine can store */
export function checkedReaders(identifier: string, readers: Readers): string {
  const text = readersText(readers)
  if (Buffer.byteLength(text) <= maxReadersBytes) return text
  throw new RangeError(`the readers of ${identifier} take more than ${maxReadersBytes} bytes`)
}

/**
 * The canonical texts of the readers that are given for an item and for each of its bitstreams; null where existing
 * readers are kept. Readers that are given for the item apply to its bitstreams too.
 * @throws RangeError before anything is changed
 */
export function givenReaders({ identifier, readers, bitstreams }: NewItem) {
  const textOf = (one: Readers | null) => (one === null ? null : checkedReaders(identifier, one))
  const item = textOf(readers)
  return { item, bitstreams: bitstreams.map(one => textOf(one.readers) ?? item) }
}

/** Another run has put the item since it was looked for, and not this one. @param fingerprint of what is there */
export const isTaken = ({ seen, fingerprint: own }: NewItem, fingerprint: string): boolean =>
  seen !== undefined && fingerprint !== seen && fingerprint !== own

/** A row of `item` joined with its audience. */
export type KnownRow = { identifier: string; uuid: string; fingerprint: string; readers: string }
export const knownColumns = 'identifier, uuid, fingerprint, readers'
export const toKnownItems = (rows: readonly KnownRow[]): ReadonlyMap<string, KnownItem> =>
  new Map(
    rows.map(({ identifier, uuid, fingerprint, readers }) => [
      identifier,
      { uuid, fingerprint, readers: readReaders(readers) },
    ]),
  )

export type ListedRow = {
  identifier: string
  uuid: string
  title: string | null
  files: number
  readers: string
}
export const toListedItem = (row: ListedRow): ListedItem => ({ ...row, readers: readReaders(row.readers) })

/** The `object` of the event for a change of readers. */
export const accessObject = ({ identifier, file }: Pick<AccessChange, 'identifier' | 'file'>): string =>
  file ? `${identifier}, ${file.bundle}/${file.name}` : identifier

/** The bundles of files, in the order of their first ones. */
export const bundleNames = (bitstreams: readonly Pick<BitstreamValues, 'bundle'>[]): readonly string[] => [
  ...new Set(bitstreams.map(({ bundle }) => bundle)),
]
