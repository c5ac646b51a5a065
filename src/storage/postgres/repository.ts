import { randomUUID } from 'node:crypto'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { NewItem, PutOutcome, Repository } from '../repository.ts'
import {
  type BitstreamChanges,
  type BitstreamRow,
  type BitstreamValues,
  bitstreamChanges,
  bitstreamColumns,
  bitstreamValues,
  changingColumns,
  changingValues,
  holderExpression,
  type ItemRow,
  itemColumns,
  itemValueColumns,
  itemValues,
  mostHolders,
  readersOf,
  toBitstream,
  toItem,
} from '../shared/item-rows.ts'
import { noteEvent, now } from './account-changes.ts'
import type { PostgresAudiences } from './audiences.ts'
import type { Pool, Queries, Value } from './driver.ts'

/** From the tables, where JSON is text as in the embedded store; the views have it as JSON. */
const selectItem = `SELECT ${itemColumns} FROM carrel.item JOIN carrel.audience ON id = item.audience`
const selectBitstream = `SELECT ${bitstreamColumns} FROM carrel.bitstream JOIN carrel.audience ON id = bitstream.audience`

/** PostgreSQL's text has no NUL: what has one is not there. */
const canBeThere = (text: string) => !text.includes('\0')

/** Items and bitstreams on PostgreSQL. */
export function postgresRepository(pool: Pool, audiences: PostgresAudiences): Repository {
  return {
    item: async uuid => {
      if (!canBeThere(uuid)) return undefined
      const [row] = await pool.rows<ItemRow>(`${selectItem} WHERE uuid = $1`, uuid)
      return row && toItem(row)
    },
    bitstream: async uuid => {
      if (!canBeThere(uuid)) return undefined
      const sql = `${selectBitstream} WHERE uuid = $1`
      const [row] = await pool.rows<BitstreamRow>(sql, uuid)
      return row && toBitstream(row)
    },
    bitstreamsOf: async item => {
      const sql = `${selectBitstream} WHERE item = $1 ORDER BY place`
      return (await pool.rows<BitstreamRow>(sql, item)).map(toBitstream)
    },

    uuidOf: async identifier => {
      if (!canBeThere(identifier)) return undefined
      const sql = 'SELECT uuid FROM carrel.item WHERE identifier = $1'
      return (await pool.rows<{ uuid: string }>(sql, identifier))[0]?.uuid
    },
    fingerprints: async identifiers => {
      const rows = await pool.rows<{ identifier: string; fingerprint: string }>(
        'SELECT identifier, fingerprint FROM carrel.item WHERE identifier = ANY($1)',
        identifiers.filter(canBeThere),
      )
      return new Map(rows.map(({ identifier, fingerprint }) => [identifier, fingerprint]))
    },
    putItems: async (items, event) => {
      const texts = items.map(readersOf)
      const numbers = await audiences.numbersOf([
        ...new Set(texts.flatMap(one => [one.item, ...one.bitstreams])),
      ])
      const numberOf = (text: string | undefined) => {
        const number = numbers.get(text ?? '')
        if (number === undefined) throw new Error('an audience has no number')
        return number
      }
      return pool.transaction(async db => {
        const outcomes: PutOutcome[] = []
        for (const [at, item] of items.entries())
          outcomes.push(
            await putItem(db, event, {
              item,
              audience: numberOf(texts[at]?.item),
              wanted: item.bitstreams.map((one, place) =>
                bitstreamValues(one, place, numberOf(texts[at]?.bitstreams[place])),
              ),
            }),
          )
        return outcomes
      })
    },
    deleteItem: (identifier, event) =>
      pool.transaction(async db => {
        const known = await lockItem(db, identifier)
        if (!known) return false
        await db.run('DELETE FROM carrel.bitstream WHERE item = $1', known.uuid)
        await db.run('DELETE FROM carrel.item WHERE uuid = $1', known.uuid)
        await noteEvent(db, { ...event, object: identifier })
        return true
      }),

    storeId: async () => {
      const [row] = await pool.rows<{ store: string }>('SELECT store FROM carrel.state')
      if (!row) throw new Error('the store has lost its state row')
      return row.store
    },
    contents: (after, most) =>
      pool.rows<{ sha256: string; size: number }>(
        'SELECT DISTINCT sha256, size FROM carrel.bitstream WHERE sha256 > $1 ORDER BY sha256, size LIMIT $2',
        after,
        most,
      ),
    holders: async sha256 => {
      const rows = await pool.rows<{ holder: string }>(
        `SELECT ${holderExpression} AS holder FROM carrel.bitstream JOIN carrel.item ON item.uuid = bitstream.item
         WHERE sha256 = $1 ORDER BY holder LIMIT $2`,
        sha256,
        mostHolders,
      )
      return rows.map(({ holder }) => holder)
    },
    contentsInUse: async sha256 => {
      const sql = 'SELECT DISTINCT sha256 FROM carrel.bitstream WHERE sha256 = ANY($1)'
      return new Set((await pool.rows<{ sha256: string }>(sql, sha256)).map(row => row.sha256))
    },
  }
}

const lockItem = async (db: Queries, identifier: string) =>
  (
    await db.rows<{ uuid: string }>(
      'SELECT uuid FROM carrel.item WHERE identifier = $1 FOR UPDATE',
      identifier,
    )
  )[0]

interface Put {
  readonly item: NewItem
  readonly audience: number
  readonly wanted: readonly BitstreamValues[]
}

async function putItem(db: Queries, event: AuditEvent, { item, audience, wanted }: Put): Promise<PutOutcome> {
  const values = itemValues(item)
  const added = await db.rows<{ uuid: string }>(
    `INSERT INTO carrel.item (${itemValueColumns}, audience, modified, uuid, identifier, fingerprint, created)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $8) ON CONFLICT (identifier) DO NOTHING RETURNING uuid`,
    ...values,
    audience,
    now(),
    randomUUID(),
    item.identifier,
    item.fingerprint,
  )
  // What was there already nobody else changes until the end.
  const uuid = (added[0] ?? (await lockItem(db, item.identifier)))?.uuid
  if (uuid === undefined) throw new Error('an item is gone that was there a moment ago')
  const before = added[0]
    ? []
    : await db.rows<BitstreamValues & { uuid: string }>(
        `SELECT uuid, bundle, name, ${changingColumns} FROM carrel.bitstream WHERE item = $1`,
        uuid,
      )
  const changes = bitstreamChanges(before, wanted)
  await changeBitstreams(db, uuid, changes)
  const outcome = added[0] ? 'added' : await changeItem(db, uuid, item, [...values, audience], changes)
  if (outcome !== 'unchanged')
    await noteEvent(db, {
      ...event,
      event: outcome === 'added' ? 'item.add' : 'item.change',
      object: item.identifier,
    })
  return outcome
}

async function changeItem(
  db: Queries,
  uuid: string,
  { fingerprint }: NewItem,
  values: readonly Value[],
  changes: BitstreamChanges,
): Promise<PutOutcome> {
  const changed = await db.run(
    `UPDATE carrel.item SET (${itemValueColumns}, audience, modified) = ($1, $2, $3, $4, $5, $6, $7, $8)
     WHERE uuid = $9 AND ($10 OR (${itemValueColumns}, audience) IS DISTINCT FROM ($1, $2, $3, $4, $5, $6, $7))`,
    ...values,
    now(),
    uuid,
    Object.values(changes).some(rows => rows.length > 0),
  )
  const sql = 'UPDATE carrel.item SET fingerprint = $1 WHERE uuid = $2 AND fingerprint <> $1'
  await db.run(sql, fingerprint, uuid)
  return changed === 0 ? 'unchanged' : 'changed'
}

async function changeBitstreams(db: Queries, item: string, { removed, changed, added }: BitstreamChanges) {
  if (removed.length > 0) await db.run('DELETE FROM carrel.bitstream WHERE uuid = ANY($1)', removed)
  for (const row of changed)
    await db.run(
      `UPDATE carrel.bitstream SET (${changingColumns}) = ($1, $2, $3, $4, $5, $6) WHERE uuid = $7`,
      ...changingValues(row),
      row.uuid,
    )
  for (const row of added)
    await db.run(
      `INSERT INTO carrel.bitstream (${changingColumns}, uuid, item, bundle, name, created)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      ...changingValues(row),
      randomUUID(),
      item,
      row.bundle,
      row.name,
      now(),
    )
}
