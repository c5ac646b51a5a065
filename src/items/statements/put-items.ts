import { randomUUID } from 'node:crypto'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Metadata, NewItem } from '../../model/items.ts'
import { type Readers, readReaders, writeRules } from '../../model/readers.ts'
import * as tables from '../../storage/schema/items.ts'
import type { RowOf } from '../../storage/schema/table.ts'
import type { Change } from '../../storage/statements/statements.ts'
import * as db from '../../storage/statements/statements.ts'
import {
  checkedReaders,
  defaultReaders,
  type ExistingItem,
  itemColumns,
  lockItem,
  numbersOf,
  seenDifference,
  stateOf,
} from './items.ts'
import { showAs } from './reader-changes.ts'

/** `taken`: another run has put the item since it was looked up, and it stays as it is. */
export type PutOutcome = 'added' | 'changed' | 'unchanged' | 'taken'

/**
 * Adds items, and updates those whose identifier exists: all of them, or none if it fails. An existing item keeps
 * its uuid, and so does a bitstream with the same bundle and name. Without readers, they keep their own (D7).
 * @param event a template for the event of each changed item; `event` and `object` are filled in
 * @param hidden fields of metadata that only administrators see (Q19)
 */
export function* putItems(
  items: readonly NewItem[],
  event: AuditEvent,
  hidden: readonly string[],
): Change<readonly PutOutcome[]> {
  const all = items.map(item => ({ item, given: givenReaders(item) }))
  // New audiences lock the row of the state, which comes before the rights.
  const numberOf = yield* numbersOf(textsIn(all.map(({ given }) => given)))
  yield* db.rights(event, 'shared')
  const outcomes: PutOutcome[] = []
  for (const { item, given } of all) {
    const outcome = yield* putItem(item, given, { numberOf, hidden })
    if (outcome === 'added' || outcome === 'changed')
      yield* db.record({
        ...event,
        event: outcome === 'added' ? 'item.add' : 'item.change',
        object: item.identifier,
      })
    outcomes.push(outcome)
  }
  return outcomes
}

/**
 * Adds the audiences that these items need. In a transaction of its own before they are put, it keeps the row of the
 * state from being locked until all items are there.
 */
export function* addAudiences(items: readonly NewItem[]): Change<void> {
  yield* numbersOf(textsIn(items.map(givenReaders)))
}

/** Canonical texts; null where existing readers are kept. */
interface GivenReaders {
  readonly item: string | null
  readonly bitstreams: readonly (string | null)[]
}

/**
 * The readers that are given for an item and for each of its bitstreams. Those of the item apply to its bitstreams too.
 * @throws RangeError before anything is changed
 */
function givenReaders({ identifier, readers, bitstreams }: NewItem): GivenReaders {
  const textOf = (one: Readers | null) => (one === null ? null : checkedReaders(identifier, one))
  const item = textOf(readers)
  return { item, bitstreams: bitstreams.map(one => textOf(one.readers) ?? item) }
}

const textsIn = (all: readonly GivenReaders[]): readonly string[] => [
  ...new Set(
    all.flatMap(({ item, bitstreams }) => [
      item ?? defaultReaders,
      ...bitstreams.filter(one => one !== null),
    ]),
  ),
]

interface Known {
  readonly numberOf: (readers: string) => number
  readonly hidden: readonly string[]
}

function* putItem(item: NewItem, given: GivenReaders, { numberOf, hidden }: Known): Change<PutOutcome> {
  const ofFiles = given.bitstreams.map(text => (text === null ? null : numberOf(text)))
  const columns = itemColumns(item)
  const time = db.now()
  const added = { uuid: randomUUID(), audience: numberOf(given.item ?? defaultReaders) }
  const isNew = yield* db.insert(
    tables.item,
    {
      ...columns,
      ...added,
      identifier: item.identifier,
      fingerprint: item.fingerprint,
      created: time,
      modified: time,
    },
    '(identifier) DO NOTHING',
  )
  if (isNew === 1) {
    yield* changeBitstreams(
      added.uuid,
      bitstreamChanges([], wantedBitstreams(item, ofFiles, added.audience, [])),
    )
    yield* putBundles(added.uuid, item, true)
    return 'added'
  }
  const existing = yield* lockItem('identifier = $1', item.identifier)
  if (!existing) throw new Error('the item was deleted while it was being changed')
  if (isTaken(item, existing.fingerprint)) return 'taken'
  const { uuid } = existing
  const readers = given.item ?? existing.readers
  const audience = given.item === null ? existing.audience : numberOf(given.item)
  const before = yield* db.rows<BitstreamRow>(
    `SELECT uuid, bundle, name, ${changing.join(', ')} FROM bitstream WHERE item = $1`,
    uuid,
  )
  const changes = bitstreamChanges(before, wantedBitstreams(item, ofFiles, audience, before))
  const files = changedFiles(before, changes)
  const isSeen =
    files.some(file => file.audience === existing.audience) ||
    seenDifference(shownOf(existing), shownOf(columns), hidden)
  yield* changeBitstreams(uuid, changes)
  yield* putBundles(uuid, item, false)
  const isChanged = yield* updateItem(
    uuid,
    { ...columns, audience },
    { modified: isSeen ? time : existing.modified, isOfFiles: files.length > 0 },
  )
  yield* db.run(
    'UPDATE item SET fingerprint = $1 WHERE uuid = $2 AND fingerprint <> $1',
    item.fingerprint,
    uuid,
  )
  // The audiences follow from the item's state and writers, too.
  const writers = writeRules(readReaders(existing.readers))
  const state = stateOf(existing)
  if (state.withdrawn || !state.discoverable || writers.length > 0)
    yield* showAs({ uuid, readers }, writers, state)
  return isChanged ? 'changed' : 'unchanged'
}

/** True if another run has put the item since it was looked up. @param fingerprint of the stored item */
const isTaken = ({ seen, fingerprint: own }: NewItem, fingerprint: string): boolean =>
  seen !== undefined && fingerprint !== seen && fingerprint !== own

const shownOf = ({ metadata, collections }: Pick<ExistingItem, 'metadata' | 'collections'>) => ({
  metadata: JSON.parse(metadata) as Metadata,
  collections,
})

function* updateItem(
  uuid: string,
  columns: Readonly<Record<string, string | number | null>>,
  { modified, isOfFiles }: { readonly modified: string; readonly isOfFiles: boolean },
): Change<boolean> {
  const names = Object.keys(columns)
  const values = names.map((_, at) => `$${at + 4}`)
  const changed = yield* db.run(
    `UPDATE item SET (${names}, modified, revision) = (${values}, $2, revision + 1)
     WHERE uuid = $1 AND ($3 = 1 OR (${names}) IS DISTINCT FROM (${values}))`,
    uuid,
    modified,
    Number(isOfFiles),
    ...Object.values(columns),
  )
  return changed > 0
}

/** The columns of a bitstream except uuid, item and creation time. `bundle` and `name` identify it in its item. */
type BitstreamValues = Omit<RowOf<typeof tables.bitstream>, 'uuid' | 'item' | 'created'>
type BitstreamRow = BitstreamValues & { readonly uuid: string }

/** The columns that may change while the bitstream keeps its uuid. */
const changing = ['place', 'description', 'mime_type', 'size', 'sha256', 'audience'] as const

const keyOf = ({ bundle, name }: Pick<BitstreamValues, 'bundle' | 'name'>) => JSON.stringify([bundle, name])

/**
 * The bitstreams that an item should have. A bitstream without given readers keeps its audience (D7); a new
 * one gets the item's.
 * @param given the audiences that are given for the bitstreams, in their order
 * @param audience the item's audience
 */
function wantedBitstreams(
  { bitstreams }: NewItem,
  given: readonly (number | null)[],
  audience: number,
  before: readonly BitstreamValues[],
): BitstreamValues[] {
  const audiences = new Map(before.map(row => [keyOf(row), row.audience]))
  return bitstreams.map((one, place) => ({
    bundle: one.bundle,
    name: one.name,
    place,
    description: one.description,
    mime_type: one.mimeType,
    size: one.size,
    sha256: one.sha256,
    audience: given[place] ?? audiences.get(keyOf(one)) ?? audience,
  }))
}

interface BitstreamChanges {
  /** The uuids of bitstreams. */
  readonly removed: readonly string[]
  readonly changed: readonly BitstreamRow[]
  readonly added: readonly BitstreamValues[]
}

/** The changes that turn an item's bitstreams into the wanted ones. */
function bitstreamChanges(
  before: readonly BitstreamRow[],
  wanted: readonly BitstreamValues[],
): BitstreamChanges {
  const oldRows = new Map(before.map(row => [keyOf(row), row]))
  const kept = new Set(wanted.map(keyOf))
  return {
    removed: before.filter(row => !kept.has(keyOf(row))).map(({ uuid }) => uuid),
    changed: wanted.flatMap(row => {
      const old = oldRows.get(keyOf(row))
      return old && changing.some(column => old[column] !== row[column]) ? { ...row, uuid: old.uuid } : []
    }),
    added: wanted.filter(row => !oldRows.has(keyOf(row))),
  }
}

/** The files that an ingest changes, before and after. */
function changedFiles(
  before: readonly BitstreamRow[],
  { removed, changed, added }: BitstreamChanges,
): readonly BitstreamValues[] {
  const gone = new Set([...removed, ...changed.map(({ uuid }) => uuid)])
  return [...before.filter(({ uuid }) => gone.has(uuid)), ...changed, ...added]
}

function* changeBitstreams(item: string, { removed, changed, added }: BitstreamChanges): Change<void> {
  if (removed.length > 0) yield* db.run('DELETE FROM bitstream WHERE uuid = ANY($1)', removed)
  for (const row of changed)
    yield* db.run(
      `UPDATE bitstream SET ${changing.map((column, at) => `${column} = $${at + 2}`)} WHERE uuid = $1`,
      row.uuid,
      ...changing.map(column => row[column]),
    )
  yield* db.insertAll(
    tables.bitstream,
    added.map(row => ({ ...row, uuid: randomUUID(), item, created: db.now() })),
  )
}

/** Gives an item the bundles of its files, in the order of their first files. Existing ones keep their uuid. */
function* putBundles(item: string, { bitstreams }: NewItem, isNew: boolean): Change<void> {
  const names = [...new Set(bitstreams.map(({ bundle }) => bundle))]
  const before = isNew
    ? []
    : yield* db.rows<{ uuid: string; name: string; place: number }>(
        'SELECT uuid, name, place FROM bundle WHERE item = $1',
        item,
      )
  for (const { uuid } of before.filter(({ name }) => !names.includes(name)))
    yield* db.run('DELETE FROM bundle WHERE uuid = $1', uuid)
  for (const [place, name] of names.entries()) {
    const known = before.find(one => one.name === name)
    if (!known) yield* db.insert(tables.bundle, { uuid: randomUUID(), item, name, place })
    else if (known.place !== place)
      yield* db.run('UPDATE bundle SET place = $1 WHERE uuid = $2', place, known.uuid)
  }
  if (!isNew)
    yield* db.run(
      `UPDATE bundle SET primary_bitstream = NULL WHERE item = $1 AND primary_bitstream NOT IN
         (SELECT uuid FROM bitstream WHERE item = $1)`,
      item,
    )
}
