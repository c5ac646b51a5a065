import type { Awaitable } from '../lib/awaitable.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { ItemChange, ItemOutcome, PolicyNote } from '../model/item-changes.ts'
import type {
  AccessChange,
  Bitstream,
  Bundle,
  Content,
  Item,
  KnownItem,
  ListedItem,
  Metadata,
  NewItem,
} from '../model/items.ts'
import type { ReaderRule, Readers, Viewer } from '../model/readers.ts'
import type { Part, Window } from './storage.ts'

/**
 * Items and their bitstreams (contract section 10). Callers evaluate `readers`, except for `bitstreamsIn`,
 * which returns only what the viewer may read.
 */
export interface Repository {
  item(uuid: string): Awaitable<Item | undefined>
  bitstream(uuid: string): Awaitable<Bitstream | undefined>
  /** All bitstreams of an item, in their order. An item may have very many, so no request reads them. */
  bitstreamsOf(item: string): Awaitable<readonly Bitstream[]>
  /** The bundles of an item, in their order. */
  bundles(item: string, window: Window): Awaitable<Part<Bundle>>
  bundle(uuid: string): Awaitable<Bundle | undefined>
  bundleOf(place: BundlePlace): Awaitable<Bundle | undefined>
  /** The first bitstream of a bundle; undefined if it has none. */
  firstIn(bundle: BundlePlace): Awaitable<Bitstream | undefined>
  /** The bitstreams of a bundle that the viewer may read, in their order. */
  bitstreamsIn(bundle: BundlePlace, viewer: Viewer, window: Window): Awaitable<Part<Bitstream>>
  /** The thumbnail of a bitstream: the one in the bundle `THUMBNAIL` that is named after it. */
  thumbnailOf(bitstream: Pick<Bitstream, 'item' | 'name'>): Awaitable<Bitstream | undefined>

  uuidOf(identifier: string): Awaitable<string | undefined>
  /** The items with these identifiers that are in the store, by identifier. */
  knownItems(identifiers: readonly string[]): Awaitable<ReadonlyMap<string, KnownItem>>
  /** The items after this identifier, by code point. @param after '' for the first page */
  listItems(after: string, max: number): Awaitable<readonly ListedItem[]>
  /**
   * Adds items, and updates those whose identifier exists: all of them, or none if it fails. An existing item
   * keeps its uuid, and so does a bitstream with the same bundle and name. Without readers, they keep their
   * own (D7).
   * @param event a template for the event of each changed item; `event` and `object` are filled in
   */
  putItems(items: readonly NewItem[], event: AuditEvent): Promise<readonly PutOutcome[]>
  /**
   * @returns undefined if there is no such item or bitstream; `no-eperson` if a rule names an eperson who
   * does not exist
   */
  setReaders(change: AccessChange, event: AuditEvent): Promise<ReadersOutcome | undefined>
  /**
   * Applies a change made over HTTP.
   * @param event a template: `event`, `object` and `changes` are filled in
   */
  change(change: ItemChange, event: AuditEvent): Promise<ItemOutcome>
  /** The audiences with a rule for this reader that some item or bitstream has, in the order of their ids. */
  audiencesWith(reader: ReaderRule['reader']): Awaitable<readonly CountedAudience[]>
  /** The uuids of the items, or of the bitstreams, of an audience, in their order. */
  objectsOf(kind: ObjectKind, audience: number, window: Window): Awaitable<readonly string[]>
  /** The notes of clients about the rules of an item or a bitstream. */
  policyNotes(object: string): Awaitable<readonly PolicyNote[]>
  /** The service itself, as an object with metadata. */
  site(): Awaitable<Site>
  /** Total bytes of all bitstreams. A content that several bitstreams share counts for each. */
  bytes(): Awaitable<number>
  /** @returns false if there was no such item */
  deleteItem(identifier: string, event: AuditEvent): Promise<boolean>

  /** The unique id of this store. A folder of files belongs to one store (docs/decisions/0012). */
  storeId(): Awaitable<string>
  /** The id of the store that this one is a copy of; null when it is none. */
  copiedFrom(): Awaitable<string | null>
  /** Tells how far the demo of this store is, which nothing but a start adds to (D4). */
  demo(): Awaitable<DemoState>
  setDemo(state: DemoState): Promise<void>

  /** The distinct contents of bitstreams, by SHA-256, after this one. @param after '' for the first */
  contents(after: string, max: number): Awaitable<readonly Content[]>
  /** A few of the bitstreams with this content, as `<identifier of the item>, <bundle>/<name>`. */
  holders(sha256: string): Awaitable<readonly string[]>
  /** The hashes among these whose content at least one bitstream has. */
  contentsInUse(sha256: readonly string[]): Awaitable<ReadonlySet<string>>

  /**
   * Keeps sweeps from deleting a content for an hour, so that a bitstream can refer to it. Each upload calls
   * this before it looks whether a bucket has the content.
   * @returns false if the content is being deleted; a moment later it can be claimed
   */
  claimContent(sha256: string): Promise<boolean>
  /**
   * Notes which of these contents of a bucket are unused, and marks those that have been unused for an hour as
   * being deleted: nothing uses them any more until `endDeletion` or ten minutes later.
   * @param ahead time in ms by which the sweep's clock is ahead of the store's
   */
  sweepContents(sha256: readonly string[], ahead: number): Promise<SweptContents>
  /** Called when contents have been deleted. */
  endDeletion(sha256: readonly string[]): Promise<void>
  /** Removes what has expired. */
  forgetClaims(): Promise<void>
}

interface SweptContents {
  /** The contents that the caller has to delete now. */
  readonly deleted: readonly string[]
  /** Number of contents that are unused from now on. */
  readonly setAside: number
  /** Number of contents that were unused and aren't any more. */
  readonly broughtBack: number
}

export type BundlePlace = Pick<Bitstream, 'item' | 'bundle'>

export interface Site {
  readonly metadata: Metadata
  /** Grows with every change; 0: it was never changed. */
  readonly revision: number
}

export type ObjectKind = 'item' | 'bitstream'

export type ReadersOutcome = 'changed' | 'unchanged' | 'no-eperson'

/** Readers that items and bitstreams share, with the number of each. */
interface CountedAudience {
  readonly id: number
  readonly readers: Readers
  readonly items: number
  readonly bitstreams: number
}

/** `taken`: another run has put the item since it was looked up, and it stays as it is. */
export type PutOutcome = 'added' | 'changed' | 'unchanged' | 'taken'

export const demoStates = ['none', 'begun', 'complete'] as const
type DemoState = (typeof demoStates)[number]
