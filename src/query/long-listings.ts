import type { Config } from '../config/config.ts'
import type { FairQueue } from '../lib/fair-queue.ts'
import type { QueueMeasures } from '../lib/tally.ts'
import { createLoopQueue, type Limits } from '../model/limits.ts'

/** Limits the listings of a node that are sent in pieces (Q18). One network may have a quarter of them; the others wait. */
export function createLongListings(
  { maxListings }: Pick<Config, 'maxListings'>,
  { loops }: Pick<Limits, 'loops'>,
  measures: QueueMeasures,
): FairQueue {
  const max = Math.ceil(maxListings / loops().wanted)
  // Each event loop has all places, because what waits holds nothing.
  return createLoopQueue(1, max, { maxOfOne: Math.ceil(max / 4), measures })
}
