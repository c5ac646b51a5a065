import { randomUUID } from 'node:crypto'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { ItemChange, ItemOutcome } from '../../model/item-changes.ts'
import type { AccessChange, NewItem } from '../../model/items.ts'
import type { PutOutcome, ReadersOutcome } from '../repository.ts'
import { audienceWith } from '../statements/audience-rows.ts'
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
import type { Database } from './driver.ts'
import { now, recordEvent } from './events.ts'
import { perform } from './perform.ts'

/** Changes of items and bitstreams. */
/** @param hidden fields of metadata that only administrators see (Q19) */
export const putItems = (
  db: Database,
  items: readonly NewItem[],
  event: AuditEvent,
  hidden: readonly string[],
): PutOutcome[] => items.map(item => putItem(db, item, event, hidden))

export const deleteItem = (db: Database, identifier: string, event: AuditEvent): boolean =>
  performAllowed(db, deleteNamed(identifier, event))

/** @returns undefined if there is no such item or bitstream */
export const setReaders = (
  db: Database,
  change: AccessChange,
  event: AuditEvent,
): ReadersOutcome | undefined => performAllowed(db, setReadersOf(change, event))

export const changeItem = (db: Database, change: ItemChange, event: AuditEvent): ItemOutcome =>
  performAllowed(db, itemChange(change, event))

/** Takes the rules for an eperson from everything. @param uuid theirs */
export const dropRulesFor = (db: Database, uuid: string): void => performAllowed(db, dropReader(uuid))

const performAllowed = <T>(db: Database, change: Change<T>): T => perform(db, change, true)
const audienceOf = (db: Database, readers: string): number => performAllowed(db, audienceWith(readers))

type ExistingRow = { uuid: string; audience: number; readers: string; fingerprint: string }

const find = (db: Database, identifier: string) =>
  db.get<ExistingRow>(
    `SELECT uuid, audience, fingerprint, (SELECT readers FROM audience WHERE id = item.audience) AS readers
     FROM item WHERE identifier = ?`,
    identifier,
  )

function putItem(db: Database, item: NewItem, event: AuditEvent, hidden: readonly string[]): PutOutcome {
  const texts = givenReaders(item)
  const numberOf = (text: string | null) => (text === null ? null : audienceOf(db, text))
  const given = { item: numberOf(texts.item), bitstreams: texts.bitstreams.map(numberOf) }
  const existing = find(db, item.identifier)
  if (existing && isTaken(item, existing.fingerprint)) return 'taken'
  const audience = given.item ?? existing?.audience ?? audienceOf(db, defaultReaders)
  const uuid = existing?.uuid ?? randomUUID()
  const values = itemValues(item)
  if (!existing)
    db.run(
      `INSERT INTO item (uuid, identifier, ${itemValueColumns}, audience, fingerprint, created, modified)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      uuid,
      item.identifier,
      ...values,
      audience,
      item.fingerprint,
      now(),
      now(),
    )
  const before = existing
    ? db.all<BitstreamValues & { uuid: string }>(
        `SELECT uuid, bundle, name, ${changingColumns} FROM bitstream WHERE item = ?`,
        uuid,
      )
    : []
  const changes = bitstreamChanges(before, wantedBitstreams(item, given.bitstreams, audience, before))
  const files = changedFiles(before, changes)
  const modified = existing ? performAllowed(db, modifiedByIngest(uuid, { values, files, hidden })) : now()
  changeBitstreams(db, uuid, changes)
  performAllowed(db, putBundles(uuid, bundleNames(item.bitstreams), !existing))
  const outcome = existing
    ? updateItem(db, uuid, { item, values, audience, modified, isOfFiles: files.length > 0 })
    : 'added'
  if (existing) performAllowed(db, showAgain(uuid, existing.readers))
  if (outcome !== 'unchanged')
    recordEvent(db, {
      ...event,
      event: outcome === 'added' ? 'item.add' : 'item.change',
      object: item.identifier,
    })
  return outcome
}

interface Update {
  readonly item: NewItem
  readonly values: readonly (string | null)[]
  readonly audience: number
  readonly modified: string
  /** True if files of it have changed. */
  readonly isOfFiles: boolean
}

function updateItem(
  db: Database,
  uuid: string,
  { item, values, audience, modified, isOfFiles }: Update,
): PutOutcome {
  const changed = db.run(
    `UPDATE item SET (${itemValueColumns}, audience, modified, revision) = (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, revision + 1)
     WHERE uuid = ?9 AND (?10 OR (${itemValueColumns}, audience) IS NOT (?1, ?2, ?3, ?4, ?5, ?6, ?7))`,
    ...values,
    audience,
    modified,
    uuid,
    Number(isOfFiles),
  )
  db.run(
    'UPDATE item SET fingerprint = ? WHERE uuid = ? AND fingerprint <> ?',
    item.fingerprint,
    uuid,
    item.fingerprint,
  )
  return changed === 0 ? 'unchanged' : 'changed'
}

function changeBitstreams(db: Database, item: string, { removed, changed, added }: BitstreamChanges): void {
  for (const uuid of removed) db.run('DELETE FROM bitstream WHERE uuid = ?', uuid)
  for (const row of changed)
    db.run(
      `UPDATE bitstream SET (${changingColumns}) = (?, ?, ?, ?, ?, ?) WHERE uuid = ?`,
      ...changingValues(row),
      row.uuid,
    )
  for (const row of added)
    db.run(
      `INSERT INTO bitstream (uuid, item, bundle, name, created, ${changingColumns})
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      randomUUID(),
      item,
      row.bundle,
      row.name,
      now(),
      ...changingValues(row),
    )
}
