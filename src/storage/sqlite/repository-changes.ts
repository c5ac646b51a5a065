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
import type { Database } from './driver.ts'

/** The changes of items and bitstreams. */
export const putItems = (db: Database, items: readonly NewItem[], event: AuditEvent): PutOutcome[] =>
  items.map(item => putItem(db, item, event))

export function deleteItem(db: Database, identifier: string, event: AuditEvent): boolean {
  const known = find(db, identifier)
  if (!known) return false
  db.run('DELETE FROM bitstream WHERE item = ?', known.uuid)
  db.run('DELETE FROM item WHERE uuid = ?', known.uuid)
  recordEvent(db, { ...event, object: identifier })
  return true
}

type Known = { uuid: string; audience: number }

const find = (db: Database, identifier: string) =>
  db.get<Known>('SELECT uuid, audience FROM item WHERE identifier = ?', identifier)

function putItem(db: Database, item: NewItem, event: AuditEvent): PutOutcome {
  const texts = readersOf(item)
  const audience = audienceOf(db, texts.item)
  const wanted = item.bitstreams.map((one, at) =>
    bitstreamValues(one, at, audienceOf(db, texts.bitstreams[at] ?? texts.item)),
  )
  const known = find(db, item.identifier)
  const uuid = known?.uuid ?? randomUUID()
  const values = itemValues(item)
  if (!known)
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
  const before = known
    ? db.all<BitstreamValues & { uuid: string }>(
        `SELECT uuid, bundle, name, ${changingColumns} FROM bitstream WHERE item = ?`,
        uuid,
      )
    : []
  const changes = bitstreamChanges(before, wanted)
  changeBitstreams(db, uuid, changes)
  const outcome = known ? changeItem(db, uuid, { item, values, audience, changes }) : 'added'
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

/** The number of the audience, which is new when nothing had these readers before. */
function audienceOf(db: Database, readers: string): number {
  const known = db.get<{ id: number }>('SELECT id FROM audience WHERE readers = ?', readers)
  if (known) return known.id
  db.run('INSERT INTO audience (readers) VALUES (?)', readers)
  return audienceOf(db, readers)
}
