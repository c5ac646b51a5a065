import type { Metadata, NewBitstream } from './items.ts'
import type { Readers } from './readers.ts'

/**
 * A change of an item, of its bundles or files, or of the site. Each is one transaction. Objects are named by their UUIDs unless
 * a comment says otherwise.
 */
export type ItemChange =
  | CreateItem
  | EditItem
  | { readonly kind: 'delete-item'; readonly item: string; readonly revision: number | null }
  | { readonly kind: 'add-bundle'; readonly item: string; readonly uuid: string; readonly name: string }
  | { readonly kind: 'delete-bundle'; readonly bundle: string }
  | { readonly kind: 'set-primary'; readonly bundle: string; readonly bitstream: string | null }
  | OrderBitstreams
  | AddBitstream
  | EditBitstream
  | ReplaceContent
  /** Either all of them or none. */
  | { readonly kind: 'delete-bitstreams'; readonly bitstreams: readonly string[] }
  | SetPolicies
  | EditSite

export interface CreateItem {
  readonly kind: 'create-item'
  readonly uuid: string
  readonly identifier: string
  readonly metadata: Metadata
  readonly withdrawn: boolean
  readonly discoverable: boolean
}

/** What is not given stays. */
export interface EditItem {
  readonly kind: 'edit-item'
  readonly item: string
  /** The one that was seen: nothing is changed if it is another one now. */
  readonly revision: number
  readonly metadata?: Metadata
  /** Fields of metadata that only administrators see (Q19): a change of theirs isn't told by the item's `modified`. */
  readonly hidden: readonly string[]
  readonly withdrawn?: boolean
  readonly discoverable?: boolean
}

/** Positions in the bundle, from 0; one move after the other. */
export interface OrderBitstreams {
  readonly kind: 'order-bitstreams'
  readonly bundle: string
  readonly moves: readonly (readonly [from: number, to: number])[]
}

export interface AddBitstream extends Omit<NewBitstream, 'bundle' | 'readers'> {
  readonly kind: 'add-bitstream'
  readonly bundle: string
  readonly uuid: string
  /** Bytes that all bitstreams may have together; null: no limit. */
  readonly quota: number | null
}

/** What is not given stays. */
export interface EditBitstream {
  readonly kind: 'edit-bitstream'
  readonly bitstream: string
  readonly name?: string
  readonly description?: string | null
  readonly mimeType?: string
}

/** Of a file that stays what it is otherwise. */
export interface ReplaceContent extends Omit<NewBitstream, 'bundle' | 'readers' | 'description'> {
  readonly kind: 'replace-content'
  readonly bitstream: string
  /** The SHA-256 that was seen: nothing is changed if it is another one now. null: whatever it is. */
  readonly seen: string | null
  /** As of `AddBitstream`. */
  readonly quota: number | null
}

/** The rules of an item or a bitstream become others. */
export interface SetPolicies {
  readonly kind: 'set-policies'
  readonly object: string
  /** The readers that were seen: nothing is changed if there are others now. */
  readonly seen: Readers
  /** Of a bitstream without those that let write, which are the item's. */
  readonly rules: Readers
  /** What is kept of policies, after the change. */
  readonly notes: readonly PolicyNote[]
}

/** The metadata of the service itself become others. */
export interface EditSite {
  readonly kind: 'edit-site'
  readonly site: string
  /** The one that was seen: nothing is changed if it is another one now. */
  readonly revision: number
  readonly metadata: Metadata
}

/** What clients say of a rule besides the rule. */
export interface PolicyNote {
  readonly id: string
  /** The rule's text, as `readersText` writes it. */
  readonly rule: string
  readonly name: string | null
  readonly description: string | null
  readonly type: string | null
}

/**
 * - `gone`: what should be changed isn't there.
 * - `stale`: it was changed meanwhile.
 * - `taken`: the name is in use.
 * - `full`: the quota doesn't allow it.
 * - `many`: there are as many as there may be.
 * - `no-eperson`: a rule names an eperson that isn't there.
 */
export type ItemOutcome =
  | 'changed'
  | 'unchanged'
  | 'gone'
  | 'stale'
  | 'taken'
  | 'full'
  | 'many'
  | 'no-eperson'

/** Bundles of an item, and files of an item: the same as an ingest takes. */
export const maxBundles = 100
export const maxBitstreams = 10_000
