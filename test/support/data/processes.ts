import { createProcesses } from '../../../src/admin/processes/processes.ts'
import { commandEvent } from '../../../src/cli/store.ts'
import type { Run } from '../../../src/model/processes.ts'
import type { Service } from '../service/service.ts'

/** Leaves a finished process with a log, and an alert. */
export async function leaveProcess({ storage }: Service): Promise<void> {
  const work = async (run: Run) => run.log('a\tline\\')
  await createProcesses(storage).follow({ kind: 'verify', eperson: null, parameters: {} }, work, () => null)
  const alert = { message: 'Closed', allowSessions: 'all', countdownTo: null, active: true } as const
  await storage.alerts.add(alert, commandEvent('alert.change'))
}
