import type { Repository } from '../repository.ts'
import {
  type BitstreamRow,
  bitstreamColumns,
  holderExpression,
  type ItemRow,
  itemColumns,
  type KnownRow,
  knownColumns,
  type ListedRow,
  maxHolders,
  toBitstream,
  toItem,
  toKnownItems,
  toListedItem,
} from '../shared/item-rows.ts'
import type { Database } from './driver.ts'
import type { Write } from './group-commit.ts'

/**
 * Items and bitstreams in the embedded store: reads are synchronous on the caller's thread, writes go through the single
 * writer.
 */
export const sqliteRepository = ({ db, write }: { db: Database; write: Write }): Repository => ({
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
  putItems: (items, event) => write('putItems', items, event),
  setReaders: (change, event) => write('setReaders', change, event),
  deleteItem: (identifier, event) => write('deleteItem', identifier, event),

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
