import { differences } from '../../lib/differences.ts'
import type { Changes } from '../../model/audit-events.ts'
import {
  type AccessChange,
  type Metadata,
  maxReadersBytes,
  metadataWithout,
  type NewItem,
  summaryOf,
} from '../../model/items.ts'
import { type Readers, readersText, type Visibility } from '../../model/readers.ts'
import type { Change, Read } from '../../storage/statements/statements.ts'
import * as db from '../../storage/statements/statements.ts'

/** Statements and columns shared by the changes of items, files and readers. */

export interface ExistingItem {
  readonly uuid: string
  readonly identifier: string
  readonly metadata: string
  readonly collections: string
  readonly withdrawn: number
  readonly discoverable: number
  readonly modified: string
  readonly revision: number
  readonly fingerprint: string
  readonly audience: number
  readonly readers: string
}

/** Locks an item until the transaction ends. @param condition SQL that selects one item by $1 */
export const lockItem = (condition: string, value: string): Change<ExistingItem | undefined> =>
  db.row(
    `SELECT uuid, identifier, metadata, collections, withdrawn, discoverable, modified, revision, fingerprint, audience,
       (SELECT readers FROM audience WHERE id = item.audience) AS readers
     FROM item WHERE ${condition} FOR UPDATE`,
    value,
  )

export const stateOf = ({
  withdrawn,
  discoverable,
}: Pick<ExistingItem, 'withdrawn' | 'discoverable'>): Visibility => ({
  withdrawn: withdrawn === 1,
  discoverable: discoverable === 1,
})

/** The columns of an item that follow from its metadata. */
export function metadataColumns(metadata: Metadata) {
  const { title, authors, issued, type } = summaryOf(metadata)
  return { title, authors: JSON.stringify(authors), issued, type, metadata: JSON.stringify(metadata) }
}

/** The columns of a new item, or of one that an ingest puts, besides its uuid, audience and times. */
export function itemColumns({ metadata, collections }: Pick<NewItem, 'metadata' | 'collections'>) {
  const plain = Object.fromEntries(
    Object.entries(metadata).map(([key, values]) => [
      key,
      values.map(({ value, language }) => ({ value, language })),
    ]),
  )
  return { ...metadataColumns(plain), collections: JSON.stringify(collections) }
}

type Shown = { readonly metadata: Metadata; readonly [name: string]: unknown }

/** True if two states of an item differ for readers who don't see the hidden fields. */
export function seenDifference(before: Shown, after: Shown, hidden: readonly string[]): boolean {
  const shown = ({ metadata, ...rest }: Shown) => ({ ...rest, metadata: metadataWithout(metadata, hidden) })
  return itemDifferences(shown(before), shown(after)).changes !== undefined
}

/** The readers of a new item for which none are given: administrators only. */
export const defaultReaders = readersText([])

/** @returns the canonical text of the readers @throws RangeError if it is longer than every engine can store */
export function checkedReaders(identifier: string, readers: Readers): string {
  const text = readersText(readers)
  if (Buffer.byteLength(text) <= maxReadersBytes) return text
  throw new RangeError(`the readers of ${identifier} take more than ${maxReadersBytes} bytes`)
}

/** The `object` of the event for a change of readers, or of a file. */
export const accessObject = ({ identifier, file }: Pick<AccessChange, 'identifier' | 'file'>): string =>
  file ? `${identifier}, ${file.bundle}/${file.name}` : identifier

/**
 * Finds audiences by their readers, and adds those that are missing.
 * @param readers in their canonical text
 * @returns a function from each of these texts to the id of its audience
 */
export function* numbersOf(readers: readonly string[]): Change<(readers: string) => number> {
  let numbers = yield* found(readers)
  const missing = readers.filter(one => !numbers.has(one))
  if (missing.length > 0) {
    // One transaction at a time, so that numbers become visible in ascending order, and no node skips one.
    yield* db.lock('UPDATE state SET audiences = audiences')
    const addedMeanwhile = yield* found(missing)
    for (const one of missing.filter(text => !addedMeanwhile.has(text)).toSorted()) {
      yield* db.run('UPDATE state SET audiences = audiences + 1')
      yield* db.run('INSERT INTO audience (id, readers) SELECT audiences, $1 FROM state', one)
    }
    numbers = yield* found(readers)
  }
  return text => {
    const number = numbers.get(text)
    if (number === undefined) throw new Error('the audience has no number')
    return number
  }
}

/** Finds the audience with these readers, or adds it. @param readers in their canonical text @returns its id */
export function* audienceWith(readers: string): Change<number> {
  return (yield* numbersOf([readers]))(readers)
}

function* found(readers: readonly string[]): Change<ReadonlyMap<string, number>> {
  const sql = 'SELECT id, readers FROM audience WHERE readers = ANY($1)'
  const known = yield* db.rows<{ id: number; readers: string }>(sql, readers)
  return new Map(known.map(({ id, readers: text }) => [text, id]))
}

/** Total bytes of all bitstreams, each with those of its content. */
export function* storedBytes(): Read<number> {
  const sql = 'SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM audience'
  return (yield* db.value<number>(sql)) ?? 0
}

type Values = Readonly<Record<string, unknown>>

/** Maximum characters of the JSON of each side in an event. A longer side only names its members. */
const maxLength = 16_000

/**
 * The changes that an event records: only the members that differ, and only those fields of metadata.
 * @returns no member at all if nothing differs
 */
export function itemDifferences(before: Values | null, after: Values | null): { changes?: Changes } {
  const sides = differences(before && flat(before), after && flat(after))
  if (Object.keys(sides.before ?? sides.after ?? {}).length === 0) return {}
  return { changes: { before: sides.before && told(sides.before), after: sides.after && told(sides.after) } }
}

const told = (side: Values): Values =>
  JSON.stringify(side).length <= maxLength ? side : { 'too long to tell': Object.keys(side).slice(0, 100) }

/** Gives each field of metadata a member of its own, such as `metadata.dc.title`. */
const flat = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      name === 'metadata' && typeof value === 'object' && value !== null
        ? Object.entries(value).map(([field, list]) => [`metadata.${field}`, list])
        : [[name, value]],
    ),
  )
