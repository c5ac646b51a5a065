import { randomUUID } from 'node:crypto'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { ItemChange, ItemOutcome } from '../../model/item-changes.ts'
import type { AccessChange, NewItem } from '../../model/items.ts'
import type { PutOutcome } from '../repository.ts'
import { deleteNamed, itemChange, modifiedByIngest, putBundles } from '../statements/item-changes.ts'
import {
  type BitstreamChanges,
  type BitstreamValues,
  bitstreamChanges,
  bundleNames,
  changedFiles,
  changingColumns,
  changingValues,
  defaultReaders,
  givenReaders,
  isTaken,
  itemValueColumns,
  itemValues,
  wantedBitstreams,
} from '../statements/item-rows.ts'
import { dropReader, setReaders as setReadersOf, showAgain } from '../statements/reader-changes.ts'
import type { Change } from '../statements/statements.ts'
import type { PostgresAudiences } from './audiences.ts'
import type { Connection, Pool, Queries, Value } from './driver.ts'
import { now, recordEvent } from './events.ts'
import { perform } from './perform.ts'
import { changing } from './stamps.ts'

/** Changes of items and bitstreams. */

/** Adds items, and updates those whose identifier exists. @param hidden fields that only administrators see (Q19) */
export async function putItems(
  pool: Pool,
  audiences: PostgresAudiences,
  items: readonly NewItem[],
  event: AuditEvent,
  hidden: readonly string[],
): Promise<readonly PutOutcome[]> {
  const texts = items.map(givenReaders)
  const all = new Set([defaultReaders, ...texts.flatMap(one => [one.item, ...one.bitstreams])])
  const numberOf = numbersIn(await audiences.numbersOf([...all].filter(text => text !== null)))
  const given = texts.map(({ item, bitstreams }) => ({
    item: item === null ? null : numberOf(item),
    bitstreams: bitstreams.map(text => (text === null ? null : numberOf(text))),
  }))
  return changing(pool, event, 'shared', async db => {
    const outcomes: PutOutcome[] = []
    for (const [at, item] of items.entries())
      outcomes.push(
        await putItem(db, event, {
          item,
          given: given[at]?.item ?? null,
          givenBitstreams: given[at]?.bitstreams ?? [],
          fallback: numberOf(defaultReaders),
          hidden,
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
export const setReaders = (pool: Pool, change: AccessChange, event: AuditEvent) =>
  changing(pool, event, 'shared', db => performAllowed(db, setReadersOf(change, event)))

/** @returns whether there was such an item */
export const deleteItem = (pool: Pool, identifier: string, event: AuditEvent): Promise<boolean> =>
  changing(pool, event, 'shared', db => performAllowed(db, deleteNamed(identifier, event)))

export const changeItem = (pool: Pool, change: ItemChange, event: AuditEvent): Promise<ItemOutcome> =>
  changing(pool, event, 'shared', db => performAllowed(db, itemChange(change, event)))

/** Takes the rules for an eperson from everything. @param uuid theirs; their row is locked */
export const dropRulesFor = (db: Connection, uuid: string): Promise<void> =>
  performAllowed(db, dropReader(uuid))

const performAllowed = <T>(db: Connection, change: Change<T>): Promise<T> => perform(db, change, true)

type ExistingRow = { uuid: string; audience: number; readers: string; fingerprint: string }

const lockItem = async (db: Queries, identifier: string) =>
  (
    await db.rows<ExistingRow>(
      `SELECT uuid, audience, fingerprint, (SELECT readers FROM audience WHERE id = item.audience) AS readers
       FROM item WHERE identifier = $1 FOR UPDATE`,
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
  readonly hidden: readonly string[]
}

async function putItem(
  db: Connection,
  event: AuditEvent,
  { item, given, givenBitstreams, fallback, hidden }: Put,
): Promise<PutOutcome> {
  const values = itemValues(item)
  const added = await db.rows<ExistingRow>(
    `INSERT INTO item (${itemValueColumns}, audience, modified, uuid, identifier, fingerprint, created)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $8) ON CONFLICT (identifier) DO NOTHING
     RETURNING uuid, audience, '' AS readers, fingerprint`,
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
  if (!added[0] && isTaken(item, existing.fingerprint)) return 'taken'
  const { uuid } = existing
  const audience = given ?? existing.audience
  const before = added[0]
    ? []
    : await db.rows<BitstreamValues & { uuid: string }>(
        `SELECT uuid, bundle, name, ${changingColumns} FROM bitstream WHERE item = $1`,
        uuid,
      )
  const changes = bitstreamChanges(before, wantedBitstreams(item, givenBitstreams, audience, before))
  const files = changedFiles(before, changes)
  const modified = added[0]
    ? now()
    : await performAllowed(db, modifiedByIngest(uuid, { values, files, hidden }))
  await changeBitstreams(db, uuid, changes)
  await performAllowed(db, putBundles(uuid, bundleNames(item.bitstreams), added[0] !== undefined))
  const outcome = added[0]
    ? 'added'
    : await updateItem(db, uuid, item, [...values, audience, modified], files.length > 0)
  if (!added[0]) await performAllowed(db, showAgain(uuid, existing.readers))
  if (outcome !== 'unchanged')
    await recordEvent(db, {
      ...event,
      event: outcome === 'added' ? 'item.add' : 'item.change',
      object: item.identifier,
    })
  return outcome
}

async function updateItem(
  db: Queries,
  uuid: string,
  { fingerprint }: NewItem,
  values: readonly Value[],
  isOfFiles: boolean,
): Promise<PutOutcome> {
  const changed = await db.run(
    `UPDATE item SET (${itemValueColumns}, audience, modified, revision) = ($1, $2, $3, $4, $5, $6, $7, $8, revision + 1)
     WHERE uuid = $9 AND ($10 OR (${itemValueColumns}, audience) IS DISTINCT FROM ($1, $2, $3, $4, $5, $6, $7))`,
    ...values,
    uuid,
    isOfFiles,
  )
  const sql = 'UPDATE item SET fingerprint = $1 WHERE uuid = $2 AND fingerprint <> $1'
  await db.run(sql, fingerprint, uuid)
  return changed === 0 ? 'unchanged' : 'changed'
}

async function changeBitstreams(db: Queries, item: string, { removed, changed, added }: BitstreamChanges) {
  if (removed.length > 0) await db.run('DELETE FROM bitstream WHERE uuid = ANY($1)', removed)
  for (const row of changed)
    await db.run(
      `UPDATE bitstream SET (${changingColumns}) = ($1, $2, $3, $4, $5, $6) WHERE uuid = $7`,
      ...changingValues(row),
      row.uuid,
    )
  for (const row of added)
    await db.run(
      `INSERT INTO bitstream (${changingColumns}, uuid, item, bundle, name, created)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      ...changingValues(row),
      randomUUID(),
      item,
      row.bundle,
      row.name,
      now(),
    )
}
