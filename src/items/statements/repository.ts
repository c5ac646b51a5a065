import { contents } from '../../files/content-statements.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { ItemChange, ItemOutcome, PolicyNote } from '../../model/item-changes.ts'
import type {
  AccessChange,
  Bitstream,
  Bundle,
  Item,
  KnownItem,
  ListedItem,
  Metadata,
} from '../../model/items.ts'
import { type ReaderRule, type Readers, readReaders, type Viewer } from '../../model/readers.ts'
import type { Change, Offered, Read, Value } from '../../storage/statements/statements.ts'
import * as db from '../../storage/statements/statements.ts'
import { storeState } from '../../storage/statements/store-state.ts'
import type { Part, Window } from '../../storage/storage.ts'
import { deleteNamed, itemChange, type Site, siteIn } from './item-changes.ts'
import { storedBytes } from './items.ts'
import { addAudiences, putItems } from './put-items.ts'
import { type ReadersOutcome, setReaders } from './reader-changes.ts'

export type BundlePlace = Pick<Bitstream, 'item' | 'bundle'>

export type ObjectKind = 'item' | 'bitstream'

/** Readers that items and bitstreams share, with the number of each. */
interface CountedAudience {
  readonly id: number
  readonly readers: Readers
  readonly items: number
  readonly bitstreams: number
}

/**
 * Items and their bitstreams (contract section 10). Callers evaluate `readers`, except for `bitstreamsIn`,
 * which returns only what the viewer may read.
 */
export const repository = {
  reads: {
    ...storeState.reads,
    ...contents.reads,
    *item(uuid: string): Read<Item | undefined> {
      const found = yield* db.row<ItemRow>(`${selectItem} WHERE uuid = $1`, uuid)
      return found && toItem(found)
    },
    bitstream: (uuid: string) => bitstreamWith('uuid = $1', uuid),
    /** All bitstreams of an item, in their order. An item may have very many, so no request reads them. */
    bitstreamsOf: (item: string) => bitstreamsWith('item = $1 ORDER BY place', item),
    /** The bundles of an item, in their order. */
    bundles: (item: string, { offset, limit }: Window) =>
      db.partOf(
        bundlesWith('item = $1 ORDER BY place, name LIMIT $2 OFFSET $3', item, limit, offset),
        db.count('bundle WHERE item = $1', item),
      ),
    bundle: (uuid: string) => bundleWith('uuid = $1', uuid),
    bundleOf: ({ item, bundle }: BundlePlace) => bundleWith('item = $1 AND name = $2', item, bundle),
    /** The first bitstream of a bundle; undefined if it has none. */
    firstIn: ({ item, bundle }: BundlePlace) =>
      bitstreamWith('item = $1 AND bundle = $2 ORDER BY place LIMIT 1', item, bundle),
    /** The bitstreams of a bundle that the viewer may read, in their order. */
    *bitstreamsIn(
      { item, bundle }: BundlePlace,
      viewer: Viewer,
      { offset, limit }: Window,
    ): Read<Part<Bitstream>> {
      const seenBy = viewer.kind === 'administrator' ? [] : [yield* db.audiencesOf(viewer)]
      // The + keeps both engines from using an index on the audience, which reads all that the viewer sees.
      const seen = seenBy.length === 0 ? '' : ' AND +audience = ANY($3)'
      const values = [item, bundle, ...seenBy]
      const where = `item = $1 AND bundle = $2${seen}`
      const [last, skipped] = [values.length + 1, values.length + 2]
      return yield* db.partOf(
        bitstreamsWith(`${where} ORDER BY place LIMIT $${last} OFFSET $${skipped}`, ...values, limit, offset),
        db.count(`bitstream WHERE ${where}`, ...values),
      )
    },
    /**
     * The thumbnail of a bitstream: the one in the bundle `THUMBNAIL` that is named after it.
     * '/' follows '.', so these names begin with the name and a dot. The + keeps the index for this condition.
     */
    thumbnailOf: ({ item, name }: Pick<Bitstream, 'item' | 'name'>) =>
      bitstreamWith(
        "item = $1 AND bundle = 'THUMBNAIL' AND name >= $2 AND name < $3 ORDER BY +place LIMIT 1",
        item,
        `${name}.`,
        `${name}/`,
      ),

    uuidOf: (identifier: string) =>
      db.value<string>('SELECT uuid FROM item WHERE identifier = $1', identifier),
    /** The items with these identifiers that are in the store, by identifier. */
    *knownItems(identifiers: readonly string[]): Read<ReadonlyMap<string, KnownItem>> {
      const found = yield* db.rows<{
        identifier: string
        uuid: string
        fingerprint: string
        readers: string
      }>(
        `SELECT identifier, uuid, fingerprint, readers FROM item JOIN audience ON id = item.audience
         WHERE identifier = ANY($1)`,
        identifiers,
      )
      return new Map(
        found.map(({ identifier, uuid, fingerprint, readers }) => [
          identifier,
          { uuid, fingerprint, readers: readReaders(readers) },
        ]),
      )
    },
    /** The items after this identifier, by code point. @param after '' for the first page */
    *listItems(after: string, max: number): Read<readonly ListedItem[]> {
      const found = yield* db.rows<Omit<ListedItem, 'readers'> & { readonly readers: string }>(
        `SELECT identifier, uuid, title, readers,
           (SELECT count(*) FROM bitstream WHERE bitstream.item = item.uuid) AS files
         FROM item JOIN audience ON id = item.audience WHERE identifier > $1 ORDER BY identifier LIMIT $2`,
        after,
        max,
      )
      return found.map(one => ({ ...one, readers: readReaders(one.readers) }))
    },
    /** The audiences with a rule for this reader that some item or bitstream has, in the order of their ids. */
    *audiencesWith(reader: ReaderRule['reader']): Read<readonly CountedAudience[]> {
      const found = yield* db.rows<{ id: number; readers: string; items: number; bitstreams: number }>(
        'SELECT id, readers, items, bitstreams FROM audience WHERE strpos(readers, $1) > 0 ORDER BY id',
        JSON.stringify(reader),
      )
      // Keeps used audiences that have a rule for this reader, whose name may also be a part of another text.
      return found
        .map(one => ({ ...one, readers: readReaders(one.readers) }))
        .filter(
          ({ readers, items, bitstreams }) =>
            items + bitstreams > 0 && readers.some(rule => rule.reader === reader),
        )
    },
    /** The uuids of the items, or of the bitstreams, of an audience, in their order. */
    objectsOf: (kind: ObjectKind, audience: number, { offset, limit }: Window) =>
      db.column<string>(
        `SELECT uuid FROM ${kind} WHERE audience = $1 ORDER BY uuid LIMIT $2 OFFSET $3`,
        audience,
        limit,
        offset,
      ),
    /** The notes of clients about the rules of an item or a bitstream. */
    policyNotes: (object: string) =>
      db.rows<PolicyNote>(
        'SELECT id, rule, name, description, type FROM policy WHERE object = $1 ORDER BY id',
        object,
      ),
    /** The service itself, as an object with metadata. */
    site: (): Read<Site> => siteIn(),
    /** Total bytes of all bitstreams. A content that several bitstreams share counts for each. */
    bytes: storedBytes,
  },
  changes: {
    ...storeState.changes,
    ...contents.changes,
    addAudiences,
    putItems,
    /**
     * @returns undefined if there is no such item or bitstream; `no-eperson` if a rule names an eperson who
     * does not exist
     */
    *setReaders(change: AccessChange, event: AuditEvent): Change<ReadersOutcome | undefined> {
      yield* db.rights(event, 'shared')
      return yield* setReaders(change, event)
    },
    /**
     * Applies a change made over HTTP.
     * @param event a template: `event`, `object` and `changes` are filled in
     */
    *change(change: ItemChange, event: AuditEvent): Change<ItemOutcome> {
      yield* db.rights(event, 'shared')
      return yield* itemChange(change, event)
    },
    /** @returns false if there was no such item */
    *deleteItem(identifier: string, event: AuditEvent): Change<boolean> {
      yield* db.rights(event, 'shared')
      return yield* deleteNamed(identifier, event)
    },
  },
}

export type Repository = Offered<typeof repository>

/** These read the tables: the views have JSON on PostgreSQL. */
const selectItem = `SELECT uuid, identifier, title, authors, issued, type, metadata, collections, readers, created, modified,
    withdrawn, discoverable, revision FROM item JOIN audience ON id = item.audience`
const selectBitstream = `SELECT uuid, item, bundle, name, description, mime_type, size, sha256, readers, created
  FROM bitstream JOIN audience ON id = bitstream.audience`

type Kept = 'authors' | 'metadata' | 'collections' | 'readers'
type ItemRow = Omit<Item, Kept | 'withdrawn' | 'discoverable'> &
  Readonly<Record<Kept, string>> &
  Readonly<Record<'withdrawn' | 'discoverable', number>>

const toItem = (found: ItemRow): Item => ({
  ...found,
  authors: JSON.parse(found.authors) as string[],
  metadata: JSON.parse(found.metadata) as Metadata,
  collections: JSON.parse(found.collections) as string[],
  readers: readReaders(found.readers),
  withdrawn: found.withdrawn === 1,
  discoverable: found.discoverable === 1,
})

type BitstreamRow = Omit<Bitstream, 'mimeType' | 'readers'> &
  Readonly<Record<'mime_type' | 'readers', string>>

function* bitstreamsWith(condition: string, ...values: readonly Value[]): Read<readonly Bitstream[]> {
  const found = yield* db.rows<BitstreamRow>(`${selectBitstream} WHERE ${condition}`, ...values)
  return found.map(({ mime_type: mimeType, readers, ...one }) => ({
    ...one,
    mimeType,
    readers: readReaders(readers),
  }))
}

function* bitstreamWith(condition: string, ...values: readonly string[]): Read<Bitstream | undefined> {
  return (yield* bitstreamsWith(condition, ...values))[0]
}

const bundlesWith = (condition: string, ...values: readonly Value[]): Read<readonly Bundle[]> =>
  db.rows(`SELECT uuid, item, name, primary_bitstream AS "primary" FROM bundle WHERE ${condition}`, ...values)

function* bundleWith(condition: string, ...values: readonly string[]): Read<Bundle | undefined> {
  return (yield* bundlesWith(condition, ...values))[0]
}
