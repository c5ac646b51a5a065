import type { Config } from '../config/config.ts'
import { createFairQueue, type FairQueue } from '../lib/fair-queue.ts'
import type { QueueMeasures } from '../lib/tally.ts'
import type { Limits } from '../model/limits.ts'

/** How many listings may wait to be sent by one event loop. */
const maxWaiting = 1_000
/** For how long, in ms. */
const maxWait = 15_000

/** Limits the listings of a node that are sent in pieces (Q18). One network may have a quarter of them; the others wait. */
export function createLongListings(
  { maxListings }: Pick<Config, 'maxListings'>,
  { loops }: Pick<Limits, 'loops'>,
  measures: QueueMeasures,
): FairQueue {
  const max = Math.ceil(maxListings / loops().wanted)
  const queue = createFairQueue({ max, maxOfOne: Math.ceil(max / 4), maxWaiting, maxWait })
  queue.measure(measures)
  return queue
}
