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
import type { Database } from './driver.ts'
import { now, recordEvent } from './events.ts'

/** Changes of items and bitstreams. */
export const putItems = (db: Database, items: readonly NewItem[], event: AuditEvent): PutOutcome[] =>
  items.map(item => putItem(db, item, event))

export function deleteItem(db: Database, identifier: string, event: AuditEvent): boolean {
  const existing = find(db, identifier)
  if (!existing) return false
  db.run('DELETE FROM bitstream WHERE item = ?', existing.uuid)
  db.run('DELETE FROM item WHERE uuid = ?', existing.uuid)
  recordEvent(db, { ...event, object: identifier })
  return true
}

/** @returns undefined if there is no such item or bitstream */
export function setReaders(
  db: Database,
  change: AccessChange,
  event: AuditEvent,
): 'changed' | 'unchanged' | undefined {
  const { identifier, file, readers } = change
  const item = find(db, identifier)
  if (!item) return undefined
  const bitstreams = file
    ? db.all<ExistingRow>(
        'SELECT uuid, audience FROM bitstream WHERE item = ? AND bundle = ? AND name = ?',
        item.uuid,
        file.bundle,
        file.name,
      )
    : db.all<ExistingRow>(
        'SELECT uuid, audience FROM bitstream WHERE item = ? AND audience = ?',
        item.uuid,
        item.audience,
      )
  if (file && bitstreams.length === 0) return undefined
  const audience = audienceOf(db, checkedReaders(identifier, readers))
  if ((bitstreams[0] ?? item).audience === audience) return 'unchanged'
  for (const { uuid } of bitstreams)
    db.run('UPDATE bitstream SET audience = ? WHERE uuid = ?', audience, uuid)
  const ofItem = file ? item.audience : audience
  db.run('UPDATE item SET audience = ?, modified = ? WHERE uuid = ?', ofItem, now(), item.uuid)
  recordEvent(db, { ...event, event: 'item.access', object: accessObject(change) })
  return 'changed'
}

type ExistingRow = { uuid: string; audience: number }

const find = (db: Database, identifier: string) =>
  db.get<ExistingRow>('SELECT uuid, audience FROM item WHERE identifier = ?', identifier)

function putItem(db: Database, item: NewItem, event: AuditEvent): PutOutcome {
  const texts = givenReaders(item)
  const numberOf = (text: string | null) => (text === null ? null : audienceOf(db, text))
  const given = { item: numberOf(texts.item), bitstreams: texts.bitstreams.map(numberOf) }
  const existing = find(db, item.identifier)
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
  changeBitstreams(db, uuid, changes)
  const outcome = existing ? changeItem(db, uuid, { item, values, audience, changes }) : 'added'
  if (outcome !== 'unchanged')
    recordEvent(db, {
      ...event,
      event: outcome === 'added' ? 'item.add' : 'item.change',
      object: item.identifier,
    })
  return outcome
}

interface Change {
  readonly item: NewItem
  readonly values: readonly (string | null)[]
  readonly audience: number
  readonly changes: BitstreamChanges
}

function changeItem(db: Database, uuid: string, { item, values, audience, changes }: Change): PutOutcome {
  const changed = db.run(
    `UPDATE item SET (${itemValueColumns}, audience, modified) = (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
     WHERE uuid = ?9 AND (?10 OR (${itemValueColumns}, audience) IS NOT (?1, ?2, ?3, ?4, ?5, ?6, ?7))`,
    ...values,
    audience,
    now(),
    uuid,
    Object.values(changes).some(rows => rows.length > 0) ? 1 : 0,
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

/** The number of the audience with these readers, which is created if it doesn't exist. */
function audienceOf(db: Database, readers: string): number {
  const existing = db.get<{ id: number }>('SELECT id FROM audience WHERE readers = ?', readers)
  if (existing) return existing.id
  db.run('INSERT INTO audience (readers) VALUES (?)', readers)
  return audienceOf(db, readers)
}
