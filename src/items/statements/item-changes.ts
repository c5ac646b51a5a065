import type { AuditEvent, Changes } from '../../model/audit-events.ts'
import type { CreateItem, EditItem, EditSite, ItemChange, ItemOutcome } from '../../model/item-changes.ts'
import type { Metadata } from '../../model/items.ts'
import { readReaders, writeRules } from '../../model/readers.ts'
import * as tables from '../../storage/schema/items.ts'
import type { Change, Read } from '../../storage/statements/statements.ts'
import * as db from '../../storage/statements/statements.ts'
import {
  addBitstream,
  deleteBitstreams,
  editBitstream,
  orderBitstreams,
  replaceContent,
} from './bitstream-changes.ts'
import { addBundle, deleteBundle, setPrimary } from './bundle-changes.ts'
import {
  audienceWith,
  defaultReaders,
  itemColumns,
  itemDifferences,
  lockItem,
  metadataColumns,
  seenDifference,
  stateOf,
} from './items.ts'
import { setPolicies, showAs } from './reader-changes.ts'

export interface Site {
  readonly metadata: Metadata
  /** Grows with every change; 0: it was never changed. */
  readonly revision: number
}

/** @param event a template; `event`, `object` and `changes` are filled in */
export function itemChange(change: ItemChange, event: AuditEvent): Change<ItemOutcome> {
  switch (change.kind) {
    case 'create-item':
      return createItem(change, event)
    case 'edit-item':
      return editItem(change, event)
    case 'delete-item':
      return deleteItem(change, event)
    case 'add-bundle':
      return addBundle(change, event)
    case 'delete-bundle':
      return deleteBundle(change.bundle, event)
    case 'set-primary':
      return setPrimary(change, event)
    case 'order-bitstreams':
      return orderBitstreams(change, event)
    case 'add-bitstream':
      return addBitstream(change, event)
    case 'edit-bitstream':
      return editBitstream(change, event)
    case 'replace-content':
      return replaceContent(change, event)
    case 'delete-bitstreams':
      return deleteBitstreams(change.bitstreams, event)
    case 'set-policies':
      return setPolicies(change, event)
    case 'edit-site':
      return editSite(change, event)
  }
}

function* createItem(change: CreateItem, event: AuditEvent): Change<ItemOutcome> {
  const { uuid, identifier, metadata, withdrawn, discoverable } = change
  const time = db.now()
  const columns = {
    ...itemColumns({ metadata, collections: [] }),
    uuid,
    identifier,
    audience: yield* audienceWith(defaultReaders),
    fingerprint: '',
    created: time,
    modified: time,
    withdrawn: Number(withdrawn),
    discoverable: Number(discoverable),
  }
  if ((yield* db.insert(tables.item, columns, '(identifier) DO NOTHING')) === 0) return 'taken'
  const changes = itemDifferences(null, { metadata, withdrawn, discoverable })
  yield* db.record({ ...event, event: 'item.add', object: identifier, ...changes })
  return 'changed'
}

function* editItem(change: EditItem, event: AuditEvent): Change<ItemOutcome> {
  const item = yield* lockItem('uuid = $1', change.item)
  if (!item) return 'gone'
  if (item.revision !== change.revision) return 'stale'
  const before = { metadata: JSON.parse(item.metadata) as Metadata, ...stateOf(item) }
  const after = {
    metadata: change.metadata ?? before.metadata,
    withdrawn: change.withdrawn ?? before.withdrawn,
    discoverable: change.discoverable ?? before.discoverable,
  }
  const changes: { changes?: Changes } = itemDifferences(before, after)
  if (changes.changes === undefined) return 'unchanged'
  const columns = {
    ...metadataColumns(after.metadata),
    withdrawn: Number(after.withdrawn),
    discoverable: Number(after.discoverable),
    modified: seenDifference(before, after, change.hidden) ? db.now() : item.modified,
  }
  yield* db.run(
    `UPDATE item SET ${Object.keys(columns).map((name, at) => `${name} = $${at + 2}`)}, revision = revision + 1
     WHERE uuid = $1`,
    item.uuid,
    ...Object.values(columns),
  )
  if (before.withdrawn !== after.withdrawn || before.discoverable !== after.discoverable)
    yield* showAs(item, writeRules(readReaders(item.readers)), after)
  yield* db.record({ ...event, event: 'item.change', object: item.identifier, ...changes })
  return 'changed'
}

function* deleteItem(
  { item: uuid, revision }: ItemChange & { kind: 'delete-item' },
  event: AuditEvent,
): Change<ItemOutcome> {
  const item = yield* lockItem('uuid = $1', uuid)
  if (!item) return 'gone'
  if (revision !== null && item.revision !== revision) return 'stale'
  yield* forget(uuid)
  const before = { metadata: JSON.parse(item.metadata) as Metadata, readers: readReaders(item.readers) }
  yield* db.record({
    ...event,
    event: 'item.delete',
    object: item.identifier,
    ...itemDifferences(before, null),
  })
  return 'changed'
}

function* forget(uuid: string): Change<void> {
  yield* db.run(
    'DELETE FROM policy WHERE object = $1 OR object IN (SELECT uuid FROM bitstream WHERE item = $1)',
    uuid,
  )
  for (const table of ['bitstream', 'bundle']) yield* db.run(`DELETE FROM ${table} WHERE item = $1`, uuid)
  yield* db.run('DELETE FROM item WHERE uuid = $1', uuid)
}

/** @returns false if there was no such item */
export function* deleteNamed(identifier: string, event: AuditEvent): Change<boolean> {
  const item = yield* db.value<string>('SELECT uuid FROM item WHERE identifier = $1', identifier)
  if (item === undefined) return false
  const change = { kind: 'delete-item', item, revision: null } as const
  return (yield* deleteItem(change, event)) === 'changed'
}

/** @param lock SQL that locks the row until the change ends */
export function* siteIn(lock = ''): Read<Site> {
  const found = yield* db.row<{ metadata: string; revision: number }>(
    `SELECT metadata, revision FROM site${lock}`,
  )
  // There is no row before the first change.
  return {
    metadata: found ? (JSON.parse(found.metadata) as Metadata) : {},
    revision: found?.revision ?? 0,
  }
}

/** Replaces the metadata of the site. */
function* editSite({ site, revision, metadata }: EditSite, event: AuditEvent): Change<ItemOutcome> {
  const before = yield* siteIn(' FOR UPDATE')
  if (before.revision !== revision) return 'stale'
  const changes: { changes?: Changes } = itemDifferences({ metadata: before.metadata }, { metadata })
  if (changes.changes === undefined) return 'unchanged'
  // Before the first change there is no row to lock: of two concurrent ones, this refuses the later one.
  const changed = yield* db.run(
    `INSERT INTO site (id, metadata, revision) VALUES (1, $1, $2) ON CONFLICT (id) DO UPDATE
       SET metadata = excluded.metadata, revision = excluded.revision WHERE site.revision = excluded.revision - 1`,
    JSON.stringify(metadata),
    revision + 1,
  )
  if (changed === 0) return 'stale'
  yield* db.record({ ...event, event: 'site.change', object: site, ...changes })
  return 'changed'
}
