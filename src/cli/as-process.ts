import { createProcesses } from '../admin/processes/processes.ts'
import type { NewProcess, Process, Run } from '../model/processes.ts'
import type { Storage } from '../storage/storage.ts'

/**
 * Runs the work of a command as a process, so that the service lists it, too. It never waits for other
 * processes.
 */
export const asProcess = <T>(
  { processes }: Pick<Storage, 'processes'>,
  what: Pick<NewProcess, 'kind' | 'parameters'>,
  work: (run: Run) => Promise<T>,
  resultOf: (outcome: T) => Process['result'],
): Promise<T> =>
  createProcesses({ processes, atOnce: null }).follow({ ...what, eperson: null }, work, resultOf)
