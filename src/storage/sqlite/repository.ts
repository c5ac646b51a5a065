import type { PolicyNote } from '../../model/item-changes.ts'
import type { Viewer } from '../../model/readers.ts'
import type { Repository } from '../repository.ts'
import type { Seen } from '../statements/audiences.ts'
import {
  type AudienceRow,
  type BitstreamRow,
  type BundleRow,
  bitstreamColumns,
  bundleColumns,
  holderExpression,
  type ItemRow,
  itemColumns,
  type KnownRow,
  knownColumns,
  type ListedRow,
  maxHolders,
  type SiteRow,
  siteColumns,
  toAudiencesWith,
  toBitstream,
  toBundle,
  toItem,
  toKnownItems,
  toListedItem,
  toSite,
} from '../statements/item-rows.ts'
import type { Database } from './driver.ts'
import type { Write } from './group-commit.ts'

interface Parts {
  readonly db: Database
  readonly write: Write
  readonly hiddenMetadata: readonly string[]
  /** @returns the audiences that admit a viewer */
  readonly audiencesOf: (viewer: Viewer, how: Seen) => readonly number[]
}

/**
 * Items and bitstreams in the embedded store: reads are synchronous on the caller's thread, writes go through the single
 * writer.
 */
export const sqliteRepository = ({ db, write, hiddenMetadata, audiencesOf }: Parts): Repository => ({
  item: uuid => {
    const row = db.get<ItemRow>(`SELECT ${itemColumns} FROM items WHERE uuid = ?`, uuid)
    return row && toItem({ ...row })
  },
  bitstream: uuid => {
    const row = db.get<BitstreamRow>(`SELECT ${bitstreamColumns} FROM bitstreams WHERE uuid = ?`, uuid)
    return row && toBitstream({ ...row })
  },
  bitstreamsOf: item =>
    db
      .all<BitstreamRow>(
        `SELECT ${bitstreamColumns} FROM bitstreams WHERE item = ?
         ORDER BY place`,
        item,
      )
      .map(row => toBitstream({ ...row })),
  bundles: (item, { offset, limit }) => ({
    rows: db
      .all<BundleRow>(
        `SELECT ${bundleColumns} FROM bundle WHERE item = ? ORDER BY place, name LIMIT ? OFFSET ?`,
        item,
        limit,
        offset,
      )
      .map(row => toBundle({ ...row })),
    total: db.get<{ count: number }>('SELECT count(*) AS count FROM bundle WHERE item = ?', item)?.count ?? 0,
  }),
  bundle: uuid => {
    const row = db.get<BundleRow>(`SELECT ${bundleColumns} FROM bundle WHERE uuid = ?`, uuid)
    return row && toBundle({ ...row })
  },
  bundleOf: ({ item, bundle }) => {
    const sql = `SELECT ${bundleColumns} FROM bundle WHERE item = ? AND name = ?`
    const row = db.get<BundleRow>(sql, item, bundle)
    return row && toBundle({ ...row })
  },
  firstIn: ({ item, bundle }) => {
    const sql = `SELECT ${bitstreamColumns} FROM bitstreams WHERE item = ? AND bundle = ? ORDER BY place LIMIT 1`
    const row = db.get<BitstreamRow>(sql, item, bundle)
    return row && toBitstream({ ...row })
  },
  bitstreamsIn: ({ item, bundle }, viewer, { offset, limit }) => {
    // + keeps SQLite from reading everything that the viewer sees (https://sqlite.org/optoverview.html#uplus).
    const [seen, values] =
      viewer.kind === 'administrator'
        ? ['', []]
        : [
            'AND +audience IN (SELECT value FROM json_each(?))',
            [JSON.stringify(audiencesOf(viewer, 'by address'))],
          ]
    const where = `WHERE item = ? AND bundle = ? ${seen}`
    const rows = db.all<BitstreamRow>(
      `SELECT ${bitstreamColumns} FROM bitstreams ${where} ORDER BY place LIMIT ? OFFSET ?`,
      item,
      bundle,
      ...values,
      limit,
      offset,
    )
    const count = db.get<{ count: number }>(
      `SELECT count(*) AS count FROM bitstream ${where}`,
      item,
      bundle,
      ...values,
    )
    return { rows: rows.map(row => toBitstream({ ...row })), total: count?.count ?? 0 }
  },
  thumbnailOf: ({ item, name }) => {
    // '/' follows '.', so these are the names that begin with the name and a dot. + leaves the index to them.
    const row = db.get<BitstreamRow>(
      `SELECT ${bitstreamColumns} FROM bitstreams WHERE item = ? AND bundle = 'THUMBNAIL' AND name >= ? AND name < ?
       ORDER BY +place LIMIT 1`,
      item,
      `${name}.`,
      `${name}/`,
    )
    return row && toBitstream({ ...row })
  },

  uuidOf: identifier =>
    db.get<{ uuid: string }>('SELECT uuid FROM item WHERE identifier = ?', identifier)?.uuid,
  knownItems: identifiers =>
    toKnownItems(
      db.all<KnownRow>(
        `SELECT ${knownColumns} FROM item JOIN audience ON id = item.audience
         WHERE identifier IN (SELECT value FROM json_each(?))`,
        JSON.stringify(identifiers),
      ),
    ),
  listItems: (after, max) =>
    db
      .all<ListedRow>(
        `SELECT identifier, uuid, title, readers,
           (SELECT COUNT(*) FROM bitstream WHERE bitstream.item = item.uuid) AS files
         FROM item JOIN audience ON id = item.audience WHERE identifier > ? ORDER BY identifier LIMIT ?`,
        after,
        max,
      )
      .map(row => toListedItem({ ...row })),
  putItems: (items, event) => write('putItems', items, event, hiddenMetadata),
  setReaders: (change, event) => write('setReaders', change, event),
  deleteItem: (identifier, event) => write('deleteItem', identifier, event),
  change: (change, event) => write('changeItem', change, event),
  audiencesWith: reader =>
    toAudiencesWith(
      reader,
      db.all<AudienceRow>(
        'SELECT id, readers, items, bitstreams FROM audience WHERE instr(readers, ?) > 0 ORDER BY id',
        JSON.stringify(reader),
      ),
    ),
  objectsOf: (kind, audience, { offset, limit }) =>
    db
      .all<{ uuid: string }>(
        `SELECT uuid FROM ${kind} WHERE audience = ? ORDER BY uuid LIMIT ? OFFSET ?`,
        audience,
        limit,
        offset,
      )
      .map(({ uuid }) => uuid),
  policyNotes: object =>
    db
      .all<PolicyNote & Record<string, unknown>>(
        'SELECT id, rule, name, description, type FROM policy WHERE object = ? ORDER BY id',
        object,
      )
      .map(row => ({ ...row })),
  site: () => toSite(db.get<SiteRow>(`SELECT ${siteColumns} FROM site`)),
  bytes: () => db.get<{ bytes: number }>('SELECT sum(bytes) AS bytes FROM audience')?.bytes ?? 0,

  // `carrel copy` copies to PostgreSQL only.
  copiedFrom: () => null,
  storeId: () => {
    const row = db.get<{ store: string }>('SELECT store FROM state')
    if (!row) throw new Error('the store has lost its state row')
    return row.store
  },
  contents: (after, max) =>
    db
      .all<{ sha256: string; size: number }>(
        'SELECT DISTINCT sha256, size FROM bitstream WHERE sha256 > ? ORDER BY sha256, size LIMIT ?',
        after,
        max,
      )
      .map(row => ({ ...row })),
  holders: sha256 =>
    db
      .all<{ holder: string }>(
        `SELECT ${holderExpression} AS holder FROM bitstream JOIN item ON item.uuid = bitstream.item
         WHERE sha256 = ? ORDER BY holder LIMIT ?`,
        sha256,
        maxHolders,
      )
      .map(({ holder }) => holder),
  contentsInUse: sha256 =>
    new Set(
      db
        .all<{ sha256: string }>(
          'SELECT DISTINCT sha256 FROM bitstream WHERE sha256 IN (SELECT value FROM json_each(?))',
          JSON.stringify(sha256),
        )
        .map(row => row.sha256),
    ),
})
