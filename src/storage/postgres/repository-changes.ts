import { randomUUID } from 'node:crypto'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { NewItem } from '../../model/items.ts'
import type { PutOutcome } from '../repository.ts'
import {
  type BitstreamChanges,
  type BitstreamValues,
  bitstreamChanges,
  bitstreamValues,
  changingColumns,
  changingValues,
  itemValueColumns,
  itemValues,
  readersOf,
} from '../shared/item-rows.ts'
import { now, recordEvent } from './account-changes.ts'
import type { PostgresAudiences } from './audiences.ts'
import type { Pool, Queries, Value } from './driver.ts'

/** The changes of items and bitstreams. */

/** Adds items, or makes those of the same identifier what they are now. */
export async function putItems(
  pool: Pool,
  audiences: PostgresAudiences,
  items: readonly NewItem[],
  event: AuditEvent,
): Promise<readonly PutOutcome[]> {
  const texts = items.map(readersOf)
  const numbers = await audiences.numbersOf([...new Set(texts.flatMap(one => [one.item, ...one.bitstreams]))])
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
}

/** @returns whether there was one */
export const deleteItem = (pool: Pool, identifier: string, event: AuditEvent): Promise<boolean> =>
  pool.transaction(async db => {
    const known = await lockItem(db, identifier)
    if (!known) return false
    await db.run('DELETE FROM carrel.bitstream WHERE item = $1', known.uuid)
    await db.run('DELETE FROM carrel.item WHERE uuid = $1', known.uuid)
    await recordEvent(db, { ...event, object: identifier })
    return true
  })

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
  if (uuid === undefined) throw new Error('an item that was there a moment ago is gone')
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
    await recordEvent(db, {
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
