import type { BucketPlace } from '../config/files-place.ts'
import type { Content } from '../model/items.ts'
import type { FieldPlace } from '../storage/field-place.ts'
import type { StoreState } from '../storage/statements/store-state.ts'
import type { ContentStore } from './content-statements.ts'
import type { FileStore } from './file-store.ts'

/**
 * The contents of bitstreams in their place, with all that a service and its commands do with it. There are
 * two kinds, a folder and a bucket (docs/decisions/0080); no other code knows which one it is.
 */
export interface Files extends FileStore {
  /** The place in messages: a folder, or an address such as `s3://bucket/prefix`. */
  readonly place: string
  /**
   * Records the store as the owner of the place if that has none, before files are added or removed.
   * @returns true if the place belongs to the store
   * @throws UnfinishedCopy if it belongs to the store that this one is a copy of
   */
  claim(): Promise<boolean>
  /** True if the place belongs to this store. */
  isOwned(): Promise<boolean>
  /** Like `claim`, but takes the place over from the store that this one is a copy of. */
  takeOver(): Promise<boolean>
  /**
   * Marks an empty place before it is filled from a backup.
   * @param into the place of the store, without a password
   * @throws OperatorError if it has contents or an owner, unless this restore marked it before
   */
  markRestoring(into: string): Promise<void>
  /** Removes all files of an unfinished restore from a marked place. @param into as in the mark */
  clearRestored(into: string): Promise<void>
  /**
   * Removes contents that no bitstream has, while files are added.
   * @param now milliseconds, as from Date.now()
   * @throws OtherStore if the place belongs to another store
   */
  sweep(progress?: (share: number) => void, now?: number): Promise<SweepReport>
  /**
   * Copies a content of another place inside of the server that both are on, which neither reads nor hashes it.
   * @returns false if they are not on one server, or the content isn't there with the right size
   */
  copyFrom(other: Pick<Files, 'bucket'>, content: Content): Promise<boolean>
  /** undefined for a folder. */
  readonly bucket: BucketPlace | undefined
  /** Removes a content, which another place has. @returns false if it was not there */
  remove(sha256: string): Promise<boolean>
  /** Removes what was being written when its program was killed. @returns the number of files */
  clearIncoming(now?: number): Promise<number>
  /** Files that nodes share and that are derived from the store. None of the other methods sees them. */
  readonly derived: FieldPlace
  /** Keeps sweeps on every node from deleting contents. @returns a function that ends this */
  pauseSweeps(): Promise<() => Promise<void>>
  /**
   * Signs an address at which anyone can get a content for a minute (F6); undefined in a folder.
   * @param headers those of the answer at that address
   */
  readonly sign:
    | ((
        content: Content,
        headers: { readonly type: string; readonly disposition: string },
      ) => Promise<string>)
    | undefined
  /**
   * Writes, copies and reads objects in a bucket, and removes them; undefined for a folder.
   * @throws StoreUnavailable if it can't be reached
   */
  readonly probe?: () => Promise<Probed>
  /**
   * Requires that the place is there, and that contents can be read from it.
   * @throws StoreUnavailable saying what to do
   */
  require(): Promise<void>
}

export interface Probed {
  /** Clauses that say what the bucket does wrongly. */
  readonly wrong: readonly string[]
  /** Clauses that say what it can't do, and Carrel goes without. */
  readonly lacking: readonly string[]
}

export interface SweepReport {
  /** Contents that nothing refers to, which this sweep found. They are deleted an hour later. */
  readonly setAside: number
  /** Contents that were set aside and are referred to again. */
  readonly broughtBack: number
  readonly deleted: number
  /** Half-written files, removed. */
  readonly leftovers: number
  /** A sentence, if the place can't do a part of this, which was left out. */
  readonly leftOut?: string
}

/** The parts of a store that its files depend on. */
export type FilesStore = Omit<ContentStore, 'holders'> & Pick<StoreState, 'storeId' | 'copiedFrom'>

/** In place of a store where there is none yet, or none that knows the contents. Nothing may be removed then. */
export const noStore: FilesStore = {
  storeId: async () => '',
  copiedFrom: async () => null,
  contents: async () => [],
  contentsInUse: async names => new Set(names),
  claimContent: async () => true,
  sweepContents: async () => ({ deleted: [], setAside: 0, broughtBack: 0 }),
  endDeletion: async () => {},
  forgetClaims: async () => {},
}

/** For a place that this program fills: nothing relies on what is there, which may be from one that was killed. */
export const storeToBe: FilesStore = { ...noStore, contentsInUse: async () => new Set() }
