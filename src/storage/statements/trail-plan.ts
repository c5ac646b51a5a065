import {
  type Checkpoint,
  type CheckpointDetail,
  detailOf,
  hex,
  nothingBefore,
  type SignedHead,
} from '../../model/trail.ts'

/** What both engines decide in the same way when they prune the audit trail (docs/decisions/0027). */

/** How many events, and checkpoints, are removed at a time: the writer must not be kept for long. */
export const pruneLimit = 1_000
/** Only a connection that is closed by then could still add to a chain, in ms. */
const goesOnFor = 24 * 3600 * 1000

/** A checkpoint without its heads. */
export type Link = Pick<Checkpoint, 'n' | 'time' | 'mac'>

/** The newest checkpoint of a pruning. */
export type Marker = Pick<Checkpoint, 'n' | 'detail' | 'heads'>

/**
 * The heads of the last marker that the new one has to repeat: of chains that go on, or may, or that are still spoken of.
 * @param needed chains that still have events, or whose end a checkpoint that stays has signed
 */
export function carriedHeads(
  marker: Marker | undefined,
  added: readonly SignedHead[],
  needed: ReadonlySet<number>,
): readonly SignedHead[] {
  const replaced = new Set(added.map(({ chain }) => chain))
  const recent = new Date(Date.now() - goesOnFor).toISOString()
  return (marker?.heads ?? []).filter(
    ({ chain, time }) => !replaced.has(chain) && (needed.has(chain) || time > recent),
  )
}

/**
 * The first checkpoint to keep.
 * @param oldest some of the oldest, by number
 * @param isOld whether what a checkpoint has signed is gone
 */
export function firstKept<T extends Link>(
  oldest: readonly T[],
  marker: Marker | undefined,
  isOld: (checkpoint: T) => boolean,
): { readonly first: number; readonly firstPrevious: string } {
  const at = oldest.findIndex(one => !isOld(one))
  const dropped = at < 0 ? oldest.at(-1) : oldest[at - 1]
  if (dropped) return { first: dropped.n + 1, firstPrevious: hex(dropped.mac) }
  const { firstPrevious = hex(nothingBefore), first = 1 } = marker ? detailOf(marker) : {}
  return { first, firstPrevious }
}

export const prunedDetail = (
  marker: Marker | undefined,
  events: number,
  before: string,
): Pick<CheckpointDetail, 'events' | 'pruned' | 'before'> => ({
  events,
  pruned: events + (marker ? (detailOf(marker).pruned ?? 0) : 0),
  before,
})
