import type { Alerts } from '../processes.ts'
import { alertsIn } from './alert-changes.ts'
import type { Database } from './driver.ts'
import type { Write } from './group-commit.ts'

/** System-wide alerts: there is one at most, because that is what DSpace's interface can edit. */
export const sqliteAlerts = ({ db, write }: { db: Database; write: Write }): Alerts => ({
  all: () => alertsIn(db),
  add: (alert, event) => write('addAlert', alert, event),
  change: (alert, event) => write('changeAlert', alert, event),
})
