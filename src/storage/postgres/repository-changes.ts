import { randomUUID } from 'node:crypto'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { AccessChange, NewItem } from '../../model/items.ts'
import type { PutOutcome } from '../repository.ts'
import {
  accessObject,
  type BitstreamChanges,
  type BitstreamValues,
  bitstreamChanges,
  changingColumns,
  changingValues,
  checkedReaders,
  defaultReaders,
  givenReaders,
  itemValueColumns,
  itemValues,
  wantedBitstreams,
} from '../shared/item-rows.ts'
import type { PostgresAudiences } from './audiences.ts'
import type { Connection, Pool, Queries, Value } from './driver.ts'
import { now, recordEvent } from './events.ts'

/** Changes of items and bitstreams. */

/** Adds items, and updates those whose identifier exists. */
export async function putItems(
  pool: Pool,
  audiences: PostgresAudiences,
  items: readonly NewItem[],
  event: AuditEvent,
): Promise<readonly PutOutcome[]> {
  const texts = items.map(givenReaders)
  const all = new Set([defaultReaders, ...texts.flatMap(one => [one.item, ...one.bitstreams])])
  const numberOf = numbersIn(await audiences.numbersOf([...all].filter(text => text !== null)))
  const given = texts.map(({ item, bitstreams }) => ({
    item: item === null ? null : numberOf(item),
    bitstreams: bitstreams.map(text => (text === null ? null : numberOf(text))),
  }))
  return pool.transaction(async db => {
    const outcomes: PutOutcome[] = []
    for (const [at, item] of items.entries())
      outcomes.push(
        await putItem(db, event, {
          item,
          given: given[at]?.item ?? null,
          givenBitstreams: given[at]?.bitstreams ?? [],
          fallback: numberOf(defaultReaders),
        }),
      )
    return outcomes
  })
}

const numbersIn = (numbers: ReadonlyMap<string, number>) => (text: string) => {
  const number = numbers.get(text)
  if (number === undefined) throw new Error('the audience has no id')
  return number
}

/** @returns undefined if there is no such item or bitstream */
export async function setReaders(
  pool: Pool,
  audiences: PostgresAudiences,
  change: AccessChange,
  event: AuditEvent,
): Promise<'changed' | 'unchanged' | undefined> {
  const { identifier, file, readers } = change
  const text = checkedReaders(identifier, readers)
  const audience = numbersIn(await audiences.numbersOf([text]))(text)
  return pool.transaction(async db => {
    const item = await lockItem(db, identifier)
    if (!item) return undefined
    const bitstreams = file
      ? await db.rows<ExistingRow>(
          'SELECT uuid, audience FROM carrel.bitstream WHERE item = $1 AND bundle = $2 AND name = $3',
          item.uuid,
          file.bundle,
          file.name,
        )
      : await db.rows<ExistingRow>(
          'SELECT uuid, audience FROM carrel.bitstream WHERE item = $1 AND audience = $2',
          item.uuid,
          item.audience,
        )
    if (file && bitstreams.length === 0) return undefined
    if ((bitstreams[0] ?? item).audience === audience) return 'unchanged'
    await db.run(
      'UPDATE carrel.bitstream SET audience = $1 WHERE uuid = ANY($2)',
      audience,
      bitstreams.map(({ uuid }) => uuid),
    )
    const ofItem = file ? item.audience : audience
    await db.run(
      'UPDATE carrel.item SET audience = $1, modified = $2 WHERE uuid = $3',
      ofItem,
      now(),
      item.uuid,
    )
    await recordEvent(db, { ...event, event: 'item.access', object: accessObject(change) })
    return 'changed'
  })
}

/** @returns whether there was such an item */
export const deleteItem = (pool: Pool, identifier: string, event: AuditEvent): Promise<boolean> =>
  pool.transaction(async db => {
    const existing = await lockItem(db, identifier)
    if (!existing) return false
    await db.run('DELETE FROM carrel.bitstream WHERE item = $1', existing.uuid)
    await db.run('DELETE FROM carrel.item WHERE uuid = $1', existing.uuid)
    await recordEvent(db, { ...event, object: identifier })
    return true
  })

type ExistingRow = { uuid: string; audience: number }

const lockItem = async (db: Queries, identifier: string) =>
  (
    await db.rows<ExistingRow>(
      'SELECT uuid, audience FROM carrel.item WHERE identifier = $1 FOR UPDATE',
      identifier,
    )
  )[0]

interface Put {
  readonly item: NewItem
  /** Audiences; null where none is given. */
  readonly given: number | null
  readonly givenBitstreams: readonly (number | null)[]
  /** The audience of a new item that none is given for. */
  readonly fallback: number
}

async function putItem(
  db: Connection,
  event: AuditEvent,
  { item, given, givenBitstreams, fallback }: Put,
): Promise<PutOutcome> {
  const values = itemValues(item)
  const added = await db.rows<ExistingRow>(
    `INSERT INTO carrel.item (${itemValueColumns}, audience, modified, uuid, identifier, fingerprint, created)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $8) ON CONFLICT (identifier) DO NOTHING RETURNING uuid, audience`,
    ...values,
    given ?? fallback,
    now(),
    randomUUID(),
    item.identifier,
    item.fingerprint,
  )
  // An existing item stays locked until the transaction ends.
  const existing = added[0] ?? (await lockItem(db, item.identifier))
  if (!existing) throw new Error('the item was deleted while it was being changed')
  const { uuid } = existing
  const audience = given ?? existing.audience
  const before = added[0]
    ? []
    : await db.rows<BitstreamValues & { uuid: string }>(
        `SELECT uuid, bundle, name, ${changingColumns} FROM carrel.bitstream WHERE item = $1`,
        uuid,
      )
  const changes = bitstreamChanges(before, wantedBitstreams(item, givenBitstreams, audience, before))
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
