import { hasEnded } from '../lib/programs.ts'
import type { Processes } from '../storage/processes.ts'

/** How long processes that have ended are kept, in ms, and how many. */
const keptFor = 90 * 24 * 3600 * 1000
const mostKept = 1_000

/** Looks after the list: what ended without saying so is interrupted, and what is old is removed. */
export async function keepProcesses(
  processes: Pick<Processes, 'owners' | 'interrupt' | 'prune'>,
  now: number,
): Promise<void> {
  const gone = (await processes.owners()).filter(hasEnded)
  await processes.interrupt(gone)
  await processes.prune(new Date(Math.max(0, now - keptFor)).toISOString(), mostKept)
}
