import type { AuditEvent } from '../../model/audit-events.ts'
import type { ItemOutcome, SetPolicies } from '../../model/item-changes.ts'
import type { AccessChange } from '../../model/items.ts'
import {
  describeReaders,
  epersonsIn,
  type Readers,
  readersText,
  readersWith,
  readReaders,
  readRules,
  type Visibility,
  writeRules,
} from '../../model/readers.ts'
import * as tables from '../../storage/schema/items.ts'
import type { Change } from '../../storage/statements/statements.ts'
import * as db from '../../storage/statements/statements.ts'
import { touchItem } from './bundle-changes.ts'
import {
  accessObject,
  audienceWith,
  checkedReaders,
  type ExistingItem,
  itemDifferences,
  lockItem,
  stateOf,
} from './items.ts'

export type ReadersOutcome = 'changed' | 'unchanged' | 'no-eperson'

/**
 * Gives an item and its files the audiences that follow from its state and its writers. Files keep their own
 * read rules.
 */
export function* showAs(
  { uuid, readers }: Pick<ExistingItem, 'uuid' | 'readers'>,
  writers: Readers,
  state: Visibility,
): Change<void> {
  const next = (text: string) => readersText(readersWith(readRules(readReaders(text)), writers, state))
  const ofItem = yield* audienceWith(next(readers))
  yield* db.run('UPDATE item SET audience = $1 WHERE uuid = $2', ofItem, uuid)
  // Many files share few audiences.
  const audiences = yield* db.rows<{ id: number; readers: string }>(
    'SELECT id, readers FROM audience WHERE id IN (SELECT audience FROM bitstream WHERE item = $1)',
    uuid,
  )
  // An audience that is already right stays, so no file is changed twice.
  for (const one of audiences) {
    const to = yield* audienceWith(next(one.readers))
    if (to !== one.id)
      yield* db.run('UPDATE bitstream SET audience = $1 WHERE item = $2 AND audience = $3', to, uuid, one.id)
  }
}

/**
 * Locks the epersons that rules name, so that none of them is deleted before the rules are stored; false if
 * one is missing. Epersons are locked before items, as a deletion does (docs/decisions/0065).
 */
function* areThere(rules: Readers): Change<boolean> {
  for (const uuid of [...epersonsIn(rules)].sort())
    if (!(yield* db.row('SELECT 1 AS one FROM eperson WHERE uuid = $1 FOR KEY SHARE', uuid))) return false
  return true
}

/** Maximum number of audiences that are read at a time. */
const audiencesAtOnce = 1_000

/** Removes the rules for an eperson from all items and files. The caller has locked their row, to delete it. */
export function* dropReader(eperson: string): Change<void> {
  const reader = `eperson:${eperson}`
  const naming = `%${JSON.stringify(reader)}%`
  let after = 0
  let isAgain = false
  for (;;) {
    const used = yield* db.rows<{ id: number; readers: string }>(
      `SELECT id, readers FROM audience WHERE readers LIKE $1 AND id > $2 AND (items > 0 OR bitstreams > 0)
       ORDER BY id LIMIT $3`,
      naming,
      after,
      audiencesAtOnce,
    )
    for (const { id, readers } of used) {
      after = id
      const rules = readReaders(readers)
      const others = rules.filter(rule => rule.reader !== reader)
      if (others.length === rules.length) continue
      isAgain = true
      // Items are always locked before their files change: a change under way ends first.
      yield* db.run(
        `UPDATE item SET revision = revision + 1
         WHERE audience = $1 OR uuid IN (SELECT item FROM bitstream WHERE audience = $1)`,
        id,
      )
      const to = yield* audienceWith(readersText(others))
      for (const table of ['item', 'bitstream'])
        yield* db.run(`UPDATE ${table} SET audience = $1 WHERE audience = $2`, to, id)
    }
    if (used.length === audiencesAtOnce) continue
    if (!isAgain) break
    // A change that was under way may have given an item another audience with such a rule.
    isAgain = false
    after = 0
  }
  yield* db.run('DELETE FROM policy WHERE rule LIKE $1', naming)
}

/** @returns undefined if there is no such item or bitstream */
export function* setReaders(change: AccessChange, event: AuditEvent): Change<ReadersOutcome | undefined> {
  const { identifier, file, readers } = change
  const known = yield* areThere(readers)
  const item = yield* lockItem('identifier = $1', identifier)
  if (!item) return undefined
  const found =
    file && (yield* fileWith('item = $1 AND bundle = $2 AND name = $3', item.uuid, file.bundle, file.name))
  if (file && !found) return undefined
  if (!known) return 'no-eperson'
  checkedReaders(identifier, readers)
  const writers = writeRules(readReaders(item.readers))
  const next = readersText(readersWith(readers, writers, stateOf(item)))
  const before = found ? found.readers : item.readers
  if (before === next) return 'unchanged'
  yield* give(item, found?.uuid ?? null, next)
  yield* db.record({ ...event, event: 'item.access', object: accessObject(change), ...told(before, next) })
  return 'changed'
}

const fileWith = (condition: string, ...values: readonly string[]) =>
  db.row<{ uuid: string; bundle: string; name: string; readers: string }>(
    `SELECT uuid, bundle, name, (SELECT readers FROM audience WHERE id = bitstream.audience) AS readers
     FROM bitstream WHERE ${condition}`,
    ...values,
  )

/** Gives these readers to a file, or to the item and those of its files that had the same. */
function* give({ uuid, audience: before }: ExistingItem, file: string | null, readers: string): Change<void> {
  const number = yield* audienceWith(readers)
  if (file !== null) yield* db.run('UPDATE bitstream SET audience = $1 WHERE uuid = $2', number, file)
  else {
    const shared = 'UPDATE bitstream SET audience = $1 WHERE item = $2 AND audience = $3'
    yield* db.run(shared, number, uuid, before)
    yield* db.run('UPDATE item SET audience = $1 WHERE uuid = $2', number, uuid)
  }
  // The rules are visible to administrators only.
  yield* touchItem(uuid, false)
}

const told = (before: string, after: string) => {
  const side = (text: string) => ({ readers: describeReaders(readReaders(text)) })
  return itemDifferences(side(before), side(after))
}

/** Replaces the rules of an item or file, and the notes of clients about them. */
export function* setPolicies(change: SetPolicies, event: AuditEvent): Change<ItemOutcome> {
  const { object, seen, rules, notes } = change
  const known = yield* areThere(rules)
  const item = yield* lockItem(
    'uuid = $1 OR uuid = (SELECT item FROM bitstream WHERE bitstream.uuid = $1)',
    object,
  )
  if (!item) return 'gone'
  const file = yield* fileWith('uuid = $1', object)
  const before = file ? file.readers : item.readers
  if (before !== readersText(seen)) return 'stale'
  if (!known) return 'no-eperson'
  const name = accessObject({ identifier: item.identifier, file: file ?? null })
  checkedReaders(name, rules)
  const writers = writeRules(file ? readReaders(item.readers) : rules)
  const next = readersText(readersWith(rules, writers, stateOf(item)))
  yield* db.run('DELETE FROM policy WHERE object = $1', object)
  for (const { id, rule, name: called, description, type } of notes)
    yield* db.insert(tables.policy, { id, object, rule, name: called, description, type })
  if (next === before) return 'unchanged'
  yield* give(item, file ? object : null, next)
  // Writers see all files.
  if (!file) yield* showAs({ uuid: object, readers: next }, writers, stateOf(item))
  yield* db.record({ ...event, event: 'item.access', object: name, ...told(before, next) })
  return 'changed'
}
