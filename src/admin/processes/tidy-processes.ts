import { hasEnded } from '../../lib/process-ids.ts'
import type { Processes } from '../../storage/processes.ts'

/** Time in ms for which ended processes are kept, and their maximum number. */
const keptFor = 90 * 24 * 3600 * 1000
const mostKept = 1_000

/** Maintains the list: marks processes whose program has ended as interrupted, and removes old ones. */
export async function tidyProcesses(
  processes: Pick<Processes, 'owners' | 'interrupt' | 'prune'>,
  now: number,
): Promise<void> {
  const gone = (await processes.owners()).filter(hasEnded)
  await processes.interrupt(gone)
  await processes.prune(new Date(Math.max(0, now - keptFor)).toISOString(), mostKept)
}
