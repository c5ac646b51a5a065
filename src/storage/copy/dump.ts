import type { Entity, Field, ReadRule } from '../../model/entities.ts'

/** Everything that an embedded store holds, of one moment, to be carried over into another engine. */
export interface Dump {
  readonly tables: readonly DumpedTable[]
  /** The copy is this store from now on, to which the folder of files belongs. */
  readonly storeId: string
  /** Oldest first. */
  readonly secrets: readonly { readonly secret: Uint8Array; readonly made: string }[]
  readonly entities: readonly DumpedEntity[]
  /** Whether somebody has changed the store since: then the dump is not the whole of it. */
  hasChanged(): boolean
  /** Makes what was dumped from another store, to which no folder of files belongs. */
  becomeAnother(): void
  close(): void
}

/** A copy is not what it was made from; nothing of it was kept. */
export class CopyError extends Error {}

export type DumpedValue = string | number | Uint8Array | null

export interface DumpedTable {
  readonly name: (typeof tables)[number]['name']
  readonly columns: readonly string[]
  /** Columns that say which row it is; rows come in their order. */
  readonly key: readonly string[]
  /** Columns that hold 0 or 1 here. */
  readonly booleans: readonly string[]
  readonly count: number
  rows(): Iterable<readonly DumpedValue[]>
}

export interface DumpedEntity {
  readonly name: string
  readonly key: Entity['key']
  readonly read: ReadRule
  readonly fields: readonly Field[]
  readonly version: string
  readonly count: number
  records(): Iterable<string>
  ranks(field: number): Uint32Array
  close(): void
}

/** Every table of a store, in an order that references allow. */
export const tables = [
  {
    name: 'eperson',
    key: ['uuid'],
    columns:
      'uuid email email_key first_name last_name enabled password_hash password_stamp session_key stamp created last_login',
    booleans: ['enabled'],
  },
  { name: 'epersongroup', key: ['uuid'], columns: 'uuid name created', booleans: [] },
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
    columns: 'id eperson provider name sid detail begun',
    booleans: [],
  },
  {
    name: 'event',
    key: ['id'],
    columns: 'id time event outcome eperson actor client_ip method object reason',
    booleans: [],
  },
  // How many rows each has is counted anew, as they come.
  { name: 'audience', key: ['id'], columns: 'id readers', booleans: [] },
  {
    name: 'item',
    key: ['uuid'],
    columns:
      'uuid identifier title authors issued type metadata collections audience fingerprint created modified',
    booleans: [],
  },
  {
    name: 'bitstream',
    key: ['uuid'],
    columns: 'uuid item bundle name place description mime_type size sha256 audience created',
    booleans: [],
  },
] as const
