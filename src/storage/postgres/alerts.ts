import type { Alerts } from '../processes.ts'
import { addAlert, alertsIn, changeAlert } from './alert-changes.ts'
import type { Pool } from './driver.ts'
import { changing } from './stamps.ts'

/** System-wide alerts: there is one at most, because that is what DSpace's interface can edit. */
export const postgresAlerts = (pool: Pool): Alerts => ({
  all: () => alertsIn(pool),
  add: (alert, event) => changing(pool, event, 'shared', db => addAlert(db, alert, event)),
  change: (alert, event) => changing(pool, event, 'shared', db => changeAlert(db, alert, event)),
})
