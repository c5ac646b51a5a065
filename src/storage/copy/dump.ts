import type { Entity, Field, ReadRule } from '../../model/entities.ts'
import { OperatorError } from '../../model/errors.ts'
import type { Description } from '../../model/relations.ts'
import type { Database } from '../sqlite/driver.ts'

/** Everything that an embedded store holds at one moment, to be copied to another engine. */
export interface Dump {
  readonly tables: readonly DumpedTable[]
  /** Id of the store that is copied. The copy has an id of its own (docs/decisions/0016). */
  readonly storeId: string
  /** A time that has certainly been reached, in ms since 1970 (docs/decisions/0024). */
  readonly mark: number
  /** Oldest first. */
  readonly secrets: readonly { readonly secret: Uint8Array; readonly made: string }[]
  readonly entities: readonly DumpedEntity[]
  /** True if the store has changed since, so that the dump is out of date. */
  hasChanged(): boolean
  close(): void
}

/** The copy can't be made, or differs from the store; nothing of it was kept. */
export class CopyError extends OperatorError {}

export type DumpedValue = string | number | Uint8Array | null

export interface DumpedTable {
  readonly name: string
  readonly columns: readonly string[]
  /** Columns that identify a row; rows come in their order. */
  readonly key: readonly string[]
  readonly count: number
  rows(): Iterable<readonly DumpedValue[]>
}

export interface DumpedEntity {
  readonly name: string
  readonly key: Entity['key']
  readonly read: ReadRule
  readonly fields: readonly Field[]
  readonly description: Description
  readonly version: string
  readonly count: number
  /** Time of the import, in the format of RFC 3339. */
  readonly imported: string
  records(): Iterable<string>
  ranks(field: number): Uint32Array
  close(): void
}

/**
 * All tables of a store except counts of attempts and single-use tickets, which are not copied, and entities,
 * which are copied with their records. A table comes after those that it refers to. Processes that run
 * meanwhile count as interrupted in the copy, where they have no owner; the chains of the trail go on under
 * the same secrets (docs/decisions/0027).
 */
export const tables = [
  ...['eperson', 'epersongroup', 'subgroup', 'membership', 'identity', 'provider_session', 'session'],
  ...['access_token', 'familiar_network', 'event', 'trail_key', 'trail_checkpoint', 'trail_head', 'audience'],
  ...['item', 'bitstream', 'bundle', 'policy', 'record_change', 'process', 'process_line', 'alert', 'site'],
  ...['metadata_schema', 'metadata_field'],
]

/** Columns that triggers fill in again as rows arrive. */
const counted = new Set(['items', 'bitstreams', 'bytes'])

/** @param db an embedded store: both engines have the same columns */
export function columnsOf(db: Database, table: string): Pick<DumpedTable, 'columns' | 'key'> {
  const all = db.all<{ name: string; pk: number }>('SELECT name, pk FROM pragma_table_info(?)', table)
  const columns = all.map(({ name }) => name)
  const key = all.filter(({ pk }) => pk > 0).toSorted((one, other) => one.pk - other.pk)
  return {
    columns: table === 'audience' ? columns.filter(name => !counted.has(name)) : columns,
    key: key.map(({ name }) => name),
  }
}

/** Approximate maximum number of bytes that are read at a time. */
const bytesAtOnce = 16e6

/**
 * Number of rows to read at a time, so that memory stays bounded if they are large.
 * @param largest the bytes of the largest row @param most the maximum number of rows
 */
export const rowsAtOnce = (largest: number, most: number): number =>
  Math.max(1, Math.min(most, Math.floor(bytesAtOnce / Math.max(1, largest))))
