import type { Entity, Field, ReadRule } from '../../model/entities.ts'
import { OperatorError } from '../../model/errors.ts'
import type { Description } from '../../model/relations.ts'

/** Everything that an embedded store holds at one moment, to be copied to another engine. */
export interface Dump {
  readonly tables: readonly DumpedTable[]
  /** Of the store that is copied. The copy has an id of its own (docs/decisions/0016). */
  readonly storeId: string
  /** A time that has certainly been there, in ms since 1970 (docs/decisions/0024). */
  readonly mark: number
  /** Oldest first. */
  readonly secrets: readonly { readonly secret: Uint8Array; readonly made: string }[]
  readonly entities: readonly DumpedEntity[]
  /** Whether the store has changed since, so that the dump is out of date. */
  hasChanged(): boolean
  close(): void
}

/** The copy can't be made, or differs from the store; nothing of it was kept. */
export class CopyError extends OperatorError {}

export type DumpedValue = string | number | Uint8Array | null

export interface DumpedTable {
  readonly name: (typeof tables)[number]['name']
  readonly columns: readonly string[]
  /** Columns that identify a row; rows come in their order. */
  readonly key: readonly string[]
  /** Columns that hold 0 or 1 in SQLite and a boolean in PostgreSQL. */
  readonly booleans: readonly string[]
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
  /** RFC 3339. */
  readonly imported: string
  records(): Iterable<string>
  ranks(field: number): Uint32Array
  close(): void
}

/**
 * Every table of a store, but for counts of attempts and single-use tickets, which stay behind. A table comes after those
 * that it refers to.
 */
export const tables = [
  {
    name: 'eperson',
    key: ['uuid'],
    columns:
      'uuid email email_key first_name last_name enabled password_hash password_stamp session_key stamp created last_login name_key profile last_begun session_state',
    booleans: ['enabled'],
  },
  {
    name: 'epersongroup',
    key: ['uuid'],
    columns: 'uuid name created name_key description special',
    booleans: [],
  },
  { name: 'subgroup', key: ['parent', 'child'], columns: 'parent child', booleans: [] },
  { name: 'membership', key: ['eperson', 'epersongroup'], columns: 'eperson epersongroup', booleans: [] },
  {
    name: 'identity',
    key: ['provider', 'subject'],
    columns: 'provider subject eperson linked',
    booleans: [],
  },
  {
    name: 'provider_session',
    key: ['id'],
    columns: 'id eperson provider name sid detail begun session',
    booleans: [],
  },
  {
    name: 'session',
    key: ['eperson', 'begun'],
    columns: 'eperson begun method network used used_network expires session_key',
    booleans: [],
  },
  {
    name: 'access_token',
    key: ['id'],
    columns: 'id eperson name hash scope networks created expires used password_stamp',
    booleans: [],
  },
  {
    name: 'event',
    key: ['id'],
    columns:
      'id time event outcome eperson actor client_ip method object reason count changes chain place hash',
    booleans: [],
  },
  // The chains go on in the copy, under the same secrets (docs/decisions/0027).
  { name: 'trail_key', key: ['id'], columns: 'id wrapped', booleans: [] },
  { name: 'trail_checkpoint', key: ['n'], columns: 'n time kind detail mac', booleans: [] },
  {
    name: 'trail_head',
    key: ['chain', 'place', 'checkpoint'],
    columns: 'chain place checkpoint event time hash',
    booleans: [],
  },
  {
    name: 'familiar_network',
    key: ['eperson', 'network'],
    columns: 'eperson network at',
    booleans: [],
  },
  // Without the counts of rows: triggers count them again as the rows arrive.
  { name: 'audience', key: ['id'], columns: 'id readers', booleans: [] },
  {
    name: 'item',
    key: ['uuid'],
    columns:
      'uuid identifier title authors issued type metadata collections audience fingerprint created modified withdrawn discoverable revision',
    booleans: [],
  },
  {
    name: 'bitstream',
    key: ['uuid'],
    columns: 'uuid item bundle name place description mime_type size sha256 audience created',
    booleans: [],
  },
  { name: 'bundle', key: ['uuid'], columns: 'uuid item name place primary_bitstream', booleans: [] },
  { name: 'policy', key: ['id'], columns: 'id object rule name description type', booleans: [] },
  // Of entities, whose records are copied by themselves.
  {
    name: 'record_change',
    key: ['seq'],
    columns: 'seq entity key key_values json added',
    booleans: [],
  },
  // What runs meanwhile counts as interrupted in the copy, because nobody says there that it runs.
  {
    name: 'process',
    key: ['id'],
    columns:
      'id kind state eperson parameters begun ended progress result fault owner beat cancelled written',
    booleans: ['cancelled'],
  },
  { name: 'process_line', key: ['process', 'n'], columns: 'process n time text', booleans: [] },
  {
    name: 'alert',
    key: ['id'],
    columns: 'id message allow_sessions countdown_to active',
    booleans: ['active'],
  },
  { name: 'site', key: ['id'], columns: 'id metadata revision', booleans: [] },
  { name: 'metadata_schema', key: ['id'], columns: 'id prefix namespace', booleans: [] },
  {
    name: 'metadata_field',
    key: ['id'],
    columns: 'id schema_id name element qualifier scope_note',
    booleans: [],
  },
] as const
