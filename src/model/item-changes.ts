import type { Metadata, NewBitstream } from './items.ts'
import type { Readers } from './readers.ts'

/**
 * A change of an item, its bundles or files, or of the site. Each is one transaction. Objects are named by
 * their UUIDs unless a comment says otherwise.
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
  /** Deletes all of these bitstreams or none. */
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

/** Changes the members that are given; the others stay. */
export interface EditItem {
  readonly kind: 'edit-item'
  readonly item: string
  /** The revision that the client saw; nothing is changed if the item has another one now. */
  readonly revision: number
  readonly metadata?: Metadata
  /**
   * Metadata fields that only administrators see (Q19). Changing them leaves the item's `modified` as it is.
   */
  readonly hidden: readonly string[]
  readonly withdrawn?: boolean
  readonly discoverable?: boolean
}

/** Reorders the files of a bundle by applying the moves one after the other. Positions count from 0. */
export interface OrderBitstreams {
  readonly kind: 'order-bitstreams'
  readonly bundle: string
  readonly moves: readonly (readonly [from: number, to: number])[]
}

export interface AddBitstream extends Omit<NewBitstream, 'bundle' | 'readers'> {
  readonly kind: 'add-bitstream'
  readonly bundle: string
  readonly uuid: string
  /** Maximum total size of all bitstreams in bytes; null: no limit. */
  readonly quota: number | null
}

/** Changes the members that are given; the others stay. */
export interface EditBitstream {
  readonly kind: 'edit-bitstream'
  readonly bitstream: string
  readonly name?: string
  readonly description?: string | null
  readonly mimeType?: string
}

/** Replaces the content of a file whose other metadata stay. */
export interface ReplaceContent extends Omit<NewBitstream, 'bundle' | 'readers' | 'description'> {
  readonly kind: 'replace-content'
  readonly bitstream: string
  /**
   * The SHA-256 that the client saw; nothing is changed if the content is another one now. null: not checked.
   */
  readonly seen: string | null
  /** Maximum total size of all bitstreams in bytes; null: no limit. */
  readonly quota: number | null
}

/** Replaces the rules of an item or a bitstream. */
export interface SetPolicies {
  readonly kind: 'set-policies'
  readonly object: string
  /** The readers that the client saw; nothing is changed if they are others now. */
  readonly seen: Readers
  /** The new rules. Those of a bitstream leave out write rules, which are the item's. */
  readonly rules: Readers
  /** All notes kept about the object's policies after the change. */
  readonly notes: readonly PolicyNote[]
}

/** Replaces the metadata of the service itself. */
export interface EditSite {
  readonly kind: 'edit-site'
  readonly site: string
  /** The revision that the client saw; nothing is changed if the site has another one now. */
  readonly revision: number
  readonly metadata: Metadata
}

/** A client's own details about a rule, such as its name, kept beside the rule. */
export interface PolicyNote {
  readonly id: string
  /** The rule's text, as `readersText` writes it. */
  readonly rule: string
  readonly name: string | null
  readonly description: string | null
  readonly type: string | null
}

/**
 * - `gone`: the object to change doesn't exist.
 * - `stale`: it was changed in the meantime.
 * - `taken`: the name is in use.
 * - `full`: the quota doesn't allow it.
 * - `many`: the maximum number of objects is reached.
 * - `no-eperson`: a rule names an eperson that doesn't exist.
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

/**
 * Maximum numbers of bundles and of files of an item. An ingest has the same limit for files, and
 * none of its own for bundles.
 */
export const maxBundles = 100
export const maxBitstreams = 10_000
