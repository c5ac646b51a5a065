import type { PolicyNote } from '../../model/item-changes.ts'
import type { Bitstream, Bundle, Content, Item, ListedItem, Metadata } from '../../model/items.ts'
import { readReaders } from '../../model/readers.ts'
import { type BundlePlace, demoStates, type Repository } from '../repository.ts'
import type { Part, Window } from '../storage.ts'
import { contentClaims } from './content-claims.ts'
import { deleteNamed, itemChange, siteIn } from './item-changes.ts'
import { holderExpression, maxHolders, storedBytes } from './items.ts'
import { addAudiences, putItems } from './put-items.ts'
import { setReaders } from './reader-changes.ts'
import type { Read, StatementsOf, Value } from './statements.ts'
import * as db from './statements.ts'

/** Items, their bundles and files, and the site. */
export const repository = {
  reads: {
    *item(uuid) {
      const found = yield* db.row<ItemRow>(`${selectItem} WHERE uuid = $1`, uuid)
      return found && toItem(found)
    },
    bitstream: uuid => bitstreamWith('uuid = $1', uuid),
    bitstreamsOf: item => bitstreamsWith('item = $1 ORDER BY place', item),
    bundles: (item, { offset, limit }) =>
      db.partOf(
        bundlesWith('item = $1 ORDER BY place, name LIMIT $2 OFFSET $3', item, limit, offset),
        db.count('bundle WHERE item = $1', item),
      ),
    bundle: uuid => bundleWith('uuid = $1', uuid),
    bundleOf: ({ item, bundle }) => bundleWith('item = $1 AND name = $2', item, bundle),
    firstIn: ({ item, bundle }) =>
      bitstreamWith('item = $1 AND bundle = $2 ORDER BY place LIMIT 1', item, bundle),
    /** @param admitting the audiences that admit the viewer, which the engine knows; null: all */
    bitstreamsIn(
      { item, bundle }: BundlePlace,
      admitting: readonly number[] | null,
      { offset, limit }: Window,
    ): Read<Part<Bitstream>> {
      // The + keeps both engines from using an index on the audience, which reads all that the viewer sees.
      const seen = admitting === null ? '' : ' AND +audience = ANY($3)'
      const values = [item, bundle, ...(admitting === null ? [] : [admitting])]
      const where = `item = $1 AND bundle = $2${seen}`
      const [last, skipped] = [values.length + 1, values.length + 2]
      return db.partOf(
        bitstreamsWith(`${where} ORDER BY place LIMIT $${last} OFFSET $${skipped}`, ...values, limit, offset),
        db.count(`bitstream WHERE ${where}`, ...values),
      )
    },
    // '/' follows '.', so these names begin with the name and a dot. The + keeps the index for this
    // condition.
    thumbnailOf: ({ item, name }) =>
      bitstreamWith(
        "item = $1 AND bundle = 'THUMBNAIL' AND name >= $2 AND name < $3 ORDER BY +place LIMIT 1",
        item,
        `${name}.`,
        `${name}/`,
      ),

    uuidOf: identifier => db.value('SELECT uuid FROM item WHERE identifier = $1', identifier),
    *knownItems(identifiers) {
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
    *listItems(after, max) {
      const found = yield* db.rows<Omit<ListedItem, 'readers'> & { readonly readers: string }>(
        `SELECT identifier, uuid, title, readers,
           (SELECT count(*) FROM bitstream WHERE bitstream.item = item.uuid) AS files
         FROM item JOIN audience ON id = item.audience WHERE identifier > $1 ORDER BY identifier LIMIT $2`,
        after,
        max,
      )
      return found.map(one => ({ ...one, readers: readReaders(one.readers) }))
    },
    *audiencesWith(reader) {
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
    objectsOf: (kind, audience, { offset, limit }) =>
      db.column(
        `SELECT uuid FROM ${kind} WHERE audience = $1 ORDER BY uuid LIMIT $2 OFFSET $3`,
        audience,
        limit,
        offset,
      ),
    policyNotes: object =>
      db.rows<PolicyNote>(
        'SELECT id, rule, name, description, type FROM policy WHERE object = $1 ORDER BY id',
        object,
      ),
    site: () => siteIn(),
    bytes: storedBytes,

    *copiedFrom() {
      const sql = "SELECT object FROM event WHERE event = 'store.copy' ORDER BY id DESC LIMIT 1"
      return (yield* db.value<string | null>(sql)) ?? null
    },
    *storeId() {
      const id = yield* db.value<string>('SELECT store FROM state')
      if (id === undefined) throw new Error('the store has lost its state row')
      return id
    },
    *demo() {
      return demoStates[(yield* db.value<number>('SELECT demo FROM state')) ?? 0] ?? 'none'
    },
    contents: (after, max) =>
      db.rows<Content>(
        'SELECT DISTINCT sha256, size FROM bitstream WHERE sha256 > $1 ORDER BY sha256, size LIMIT $2',
        after,
        max,
      ),
    holders: sha256 =>
      db.column(
        `SELECT ${holderExpression} AS holder FROM bitstream JOIN item ON item.uuid = bitstream.item
         WHERE sha256 = $1 ORDER BY holder LIMIT $2`,
        sha256,
        maxHolders,
      ),
    *contentsInUse(sha256) {
      const sql = 'SELECT DISTINCT sha256 FROM bitstream WHERE sha256 = ANY($1)'
      return new Set(yield* db.column<string>(sql, sha256))
    },
  },
  changes: {
    ...contentClaims.changes,
    addAudiences,
    putItems,
    *setDemo(state) {
      yield* db.run('UPDATE state SET demo = $1', demoStates.indexOf(state))
    },
    *setReaders(change, event) {
      yield* db.rights(event, 'shared')
      return yield* setReaders(change, event)
    },
    *change(change, event) {
      yield* db.rights(event, 'shared')
      return yield* itemChange(change, event)
    },
    *deleteItem(identifier, event) {
      yield* db.rights(event, 'shared')
      return yield* deleteNamed(identifier, event)
    },
  },
} satisfies Written

/** The methods without those to which engines add the audiences of a viewer, and the hidden fields of metadata. */
type Written = StatementsOf<Omit<Repository, 'bitstreamsIn' | 'putItems'>> & {
  readonly reads: { bitstreamsIn: unknown }
  readonly changes: { addAudiences: unknown; putItems: unknown }
}

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
