import { randomBytes } from 'node:crypto'
import type { Hold, HoldOptions } from '../../lib/hold.ts'
import type { Upload, Uploads } from '../../model/uploads.ts'

export interface Info {
  readonly eperson: string
  readonly size: number
  /** Metadata as the client gave it, decoded. */
  readonly metadata: Readonly<Record<string, string | null>>
  readonly begun: string
  /** The program that receives it as the body of one request (`ownProcessId`); missing if it comes in pieces. */
  readonly receivedBy?: string
}

export interface Found extends Info {
  readonly id: string
  /** Number of bytes that have arrived. */
  readonly offset: number
  /** Time at which the last bytes arrived. */
  readonly changed: Date
}

/** Bytes that were added to an upload. */
export interface Added {
  /** The new offset, which is durable. */
  readonly end: number
  /** Removes them again. */
  undo(): Promise<void>
  /** Removes what they took the place of. */
  settle(): Promise<void>
}

/**
 * The place of uploads, of which there are two kinds, a folder and a bucket. On PostgreSQL it is in the place of
 * files that `CARREL_FILES` names, so that an upload goes on at another node (docs/decisions/0042).
 */
export interface UploadPlace {
  /** A folder of this node, for contents of archives and copies of uploads. */
  readonly local: string
  /** Time in ms after which the silent holder of a finished upload counts as ended; infinite for one node alone. */
  readonly patience: number
  /** The message that there is no such upload here, and where it may be instead. */
  readonly absent: string
  add(id: string, info: Info): Promise<void>
  /** @returns undefined if there is no such upload, or it is just being created or removed */
  find(id: string): Promise<Found | undefined>
  list(): Promise<readonly Found[]>
  remove(id: string): Promise<void>
  /** Lets an upload expire as if it had just arrived. */
  renew(id: string): Promise<void>
  /** Number of free bytes that are not reserved for an administrator. */
  free(): Promise<number>
  /** Adds bytes at the end of an upload. Those that have arrived stay, however it ends. */
  append(id: string, offset: number, pieces: AsyncIterable<Buffer>, eperson: string): Promise<Added>
  /** @param name `<id>/lock` or `<id>/held` for an upload */
  hold(name: string, options: HoldOptions): Promise<Hold | 'held' | 'gone'>
  /**
   * Makes a finished upload readable as a file of this node.
   * @returns its path, and a function that ends this
   */
  fetch(found: Found): Promise<{ readonly path: string; dispose(): Promise<void> }>
  /** Removes uploads that have not changed for long, and what is incomplete. @param lifetime in ms */
  clear(lifetime: number, now: number): Promise<void>
}

/** True if the text is an id. Ids are random, and the only part of a path that a client chooses. */
export const isUploadId = (id: string): boolean => /^[0-9a-f]{32}$/.test(id)
export const newUploadId = (): string => randomBytes(16).toString('hex')

/** Removes an upload for its client, unless it is being used. */
export async function discardUpload(
  place: Pick<UploadPlace, 'hold' | 'patience' | 'remove'>,
  id: string,
): Promise<'removed' | 'held' | 'gone'> {
  const hold = await place.hold(`${id}/held`, { silence: place.patience })
  if (typeof hold === 'string') return hold
  try {
    await place.remove(id)
  } finally {
    await hold.release()
  }
  return 'removed'
}

/** Finished uploads, for the features that use them. */
export const createUploads = (place: UploadPlace): Uploads => ({
  take: async (id, eperson): Promise<Upload | undefined> => {
    const found = await place.find(id)
    if (found?.eperson !== eperson || found.offset !== found.size) return undefined
    const hold = await place.hold(`${id}/held`, { silence: place.patience })
    if (typeof hold === 'string') return undefined
    let fetched: ReturnType<UploadPlace['fetch']> | undefined
    const { size, metadata } = found
    const name = metadata.filename ?? metadata.name ?? null
    return {
      id,
      eperson,
      name,
      size,
      path: async () => {
        fetched ??= place.fetch(found)
        return (await fetched).path
      },
      release: async used => {
        // The feature may have committed its work, so nothing fails here: the upload expires, and a silent hold ends.
        await fetched?.then(({ dispose }) => dispose()).catch(() => {})
        await (used ? place.remove(id) : place.renew(id)).catch(() => {})
        await hold.release()
      },
    }
  },
})
