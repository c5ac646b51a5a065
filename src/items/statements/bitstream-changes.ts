import type { AuditEvent } from '../../model/audit-events.ts'
import {
  type AddBitstream,
  type EditBitstream,
  type ItemOutcome,
  maxBitstreams,
  type OrderBitstreams,
  type ReplaceContent,
} from '../../model/item-changes.ts'
import type { Bitstream, Item } from '../../model/items.ts'
import * as tables from '../../storage/schema/items.ts'
import type { Change } from '../../storage/statements/statements.ts'
import * as db from '../../storage/statements/statements.ts'
import { isSeenByAll, lockBundle, touchItem } from './bundle-changes.ts'
import { accessObject, itemDifferences, storedBytes } from './items.ts'

export function* addBitstream(change: AddBitstream, event: AuditEvent): Change<ItemOutcome> {
  const bundle = yield* lockBundle(change.bundle)
  if (!bundle) return 'gone'
  const { item, name: bundleName, identifier } = bundle
  const { uuid, name, description, mimeType, size, sha256, quota } = change
  if (yield* isNamed(item, bundleName, name)) return 'taken'
  const inItem = yield* db.row<{ count: number; next: number }>(
    'SELECT count(*) AS count, coalesce(max(place), -1) + 1 AS next FROM bitstream WHERE item = $1',
    item,
  )
  if (!inItem) throw new Error('a count gave no row')
  if (inItem.count >= maxBitstreams) return 'many'
  if (yield* isFull(size, quota)) return 'full'
  // Its readers are the item's, until it gets rules of its own.
  yield* db.run(
    `INSERT INTO bitstream (uuid, item, bundle, name, place, description, mime_type, size, sha256, created, audience)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, (SELECT audience FROM item WHERE uuid = $2))`,
    uuid,
    item,
    bundleName,
    name,
    inItem.next,
    description,
    mimeType,
    size,
    sha256,
    db.now(),
  )
  yield* touchItem(item, true)
  const changes = itemDifferences(null, { uuid, name, description, mimeType, size, sha256 })
  const object = accessObject({ identifier, file: { bundle: bundleName, name } })
  yield* db.record({ ...event, event: 'bitstream.add', object, ...changes })
  return 'changed'
}

/** @param more bytes that are to be added */
function* isFull(more: number, quota: number | null): Change<boolean> {
  if (quota === null) return false
  return (yield* storedBytes()) + more > quota
}

const isNamed = (item: string, bundle: string, name: string) =>
  db.row('SELECT 1 AS one FROM bitstream WHERE item = $1 AND bundle = $2 AND name = $3', item, bundle, name)

type ExistingBitstream = Omit<Bitstream, 'readers' | 'created'> & Pick<Item, 'identifier'>

/** Finds a bitstream, and locks its item. */
function* lockBitstream(uuid: string): Change<ExistingBitstream | undefined> {
  const identifier = yield* db.value<string>(
    'SELECT identifier FROM item WHERE uuid = (SELECT item FROM bitstream WHERE bitstream.uuid = $1) FOR UPDATE',
    uuid,
  )
  const found = yield* db.row<Omit<ExistingBitstream, 'identifier'>>(
    'SELECT uuid, item, bundle, name, description, mime_type AS "mimeType", size, sha256 FROM bitstream WHERE uuid = $1',
    uuid,
  )
  return identifier === undefined || !found ? undefined : { ...found, identifier }
}

export function* editBitstream(change: EditBitstream, event: AuditEvent): Change<ItemOutcome> {
  const file = yield* lockBitstream(change.bitstream)
  if (!file) return 'gone'
  const { name = file.name, description = file.description, mimeType = file.mimeType } = change
  return yield* changeFile(file, { name, description, mimeType }, null, event)
}

export function* replaceContent(change: ReplaceContent, event: AuditEvent): Change<ItemOutcome> {
  const file = yield* lockBitstream(change.bitstream)
  if (!file) return 'gone'
  const { name, mimeType, size, sha256, seen, quota } = change
  if (seen !== null && seen !== file.sha256) return 'stale'
  return yield* changeFile(file, { name, mimeType, size, sha256 }, quota, event)
}

type Changed = Pick<ExistingBitstream, 'name' | 'mimeType'> &
  Partial<Pick<ExistingBitstream, 'description' | 'size' | 'sha256'>>

function* changeFile(
  file: ExistingBitstream,
  after: Changed,
  quota: number | null,
  event: AuditEvent,
): Change<ItemOutcome> {
  const before = Object.fromEntries(
    Object.keys(after).map(name => [name, file[name as keyof ExistingBitstream]]),
  )
  const changes = itemDifferences(before, after)
  if (changes.changes === undefined) return 'unchanged'
  const { mimeType, ...others } = after
  if (after.name !== file.name && (yield* isNamed(file.item, file.bundle, after.name))) return 'taken'
  if (after.size !== undefined && (yield* isFull(after.size - file.size, quota))) return 'full'
  yield* db.update(tables.bitstream, { ...others, mime_type: mimeType }, { uuid: file.uuid })
  yield* touchItem(file.item, yield* isSeenByAll(file.uuid))
  yield* db.record({ ...event, event: 'bitstream.change', object: objectOf(file), ...changes })
  return 'changed'
}

const objectOf = (file: ExistingBitstream) => accessObject({ identifier: file.identifier, file })

export function* deleteBitstreams(uuids: readonly string[], event: AuditEvent): Change<ItemOutcome> {
  const files: ExistingBitstream[] = []
  // The items are locked in one order, so that two such changes don't deadlock.
  for (const uuid of [...new Set(uuids)].toSorted()) {
    const file = yield* lockBitstream(uuid)
    if (!file) return 'gone'
    files.push(file)
  }
  const seenIn = new Set<string>()
  for (const file of files) {
    if (yield* isSeenByAll(file.uuid)) seenIn.add(file.item)
    yield* db.run('DELETE FROM policy WHERE object = $1', file.uuid)
    yield* db.run('DELETE FROM bitstream WHERE uuid = $1', file.uuid)
    yield* db.run(
      'UPDATE bundle SET primary_bitstream = NULL WHERE item = $1 AND primary_bitstream = $2',
      file.item,
      file.uuid,
    )
    const { name, description, mimeType } = file
    yield* db.record({
      ...event,
      event: 'bitstream.delete',
      object: objectOf(file),
      ...itemDifferences({ uuid: file.uuid, name, description, mimeType }, null),
    })
  }
  for (const item of new Set(files.map(one => one.item))) yield* touchItem(item, seenIn.has(item))
  return files.length === 0 ? 'unchanged' : 'changed'
}

export function* orderBitstreams(
  { bundle: uuid, moves }: OrderBitstreams,
  event: AuditEvent,
): Change<ItemOutcome> {
  const bundle = yield* lockBundle(uuid)
  if (!bundle) return 'gone'
  const before = yield* db.rows<{ uuid: string; name: string; place: number }>(
    'SELECT uuid, name, place FROM bitstream WHERE item = $1 AND bundle = $2 ORDER BY place',
    bundle.item,
    bundle.name,
  )
  const after = [...before]
  for (const [from, to] of moves) {
    const [moved] = after.splice(from, 1)
    if (!moved || to > after.length) return 'gone'
    after.splice(to, 0, moved)
  }
  // The bundle keeps its places among all files of the item; only the files in them change.
  let moved = 0
  let seen = 0
  for (const [at, { uuid: file, place }] of after.entries()) {
    const wanted = before[at]?.place ?? place
    if (wanted === place) continue
    moved++
    if (yield* isSeenByAll(file)) seen++
    yield* db.run('UPDATE bitstream SET place = $1 WHERE uuid = $2', wanted, file)
  }
  if (moved === 0) return 'unchanged'
  // A change of place of one visible file is not counted as a visible change of order.
  yield* touchItem(bundle.item, seen > 1)
  const names = (list: readonly { readonly name: string }[]) => ({ order: list.map(({ name }) => name) })
  const object = `${bundle.identifier}, ${bundle.name}`
  yield* db.record({
    ...event,
    event: 'bundle.change',
    object,
    ...itemDifferences(names(before), names(after)),
  })
  return 'changed'
}
