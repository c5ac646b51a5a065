import { randomUUID } from 'node:crypto'
import type { AuditEvent, Changes } from '../../model/audit-events.ts'
import type { CreateItem, EditItem, ItemChange, ItemOutcome } from '../../model/item-changes.ts'
import { type Metadata, metadataWithout, summaryOf } from '../../model/items.ts'
import { readReaders, writeRules } from '../../model/readers.ts'
import { audienceWith } from './audience-rows.ts'
import {
  addBitstream,
  deleteBitstreams,
  editBitstream,
  orderBitstreams,
  replaceContent,
} from './bitstream-changes.ts'
import { addBundle, deleteBundle, setPrimary } from './bundle-changes.ts'
import { differences } from './differences.ts'
import { defaultReaders, itemValueColumns, itemValues } from './item-rows.ts'
import { setPolicies, showAs } from './reader-changes.ts'
import { editSite } from './site-changes.ts'
import { type Change, record, row, rows, run } from './statements.ts'

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

const now = () => new Date().toISOString()

function* createItem(change: CreateItem, event: AuditEvent): Change<ItemOutcome> {
  const { uuid, identifier, metadata, withdrawn, discoverable } = change
  const taken = yield* row('SELECT 1 AS one FROM item WHERE identifier = $1', identifier)
  if (taken) return 'taken'
  const readers = yield* audienceWith(defaultReaders)
  yield* run(
    `INSERT INTO item (${itemValueColumns}, uuid, identifier, audience, fingerprint, created, modified,
       withdrawn, discoverable) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '', $10, $10, $11, $12)`,
    ...itemValues({ metadata, collections: [] }),
    uuid,
    identifier,
    readers,
    now(),
    Number(withdrawn),
    Number(discoverable),
  )
  const changes = differences(null, { metadata, withdrawn, discoverable })
  yield* record({ ...event, event: 'item.add', object: identifier, ...changes })
  return 'changed'
}

interface ExistingItem {
  readonly uuid: string
  readonly identifier: string
  readonly metadata: string
  readonly collections: string
  readonly withdrawn: number
  readonly discoverable: number
  readonly modified: string
  readonly revision: number
  readonly audience: number
  readonly readers: string
}

/** The item, locked until the transaction ends. */
function* lockItem(uuid: string): Change<ExistingItem | undefined> {
  return yield* row<ExistingItem>(
    `SELECT uuid, identifier, metadata, collections, withdrawn, discoverable, modified, revision, audience,
       (SELECT readers FROM audience WHERE id = item.audience) AS readers
     FROM item WHERE uuid = $1 FOR UPDATE`,
    uuid,
  )
}

type Shown = { readonly metadata: Metadata; readonly [name: string]: unknown }

/** @returns whether two states of an item differ for those who don't see the hidden fields */
function seenDifference(before: Shown, after: Shown, hidden: readonly string[]): boolean {
  const shown = ({ metadata, ...rest }: Shown) => ({ ...rest, metadata: metadataWithout(metadata, hidden) })
  return differences(shown(before), shown(after)).changes !== undefined
}

/**
 * The time of an item's last change that all its readers see, when an ingest puts it.
 * @param values as `itemValues` makes them
 * @param files those of the item before and after that are changed, with their audiences
 */
export function* modifiedByIngest(uuid: string, { values, files, hidden }: IngestedItem): Change<string> {
  const item = yield* lockItem(uuid)
  if (!item) throw new Error('the item was deleted while it was being changed')
  const [, , , , metadata, collections] = values
  const stateOf = (state: Record<'metadata' | 'collections', string | null | undefined>) => ({
    metadata: JSON.parse(state.metadata ?? '{}') as Metadata,
    collections: state.collections,
  })
  const isSeen =
    files.some(file => file.audience === item.audience) ||
    seenDifference(stateOf(item), stateOf({ metadata, collections }), hidden)
  return isSeen ? now() : item.modified
}

export interface IngestedItem {
  readonly values: readonly (string | null)[]
  readonly files: readonly { readonly audience: number }[]
  readonly hidden: readonly string[]
}

function* editItem(change: EditItem, event: AuditEvent): Change<ItemOutcome> {
  const item = yield* lockItem(change.item)
  if (!item) return 'gone'
  if (item.revision !== change.revision) return 'stale'
  const before = {
    metadata: JSON.parse(item.metadata) as Metadata,
    withdrawn: item.withdrawn === 1,
    discoverable: item.discoverable === 1,
  }
  const after = {
    metadata: change.metadata ?? before.metadata,
    withdrawn: change.withdrawn ?? before.withdrawn,
    discoverable: change.discoverable ?? before.discoverable,
  }
  const changes: { changes?: Changes } = differences(before, after)
  if (changes.changes === undefined) return 'unchanged'
  const isSeen = seenDifference(before, after, change.hidden)
  const { title, authors, issued, type } = summaryOf(after.metadata)
  yield* run(
    `UPDATE item SET title = $1, authors = $2, issued = $3, type = $4, metadata = $5, withdrawn = $6,
       discoverable = $7, modified = $8, revision = revision + 1 WHERE uuid = $9`,
    title,
    JSON.stringify(authors),
    issued,
    type,
    JSON.stringify(after.metadata),
    Number(after.withdrawn),
    Number(after.discoverable),
    isSeen ? now() : item.modified,
    item.uuid,
  )
  if (before.withdrawn !== after.withdrawn || before.discoverable !== after.discoverable)
    yield* showAs(item, writeRules(readReaders(item.readers)), after)
  yield* record({ ...event, event: 'item.change', object: item.identifier, ...changes })
  return 'changed'
}

function* deleteItem(
  { item: uuid, revision }: ItemChange & { kind: 'delete-item' },
  event: AuditEvent,
): Change<ItemOutcome> {
  const item = yield* lockItem(uuid)
  if (!item) return 'gone'
  if (revision !== null && item.revision !== revision) return 'stale'
  yield* forget(uuid)
  const before = { metadata: JSON.parse(item.metadata) as Metadata, readers: readReaders(item.readers) }
  yield* record({ ...event, event: 'item.delete', object: item.identifier, ...differences(before, null) })
  return 'changed'
}

function* forget(uuid: string): Change<void> {
  yield* run(
    'DELETE FROM policy WHERE object = $1 OR object IN (SELECT uuid FROM bitstream WHERE item = $1)',
    uuid,
  )
  for (const table of ['bitstream', 'bundle']) yield* run(`DELETE FROM ${table} WHERE item = $1`, uuid)
  yield* run('DELETE FROM item WHERE uuid = $1', uuid)
}

/** @returns whether there was such an item */
export function* deleteNamed(identifier: string, event: AuditEvent): Change<boolean> {
  const found = yield* row<{ uuid: string }>('SELECT uuid FROM item WHERE identifier = $1', identifier)
  if (!found) return false
  const change = { kind: 'delete-item', item: found.uuid, revision: null } as const
  return (yield* deleteItem(change, event)) === 'changed'
}

/**
 * The bundles of an item that an ingest has put: those of its files, in the order of their first files. What is there
 * keeps its UUID.
 * @param names in their order, each once
 */
export function* putBundles(item: string, names: readonly string[], isNew: boolean): Change<void> {
  const before = isNew
    ? []
    : yield* rows<{ uuid: string; name: string; place: number }>(
        'SELECT uuid, name, place FROM bundle WHERE item = $1',
        item,
      )
  for (const { uuid } of before.filter(({ name }) => !names.includes(name)))
    yield* run('DELETE FROM bundle WHERE uuid = $1', uuid)
  for (const [place, name] of names.entries()) {
    const known = before.find(one => one.name === name)
    if (!known)
      yield* run(
        'INSERT INTO bundle (uuid, item, name, place) VALUES ($1, $2, $3, $4)',
        randomUUID(),
        item,
        name,
        place,
      )
    else if (known.place !== place)
      yield* run('UPDATE bundle SET place = $1 WHERE uuid = $2', place, known.uuid)
  }
  if (!isNew)
    yield* run(
      `UPDATE bundle SET primary_bitstream = NULL WHERE item = $1 AND primary_bitstream NOT IN
         (SELECT uuid FROM bitstream WHERE item = $1)`,
      item,
    )
}
