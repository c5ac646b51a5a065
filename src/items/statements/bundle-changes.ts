import type { AuditEvent } from '../../model/audit-events.ts'
import { type ItemChange, type ItemOutcome, maxBundles } from '../../model/item-changes.ts'
import type { Bundle, Item } from '../../model/items.ts'
import * as tables from '../../storage/schema/items.ts'
import type { Change } from '../../storage/statements/statements.ts'
import * as db from '../../storage/statements/statements.ts'
import { itemDifferences } from './items.ts'

/** A bundle with the identifier of its item. */
type ExistingBundle = Bundle & Pick<Item, 'identifier'>

/** Finds a bundle, and locks its item. Items are always locked first, so that two changes don't deadlock. */
export function* lockBundle(uuid: string): Change<ExistingBundle | undefined> {
  const item = yield* db.row<{ uuid: string; identifier: string }>(
    `SELECT uuid, identifier FROM item
     WHERE uuid = (SELECT item FROM bundle WHERE bundle.uuid = $1) FOR UPDATE`,
    uuid,
  )
  const found = yield* db.row<Omit<ExistingBundle, 'identifier'>>(
    'SELECT uuid, item, name, primary_bitstream AS "primary" FROM bundle WHERE uuid = $1',
    uuid,
  )
  return item && found && { ...found, identifier: item.identifier }
}

/**
 * Records that an item was changed.
 * @param isSeen true if all who may read the item see the change; others don't even learn its time
 */
export function* touchItem(uuid: string, isSeen: boolean): Change<void> {
  yield* db.run('UPDATE item SET revision = revision + 1 WHERE uuid = $1', uuid)
  if (isSeen) yield* db.run('UPDATE item SET modified = $1 WHERE uuid = $2', db.now(), uuid)
}

/** True if all who may read the item may read this file of it. Called before the file is deleted. */
export function* isSeenByAll(file: string): Change<boolean> {
  const sql = `SELECT 1 AS one FROM bitstream b JOIN item i ON i.uuid = b.item
     WHERE b.uuid = $1 AND b.audience = i.audience`
  return (yield* db.row(sql, file)) !== undefined
}

export function* addBundle(
  { item, uuid, name }: ItemChange & { kind: 'add-bundle' },
  event: AuditEvent,
): Change<ItemOutcome> {
  const identifier = yield* db.value<string>('SELECT identifier FROM item WHERE uuid = $1 FOR UPDATE', item)
  if (identifier === undefined) return 'gone'
  const bundles = yield* db.row<{ named: number; count: number; next: number }>(
    `SELECT coalesce(sum(CASE WHEN name = $2 THEN 1 ELSE 0 END), 0) AS named, count(*) AS count,
       coalesce(max(place), -1) + 1 AS next FROM bundle WHERE item = $1`,
    item,
    name,
  )
  if (!bundles) throw new Error('a count gave no row')
  if (bundles.named > 0) return 'taken'
  if (bundles.count >= maxBundles) return 'many'
  yield* db.insert(tables.bundle, { uuid, item, name, place: bundles.next })
  yield* touchItem(item, true)
  const object = `${identifier}, ${name}`
  yield* db.record({ ...event, event: 'bundle.add', object, ...itemDifferences(null, { uuid, name }) })
  return 'changed'
}

/** Deletes a bundle with its files. */
export function* deleteBundle(uuid: string, event: AuditEvent): Change<ItemOutcome> {
  const bundle = yield* lockBundle(uuid)
  if (!bundle) return 'gone'
  const { item, name } = bundle
  yield* db.run(
    'DELETE FROM policy WHERE object IN (SELECT uuid FROM bitstream WHERE item = $1 AND bundle = $2)',
    item,
    name,
  )
  const files = yield* db.run('DELETE FROM bitstream WHERE item = $1 AND bundle = $2', item, name)
  yield* db.run('DELETE FROM bundle WHERE uuid = $1', uuid)
  yield* touchItem(item, true)
  const object = `${bundle.identifier}, ${name}`
  yield* db.record({
    ...event,
    event: 'bundle.delete',
    object,
    ...itemDifferences({ uuid, name, files }, null),
  })
  return 'changed'
}

export function* setPrimary(
  { bundle: uuid, bitstream }: ItemChange & { kind: 'set-primary' },
  event: AuditEvent,
): Change<ItemOutcome> {
  const bundle = yield* lockBundle(uuid)
  if (!bundle) return 'gone'
  const inIt = yield* db.row(
    'SELECT 1 AS one FROM bitstream WHERE uuid = $1 AND item = $2 AND bundle = $3',
    bitstream ?? '',
    bundle.item,
    bundle.name,
  )
  if (bitstream !== null && !inIt) return 'gone'
  if (bundle.primary === bitstream) return 'unchanged'
  yield* db.run('UPDATE bundle SET primary_bitstream = $1 WHERE uuid = $2', bitstream, uuid)
  const both = [bundle.primary, bitstream].filter(one => one !== null)
  let isSeen = false
  for (const one of both) isSeen ||= yield* isSeenByAll(one)
  yield* touchItem(bundle.item, isSeen)
  const changes = itemDifferences({ primary: bundle.primary }, { primary: bitstream })
  const object = `${bundle.identifier}, ${bundle.name}`
  yield* db.record({ ...event, event: 'bundle.change', object, ...changes })
  return 'changed'
}
