import type { PolicyNote } from '../../model/item-changes.ts'
import type { Repository } from '../repository.ts'
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
import type { PostgresAudiences } from './audiences.ts'
import type { Pool } from './driver.ts'
import { changeItem, deleteItem, putItems, setReaders } from './repository-changes.ts'
import { isStorable } from './rows.ts'
import type { SessionLookup } from './session-lookup.ts'

/** Reads the tables, which keep JSON as text like the embedded store. The views convert it. */
const selectItem = `SELECT ${itemColumns} FROM item JOIN audience ON id = item.audience`
const selectBitstream = `SELECT ${bitstreamColumns} FROM bitstream JOIN audience ON id = bitstream.audience`

const selectBundle = `SELECT ${bundleColumns} FROM bundle`

/** Items and bitstreams in PostgreSQL. */
export function postgresRepository(
  pool: Pool,
  lookup: SessionLookup,
  audiences: PostgresAudiences,
  hidden: readonly string[],
): Repository {
  return {
    item: async uuid => {
      if (!isStorable(uuid)) return undefined
      const [row] = await pool.rows<ItemRow>(`${selectItem} WHERE uuid = $1`, uuid)
      return row && toItem(row)
    },
    bitstream: async uuid => {
      if (!isStorable(uuid)) return undefined
      const sql = `${selectBitstream} WHERE uuid = $1`
      const [row] = await pool.rows<BitstreamRow>(sql, uuid)
      return row && toBitstream(row)
    },
    bitstreamsOf: async item => {
      const sql = `${selectBitstream} WHERE item = $1 ORDER BY place`
      return (await pool.rows<BitstreamRow>(sql, item)).map(toBitstream)
    },
    bundles: async (item, { offset, limit }) => {
      const sql = `${selectBundle} WHERE item = $1 ORDER BY place, name LIMIT $2 OFFSET $3`
      const rows = pool.rows<BundleRow>(sql, item, limit, offset)
      const total = pool.rows<{ count: number }>('SELECT count(*) AS count FROM bundle WHERE item = $1', item)
      return { rows: (await rows).map(toBundle), total: (await total)[0]?.count ?? 0 }
    },
    bundle: async uuid => {
      if (!isStorable(uuid)) return undefined
      const [row] = await pool.rows<BundleRow>(`${selectBundle} WHERE uuid = $1`, uuid)
      return row && toBundle(row)
    },
    bundleOf: async ({ item, bundle }) => {
      const sql = `${selectBundle} WHERE item = $1 AND name = $2`
      const [row] = await pool.rows<BundleRow>(sql, item, bundle)
      return row && toBundle(row)
    },
    firstIn: async ({ item, bundle }) => {
      const sql = `${selectBitstream} WHERE item = $1 AND bundle = $2 ORDER BY place LIMIT 1`
      const [row] = await pool.rows<BitstreamRow>(sql, item, bundle)
      return row && toBitstream(row)
    },
    bitstreamsIn: async ({ item, bundle }, viewer, { offset, limit }) => {
      // Brings the list of audiences up to date.
      await lookup.ask()
      const seen = viewer.kind === 'administrator' ? null : audiences.admitting(viewer, 'by address')
      // No index matches the expression, so the bitstreams are read in the order of the bundle.
      const where =
        'WHERE item = $1 AND bundle = $2 AND ($3::integer[] IS NULL OR audience + 0 = ANY($3::integer[]))'
      const rows = pool.rows<BitstreamRow>(
        `${selectBitstream} ${where} ORDER BY place LIMIT $4 OFFSET $5`,
        item,
        bundle,
        seen,
        limit,
        offset,
      )
      const total = pool.rows<{ count: number }>(
        `SELECT count(*) AS count FROM bitstream ${where}`,
        item,
        bundle,
        seen,
      )
      return { rows: (await rows).map(toBitstream), total: (await total)[0]?.count ?? 0 }
    },
    thumbnailOf: async ({ item, name }) => {
      // '/' follows '.', so these are the names that begin with the name and a dot.
      const [row] = await pool.rows<BitstreamRow>(
        `${selectBitstream} WHERE item = $1 AND bundle = 'THUMBNAIL' AND name >= $2 AND name < $3
         ORDER BY place + 0 LIMIT 1`,
        item,
        `${name}.`,
        `${name}/`,
      )
      return row && toBitstream(row)
    },

    uuidOf: async identifier => {
      if (!isStorable(identifier)) return undefined
      const sql = 'SELECT uuid FROM item WHERE identifier = $1'
      return (await pool.rows<{ uuid: string }>(sql, identifier))[0]?.uuid
    },
    knownItems: async identifiers =>
      toKnownItems(
        await pool.rows<KnownRow>(
          `SELECT ${knownColumns} FROM item JOIN audience ON id = item.audience
           WHERE identifier = ANY($1)`,
          identifiers.filter(isStorable),
        ),
      ),
    listItems: async (after, max) => {
      const rows = await pool.rows<ListedRow>(
        `SELECT identifier, uuid, title, readers,
           (SELECT CAST(COUNT(*) AS INTEGER) FROM bitstream WHERE bitstream.item = item.uuid) AS files
         FROM item JOIN audience ON id = item.audience
         WHERE identifier > $1 ORDER BY identifier LIMIT $2`,
        after,
        max,
      )
      return rows.map(toListedItem)
    },
    putItems: (items, event) => putItems(pool, audiences, items, event, hidden),
    setReaders: async (change, event) =>
      [change.identifier, change.file?.bundle ?? '', change.file?.name ?? ''].every(isStorable)
        ? setReaders(pool, change, event)
        : undefined,
    deleteItem: async (identifier, event) =>
      isStorable(identifier) && (await deleteItem(pool, identifier, event)),
    change: (change, event) => changeItem(pool, change, event),
    audiencesWith: async reader => {
      if (!isStorable(reader)) return []
      const rows = await pool.rows<AudienceRow>(
        'SELECT id, readers, items, bitstreams FROM audience WHERE strpos(readers, $1) > 0 ORDER BY id',
        JSON.stringify(reader),
      )
      return toAudiencesWith(reader, rows)
    },
    objectsOf: async (kind, audience, { offset, limit }) => {
      const sql = `SELECT uuid FROM ${kind} WHERE audience = $1 ORDER BY uuid LIMIT $2 OFFSET $3`
      return (await pool.rows<{ uuid: string }>(sql, audience, limit, offset)).map(({ uuid }) => uuid)
    },
    policyNotes: object =>
      pool.rows<PolicyNote & Record<string, unknown>>(
        'SELECT id, rule, name, description, type FROM policy WHERE object = $1 ORDER BY id',
        object,
      ),
    site: async () => toSite((await pool.rows<SiteRow>(`SELECT ${siteColumns} FROM site`))[0]),
    bytes: async () => {
      const sql = 'SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM audience'
      return (await pool.rows<{ bytes: number }>(sql))[0]?.bytes ?? 0
    },

    copiedFrom: async () => {
      const sql = "SELECT object FROM event WHERE event = 'store.copy' ORDER BY id DESC LIMIT 1"
      const [copied] = await pool.rows<{ object: string | null }>(sql)
      return copied?.object ?? null
    },
    storeId: async () => {
      const [row] = await pool.rows<{ store: string }>('SELECT store FROM state')
      if (!row) throw new Error('the store has lost its state row')
      return row.store
    },
    contents: (after, max) =>
      pool.rows<{ sha256: string; size: number }>(
        'SELECT DISTINCT sha256, size FROM bitstream WHERE sha256 > $1 ORDER BY sha256, size LIMIT $2',
        after,
        max,
      ),
    holders: async sha256 => {
      const rows = await pool.rows<{ holder: string }>(
        `SELECT ${holderExpression} AS holder FROM bitstream JOIN item ON item.uuid = bitstream.item
         WHERE sha256 = $1 ORDER BY holder LIMIT $2`,
        sha256,
        maxHolders,
      )
      return rows.map(({ holder }) => holder)
    },
    contentsInUse: async sha256 => {
      const sql = 'SELECT DISTINCT sha256 FROM bitstream WHERE sha256 = ANY($1)'
      return new Set((await pool.rows<{ sha256: string }>(sql, sha256)).map(row => row.sha256))
    },
  }
}
